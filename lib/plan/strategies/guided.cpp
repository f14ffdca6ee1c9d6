// guided: one queue of chunks that shrink as the work does, by one of the published rules
// (lib/plan/self_scheduling.hpp). Two rules are added: no chunk is so small that its launch costs
// more than it gains, and no device is given a chunk that it would finish last.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "lib/plan/cost_model.hpp"
#include "lib/plan/even_pieces.hpp"
#include "lib/plan/ledger.hpp"
#include "lib/plan/observed_rates.hpp"
#include "lib/plan/self_scheduling.hpp"
#include "lib/plan/strategy.hpp"

namespace mgpu {
namespace {

constexpr double kMostGuidedPieces = 4096;

struct GuidedOptions {
  ChunkRule rule = ChunkRule::hguided;
  double k = 2;
  Items least = 0;  // in granules; 0: from the overhead of a slice
};

// Returns the least sensible chunk of each device, in granules.
std::vector<Items> least_chunks(const PlanRequest& request, const GuidedOptions& options) {
  std::vector<Items> least(request.devices.size(), std::max<Items>(options.least, 1));
  const Speeds speeds = estimated_speeds(request);
  if (options.least > 0 || !speeds.timed) return least;
  const double all = std::accumulate(speeds.rates.begin(), speeds.rates.end(), 0.0),
               average = average_rate(speeds.rates);
  const double time = static_cast<double>(request.items) / all, share = launch_share(speeds.rates);
  for (std::size_t i = 0; i < least.size(); ++i) {
    const double items = speeds.rates[i] * time,
                 most = pieces_that_fill(request.devices[i], items, kMostGuidedPieces);
    const double overhead =
        seconds(slice_overhead(request, request.devices[i])) * speeds.rates[i] / average;
    const double pieces = pieces_worth(overhead, time, share, most);
    least[i] = std::max<Items>(
        static_cast<Items>(ceil_of(items / pieces / static_cast<double>(request.granularity))), 1);
  }
  return least;
}

class GuidedSource final : public SliceSource {
 public:
  GuidedSource(const PlanRequest& request, const GuidedOptions& options)
      : ledger_(request),
        observed_(request),
        least_(least_chunks(request, options)),
        sizes_(options.rule, options.k, granules_left(), ledger_.able(),
               *std::min_element(least_.begin(), least_.end())) {
    for (std::uint32_t i = 0; i < least_.size(); ++i)
      launch_matters_ |= options.least == 0 && observed_.timed() && observed_.overhead({i}) > 0;
  }

  Answer next(DeviceIndex device) override {
    if (ledger_.shared() == 0 || !ledger_.is_able(device)) return ledger_.nothing_now();
    const Items piece = at_once(device, chunk_for(device));
    if (piece == 0) return ledger_.nothing_now();
    observed_.issuing(ledger_, device);
    const auto slice = ledger_.issue_shared(device, piece);
    if (!slice) return ledger_.nothing_now();
    time_estimate_.reset();
    sizes_.taken(granules_left());
    return *slice;
  }
  void finished(DeviceIndex device, const Slice& slice, Nanos busy) override {
    ledger_.finished(device, slice);
    observed_.finished(device, slice, busy);
    time_estimate_.reset();
  }
  void rejected(DeviceIndex device, const Slice& slice, Items at_most) override {
    ledger_.rejected(device, slice, at_most);
    time_estimate_.reset();
    sizes_.restart(granules_left(), ledger_.able());
  }
  void lost(DeviceIndex device, std::span<const Slice> not_on_host) override {
    ledger_.lost(device, not_on_host);
    time_estimate_.reset();
    sizes_.restart(granules_left(), ledger_.able());
  }
  void joined(DeviceIndex device) override {
    ledger_.joined(device);
    observed_.joined(device);
    time_estimate_.reset();
    least_.resize(ledger_.size(), least_.front());
    sizes_.restart(granules_left(), ledger_.able());
  }

 private:
  Items granules_left() const { return ceil_div(ledger_.shared(), ledger_.granularity()); }

  // Returns the items of a chunk, at most what the device takes at once.
  Items at_once(DeviceIndex device, Items granules) const {
    const Items items = granules * ledger_.granularity();
    return pieces_of(ledger_, device, items) == 1 ? items : std::min(items, ledger_.piece(device));
  }

  // Values that apply to all devices until something changes: of 1,024 devices most ask and are
  // refused.
  struct TimeEstimate {
    double rates = 0;  // total items/s of the able devices
    WaterLevel level;  // level for the remaining work
  };
  const TimeEstimate& time_estimate() {
    if (time_estimate_) return *time_estimate_;
    time_estimate_ =
        TimeEstimate{0, observed_.common_end(ledger_, static_cast<double>(ledger_.shared()))};
    for (std::uint32_t i = 0; i < ledger_.size(); ++i) {
      if (ledger_.is_able({i})) time_estimate_->rates += observed_.rate({i});
    }
    return *time_estimate_;
  }

  // Returns granules; 0: other devices should take the rest. A device is refused only while
  // something is in flight, whose end makes all devices ask again, so that none waits forever.
  Items chunk_for(DeviceIndex device) {
    const Items left = granules_left(), least = least_[device.value];
    const auto& [rates, level] = time_estimate();
    const Items size = sizes_.next(left, observed_.rate(device) / rates, least);
    const double items = static_cast<double>(at_once(device, size));
    if (!launch_matters_) {
      const bool second = ledger_.flights(device) > 0;
      const bool late =
          observed_.end(ledger_, device) + items / observed_.rate(device) > level.end * (1 + 1e-9);
      return second && (late || ledger_.holds_back(device, static_cast<Items>(items))) ? 0 : size;
    }
    // The chunk is at most what lets the device end together with all others, or everything if only
    // a small remainder would be left. Less than a launch's worth of work is not worth a chunk.
    // Differences below a launch are ignored, as all devices will pay for some.
    const double granule = static_cast<double>(ledger_.granularity());
    const double most = std::round(level.amounts[device.value] / granule);
    const double launch = observed_.overhead(device) * observed_.rate(device) / granule;
    if (most < std::max(1.0, launch))
      return is_better_left(device, level) ? 0 : std::max<Items>(static_cast<Items>(most), 1);
    const double rule = static_cast<double>(size);
    Items chunk = size;
    if (std::abs(most - rule) > launch && most < rule + 0.75 * static_cast<double>(least))
      chunk = static_cast<Items>(most);
    return static_cast<double>(left - std::min(chunk, left)) <= launch ? left : chunk;
  }

  // Returns whether to refuse a device for which hardly any work would be right. A busy device is
  // refused; an idle one is refused only if a busy one would finish everything that is left before
  // it.
  bool is_better_left(DeviceIndex device, const WaterLevel& level) const {
    if (!ledger_.any_in_flight()) return false;
    if (ledger_.flights(device) > 0 || !(level.amounts[device.value] > 0)) return true;
    const double granule = static_cast<double>(ledger_.granularity());
    const double end =
        observed_.now() + observed_.overhead(device) + granule / observed_.rate(device);
    for (std::uint32_t i = 0; i < ledger_.size(); ++i) {
      if (ledger_.flights({i}) == 0 || !ledger_.is_able({i})) continue;
      const double takes =
          observed_.overhead({i}) + static_cast<double>(ledger_.shared()) / observed_.rate({i});
      if (observed_.end(ledger_, {i}) + takes < end) return true;
    }
    return false;
  }

  Ledger ledger_;
  ObservedRates observed_;
  std::vector<Items> least_;
  ChunkSizes sizes_;
  std::optional<TimeEstimate> time_estimate_;
  bool launch_matters_ = false;
};

class Guided final : public Strategy {
 public:
  explicit Guided(const GuidedOptions& options) : options_(options) {}
  std::unique_ptr<SliceSource> begin(const PlanRequest& request, const History&) const override {
    return std::make_unique<GuidedSource>(request, options_);
  }

 private:
  GuidedOptions options_;
};

std::unique_ptr<Strategy> make_guided(const StrategyParams& params) {
  constexpr ChunkRule rules[] = {ChunkRule::hguided, ChunkRule::factoring, ChunkRule::trapezoid,
                                 ChunkRule::weighted_factoring};
  return std::make_unique<Guided>(
      GuidedOptions{rules[static_cast<std::size_t>(params.at("variant"))], params.at("K"),
                    static_cast<Items>(params.at("min"))});
}

}  // namespace

StrategyInfo guided_strategy() {
  return {"guided",
          "one queue of chunks that shrink as the work does",
          {named_param("variant", {"hguided", "factoring", "trapezoid", "weighted-factoring"},
                       "the rule for the next chunk"),
           // 2: what all rules were published with; a round over all devices hands out about half
           // of what is left.
           {"K", 2, 1, 4096,
            "each round over all devices hands out 1/K of what is left (the HGuided papers' k n)"},
           {"min", 0, 0, 1e9,
            "smallest chunk, in granules (what slices are multiples of); 0: as large as keeps "
            "launches under 2 to 4 % of the time",
            true}},
          make_guided};
}

}  // namespace mgpu
