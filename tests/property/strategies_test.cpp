// Properties of every strategy, over thousands of random cases: each item exactly once, limits
// kept, no deadlock, the same answers to the same questions, and balance. A failing case prints its
// seed; `StrategyCase(seed)` recreates it.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <numeric>

#include "lib/plan/cost_model.hpp"
#include "lib/plan/ledger.hpp"
#include "lib/plan/water_fill.hpp"
#include "lib/plan/waves.hpp"
#include "tests/support/plan_driver.hpp"
#include "tests/support/thorough.hpp"

using namespace mgpu;
using mgpu::test::Driven;
using mgpu::test::DrivenDevice;
using mgpu::test::Trouble;

namespace {

const std::uint64_t kStrategyCases = mgpu::testing::is_thorough() ? 2000 : 400;

struct StrategyCase {
  explicit StrategyCase(std::uint64_t seed) : random(seed) {
    const std::size_t n = one_in(20) ? 32 : between(1, 9);
    request.granularity = one_in(3) ? 1 : between(1, 20);
    request.items = one_in(10) ? between(0, 2 * n) : between(1, 4000);
    const bool known = !one_in(3), equal = one_in(4), small = one_in(3), launches = one_in(2);
    for (std::size_t i = 0; i < n; ++i) {
      DeviceEstimate e;
      const double rate =
          equal ? 10 : std::pow(10.0, std::uniform_real_distribution<double>(0, 1.5)(random));
      e.items_per_s = known ? rate : 0;
      e.score = one_in(10) ? 0 : static_cast<double>(between(10, 100));
      e.fits = one_in(8) ? between(0, request.granularity)
               : small   ? between(1, 400)
                         : request.items + between(0, 5);
      e.pipeline = one_in(3) ? e.fits : std::min<Items>(e.fits, between(1, 300));
      if (launches) e.launch = std::chrono::milliseconds(between(0, 500));
      estimates.push_back(e);
      real.push_back({rate, e.fits, seconds(e.launch)});
    }
    draw_surroundings();
    Items& least = estimates[between(0, n - 1)].fits;  // at least one device can work
    least = std::max({least, request.granularity, Items{1}});
    for (std::size_t i = 0; i < n; ++i) real[i].fits = estimates[i].fits;
    request.devices = estimates;
  }
  StrategyCase(const StrategyCase&) = delete;
  StrategyCase& operator=(const StrategyCase&) = delete;

  std::uint64_t between(std::uint64_t low, std::uint64_t high) {
    return std::uniform_int_distribution<std::uint64_t>(low, high)(random);
  }
  bool one_in(std::uint64_t n) { return between(1, n) == 1; }

  // Draws values that only some strategies use; a driver without transfers need not know them. Some
  // devices may be spares.
  void draw_surroundings() {
    if (one_in(2)) request.mode = Mode::end_to_end;
    if (one_in(2)) request.cost.in_bytes = static_cast<double>(between(1, 100));
    if (one_in(2)) request.cost.out_bytes = static_cast<double>(between(1, 100));
    if (one_in(3)) request.link_up = static_cast<double>(between(1, 3000));
    if (one_in(3)) request.link_down = static_cast<double>(between(1, 3000));
    if (one_in(3))
      request.merge = {std::chrono::milliseconds(between(0, 50)),
                       std::chrono::milliseconds(between(0, 50)), one_in(2)};
    const bool reserves = one_in(3), memory = one_in(2), links = one_in(2);
    for (DeviceEstimate& e : estimates) {
      e.reserve = reserves && one_in(3);
      if (memory) e.free_memory = between(0, 100'000);
      if (links) e.up = e.down = static_cast<double>(between(1, 1000));
      if (one_in(2)) e.fixed = std::chrono::milliseconds(between(0, 2000));
      if (one_in(2)) e.transfer = std::chrono::milliseconds(between(0, 100));
    }
    if (one_in(3)) draw_exchange();
  }

  void draw_exchange() {
    ExchangeEstimate& exchange = request.exchange;
    exchange = {PeerLinks(estimates.size()), one_in(2), one_in(2) ? between(1, 1000) : 0};
    request.cost.replicated = between(0, 10) << 20;
    for (std::size_t from = 0; from < estimates.size(); ++from) {
      for (std::size_t to = 0; to < estimates.size(); ++to)
        exchange.links.of(from, to) = {PeerPath::direct, static_cast<double>(between(0, 1 << 22)),
                                       std::chrono::milliseconds(between(0, 50))};
    }
    for (DeviceEstimate& e : estimates) e.fixed_shared = e.fixed / 2;
  }

  // Makes some devices take less than they claimed; at least one keeps its word.
  void make_some_lie() {
    std::size_t honest = 0;
    for (std::size_t i = 0; i < real.size(); ++i) {
      if (real[i].fits > real[honest].fits) honest = i;
    }
    for (std::size_t i = 0; i < real.size(); ++i) {
      if (i != honest && one_in(2)) real[i].fits = one_in(3) ? 0 : between(0, real[i].fits);
    }
  }

  std::mt19937_64 random;
  PlanRequest request;
  std::vector<DeviceEstimate> estimates;
  std::vector<DrivenDevice> real;
};

// Returns the standard parameters, and variants with every other value of a parameter whose values
// have names.
std::vector<StrategyParams> parameters_of(const StrategyInfo& info) {
  std::vector<StrategyParams> all(1);
  for (const StrategyParam& param : info.params) {
    for (std::size_t choice = 1; choice < param.choices.size(); ++choice)
      all.push_back({{param.name, static_cast<double>(choice)}});
  }
  return all;
}

using Check = std::function<void(const Strategy& strategy, StrategyCase& c, std::uint64_t seed)>;

// Runs the check for each strategy, or the one of this name, with each of its parameters.
void for_random_cases(const Check& check, std::string_view name = "") {
  for (const StrategyInfo& info : all_strategies()) {
    if (!name.empty() && info.name != name) continue;
    for (const StrategyParams& params : parameters_of(info)) {
      const auto strategy = test::make_strategy(info, params);
      const std::string label = StrategyChoice{&info, test::complete(info, params)}.label();
      CAPTURE(label);
      for (std::uint64_t seed = 1; seed <= kStrategyCases; ++seed) {
        CAPTURE(seed);
        StrategyCase c(seed);
        check(*strategy, c, seed);
      }
    }
  }
}

void check_all_done(const Driven& result, const StrategyCase& c) {
  CHECK(result.failure == "");
  CHECK(std::accumulate(result.items.begin(), result.items.end(), Items{0}) == c.request.items);
}

// Returns the granule; along a tree, either end of a share may move by a sixteenth of it.
double granule_of(const StrategyCase& c, double share) {
  const auto granule = static_cast<double>(c.request.granularity);
  return c.request.merge.tree ? granule + (share + granule) / 7 : granule;
}

// Checks that shares are within one granule of the ideal by these weights, or near it along a tree.
void check_shares(const Driven& result, const StrategyCase& c, const std::vector<double>& weights,
                  bool along_tree) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double ideal = static_cast<double>(c.request.items) * weights[i] / sum;
    const double granule =
        along_tree ? granule_of(c, ideal) : static_cast<double>(c.request.granularity);
    CHECK(std::abs(static_cast<double>(result.items[i]) - ideal) < granule + 1e-6);
  }
}

void check_one_range_each(const Driven& result) {
  for (const std::vector<Slice>& slices : result.slices)
    for (std::size_t k = 1; k < slices.size(); ++k) CHECK(slices[k].begin == slices[k - 1].end);
}

// Returns which devices of a case can take part, as the weight of each for one of the static
// strategies.
std::vector<double> static_weights(std::string_view strategy, const StrategyCase& c) {
  const std::vector<bool> takes_part = taking_part(c.request);
  std::vector<double> weights, able;
  for (const DeviceEstimate& e : c.estimates) {
    able.push_back(takes_part[able.size()] ? 1 : 0);
    weights.push_back(able.back() * (strategy == "equal" ? 1 : e.score));
  }
  return std::accumulate(weights.begin(), weights.end(), 0.0) > 0 ? weights : able;
}

// Checks that no device has more than fits in each wave, and that there are several waves only if
// necessary.
void check_waves(const Driven& result, const StrategyCase& c, bool sequential) {
  const std::vector<Items> holds = held_by_each(c.request);
  const Items waves =
      ceil_div(c.request.items, std::accumulate(holds.begin(), holds.end(), Items{0}));
  bool full = true;  // sequential: every device before this one is full
  for (std::size_t i = 0; i < holds.size(); ++i) {
    CHECK(result.items[i] <= waves * holds[i]);
    CHECK(result.items[i] + c.request.granularity > (waves - 1) * holds[i]);
    if (!sequential || waves > 1) continue;
    if (!full) CHECK(result.items[i] == 0);
    full = full && result.items[i] == holds[i];
  }
}

// Checks that strategies that decide at run time do not leave a device idle for longer than it
// takes to finish the others' slices: two each, of which the largest takes `largest` on the slowest
// device.
void check_even_end(const Driven& result, const StrategyCase& c) {
  const std::vector<bool> takes_part = taking_part(c.request);
  double rates = 0, work = static_cast<double>(c.request.items), largest = 0, launch = 0,
         slowest = 1e9;
  for (std::size_t i = 0; i < c.real.size(); ++i) {
    if (!takes_part[i]) continue;
    rates += c.real[i].rate;
    work += c.real[i].rate * c.real[i].launch * static_cast<double>(result.slices[i].size());
    launch = std::max(launch, c.real[i].launch);
    slowest = std::min(slowest, c.real[i].rate);
    for (const Slice& slice : result.slices[i])
      largest = std::max(largest, static_cast<double>(slice.size()));
  }
  CHECK(result.makespan <= work / rates + 2 * (largest / slowest + launch) + 1e-6);
}

void check_promise(std::string_view name, const Driven& result, const StrategyCase& c) {
  if (c.request.items == 0) return;
  if (name == "equal" || name == "proportional") {
    check_shares(result, c, static_weights(name, c), name == "proportional");
    check_one_range_each(result);
  } else if (name == "capability") {
    check_shares(result, c, estimated_speeds(c.request).rates, true);
  } else if (name == "memory" || name == "sequential") {
    check_waves(result, c, name == "sequential");
  } else if (name == "single") {
    CHECK(std::count(result.items.begin(), result.items.end(), c.request.items) == 1);
  } else if (name != "latency") {
    check_even_end(result, c);
  }
}

}  // namespace

TEST_CASE("every item is computed once, within granules and limits, and nobody waits for ever") {
  for (const StrategyInfo& info : all_strategies()) {
    for_random_cases(
        [&](const Strategy& strategy, StrategyCase& c, std::uint64_t) {
          const Driven result = drive(strategy, c.request, c.real);
          check_all_done(result, c);
          for (std::size_t i = 0; i < result.items.size(); ++i) {
            if (slice_limit(c.request, c.estimates[i].fits) == 0) CHECK(result.items[i] == 0);
          }
          check_promise(info.name, result, c);
        },
        info.name);
  }
}

TEST_CASE("devices may be lost, with finished work too, reject what does not fit and come back") {
  unsigned losses = 0, rejections = 0;
  for_random_cases([&](const Strategy& strategy, StrategyCase& c, std::uint64_t seed) {
    Trouble trouble{seed, 0.1, 0, 0, 0.3};
    if (seed % 3 == 0) trouble.rejoin = 0.1;
    if (seed % 5 == 0) trouble.newcomer = 0.05;
    if (seed % 2 == 0) c.make_some_lie();
    const Driven result = drive(strategy, c.request, c.real, trouble);
    check_all_done(result, c);
    losses += result.losses;
    rejections += result.rejections;
    if (seed % 4 == 0)  // the same questions get the same answers
      CHECK(drive(strategy, c.request, c.real, trouble).log == result.log);
  });
  CHECK(losses > 1000);  // faults did happen
  CHECK(rejections > 1000);
}

// Compares with the lower bound of the model without transfers, in which each device takes `fixed`
// and a launch once: no device ends later than that, except for the granule that rounding may add.
TEST_CASE("latency is within a granule of the least time where transfers do not matter") {
  for_random_cases(
      [](const Strategy& strategy, StrategyCase& c, std::uint64_t) {
        if (c.request.items == 0) return;
        for (DeviceEstimate& e : c.estimates) {
          e.items_per_s = std::max(e.items_per_s, 1.0);
          e.fits = e.pipeline = c.request.items;
        }
        c.request.mode = Mode::resident;
        c.request.merge = {};
        c.request.exchange = {};
        const std::vector<bool> takes_part = taking_part(c.request);
        std::vector<WaterTerm> terms;
        const auto start = [&](std::size_t i) {
          return seconds(c.estimates[i].fixed + c.estimates[i].launch);
        };
        for (std::size_t i = 0; i < c.estimates.size(); ++i) {
          c.real[i] = {c.estimates[i].items_per_s, c.request.items, seconds(c.estimates[i].launch)};
          if (takes_part[i]) terms.push_back({start(i), 1 / c.real[i].rate});
        }
        const Driven result = drive(strategy, c.request, c.real);
        const double least = water_fill(static_cast<double>(c.request.items), terms).end;
        for (std::size_t i = 0; i < result.items.size(); ++i) {
          if (result.items[i] == 0) continue;
          const double end = start(i) + static_cast<double>(result.items[i]) / c.real[i].rate;
          CHECK(end <= least + static_cast<double>(c.request.granularity) / c.real[i].rate + 1e-6);
        }
      },
      "latency");
}
