#include "lib/plan/exchange.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "lib/plan/ledger.hpp"

namespace mgpu {
namespace {

constexpr Bytes kGranule = 16;
constexpr Bytes kSmallestGathered = Bytes{4} << 20;

}  // namespace

ByteRange part_of_bytes(ByteRange whole, std::size_t parts, std::size_t i) {
  const Bytes granules = whole.size() / kGranule;
  const auto begin = [&](std::size_t k) {
    if (k == parts) return whole.end;  // the last part also has what is less than a granule
    return whole.begin + (granules / parts * k + std::min<Bytes>(k, granules % parts)) * kGranule;
  };
  return {begin(i), begin(i + 1)};
}

bool is_gathered(Bytes size, bool direct) { return size >= (direct ? kSmallestGathered : 1); }

bool is_worth_exchanging(std::span<const PeerPath> paths, const std::optional<PeerPath>& asked) {
  const PeerPath wanted = asked.value_or(PeerPath::direct);
  return wanted != PeerPath::staged &&
         std::all_of(paths.begin(), paths.end(), [&](PeerPath path) { return path == wanted; });
}

std::vector<PeerPath> paths_of(const PeerLinks& links) {
  std::vector<PeerPath> paths;
  for (std::size_t from = 0; from < links.devices(); ++from) {
    for (std::size_t to = 0; to < links.devices(); ++to)
      if (from != to) paths.push_back(links.of(from, to).path);
  }
  return paths;
}

std::vector<bool> exchanging(const PlanRequest& request, const SliceSource& source) {
  std::vector<bool> among = taking_part(request);
  const std::vector<Items> shares = source.first_shares();
  if (!shares.empty())
    std::transform(shares.begin(), shares.end(), among.begin(),
                   [](Items share) { return share > 0; });
  if (std::count(among.begin(), among.end(), true) < 2) among.assign(among.size(), false);
  return among;
}

ExchangeModel::ExchangeModel(const PlanRequest& request, std::vector<std::size_t> members)
    : request_(request) {
  const ExchangeEstimate& exchange = request.exchange;
  if (members.size() < 2 || !exchange.any()) return;
  members_ = std::move(members);
  combines_ = exchange.combines;
  if (!exchange.gathers || !request.mode.transfers()) return;
  bool direct = true;
  for (const std::size_t from : members_) {
    for (const std::size_t to : members_)
      direct &= from == to || exchange.links.of(from, to).path == PeerPath::direct;
  }
  gathers_ = is_gathered(request.cost.replicated, direct);
}

bool ExchangeModel::is_member(std::size_t device) const {
  return std::binary_search(members_.begin(), members_.end(), device);
}

std::size_t ExchangeModel::share_of(std::size_t device) const {
  return (gathers() || combines()) && is_member(device) ? members_.size() : 1;
}

// Returns the time to put to all other members; size_for(to) is the bytes for a member. Each put
// takes whole nanoseconds, as everywhere; the sum saturates.
Nanos ExchangeModel::put_to_all(std::size_t device, const auto& size_for) const {
  double time = 0;
  for (const std::size_t to : members_)
    if (to != device) time += seconds(put(device, to, size_for(to)));
  return from_seconds(time);
}

Nanos ExchangeModel::put(std::size_t device, std::size_t to, Bytes size) const {
  const PeerLink& link = request_.exchange.links.of(device, to);
  if (!(link.bytes_per_s > 0)) return link.latency;
  return link.latency + from_seconds(static_cast<double>(size) / link.bytes_per_s);
}

std::size_t ExchangeModel::place_of(std::size_t device) const {
  return static_cast<std::size_t>(std::lower_bound(members_.begin(), members_.end(), device) -
                                  members_.begin());
}

Bytes ExchangeModel::piece(std::size_t device, std::size_t piece) const {
  const ByteRange whole{0, request_.cost.replicated};
  return part_of_bytes(part_of_bytes(whole, members_.size(), place_of(device)), kGatherPieces,
                       piece)
      .size();
}

Bytes ExchangeModel::combined_by(std::size_t device) const {
  return part_of_bytes({0, combines_}, members_.size(), place_of(device)).size();
}

Nanos ExchangeModel::put_of_piece(std::size_t device, std::size_t number) const {
  const Bytes size = piece(device, number);
  return size > 0 ? put_to_all(device, [&](std::size_t) { return size; }) : Nanos{};
}

Nanos ExchangeModel::signal(std::size_t device) const {
  Nanos longest{};
  for (const std::size_t to : members_)
    if (to != device) longest = std::max(longest, request_.exchange.links.of(device, to).latency);
  return longest;
}

double ExchangeModel::seconds_to_gather(double fair) const {
  double all = 0;
  for (const std::size_t device : members_) {
    const DeviceEstimate& estimate = request_.devices[device];
    const double rate = estimate.up > 0 ? std::min(estimate.up, fair) : fair;
    double uploaded = 0, sent = 0;
    for (std::size_t k = 0; k < kGatherPieces; ++k) {
      uploaded += seconds(estimate.transfer) + static_cast<double>(piece(device, k)) / rate;
      sent = std::max(sent, uploaded) + seconds(put_of_piece(device, k));
    }
    all = std::max(all, sent + seconds(signal(device)));
  }
  return all;
}

Nanos ExchangeModel::after_round(std::size_t device) const {
  Nanos longest{};
  for (const std::size_t from : members_)
    if (from != device) longest = std::max(longest, put(from, device, request_.exchange.halo));
  return longest;
}

// Each member puts the others' elements of its parts into their memory; the next step waits for all
// of them.
Nanos ExchangeModel::time_to_combine(std::span<const std::size_t> parts) const {
  Nanos all{};
  for (const std::size_t device : members_) {
    const Nanos one = put_to_all(device, [&](std::size_t to) { return combined_by(to); });
    all = std::max(all, from_seconds(seconds(one) * static_cast<double>(parts[device]) +
                                     seconds(signal(device))));
  }
  return all;
}

Nanos merge_per_part(const PlanRequest& request) {
  if (request.exchange.combines == 0) return request.merge.per_slice;
  std::vector<std::size_t> members;
  const std::vector<bool> takes_part = taking_part(request);
  for (std::size_t i = 0; i < takes_part.size(); ++i)
    if (takes_part[i]) members.push_back(i);
  const ExchangeModel model(request, members);
  if (!model.combines()) return request.merge.per_slice;
  std::vector<std::size_t> parts(request.devices.size(), 1);
  const Nanos one = model.time_to_combine(parts);
  parts.assign(parts.size(), 2);
  return (model.time_to_combine(parts) - one) / static_cast<std::int64_t>(members.size());
}

}  // namespace mgpu
