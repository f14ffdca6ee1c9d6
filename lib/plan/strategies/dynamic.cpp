// dynamic: one queue of equal chunks; a free device takes the next one. `guided` has chunks that
// shrink.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include "lib/base/error.hpp"
#include "lib/plan/cost_model.hpp"
#include "lib/plan/ledger.hpp"
#include "lib/plan/observed_rates.hpp"
#include "lib/plan/strategy.hpp"
#include "lib/plan/tree_cuts.hpp"

namespace mgpu {
namespace {

constexpr double kMostChunks = 16;  // per device, by default
// Launches may cost 5 % if one device is a tenth faster, as equal chunks end unevenly.
constexpr double kPerDifference = 0.5;
constexpr double kMostLaunches = 0.05;
constexpr int kCandidates = 8;  // numbers of chunks that are compared

// Returns the seconds after which devices with `per_second` turns, one chunk each, have finished
// `chunks` chunks: the least time in which enough whole turns end, and each device has ended its
// first, as every device takes one.
double time_of_chunks(double chunks, const std::vector<double>& per_second) {
  const double all = std::accumulate(per_second.begin(), per_second.end(), 0.0);
  const double first = 1 / *std::min_element(per_second.begin(), per_second.end());
  double low = std::max(first, chunks / all) * (1 - 1e-9);
  double high = std::max(low, (chunks + static_cast<double>(per_second.size())) / all);
  for (int round = 0; round < 20; ++round) {
    const double middle = (low + high) / 2;
    Items done = 0;
    for (const double turns : per_second) done += static_cast<Items>(middle * turns);
    (static_cast<double>(done) >= chunks ? high : low) = middle;
  }
  return high;
}

// Returns the chunks per device that are worth their launches, which may cost `share` of `time`,
// the seconds of a perfect split.
double chunks_worth(const PlanRequest& request, const Speeds& speeds, double time, double share) {
  double all = 0, most = kMostChunks, overhead = 0;
  for (std::size_t i = 0; i < speeds.rates.size(); ++i) {
    const double rate = speeds.rates[i];
    if (!(rate > 0)) continue;
    all += rate;
    overhead += rate * seconds(slice_overhead(request, request.devices[i]));
    most = std::min(most, pieces_that_fill(request.devices[i], rate * time, kMostChunks));
  }
  return pieces_worth(overhead / all, time, share, most);
}

// Returns the granules in a chunk: for the most chunks that are worth their launches, or down to
// half as many if those finish more evenly. Fewer chunks cost more if a device is slower than
// expected; this cost is assumed to be proportional to the size of a chunk, and equal to that of
// the launches for the most chunks.
double worthwhile_chunk(const PlanRequest& request, double granules, double devices) {
  const Speeds speeds = estimated_speeds(request);
  const double all = std::accumulate(speeds.rates.begin(), speeds.rates.end(), 0.0);
  double best = granules / (kMostChunks * devices);
  if (!speeds.timed || !(all > 0)) return best;
  const auto items = static_cast<double>(request.items);
  const double time = items / all,
               share = launch_share(speeds.rates, kPerDifference, kMostLaunches);
  const double most = devices * chunks_worth(request, speeds, time, share);
  double least = std::numeric_limits<double>::infinity();
  std::vector<double> per_second;
  for (int candidate = 0; candidate < kCandidates; ++candidate) {
    auto chunk = static_cast<Items>(
        std::round(items / std::round(most * (1 - 0.5 * candidate / kCandidates))));
    if (request.merge.tree)
      // The ledger cuts chunks like this.
      chunk = even_end(0, chunk, chunk + chunk / 3, request.granularity);
    if (chunk == 0) continue;
    per_second.clear();
    for (std::size_t i = 0; i < speeds.rates.size(); ++i) {
      if (!(speeds.rates[i] > 0)) continue;
      const double turn = static_cast<double>(chunk) / speeds.rates[i] +
                          seconds(slice_overhead(request, request.devices[i]));
      per_second.push_back(1 / turn);
    }
    const double chunks = std::max(1.0, std::round(items / static_cast<double>(chunk)));
    const double cost = time_of_chunks(chunks, per_second) + share * time * most / chunks;
    if (cost > least * (1 - 1e-5))
      continue;  // of equal costs the first is taken, which has the most chunks
    least = cost;
    best = static_cast<double>(chunk) / static_cast<double>(request.granularity);
  }
  return best;
}

class DynamicSource final : public SliceSource {
 public:
  // `chunks` per device; 0: worthwhile_chunk decides.
  DynamicSource(const PlanRequest& request, double chunks)
      : ledger_(request), observed_(request), several_(ledger_.able() > 1) {
    const auto granules = static_cast<double>(ceil_div(request.items, request.granularity));
    const auto devices = static_cast<double>(std::max<std::size_t>(ledger_.able(), 1));
    chunk_ = std::max(1.0, chunks > 0 ? granules / (chunks * devices)
                                      : worthwhile_chunk(request, granules, devices));
  }

  Answer next(DeviceIndex device) override {
    const Items piece = piece_for(device);
    observed_.issuing(ledger_, device);
    if (!ledger_.holds_back(device, piece) && !would_finish_late(device, piece)) {
      if (const auto slice = ledger_.issue_shared(device, piece)) return *slice;
    }
    return ledger_.nothing_now();
  }
  void finished(DeviceIndex device, const Slice& slice, Nanos busy) override {
    rates_.reset();
    ledger_.finished(device, slice);
    if (several_) observed_.finished(device, slice, busy);
  }
  bool uses_times() const override { return several_; }
  void rejected(DeviceIndex device, const Slice& slice, Items at_most) override {
    rates_.reset();
    ledger_.rejected(device, slice, at_most);
  }
  void lost(DeviceIndex device, std::span<const Slice> not_on_host) override {
    rates_.reset();
    ledger_.lost(device, not_on_host);
  }
  void joined(DeviceIndex device) override {
    rates_.reset();
    ledger_.joined(device);
    observed_.joined(device);
  }

 private:
  // Returns the items of a chunk: the remaining work is cut into equal chunks of whole granules, so
  // that the last is not a small remainder. The number of chunks is rounded to the nearest: rounded
  // up, granules that do not divide would make one chunk more than equal devices take together.
  Items piece_for(DeviceIndex device) const {
    const double left = static_cast<double>(ceil_div(ledger_.shared(), ledger_.granularity()));
    const double chunks = std::max(1.0, std::round(left / chunk_));
    const auto granules = static_cast<Items>(std::max(1.0, std::round(left / chunks)));
    return std::min(granules * ledger_.granularity(), ledger_.piece(device));
  }

  // Returns whether, near the end and with known speeds, other devices should take the chunk.
  // holds_back() counts chunks; this knows that a device ten times slower should stop sooner. A
  // second slice is late if all devices together could have finished all remaining work before its
  // end. A first slice is late if the other devices that are at work will have finished it, in
  // whole chunks. A device that waits here is asked again when another device finishes a slice.
  bool would_finish_late(DeviceIndex device, Items piece) const {
    const bool second = ledger_.flights(device) > 0;
    if (!observed_.timed() || (!second && !observed_.has_shown(device)))
      return false;  // an estimate alone never keeps a device idle
    const double chunk = static_cast<double>(piece),
                 held = static_cast<double>(ledger_.in_flight(device));
    const double takes = observed_.overhead(device) + (held + chunk) / observed_.rate(device);
    // With thousands of devices, a loop over all for each takes longest. It is skipped if the
    // device would not be late even if all others had the rate of the fastest, and ends once the
    // answer is known.
    const double left = static_cast<double>(second ? ledger_.unfinished() : ledger_.shared());
    if (takes * static_cast<double>(ledger_.size()) * observed_.at_most() * (1 + 1e-6) < left)
      return false;
    if (second) return takes > left * (1 + 1e-9) / rates();
    double others = 0;  // in chunks
    bool others_at_work = false;
    for (std::uint32_t i = 0; i < ledger_.size(); ++i) {
      if (!ledger_.is_able({i}) || i == device.value || ledger_.flights({i}) == 0) continue;
      const double free = observed_.now() + takes - observed_.end(ledger_, {i});  // in seconds
      others += std::max(
          0.0,
          std::floor(free / (observed_.overhead({i}) + chunk / observed_.rate({i})) * (1 + 1e-9)));
      others_at_work |= observed_.has_shown({i});
      if (others_at_work && others * chunk >= left) return true;
    }
    return false;
  }

  double rates() const {  // items/s
    if (rates_) return *rates_;
    double rates = 0;
    for (std::uint32_t i = 0; i < ledger_.size(); ++i)
      if (ledger_.is_able({i})) rates += observed_.rate({i});
    rates_ = rates;
    return rates;
  }

  Ledger ledger_;
  ObservedRates observed_;
  mutable std::optional<double> rates_;  // valid until something changes
  double chunk_ = 1;                     // granules in a chunk, before rounding
  // Whether there are several devices; otherwise speeds do not matter.
  bool several_;
};

class Dynamic final : public Strategy {
 public:
  explicit Dynamic(double chunks) : chunks_(chunks) {}
  std::unique_ptr<SliceSource> begin(const PlanRequest& request, const History&) const override {
    return std::make_unique<DynamicSource>(request, chunks_);
  }

 private:
  double chunks_;
};

}  // namespace

StrategyInfo dynamic_strategy() {
  return {"dynamic",
          "one queue of chunks, taken by the next free device",
          {{"chunks", 0, 0, 4096,
            "chunks per device; 0: 16, or fewer if launches would cost over 2 to 5 %, or if fewer "
            "finish more evenly",
            true}},
          [](const StrategyParams& params) -> std::unique_ptr<Strategy> {
            return std::make_unique<Dynamic>(params.at("chunks"));
          }};
}

}  // namespace mgpu
