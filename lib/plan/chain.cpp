#include "lib/plan/chain.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "lib/base/error.hpp"
#include "lib/plan/ledger.hpp"
#include "lib/plan/rounds.hpp"

namespace mgpu {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

// Possible parts of the chain, with the time that each device takes for each of them: the input of
// the dynamic programming.
class Parts {
 public:
  explicit Parts(const PlanRequest& request)
      : request_(request), stages_(static_cast<std::size_t>(request.items)) {
    const std::vector<bool> takes_part = taking_part(request);
    for (std::size_t i = 0; i < takes_part.size(); ++i)
      if (takes_part[i] && request.devices[i].fits > 0) devices_.push_back(i);
    for (std::size_t k = 0; k < devices_.size(); ++k) {
      const auto next = k + 1 < devices_.size() ? std::optional(devices_[k + 1]) : std::nullopt;
      for (std::size_t begin = 0; begin < stages_; ++begin) {
        for (std::size_t end = 1; end <= stages_; ++end)
          times_.push_back(time(devices_[k], begin, end, next));
      }
    }
  }

  std::size_t stages() const { return stages_; }
  std::size_t devices() const { return devices_.size(); }
  std::size_t device(std::size_t k) const { return devices_[k]; }
  double of(std::size_t k, std::size_t begin, std::size_t end) const {
    return times_[(k * stages_ + begin) * stages_ + end - 1];
  }
  std::vector<double> all() const {
    std::vector<double> all;
    std::copy_if(times_.begin(), times_.end(), std::back_inserter(all),
                 [](double time) { return time < never; });
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }

 private:
  double time(std::size_t device, std::size_t begin, std::size_t end,
              std::optional<std::size_t> next) const {
    if (begin >= end || end - begin > request_.devices[device].fits || (!next && end < stages_))
      return never;
    return seconds_of_part(request_, device, {begin, end}, end < stages_ ? next : std::nullopt);
  }

  const PlanRequest& request_;
  std::size_t stages_;
  std::vector<std::size_t> devices_;  // those that may have stages
  std::vector<double> times_;
};

struct Partition {
  std::vector<std::size_t> ends;  // by device of Parts
  double sum = never, longest = 0;
};

// Returns the partition of the least sum in which no device takes longer than `most`.
Partition least_sum(const Parts& parts, double most) {
  const std::size_t stages = parts.stages(), devices = parts.devices();
  std::vector<std::vector<double>> sum(devices + 1, std::vector<double>(stages + 1, never));
  std::vector<std::vector<std::size_t>> from(devices + 1, std::vector<std::size_t>(stages + 1, 0));
  sum[0][0] = 0;
  for (std::size_t k = 0; k < devices; ++k) {
    for (std::size_t end = 0; end <= stages; ++end) {
      sum[k + 1][end] = sum[k][end];  // the device has no stage
      from[k + 1][end] = end;
      for (std::size_t begin = 0; begin < end; ++begin) {
        const double time = parts.of(k, begin, end);
        if (time > most || !(sum[k][begin] + time < sum[k + 1][end])) continue;
        sum[k + 1][end] = sum[k][begin] + time;
        from[k + 1][end] = begin;
      }
    }
  }
  Partition found{std::vector<std::size_t>(devices), sum[devices][stages], 0};
  if (!(found.sum < never)) return found;
  std::size_t end = stages;
  for (std::size_t k = devices; k-- > 0;) {
    const std::size_t begin = from[k + 1][end];
    if (begin < end) found.longest = std::max(found.longest, parts.of(k, begin, end));
    found.ends[k] = end;
    end = begin;
  }
  return found;
}

// Returns the next device that has a stage.
std::optional<std::size_t> next_of(const std::vector<Items>& shares, std::size_t device) {
  for (std::size_t i = device + 1; i < shares.size(); ++i)
    if (shares[i] > 0) return i;
  return std::nullopt;
}

}  // namespace

double seconds_of_part(const PlanRequest& request, std::size_t device, const Slice& part,
                       std::optional<std::size_t> next) {
  const ChainEstimate& chain = *request.chain;
  const StageTimes& times = chain.devices[device];
  const auto keeps = times.keeps.begin() + static_cast<std::ptrdiff_t>(part.begin);
  double sum =
      std::accumulate(keeps, times.keeps.begin() + static_cast<std::ptrdiff_t>(part.end), 0.0);
  const std::size_t last = part.end - 1;
  if (next && !times.hands_over.empty()) sum += times.hands_over[last] - times.keeps[last];
  if (next && !request.exchange.links.empty()) {
    const PeerLink& link = request.exchange.links.of(device, *next);
    sum += seconds(link.latency);
    if (times.hands_over.empty() && link.bytes_per_s > 0)
      sum += static_cast<double>(chain.bytes[last]) / link.bytes_per_s;
  }
  if (!request.mode.transfers()) return sum;
  const DeviceEstimate& estimate = request.devices[device];
  const double batch = static_cast<double>(request.items) / static_cast<double>(request.rounds);
  if (part.begin == 0 && estimate.up > 0)
    sum = std::max(sum, request.cost.in_bytes * batch / estimate.up);
  if (part.end == request.items && estimate.down > 0)
    sum = std::max(sum, request.cost.out_bytes * batch / estimate.down);
  return sum;
}

double seconds_of_batches(std::span<const double> each, std::uint64_t batches) {
  if (each.empty() || batches == 0) return 0;
  return std::accumulate(each.begin(), each.end(), 0.0) +
         static_cast<double>(batches - 1) * *std::max_element(each.begin(), each.end());
}

std::vector<Items> balanced_chain(const PlanRequest& request) {
  const Parts parts(request);
  // Number of batches after the first.
  const double later = static_cast<double>(std::max(request.rounds, 1u) - 1);
  Partition best;
  double time = never;
  for (const double most : parts.all()) {
    if (later * most >= time) break;  // every sum is above 0
    Partition found = least_sum(parts, most);
    if (!(found.sum + later * found.longest < time)) continue;
    time = found.sum + later * found.longest;
    best = std::move(found);
  }
  if (!(time < never))
    throw Error(ErrorKind::unsupported, "no device of the set can take the stages");
  std::vector<Items> shares(request.devices.size(), 0);
  std::size_t begin = 0;
  for (std::size_t k = 0; k < parts.devices(); ++k) {
    shares[parts.device(k)] = best.ends[k] - begin;
    begin = best.ends[k];
  }
  return shares;
}

Simulation simulate_chain(const PlanRequest& request, const std::vector<Items>& shares) {
  const std::vector<Slice> parts = ranges_of(shares);
  Simulation result;
  result.devices.resize(request.devices.size());
  std::vector<double> each;
  Nanos fixed{};
  for (std::size_t i = 0; i < shares.size(); ++i) {
    if (shares[i] == 0) continue;
    each.push_back(seconds_of_part(request, i, parts[i], next_of(shares, i)));
    SimulatedDevice& device = result.devices[i];
    device.items = shares[i];
    device.slices = 1;
    device.busy = from_seconds(each.back() * request.rounds);
    // No device waits for a later one.
    device.finish = from_seconds(seconds_of_batches(each, request.rounds));
    fixed = std::max(fixed, request.devices[i].fixed);
  }
  result.makespan = from_seconds(seconds_of_batches(each, request.rounds)) + fixed;
  for (std::size_t i = 0; i < shares.size(); ++i)
    if (shares[i] > 0) result.devices[i].finish += fixed;
  return result;
}

}  // namespace mgpu
