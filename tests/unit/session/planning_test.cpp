// Plans from calibration alone weigh the links between devices if a run would exchange data over
// them.
#include "lib/session/planning.hpp"

#include <doctest/doctest.h>

#include "lib/base/quantity.hpp"
#include "tests/support/gathered_sum.hpp"
#include "tests/support/scenario_run.hpp"
#include "tests/support/sum_session.hpp"
#include "tests/support/sum_suite.hpp"

using namespace mgpu;
using namespace mgpu::test;

namespace {

constexpr Items kGathered = Items{1} << 20;  // 8 MiB per device: 8.4 ms from the host

// Returns the predicted case of two devices together, with links of this path and rate between
// them.
PlannedCase planned(const PeerLinks& links, std::optional<PeerPath> asked) {
  std::vector<FakeDevice> fakes{sum_device("0:0", DeviceType::gpu),
                                sum_device("0:1", DeviceType::gpu)};
  FakeBackend backend(fakes, sum_kernels());
  const SuiteInfo suite = suite_of(
      [](const SuiteParams& params) { return std::make_unique<GatheredSum>(params.size); });
  SessionOptions options = options_on({fakes[0].facts, fakes[1].facts},
                                      problem_of(suite, kGathered), {Mode::end_to_end}, "all");
  options.peer = asked;
  options.calibration.devices.resize(2);
  options.calibration.peers = links;
  for (std::size_t i = 0; i < 2; ++i) {
    Capability& capability = options.calibration.devices[i].emplace();
    capability.pinned_up = capability.pinned_down = 1e9;
    options.suite_rates[{"sum", fakes[i].facts.id}] = SuiteRate{.ops_per_s = 1e8};
  }
  return plan_problem(backend, options).front();
}

double seconds_of(const PlannedCase& plan) { return seconds(plan.choice.chosen.predicted); }

}  // namespace

TEST_CASE("a plan gathers over direct links, over the host's if asked to, and never staged") {
  const double whole = static_cast<double>(kGathered) * 8 / 1e9, computing = kGathered / 1e8 / 2;
  const PlannedCase unknown = planned({}, {});
  CHECK(seconds_of(unknown) == doctest::Approx(whole + computing).epsilon(0.01));
  const auto linked = [](PeerPath path, double rate) {
    return PeerLinks(2, {path, rate, std::chrono::microseconds(5)});
  };
  const PlannedCase direct = planned(linked(PeerPath::direct, 1e11), {});
  CHECK(seconds_of(direct) == doctest::Approx(whole / 2 + computing).epsilon(0.02));
  const auto& why = direct.choice.reasons;
  CHECK(std::any_of(why.begin(), why.end(), [](const std::string& reason) {
    return reason.find("gathered") != std::string::npos;
  }));
  CHECK(why.back() == "--gather on would take " + format_duration(direct.choice.chosen.predicted) +
                          " (0 B to each device), --gather off " +
                          format_duration(unknown.choice.chosen.predicted) +
                          " (0 B to each device)");
  CHECK(seconds_of(planned(linked(PeerPath::host, 1e11), {})) == seconds_of(unknown));
  CHECK(seconds_of(planned(linked(PeerPath::host, 1e11), PeerPath::host)) == seconds_of(direct));
  CHECK(seconds_of(planned(linked(PeerPath::direct, 1e11), PeerPath::host)) == seconds_of(unknown));
  CHECK(seconds_of(planned(linked(PeerPath::staged, 1e11), PeerPath::staged)) ==
        seconds_of(unknown));
  // Over slow links one device does everything instead of gathering: 18.9 ms compared with 4.2 and
  // 42.
  const PlannedCase slow = planned(linked(PeerPath::direct, 1e8), {});
  CHECK(slow.choice.chosen.devices == 1);
  CHECK(seconds_of(slow) == doctest::Approx(whole + 2 * computing).epsilon(0.01));
}

TEST_CASE("a plan of iterative work waits after each but the last, over any path") {
  Scenario scenario;
  scenario.work.items = 1'000'000;
  scenario.work.rounds = 11;
  scenario.devices.resize(2);
  for (ScenarioDevice& device : scenario.devices) device.estimate.items_per_s = 1e9;
  scenario.exchange = {PeerLinks(2, {PeerPath::staged, 1e9, Nanos{1000}}), false, 0, 10, 4000};
  const auto backend = make_scenario_backend(scenario);
  const SuiteInfo suite =
      suite_of([&](const SuiteParams&) { return make_scenario_workload(scenario, *backend); });
  SessionOptions options = options_on(devices_of(scenario), {&suite, {}}, {Mode::resident}, "all");
  options.calibration.devices.resize(2);
  for (std::size_t i = 0; i < 2; ++i) {
    options.calibration.devices[i].emplace();
    options.suite_rates[{suite.name, options.devices[i].id}] = SuiteRate{.ops_per_s = 1e9};
  }
  const auto predicted = [&] {
    return plan_problem(*backend, options).front().choice.chosen.predicted.count();
  };
  CHECK(predicted() == 500'000);
  options.calibration.peers = scenario.exchange.links;
  CHECK(predicted() == 500'000 + 10 * (1000 + 4000));
  options.peer = PeerPath::staged;
  CHECK(predicted() == 500'000 + 10 * (1000 + 4000));
  options.peer = PeerPath::direct;  // its rate is unknown
  CHECK(predicted() == 500'000);
}

TEST_CASE("a plan for least energy takes the frugal device, and needs measured power") {
  FakeDevice fakes[] = {sum_device("0:0", DeviceType::gpu), sum_device("0:1", DeviceType::gpu)};
  fakes[1].facts.name = "another";  // else the rate of one would do for both
  FakeBackend backend({fakes[0], fakes[1]}, sum_kernels());
  SessionOptions options = options_on({fakes[0].facts, fakes[1].facts},
                                      problem_of(sum_suite(), 1 << 20), {Mode::resident}, "all");
  options.objective = Objective::energy;
  options.calibration.devices.resize(2);
  for (std::size_t i = 0; i < 2; ++i) {
    options.calibration.devices[i].emplace();
    options.suite_rates[{"sum", fakes[i].facts.id}] = {
        .ops_per_s = 1e6, .busy_w = i == 0 ? 700.0 : 200.0, .idle_w = 100};
  }
  const PlannedCase plan = plan_problem(backend, options).front();
  CHECK(plan.choice.uses == std::vector<bool>{false, true});
  CHECK(plan.choice.chosen.joules == doctest::Approx(200 * 1.048576).epsilon(0.01));
  options.objective = Objective::time;
  CHECK(plan_problem(backend, options).front().choice.chosen.devices == 2);
  options.objective = Objective::edp;
  options.suite_rates[{"sum", "0:1"}].busy_w = 0;
  CHECK_THROWS_WITH_AS(plan_problem(backend, options), doctest::Contains("calibrate sum --energy"),
                       Error);
}

TEST_CASE("a plan says who gets how much, of devices that are throttled, and what holds it back") {
  FakeDevice fakes[] = {sum_device("0:0", DeviceType::gpu), sum_device("0:1", DeviceType::gpu)};
  FakeBackend backend({fakes[0], fakes[1]}, sum_kernels());
  const auto plan = [&](Items items, const std::vector<Handicap>& handicaps) {
    SessionOptions options = options_on({fakes[0].facts, fakes[1].facts},
                                        problem_of(sum_suite(), items), {Mode::resident}, "all");
    options.calibration.devices.resize(2);
    for (std::size_t i = 0; i < 2; ++i) {
      options.calibration.devices[i].emplace();
      options.suite_rates[{"sum", fakes[i].facts.id}] = SuiteRate{.ops_per_s = 1e6};
    }
    options.handicaps = handicaps;
    return plan_problem(backend, options).front();
  };
  constexpr Items kItems = 1 << 20;
  const PlannedCase equal = plan(kItems, {});
  CHECK(equal.shares == std::vector<Items>{kItems / 2, kItems / 2});
  CHECK(equal.bottleneck.name == "none");
  Handicap slow;
  slow.slow = 3;
  const PlannedCase uneven = plan(kItems, {{}, slow});
  CHECK(static_cast<double>(uneven.shares[0]) == doctest::Approx(0.75 * kItems).epsilon(0.02));
  CHECK(seconds_of(uneven) == doctest::Approx(1.5 * seconds_of(equal)).epsilon(0.02));
  Handicap late;
  late.slow = 3;
  late.slow_from_fraction = 0.5;
  CHECK(plan(kItems, {{}, late}).shares == equal.shares);
  Handicap delayed;
  delayed.delay = std::chrono::milliseconds(100);
  CHECK(plan(kItems, {{}, delayed}).shares[0] > kItems / 2);
  Handicap small;
  small.memory_cap = kItems;  // 8 bytes per item do not fit
  CHECK(plan(kItems, {{}, small}).shares == std::vector<Items>{kItems, 0});
  const PlannedCase one = plan(1, {});
  CHECK(one.bottleneck.name == "free_granularity");
}
