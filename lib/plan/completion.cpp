// Implements the closed form, and the search for the number of devices.
#include "lib/plan/completion.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "lib/plan/cost_model.hpp"
#include "lib/plan/even_pieces.hpp"
#include "lib/plan/exchange.hpp"
#include "lib/plan/static_source.hpp"
#include "lib/plan/tree_cuts.hpp"
#include "lib/plan/water_fill.hpp"

namespace mgpu {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
// A smaller gain does not justify more devices, which would only queue.
constexpr double kAsGood = 0.01;
constexpr std::size_t kTryAll = 16;   // devices
constexpr double kMostPieces = 4096;  // per device
// Number of devices up to which cuts along a tree are computed: a share's cuts take a microsecond.
constexpr std::size_t kFewCuts = 128;

struct Model {  // of a device; in seconds and bytes/s
  std::size_t index = 0;
  double fixed = 0, per_peer_contention = 0, fixed_shared = 0, launch = 0, first_slice_discount = 0,
         transfer_up = 0, transfer_down = 0;
  double compute = 0;                       // per item
  double up = kInfinite, down = kInfinite;  // bandwidth of its own link
  double rate = 0;                          // items/s, pipelined, on its own link
  double pipeline = kInfinite;              // items per slice
  double fits = kInfinite;                  // most items per slice
  double fills = 0;                         // items; a smaller slice takes the same time
  double even = 0;                          // seconds for an even share, including all fixed times
};

// Costs of a device within a set: seconds per slice and seconds per item of its stages.
struct Stages {
  // Per item: of the first slice (sigma), and of each further one (b).
  double first = 0, per_slice = 0;
  // Per device: `fixed` and the stages' own times of the first slice; per further slice (o).
  double once = 0, slice = 0;
};

class Completion {
 public:
  Completion(const PlanRequest& request, const std::vector<double>& rates);
  CompletionPlan best();
  // Needs a rate of every device with a share.
  double seconds_of(std::span<const Items> shares) const;

 private:
  CompletionPlan with(std::size_t count) const;
  std::vector<Stages> stages_of(std::size_t count) const;
  static double fewest_pieces(const Model& model, double items);
  Stages stages(const Model& model, double burst_up, double burst_down, double steady_up,
                double steady_down) const;
  double pieces(const Model& model, const Stages& stages, double items, double slice_cost) const;
  template <typename Demand>
  double level(const LinkRate& rate, std::size_t count, Demand demand) const;
  ExchangeModel exchange(std::size_t count) const;
  double merging(const std::vector<double>& items, const ExchangeModel& exchange) const;  // seconds
  bool more_may_hurt() const;
  double bound(std::size_t count) const;

  const PlanRequest& request_;
  double in_ = 0, out_ = 0;    // transferred bytes per item
  std::vector<Model> models_;  // best first
  std::vector<double> rates_;  // total rate of this device and those before it
};

Completion::Completion(const PlanRequest& request, const std::vector<double>& rates)
    : request_(request) {
  const bool moves = request.mode.transfers();
  in_ = moves ? std::max(0.0, request.cost.in_bytes) : 0;
  out_ = moves ? std::max(0.0, request.cost.out_bytes) : 0;
  for (std::size_t i = 0; i < rates.size(); ++i) {
    if (!(rates[i] > 0)) continue;
    const DeviceEstimate& device = request.devices[i];
    Model model;
    model.index = i;
    model.fixed = seconds(device.fixed);
    model.per_peer_contention = seconds(device.per_peer_contention);
    model.fixed_shared = seconds(device.fixed_shared);
    model.launch = seconds(device.launch);
    model.first_slice_discount = seconds(device.first_slice_discount);
    if (in_ > 0) model.transfer_up = seconds(device.transfer);
    if (out_ > 0) model.transfer_down = seconds(device.transfer);
    model.compute = 1 / (device.items_per_s > 0 ? device.items_per_s : rates[i]);
    if (device.up > 0) model.up = device.up;
    if (device.down > 0) model.down = device.down;
    model.rate = rates[i];
    if (device.pipeline > 0)
      model.pipeline = static_cast<double>(std::min(device.pipeline, device.fits));
    model.fits = static_cast<double>(device.fits);
    model.fills = items_that_fill(device);
    models_.push_back(model);
  }
  // Best first: the device that would finish an even share soonest, which includes fixed times.
  const double share = static_cast<double>(request.items) /
                       static_cast<double>(std::max<std::size_t>(models_.size(), 1));
  for (Model& m : models_)
    m.even = m.fixed + m.launch - m.first_slice_discount + m.transfer_up + m.transfer_down +
             share / m.rate;
  std::stable_sort(models_.begin(), models_.end(),
                   [](const Model& a, const Model& b) { return a.even < b.even; });
  for (const Model& model : models_)
    rates_.push_back(model.rate + (rates_.empty() ? 0 : rates_.back()));
}

// Returns the fair part of a link: no device gets more of it while `count` devices ask for
// `demand(model)` bytes/s each. Infinite if the link serves all of them.
template <typename Demand>
double Completion::level(const LinkRate& rate, std::size_t count, Demand demand) const {
  const double link = rate.of(count);
  if (!(link > 0)) return kInfinite;
  double fair = 0;
  std::size_t fed = 0;
  // Devices that ask for less than their part leave the rest to the others; the level only rises.
  for (;;) {
    double left = link;
    std::size_t content = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const double asks = demand(models_[i]);
      if (asks > fair) continue;
      left -= asks;
      ++content;
    }
    if (content == count) return kInfinite;
    // Fewer: a device asks for exactly its part, and the level was rounded below it.
    if (fair > 0 && content <= fed) return fair;
    fed = content;
    fair = left / static_cast<double>(count - content);
  }
}

Stages Completion::stages(const Model& m, double burst_up, double burst_down, double steady_up,
                          double steady_down) const {
  const double up = in_ / std::min(m.up, steady_up), down = out_ / std::min(m.down, steady_down);
  Stages s;
  s.first = in_ / std::min(m.up, burst_up) + m.compute + out_ / std::min(m.down, burst_down);
  s.once = m.fixed + m.transfer_up + m.launch - m.first_slice_discount + m.transfer_down;
  const double half = (up + m.compute + down) / 2;
  s.per_slice = std::max({up, m.compute, down, half});
  s.slice = s.per_slice == m.compute ? m.launch
            : s.per_slice == up      ? m.transfer_up
            : s.per_slice == down    ? m.transfer_down
                                     : (m.transfer_up + m.launch + m.transfer_down) / 2;
  return s;
}

double Completion::fewest_pieces(const Model& model, double items) {
  const double by_pipeline = std::ceil(items / model.pipeline - 1.0 / kRemainder),
               by_memory = std::ceil(items / model.fits - 1e-9);
  return std::max({1.0, by_pipeline, by_memory});
}

double Completion::pieces(const Model& model, const Stages& stages, double items,
                          double slice_cost) const {
  const double fewest = fewest_pieces(model, items);
  const double granules =
      std::max(1.0, std::floor(items / static_cast<double>(request_.granularity)));
  if (!(slice_cost > 0)) return fewest;
  const double best =
      std::round(std::sqrt(std::max(0.0, items * (stages.first - stages.per_slice) / slice_cost)));
  const double most = model.fills > 0 ? std::floor(items / model.fills) : kMostPieces;
  return std::max(fewest, std::min({best, granules, most, kMostPieces}));
}

// Returns the exchange among the first `count` devices.
ExchangeModel Completion::exchange(std::size_t count) const {
  std::vector<std::size_t> members;
  for (std::size_t i = 0; i < count; ++i) members.push_back(models_[i].index);
  std::sort(members.begin(), members.end());
  return ExchangeModel(request_, std::move(members));
}

// Returns the costs of the first `count` devices while exactly these take part.
std::vector<Stages> Completion::stages_of(std::size_t count) const {
  const double burst_up = level(request_.link_up, count, [](const Model& m) { return m.up; });
  const double burst_down = level(request_.link_down, count, [](const Model& m) { return m.down; });
  const double steady_up =
      level(request_.link_up, count, [&](const Model& m) { return std::min(m.up, m.rate * in_); });
  const double steady_down = level(request_.link_down, count,
                                   [&](const Model& m) { return std::min(m.down, m.rate * out_); });
  const auto others = static_cast<double>(request_.devices.size() - count);
  const ExchangeModel exchanges = exchange(count);
  const double gathering = exchanges.gathers() ? exchanges.seconds_to_gather(burst_up) : 0;
  std::vector<Stages> costs;
  for (std::size_t i = 0; i < count; ++i) {
    costs.push_back(stages(models_[i], burst_up, burst_down, steady_up, steady_down));
    Stages& s = costs.back();
    s.once -= std::min(models_[i].fixed, models_[i].per_peer_contention * others);
    s.once -= models_[i].fixed_shared *
              (1 - 1 / static_cast<double>(exchanges.share_of(models_[i].index)));
    if (exchanges.gathers()) {
      s.once += gathering;
    } else if (request_.mode.transfers()) {
      s.once += static_cast<double>(request_.cost.replicated) / std::min(models_[i].up, burst_up);
    }
  }
  return costs;
}

CompletionPlan Completion::with(std::size_t count) const {
  const std::vector<Stages> costs = stages_of(count);
  const double work = static_cast<double>(request_.items);
  double rates = 0;
  for (const Stages& s : costs) rates += 1 / s.per_slice;
  WaterLevel water;
  std::vector<double> slices(count, 1);
  std::vector<WaterTerm> terms(count);
  bool changed = true;
  // Alternately pieces from shares and shares from pieces.
  for (int round = 0; round < 3 && changed; ++round) {
    changed = round == 0;
    for (std::size_t i = 0; i < count; ++i) {
      const Stages& s = costs[i];
      const double items = round == 0 ? work / s.per_slice / rates : water.amounts[i];
      const double more = pieces(models_[i], s, items, s.slice);
      changed |= more != slices[i];
      slices[i] = more;
      const double further = more - 1;
      terms[i] = {s.once + further * s.slice, (s.first + further * s.per_slice) / more};
    }
    if (changed) water = water_fill(work, terms);
  }
  CompletionPlan plan{std::vector<double>(request_.devices.size(), 0),
                      std::vector<double>(request_.devices.size(), 0), water.end};
  for (std::size_t i = 0; i < count; ++i) {
    if (!(water.amounts[i] > 0)) continue;
    plan.items[models_[i].index] = water.amounts[i];
    plan.pieces[models_[i].index] = slices[i];
  }
  plan.seconds += merging(plan.items, exchange(count));
  return plan;
}

double Completion::seconds_of(std::span<const Items> shares) const {
  const std::vector<Stages> costs = stages_of(models_.size());
  double end = 0;
  for (std::size_t i = 0; i < models_.size(); ++i) {
    const Model& model = models_[i];
    const Stages& s = costs[i];
    const auto items = static_cast<double>(shares[model.index]);
    const double pieces = fewest_pieces(model, items), further = pieces - 1;
    const double least = s.once - model.launch + model.first_slice_discount +
                         pieces * seconds(request_.devices[model.index].minimum_slice);
    end =
        std::max({end, least,
                  s.once + further * s.slice + items * (s.first + further * s.per_slice) / pieces});
  }
  return end + merging({shares.begin(), shares.end()}, exchange(models_.size()));
}

// Counts the parts that shares leave to merge. Each device's pieces are adjacent, so that its share
// is one part, or along a tree the nodes that cover the share.
double Completion::merging(const std::vector<double>& items, const ExchangeModel& exchange) const {
  std::vector<std::size_t> parts(items.size(), 0);
  if (!request_.merge.tree || items.size() > kFewCuts) {
    std::transform(items.begin(), items.end(), parts.begin(),
                   [](double share) { return share > 0 ? 1 : 0; });
  } else {
    Items begin = 0;
    const std::vector<Items> shares = shares_by_weight(request_, items);
    for (std::size_t i = 0; i < shares.size(); ++i) {
      const Slice range{begin, begin + shares[i]};
      if (shares[i] > 0) parts[i] = parts_of(std::span(&range, 1), request_.items, request_.merge);
      begin += shares[i];
    }
  }
  if (exchange.combines()) return seconds(exchange.time_to_combine(parts));
  return seconds(request_.merge.of(std::accumulate(parts.begin(), parts.end(), std::size_t{0})));
}

// Returns whether more devices may take longer. Without a shared link, an exchange or a merge that
// grows, water-filling itself leaves out devices that would begin too late.
bool Completion::more_may_hurt() const {
  const bool sends = in_ > 0 || (request_.mode.transfers() && request_.cost.replicated > 0);
  return request_.merge.per_slice > Nanos{} || request_.exchange.any() ||
         (sends && request_.link_up.limited()) || (out_ > 0 && request_.link_down.limited());
}

// Returns a lower bound for the first `count` devices: each works at its own rate all the time.
double Completion::bound(std::size_t count) const {
  return static_cast<double>(request_.items) / rates_[count - 1];
}

CompletionPlan Completion::best() {
  const std::size_t all = models_.size();
  CompletionPlan least = with(all);
  if (!more_may_hurt()) return least;
  // Counts down from all devices; numbers that cannot be as good are skipped.
  double best = least.seconds;
  std::vector<std::pair<std::size_t, CompletionPlan>> tried;  // most devices first
  tried.emplace_back(all, std::move(least));
  std::size_t low = 0;  // largest number of devices known to be too few
  for (std::size_t k = all; k > 1 && low == 0;) {
    k = all <= kTryAll ? k - 1 : std::bit_floor(k - 1);
    if (bound(k) > best * (1 + kAsGood)) {
      low = k;
    } else {
      tried.emplace_back(k, with(k));
      best = std::min(best, tried.back().second.seconds);
    }
  }
  const double enough = best * (1 + kAsGood);
  std::size_t at = tried.size() - 1;
  for (; at > 0 && tried[at].second.seconds > enough; --at) low = tried[at].first;
  // With many devices, not every number was tried: search for the least good number between this
  // one and the one before, to a sixteenth.
  std::size_t high = tried[at].first;
  least = std::move(tried[at].second);
  while (high - low > std::max<std::size_t>(1, high / kTryAll)) {
    const std::size_t middle = low + (high - low) / 2;
    CompletionPlan plan;
    if (bound(middle) <= enough) plan = with(middle);
    if (plan.items.empty() || plan.seconds > enough) {
      low = middle;
    } else {
      high = middle;
      least = std::move(plan);
    }
  }
  return least;
}

}  // namespace

CompletionPlan least_completion(const PlanRequest& request, const std::vector<double>& rates) {
  return Completion(request, rates).best();
}

double seconds_of_shares(const PlanRequest& request, std::vector<double> rates,
                         std::span<const Items> shares) {
  for (std::size_t i = 0; i < rates.size(); ++i) {
    if (shares[i] == 0) rates[i] = 0;
  }
  return Completion(request, rates).seconds_of(shares);
}

}  // namespace mgpu
