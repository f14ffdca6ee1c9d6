// Implements the queues of the devices.
#include "lib/plan/queue_source.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "lib/plan/cost_model.hpp"
#include "lib/plan/even_pieces.hpp"
#include "lib/plan/exchange.hpp"
#include "lib/plan/shared_piece.hpp"
#include "lib/plan/static_source.hpp"

namespace mgpu {
namespace {

// A piece is 1/6 of the rest of the queue, if that is large enough.
constexpr double kShrink = 6;
constexpr double kLong = 2e-3;  // in seconds; a piece of a hundred times the gap between two

}  // namespace

QueueSource::QueueSource(const PlanRequest& request, double most_pieces,
                         const std::optional<std::vector<double>>& weights)
    : ledger_(request),
      observed_(request),
      items_(static_cast<double>(request.items)),
      most_pieces_(most_pieces) {
  const std::vector<double> speeds = estimated_speeds(request).rates;
  const double all = std::accumulate(speeds.begin(), speeds.end(), 0.0);
  for (std::size_t i = 0; i < speeds.size(); ++i) {
    const DeviceEstimate& device = request.devices[i];
    const Nanos transfers = request.mode.transfers() ? 2 * device.transfer : Nanos{};
    const Nanos kernels = std::max(device.launch, device.minimum_slice),
                merge = merge_per_part(request) * (request.merge.tree ? 2 : 1);
    move_costs_.push_back(std::max(0.0, seconds(kernels + transfers + merge)));
    singly_.push_back(!request.mode.transfers() && !device.on_cpu);
    most_.push_back(pieces_that_fill(device, all > 0 ? items_ * speeds[i] / all : 0, most_pieces_));
  }
  set_least_pieces();
  shares_ = shares_by_weight(request, weights ? *weights : weights_with_pieces(speeds));
  Items begin = 0;
  for (std::uint32_t i = 0; i < shares_.size(); ++i) {
    ledger_.assign({i}, {begin, begin + shares_[i]});
    begin += shares_[i];
  }
}

// Returns weights with which all end together: items / rate + pieces * overhead is equal for all.
// The overhead counts as at most half of the end.
std::vector<double> QueueSource::weights_with_pieces(std::vector<double> rates) const {
  if (!observed_.timed()) return rates;
  const double all = std::accumulate(rates.begin(), rates.end(), 0.0);
  std::vector<double> costs(rates.size(), 0);  // seconds
  double paid = 0;                             // items
  for (std::uint32_t i = 0; i < rates.size(); ++i) {
    if (!(rates[i] > 0)) continue;
    // Pieces of least size in a fair share.
    const double least = items_ * rates[i] / all / least_[i];
    const double pieces =
        least <= kShrink ? least : kShrink + std::log(least / kShrink) / -std::log1p(-1 / kShrink);
    costs[i] = observed_.overhead({i}) * pieces;
    paid += costs[i] * rates[i];
  }
  const double end = (items_ + paid) / all;
  for (std::size_t i = 0; i < rates.size(); ++i) rates[i] *= std::max(end - costs[i], end / 2);
  return rates;
}

void QueueSource::set_least_pieces() {
  std::vector<double> rates;
  for (std::uint32_t i = 0; i < ledger_.size(); ++i)
    rates.push_back(ledger_.is_able({i}) ? observed_.rate({i}) : 0);
  const double all = std::accumulate(rates.begin(), rates.end(), 0.0),
               average = average_rate(rates);
  const double share = launch_share(rates);
  const double time = all > 0 ? items_ / all : 0;  // time of a perfect split
  least_.resize(ledger_.size());
  for (std::uint32_t i = 0; i < least_.size(); ++i) {
    const double most = i < most_.size() ? most_[i] : most_pieces_;
    const double overhead = average > 0 ? observed_.overhead({i}) * rates[i] / average : 0;
    const double pieces = observed_.timed() ? pieces_worth(overhead, time, share, most) : most;
    least_[i] = observed_.rate({i}) * time / pieces;
  }
}

Answer QueueSource::next(DeviceIndex device) {
  balance(device);
  observed_.issuing(ledger_, device);
  const Items own = own_piece(device);
  if (keeps_in_reach(device, own)) return Wait{};
  if (own > 0 && !ends_late(device, own)) {
    if (const auto slice = ledger_.issue_own(device, own)) return issued(*slice);
  }
  const Items piece = shared_piece(ledger_, device);
  if (!ledger_.holds_back(device, piece)) {
    if (const auto slice = ledger_.issue_shared(device, piece)) return issued(*slice);
  }
  return own > 0 && ledger_.flights(device) > 0 ? Wait{} : ledger_.nothing_now();
}

Answer QueueSource::issued(const Slice& slice) {
  common_end_.reset();
  return slice;
}

void QueueSource::finished(DeviceIndex device, const Slice& slice, Nanos busy) {
  const bool first = !observed_.timed();
  ledger_.finished(device, slice);
  observed_.finished(device, slice, busy);
  common_end_.reset();
  if (first) set_least_pieces();  // only now is the cost of a launch known relative to the rates
}

void QueueSource::rejected(DeviceIndex device, const Slice& slice, Items at_most) {
  ledger_.rejected(device, slice, at_most);
  common_end_.reset();
}

void QueueSource::lost(DeviceIndex device, std::span<const Slice> not_on_host) {
  ledger_.lost(device, not_on_host);
  common_end_.reset();
}

void QueueSource::joined(DeviceIndex device) {
  ledger_.joined(device);
  observed_.joined(device);
  common_end_.reset();
  if (device.value < move_costs_.size()) return;
  move_costs_.push_back(*std::max_element(move_costs_.begin(), move_costs_.end()));
  set_least_pieces();
}

double QueueSource::queue_end(DeviceIndex device) const {
  const Items own = ledger_.owned(device);
  const double end = observed_.end(ledger_, device);
  if (own == 0) return end;
  return end + static_cast<double>(own) / observed_.rate(device) +
         (observed_.timed() ? observed_.overhead(device) : 0);
}

void QueueSource::steal_if_idle(DeviceIndex thief) {
  if (ledger_.owned(thief) > 0 || ledger_.shared() > 0 || !ledger_.is_able(thief)) return;
  // The victim is the device with the largest estimated remaining time, not the largest number of
  // items: a slow device with few items needs help most.
  DeviceIndex victim = thief;
  double last = 0;
  for (std::uint32_t i = 0; i < ledger_.size(); ++i) {
    if (ledger_.owned({i}) == 0) continue;
    const double end = queue_end({i});
    if (victim != thief && end <= last) continue;
    victim = {i};
    last = end;
  }
  if (victim != thief) steal(thief, victim, last);
}

// Moves the amount that lets both end together: r_thief / (r_thief + r_victim) of the victim's
// remaining items if both are free now, less what the thief still has in flight and the launch it
// pays for.
void QueueSource::steal(DeviceIndex thief, DeviceIndex victim, double before) {
  const double mine = observed_.rate(thief), theirs = observed_.rate(victim),
               cost = move_cost(thief);
  const double start = observed_.end(ledger_, thief) + cost;
  const double granule = static_cast<double>(ledger_.granularity());
  const double items =
      std::round((before - start) * mine * theirs / (mine + theirs) / granule) * granule;
  if (!(items >= granule)) return;
  const double after = std::max(start + items / mine, before - items / theirs);
  if (before - after > std::max(cost, before * 1e-9))
    ledger_.move_tail(victim, thief, static_cast<Items>(items));
}

Items QueueSource::own_piece(DeviceIndex device) const {
  const auto left = static_cast<double>(ledger_.owned(device));
  if (left == 0) return 0;
  const double size = std::max(left / kShrink, least_[device.value]);
  // Equal pieces: a small remainder at the end would cost a launch.
  const double pieces = std::max(1.0, std::round(left / size));
  const Items items =
      round_up(static_cast<Items>(std::ceil(left / pieces - 1e-6)), ledger_.granularity());
  return items <= ledger_.piece(device) ? items
                                        : even_piece(ledger_, device, ledger_.owned(device));
}

// Work in flight cannot be moved any more, even if the device turns out to be slower. Without
// transfers a second slice in flight only saves the gap between two, 20 us on an H200. So pieces
// that are long relative to the gap are issued one at a time: trees of 2^30 leaves on two H200 then
// took 1.3 % longer than equal shares instead of 0.9, but 74 ms instead of 83 when one device
// slowed down to half speed in mid-run. CPUs are excluded, as their gap costs more than that gains.
bool QueueSource::keeps_in_reach(DeviceIndex device, Items piece) const {
  const bool singly = device.value < singly_.size() && singly_[device.value];
  return singly && ledger_.flights(device) > 0 && observed_.timed() &&
         static_cast<double>(piece) / observed_.rate(device) > kLong;
}

// Other devices cannot take over a second slice in flight. So near the end a late device has only
// one: its next would end after the time at which all devices together could have finished
// everything, by more than a quarter of a piece.
bool QueueSource::ends_late(DeviceIndex device, Items piece) {
  if (ledger_.flights(device) == 0 || ledger_.able() < 2) return false;
  if (!common_end_) {
    double left = static_cast<double>(ledger_.shared());
    for (std::uint32_t i = 0; i < ledger_.size(); ++i)
      left += static_cast<double>(ledger_.owned({i}));
    common_end_ = observed_.common_end(ledger_, left).end;
  }
  const double takes = static_cast<double>(piece) / observed_.rate(device);
  return observed_.end(ledger_, device) + takes > *common_end_ + takes / 4 + move_cost(device);
}

}  // namespace mgpu
