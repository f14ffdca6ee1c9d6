// dynamic: one queue of equal chunks; whoever is free takes the next. Chunks that shrink are another strategy's matter.
#include <algorithm>
#include <cmath>

#include "lib/base/error.hpp"
#include "lib/plan/cost_model.hpp"
#include "lib/plan/ledger.hpp"
#include "lib/plan/strategy.hpp"

namespace mgpu {
namespace {

constexpr double kMostChunks = 16;  // per device, when nobody asks for another number
constexpr double kPerDifference =
    0.5;  // launches cost 5 % where one is a tenth faster: chunks are all alike, so somebody ends late
constexpr double kMostLaunches = 0.05;

// Chunks per device that are worth their launches.
double worthwhile_chunks(const PlanRequest& request) {
  const Speeds speeds = estimated_speeds(request);
  if (!speeds.timed) return kMostChunks;
  double all = 0, most = kMostChunks, overhead = 0;
  for (std::size_t i = 0; i < speeds.rates.size(); ++i) {
    const double rate = speeds.rates[i];
    if (!(rate > 0)) continue;
    all += rate;
    overhead += rate * seconds(slice_overhead(request, request.devices[i]));
  }
  if (!(all > 0)) return kMostChunks;
  const double time = static_cast<double>(request.items) / all;  // of a perfect split
  for (std::size_t i = 0; i < speeds.rates.size(); ++i) {
    if (speeds.rates[i] > 0) most = std::min(most, pieces_that_fill(request.devices[i], speeds.rates[i] * time, kMostChunks));
  }
  return pieces_worth(overhead / all, time, launch_share(speeds.rates, kPerDifference, kMostLaunches), most);
}

class DynamicSource final : public SliceSource {
 public:
  DynamicSource(const PlanRequest& request, double chunks_per_device) : ledger_(request) {
    const double granules = static_cast<double>(ceil_div(request.items, request.granularity));
    chunk_ = std::max(1.0, granules / (chunks_per_device * static_cast<double>(std::max<std::size_t>(ledger_.able(), 1))));
    for (const DeviceEstimate& estimate : request.devices) speeds_.push_back({pipelined_rate(request, estimate), 0, 0});
  }

  Answer next(DeviceIndex device) override {
    const Items piece = piece_for(device);
    if (!ledger_.holds_back(device, piece) && !would_finish_late(device, piece)) {
      if (const auto slice = ledger_.issue_shared(device, piece)) return *slice;
    }
    return ledger_.nothing_now();
  }
  void finished(DeviceIndex device, const Slice& slice, Nanos busy) override {
    ledger_.finished(device, slice);
    speeds_[device.value].items += static_cast<double>(slice.size());
    speeds_[device.value].busy += seconds(busy);
  }
  void rejected(DeviceIndex device, const Slice& slice, Items at_most) override { ledger_.rejected(device, slice, at_most); }
  void lost(DeviceIndex device, std::span<const Slice> not_on_host) override { ledger_.lost(device, not_on_host); }
  void joined(DeviceIndex device) override {
    ledger_.joined(device);
    speeds_.resize(ledger_.size());
  }

 private:
  struct Speed {
    double estimate = 0, items = 0, busy = 0;
    bool seen() const { return items > 0 && busy > 0; }
    double rate() const { return seen() ? items / busy : estimate; }  // items/s; 0: not known
  };

  // What is left in chunks all alike, so that the last is no crumb: whole granules nearest to left / number of chunks. The nearest
  // number of chunks, too: rounded up, granules that do not divide would make one chunk more than equal devices take together.
  Items piece_for(DeviceIndex device) const {
    const double left = static_cast<double>(ceil_div(ledger_.shared(), ledger_.granularity()));
    const double chunks = std::max(1.0, std::round(left / chunk_));
    const auto granules = static_cast<Items>(std::max(1.0, std::round(left / chunks)));
    return std::min(granules * ledger_.granularity(), ledger_.piece(device));
  }

  // Near the end, where speeds are known, others had better take it. holds_back() counts chunks; this knows that a device ten times
  // slower should stop sooner. A second slice: when all devices together could have finished everything that is left before. A
  // first one: when the others, of whom one is at work, will have, even if they have only begun what they hold. Whoever waits here
  // is asked again when another device finishes a slice.
  bool would_finish_late(DeviceIndex device, Items piece) const {
    const Items held = ledger_.in_flight(device);
    if (held == 0 && !speeds_[device.value].seen()) return false;  // no device stands still because of an estimate
    const double takes = static_cast<double>(held + piece) / speeds_[device.value].rate(), chunk = static_cast<double>(piece);
    double all = 0, others = 0;  // items/s; items in whole chunks
    bool others_at_work = false;
    for (std::uint32_t i = 0; i < ledger_.size(); ++i) {
      if (!ledger_.is_able({i})) continue;
      const double rate = speeds_[i].rate();
      if (!(rate > 0)) return false;
      all += rate;
      if (i == device.value) continue;
      others += chunk * std::max(0.0, std::floor((takes * rate - static_cast<double>(ledger_.in_flight({i}))) / chunk));
      others_at_work |= speeds_[i].seen() && ledger_.flights({i}) > 0;
    }
    if (held > 0) return takes > static_cast<double>(ledger_.unfinished()) * (1 + 1e-9) / all;
    return others_at_work && others >= static_cast<double>(ledger_.shared());
  }

  Ledger ledger_;
  double chunk_ = 1;  // granules in a chunk, before rounding
  std::vector<Speed> speeds_;
};

class Dynamic final : public Strategy {
 public:
  explicit Dynamic(double chunks) : chunks_(chunks) {}
  std::unique_ptr<SliceSource> begin(const PlanRequest& request, const History&) const override {
    return std::make_unique<DynamicSource>(request, chunks_ > 0 ? chunks_ : worthwhile_chunks(request));
  }

 private:
  double chunks_;
};

}  // namespace

StrategyInfo dynamic_strategy() {
  return {"dynamic",
          "one queue of chunks, taken by whoever is free",
          {{"chunks", 0, 0, 4096, "chunks per device; 0: 16, or fewer where launches would cost over 2 to 5 %", true}},
          [](const StrategyParams& params) -> std::unique_ptr<Strategy> { return std::make_unique<Dynamic>(params.at("chunks")); }};
}

}  // namespace mgpu
