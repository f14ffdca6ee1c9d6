// Properties of every simulation, whatever the strategy: all work is done, never faster than the
// rates and the link allow, and never slower than all steps in sequence. A failing case prints its
// seed.
#include "lib/plan/simulator.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>

#include "lib/base/error.hpp"
#include "lib/plan/ledger.hpp"
#include "tests/support/plan_driver.hpp"
#include "tests/support/thorough.hpp"

using namespace mgpu;

namespace {

const std::uint64_t kSimulatorCases = mgpu::testing::is_thorough() ? 500 : 200;

struct SimulatorCase {
  explicit SimulatorCase(std::uint64_t seed) : random(seed) {
    const std::size_t n = one_in(20) ? 40 : between(1, 9);
    request.items = between(0, 20'000);
    request.granularity = one_in(2) ? 1 : between(1, 64);
    request.mode = one_in(3) ? Mode::resident : Mode::end_to_end;
    request.cost = {one_in(4) ? 0 : decades(-1, 2), one_in(2) ? 0 : decades(-1, 2), 1,
                    one_in(4) ? between(0, 100'000) : 0};
    request.link_up = link();
    request.link_down = link();
    request.merge = {nanos(5000), nanos(100)};
    const bool alike = one_in(4);
    for (std::size_t i = 0; i < n; ++i)
      estimates.push_back(i > 0 && alike ? estimates.front() : device());
    request.devices = estimates;
  }
  SimulatorCase(const SimulatorCase&) = delete;
  SimulatorCase& operator=(const SimulatorCase&) = delete;

  DeviceEstimate device() {
    DeviceEstimate e;
    e.items_per_s = decades(6, 9);
    e.score = static_cast<double>(between(1, 100));
    e.fixed = one_in(3) ? Nanos{} : nanos(20'000);
    e.per_peer_contention = one_in(2) ? Nanos{} : e.fixed / 4;
    e.launch = one_in(3) ? Nanos{} : nanos(10'000);
    e.first_slice_discount = one_in(2) ? Nanos{} : e.launch / 2;
    e.transfer = one_in(2) ? Nanos{} : nanos(10'000);
    e.up = one_in(4) ? 0 : decades(8, 11);
    e.down = one_in(4) ? 0 : decades(8, 11);
    e.fits = std::max<Items>(request.items, request.granularity);
    e.pipeline = between(1, e.fits);
    return e;
  }
  LinkRate link() {
    if (one_in(3)) return {};
    const double one = decades(8, 11);
    return one_in(2) ? LinkRate(one) : LinkRate({one, 1.8 * one, 2.2 * one});
  }
  std::uint64_t between(std::uint64_t low, std::uint64_t high) {
    return std::uniform_int_distribution<std::uint64_t>(low, high)(random);
  }
  bool one_in(std::uint64_t n) { return between(1, n) == 1; }
  double decades(double low, double high) {
    return std::pow(10.0, std::uniform_real_distribution<double>(low, high)(random));
  }
  Nanos nanos(std::uint64_t most) { return Nanos{static_cast<std::int64_t>(between(1, most))}; }

  std::mt19937_64 random;
  PlanRequest request;
  std::vector<DeviceEstimate> estimates;
};

// Returns the ns that the bytes take if nothing else uses the link.
double alone(double bytes, double own, double link) {
  const double rate = std::min(own > 0 ? own : std::numeric_limits<double>::infinity(),
                               link > 0 ? link : std::numeric_limits<double>::infinity());
  return bytes / rate * 1e9;
}

// Returns the time of all commands of a device in sequence; a source may let it collect after every
// slice. Each adds 1 ns of rounding.
double serial(const PlanRequest& request, const DeviceEstimate& device,
              const SimulatedDevice& did) {
  const auto slices = static_cast<double>(did.slices), items = static_cast<double>(did.items);
  double ns = slices * static_cast<double>((device.launch + device.fixed).count() + 4) +
              items / device.items_per_s * 1e9;
  if (request.mode == Mode::resident) return ns;
  ns += (2 * slices + 1) * static_cast<double>(device.transfer.count());
  ns += alone(items * request.cost.in_bytes + slices + static_cast<double>(request.cost.replicated),
              device.up, request.link_up.of(1));
  return ns + alone(items * request.cost.out_bytes + slices, device.down, request.link_down.of(1));
}

}  // namespace

TEST_CASE("every simulation does all the work, as fast as rates and links allow, or slower") {
  for (const StrategyInfo& info : all_strategies()) {
    CAPTURE(info.name);
    const auto strategy = test::make_strategy(info);
    for (std::uint64_t seed = 1; seed <= kSimulatorCases; ++seed) {
      CAPTURE(seed);
      SimulatorCase c(seed);
      const PlanRequest& request = c.request;
      const Simulation simulated = simulate(request, *strategy->begin(request, {}));
      Items items = 0;
      double rates = 0, most = 0, used = 0;
      std::size_t slices = 0;
      Nanos last{};
      for (std::size_t i = 0; i < c.estimates.size(); ++i) {
        const SimulatedDevice& device = simulated.devices[i];
        items += device.items;
        slices += device.slices;
        rates += c.estimates[i].items_per_s;
        most += serial(request, c.estimates[i], device);
        used += device.slices > 0 ? 1 : 0;
        last = std::max(last, device.finish);
        CHECK(device.busy <= device.finish);
        CHECK((device.slices == 0) == (device.items == 0));
        const double compute = static_cast<double>(device.items) / c.estimates[i].items_per_s * 1e9;
        CHECK(static_cast<double>(device.busy.count()) >=
              compute - static_cast<double>(device.slices));
      }
      CHECK(items == request.items);
      const auto devices = static_cast<std::size_t>(used);
      CHECK(simulated.merge >= request.merge.of(devices > 1 ? devices : 0));
      CHECK(simulated.merge <= request.merge.of(slices));
      CHECK(simulated.makespan == last + simulated.merge);
      const auto took = static_cast<double>(last.count());
      const auto all = static_cast<double>(request.items),
                 rounding = static_cast<double>(slices) + 1;
      CHECK(took >= all / rates * 1e9 - rounding);
      CHECK(took <= most + rounding);
      if (request.mode == Mode::resident) continue;
      const double sent = all * request.cost.in_bytes +
                          used * static_cast<double>(request.cost.replicated) - rounding;
      CHECK(took >= alone(sent, 0, request.link_up.all()) - rounding);
      CHECK(took >=
            alone(all * request.cost.out_bytes - rounding, 0, request.link_down.all()) - rounding);
    }
  }
}
