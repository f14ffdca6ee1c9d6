#include "lib/plan/choose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>

#include "lib/base/error.hpp"
#include "lib/base/quantity.hpp"
#include "lib/plan/completion.hpp"
#include "lib/plan/cost_model.hpp"
#include "lib/plan/exchange.hpp"
#include "lib/plan/rounds.hpp"
#include "lib/plan/simulator.hpp"

namespace mgpu {
namespace {

constexpr const char* kLeast = "least";
// Predictions closer than this count as equal: they are about this accurate.
constexpr double kSame = 0.03;
constexpr const char* kTie =
    "a tie (within 3 %): the simpler strategy is taken, the first in `mgpu-bench list strategies`";
// Limit for choosing fewer devices, whose predictions use what was measured with all devices at
// work: of five cases within 3 % on two and four H200, four took 4 to 13 % longer on fewer
// (results/h200/predict-4-*.json of commit 1563308).
constexpr double kNoLonger = 0.001;
constexpr std::uint64_t kUnitsOfRule = 10'000;  // per device
constexpr std::uint64_t kMostOfRule = 4;        // devices
constexpr double kNoDifference = 0.01;          // smaller differences are not mentioned
// Largest number of devices that is simulated: a sample of 1,024 takes 40 ms if shares are fixed,
// and seconds otherwise.
constexpr std::size_t kManyDevices = 64;

StrategyParams defaults(const StrategyInfo& info) {
  StrategyParams params;
  for (const StrategyParam& param : info.params) params[param.name] = param.standard;
  return params;
}

std::vector<DeviceEstimate> usable(const PlanRequest& request, const std::vector<bool>& uses) {
  std::vector<DeviceEstimate> devices(request.devices.begin(), request.devices.end());
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (!uses[i]) devices[i].fits = devices[i].pipeline = 0;
  }
  return devices;
}

// The request for a strategy that may use only some devices: the others can take nothing.
struct Restricted {
  Restricted(const PlanRequest& request, const std::vector<bool>& uses)
      : devices(usable(request, uses)), restricted(request) {
    restricted.devices = devices;
  }
  std::vector<DeviceEstimate> devices;
  PlanRequest restricted;
};

std::unique_ptr<SliceSource> begin_restricted(const StrategyInfo& strategy,
                                              const PlanRequest& request,
                                              const std::vector<bool>& uses,
                                              const History& history) {
  const Restricted view(request, uses);
  return begin_strategy(strategy, defaults(strategy), view.restricted, history);
}

class Chooser {
 public:
  explicit Chooser(const PlanRequest& request) : request_(request) {
    const auto& devices = request.devices;
    const bool only_reserves =
        std::all_of(devices.begin(), devices.end(), [](const auto& d) { return d.reserve; });
    for (std::size_t i = 0; i < devices.size(); ++i) {
      if (!devices[i].reserve || only_reserves) order_.push_back(i);
    }
    if (std::all_of(devices.begin(), devices.end(), [](const auto& d) { return d.busy_w > 0; }))
      objective_ = request.objective;
    const auto worth = [&](std::size_t i) {
      const double rate = pipelined_rate(request_, devices[i]);
      return objective_ == Objective::time     ? rate
             : objective_ == Objective::energy ? rate / devices[i].busy_w
                                               : rate * rate / devices[i].busy_w;
    };
    std::stable_sort(order_.begin(), order_.end(),
                     [&](std::size_t a, std::size_t b) { return worth(a) > worth(b); });
  }

  PlanChoice choose(std::size_t least) {
    const std::size_t all = order_.size();
    least_ = least = std::min(least, all);
    const std::size_t enough = std::max(enough_devices(), least);
    std::set<std::size_t> counts{1, enough, all};
    if (all <= kManyDevices)
      counts.insert({enough > 1 ? enough - 1 : 1, std::min(enough + 1, all)});
    counts.erase(counts.begin(), counts.lower_bound(least));
    for (const std::size_t count : counts) {
      for (const StrategyInfo& strategy : all_strategies()) {
        const StrategyTraits& traits = strategy.traits;
        // Predictions assume that rates do not change: rebalancing iterative work then only costs.
        if (traits.single_device != (count == 1) || (request_.rounds > 0 && traits.learns) ||
            (count != enough && count != 1 && !traits.any_count))
          continue;
        if (all <= kManyDevices || traits.fixed_shares) consider(strategy, count);
      }
    }
    if (considered_.empty() && least > 1) return choose(1);  // too few items for so many
    if (considered_.empty())
      throw Error(ErrorKind::unsupported, "auto: no strategy can place this work on these devices");
    std::stable_sort(considered_.begin(), considered_.end(),
                     [&](const auto& a, const auto& b) { return cost(a) < cost(b); });
    PlanChoice choice;
    choice.chosen = simplest();
    choice.uses = uses(choice.chosen.devices);
    choice.considered = considered_;
    choice.reasons = reasons(choice.chosen);
    return choice;
  }

  std::optional<Candidate> equal_on(std::size_t count) {
    consider(*strategy_with(&StrategyTraits::equal_shares).info, std::min(count, order_.size()));
    return considered_.empty() ? std::nullopt : std::optional(considered_.front());
  }

 private:
  // Returns how many of the fastest devices the closed forms would use; all devices if a rate is
  // not known, which simulate() will report.
  std::size_t enough_devices() const {
    const Restricted view(request_, uses(order_.size()));
    std::vector<DeviceEstimate> devices;
    const PlanRequest request =
        request_.network != nullptr ? without_network(view.restricted, devices) : view.restricted;
    const Speeds speeds = estimated_speeds(request);
    if (!speeds.timed || request_.items == 0) return order_.size();
    const CompletionPlan plan = least_completion(request, speeds.rates);
    const auto used =
        std::count_if(plan.items.begin(), plan.items.end(), [](double items) { return items > 0; });
    return std::clamp<std::size_t>(static_cast<std::size_t>(used), 1, order_.size());
  }

  std::vector<bool> uses(std::size_t count) const {
    std::vector<bool> uses(request_.devices.size());
    for (std::size_t i = 0; i < count; ++i) uses[order_[i]] = true;
    return uses;
  }

  void consider(const StrategyInfo& strategy, std::size_t count) {
    try {
      const Restricted view(request_, uses(count));
      if (const auto candidate = predict(strategy, count, view.restricted))
        considered_.push_back(*candidate);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::unsupported) throw;  // it cannot place the work: no candidate
    }
  }

  // Returns none if the strategy gives a share to fewer devices than are to be used.
  std::optional<Candidate> predict(const StrategyInfo& strategy, std::size_t count,
                                   const PlanRequest& request) const {
    const auto source = begin_strategy(strategy, defaults(strategy), request, {});
    const std::vector<Items> shares = source->first_shares();
    const auto used = static_cast<std::size_t>(
        std::count_if(shares.begin(), shares.end(), [](Items share) { return share > 0; }));
    if (used > 0 && used < least_) return std::nullopt;
    const auto known = [](const DeviceEstimate& device) { return device.items_per_s > 0; };
    const bool closed = order_.size() > kManyDevices && request.network == nullptr &&
                        std::all_of(request.devices.begin(), request.devices.end(), known) &&
                        std::accumulate(shares.begin(), shares.end(), Items{0}) == request.items;
    Candidate candidate{&strategy, count, {}, 0};
    if (!closed) {
      const Simulation sample = simulate(request, *source);  // throws if the plan is impossible
      candidate.predicted = sample.makespan;
      for (std::size_t n = 0; n < count; ++n)
        candidate.joules +=
            joules(request.devices[order_[n]], sample.makespan, sample.devices[order_[n]].busy);
      return candidate;
    }
    const std::vector<double> rates = estimated_speeds(request).rates;
    candidate.predicted = from_seconds(strategy.traits.seconds != nullptr
                                           ? strategy.traits.seconds(request, rates)
                                           : seconds_of_shares(request, rates, shares));
    for (std::size_t n = 0; n < count; ++n)
      candidate.joules +=
          joules(request.devices[order_[n]], candidate.predicted, candidate.predicted);
    return candidate;
  }

  static double joules(const DeviceEstimate& device, Nanos makespan, Nanos busy) {
    return device.idle_w * seconds(makespan) + (device.busy_w - device.idle_w) * seconds(busy);
  }

  // Returns what the objective minimises.
  double cost(const Candidate& candidate) const {
    const double time = seconds(candidate.predicted);
    return objective_ == Objective::time     ? time
           : objective_ == Objective::energy ? candidate.joules
                                             : candidate.joules * time;
  }

  // Returns the least number of devices that no other number is predicted to beat, with the
  // simplest strategy that is as good on them.
  Candidate simplest() const {
    const auto table = all_strategies();
    const auto within = [&](const Candidate& c, double share) {
      return cost(c) <= cost(considered_.front()) * (1 + share);
    };
    std::size_t devices = considered_.front().devices;
    for (const Candidate& candidate : considered_) {
      if (within(candidate, kNoLonger)) devices = std::min(devices, candidate.devices);
    }
    const Candidate* best = nullptr;
    for (const Candidate& candidate : considered_) {
      if (candidate.devices != devices || !within(candidate, kSame)) continue;
      if (best == nullptr || candidate.strategy - table.data() < best->strategy - table.data())
        best = &candidate;
    }
    return *best;
  }

  const Candidate* best_of(std::size_t devices) const {
    const auto at = std::find_if(considered_.begin(), considered_.end(),
                                 [&](const auto& c) { return c.devices == devices; });
    return at == considered_.end() ? nullptr : &*at;
  }

  std::string against(const Candidate& other, const Candidate& chosen) const {
    const double more = seconds(other.predicted) / seconds(chosen.predicted) - 1;
    if (std::abs(more) <= kNoDifference) return "within 1 %";
    return fmt::format("{:.{}f} % {}", std::abs(more) * 100, std::abs(more) < 0.1 ? 1 : 0,
                       more > 0 ? "longer" : "less");
  }

  // Compares the runner-up on the same number of devices with the choice.
  std::string against_runner_up(const Candidate& other, const Candidate& chosen) const {
    const double faster = 1 - seconds(other.predicted) / seconds(chosen.predicted);
    if (faster > kNoDifference)
      return fmt::format("{} is predicted {:.1f} % faster, {}", other.strategy->name, faster * 100,
                         kTie);
    if (faster > 0) return fmt::format("{} is predicted as fast, {}", other.strategy->name, kTie);
    return fmt::format("{} would take {} ({})", other.strategy->name,
                       format_duration(other.predicted), against(other, chosen));
  }

  std::vector<std::string> reasons(const Candidate& chosen) const {
    std::vector<std::string> all;
    const std::size_t total = request_.devices.size();
    all.push_back(fmt::format("{} on {} of {} device{} is predicted to take {}",
                              chosen.strategy->name, chosen.devices, total, total == 1 ? "" : "s",
                              format_duration(chosen.predicted)));
    if (objective_ != Objective::time) {
      const Candidate* alone = best_of(1);
      all.push_back(fmt::format("it is predicted to use {:.3g} J{}, for least {}", chosen.joules,
                                alone == nullptr || chosen.devices == 1
                                    ? ""
                                    : fmt::format(", one device alone {:.3g} J", alone->joules),
                                objective_ == Objective::energy ? "energy" : "energy x time"));
    }
    if (chosen.devices > 1) {
      if (const Candidate* alone = best_of(1)) {
        all.push_back(fmt::format("the fastest device alone would take {}, {:.2f} times as long",
                                  format_duration(alone->predicted),
                                  seconds(alone->predicted) / seconds(chosen.predicted)));
      }
    }
    if (const std::string link = link_words(); !link.empty()) all.push_back(link);
    if (const std::string exchange = exchange_words(chosen.devices); !exchange.empty())
      all.push_back(exchange);
    for (const std::size_t count : {chosen.devices + 1, order_.size()}) {
      if (count > order_.size() || count == chosen.devices ||
          (count == order_.size() && count == chosen.devices + 1 && all.size() > 3))
        continue;
      const Candidate* more = best_of(count);
      if (more == nullptr) continue;
      all.push_back(fmt::format(
          "{} devices would take {} ({}): {}", count, format_duration(more->predicted),
          against(*more, chosen),
          request_.mode.transfers()
              ? fmt::format("they would wait for the host link{} or for their own start",
                            request_.exchange.any() ? ", for each other" : "")
              : "what each adds costs more than it gains"));
      if (count == order_.size()) break;
    }
    for (const Candidate& other : considered_) {  // the runner-up on the same number of devices
      if (other.devices != chosen.devices || other.strategy == chosen.strategy) continue;
      all.push_back(against_runner_up(other, chosen));
      break;
    }
    return all;
  }

  // Names the host link as the bottleneck if all bytes over it take most of the predicted time.
  std::string link_words() const {
    if (!request_.mode.transfers() || !request_.link_up.limited()) return "";
    const double bytes = request_.cost.in_bytes * static_cast<double>(request_.items);
    const double rate = request_.link_up.of(considered_.front().devices);
    const double time = bytes / rate;
    if (time < 0.5 * seconds(considered_.front().predicted)) return "";
    return fmt::format("the host link is what limits: {} at {}/s take at least {}",
                       format_bytes(bytes), format_bytes(rate),
                       format_duration(from_seconds(time)));
  }

  // Describes what the chosen devices exchange.
  std::string exchange_words(std::size_t count) const {
    std::vector<std::size_t> members(order_.begin(),
                                     order_.begin() + static_cast<std::ptrdiff_t>(count));
    std::sort(members.begin(), members.end());
    const ExchangeModel model(request_, std::move(members));
    if (model.gathers()) {
      return fmt::format(
          "{} that every device needs come over the host link once, a part to each, and are "
          "gathered between them",
          format_bytes(static_cast<double>(request_.cost.replicated)));
    }
    return model.combines() ? "results are combined between the devices, not on the host" : "";
  }

  const PlanRequest& request_;
  std::vector<std::size_t> order_;  // fastest first
  Objective objective_ = Objective::time;
  std::size_t least_ = 1;  // number of devices
  std::vector<Candidate> considered_;
};

class Auto final : public Strategy {
 public:
  explicit Auto(std::size_t least) : least_(least) {}
  std::unique_ptr<SliceSource> begin(const PlanRequest& request,
                                     const History& history) const override {
    return begin_chosen(choose_plan(request, least_), request, history);
  }

 private:
  std::size_t least_;
};

}  // namespace

PlanChoice choose_plan(const PlanRequest& request, std::size_t least) {
  return Chooser(request).choose(least);
}

std::optional<Candidate> rule_of_thumb(const PlanRequest& request, std::uint64_t units) {
  const std::uint64_t devices = std::clamp<std::uint64_t>(units / kUnitsOfRule, 1, kMostOfRule);
  return Chooser(request).equal_on(static_cast<std::size_t>(devices));
}

std::unique_ptr<SliceSource> begin_chosen(const PlanChoice& choice, const PlanRequest& request,
                                          const History& history) {
  return begin_restricted(*choice.chosen.strategy, request, choice.uses, history);
}

std::vector<DeviceEstimate> devices_of_choice(const PlanChoice& choice,
                                              const PlanRequest& request) {
  return usable(request, choice.uses);
}

std::size_t fewest_devices(const StrategyParams& params) {
  return static_cast<std::size_t>(params.at(kLeast));
}

const StrategyInfo& auto_strategy() {
  static const StrategyParam least{
      kLeast, 1, 1, 1 << 20, "fewest devices to choose, if there are as many", true};
  static const StrategyInfo info{
      "auto",
      "the strategy and the devices of least predicted time; within 3 % the simplest strategy",
      {least},
      [](const StrategyParams& params) -> std::unique_ptr<Strategy> {
        return std::make_unique<Auto>(fewest_devices(params));
      },
      {.simulates = true}};
  return info;
}

}  // namespace mgpu
