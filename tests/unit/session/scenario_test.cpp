// Scenarios on the fake backend: what the simulator predicts is what the executor does, and what
// was not done does not verify.
#include <doctest/doctest.h>

#include <map>
#include <random>

#include "lib/base/error.hpp"
#include "lib/exec/executor.hpp"
#include "lib/exec/scenario_run.hpp"
#include "lib/plan/exchange.hpp"
#include "lib/plan/simulator.hpp"
#include "lib/plan/strategy.hpp"
#include "lib/session/session.hpp"
#include "tests/support/quiet_observer.hpp"
#include "tests/support/sanitized.hpp"

using namespace mgpu;
using namespace mgpu::test;

namespace {

Scenario scenario_of(std::size_t devices, Items items) {
  Scenario scenario;
  scenario.work.items = items;
  scenario.devices.resize(devices);
  for (ScenarioDevice& device : scenario.devices) device.estimate.items_per_s = 1e9;
  return scenario;
}

// A scenario opened as a session would.
struct Opened {
  Opened(const Scenario& stated, Mode chosen)
      : scenario(stated),
        mode(chosen),
        backend(make_scenario_backend(stated)),
        workload(scenario_suite(stated, *backend).make({})),
        executor(*backend, stated.devices.size()) {
    for (const Device& facts : scenario_devices(scenario)) {
      open.push_back(backend->open(facts));
      const Capacity capacity = workload->capacity(open.back()->resources().traits(), mode);
      REQUIRE(capacity.reason == "");
      programs.push_back(workload->program(open.back()->resources(), mode, capacity));
      DeviceEstimate estimate = scenario.devices[open.size() - 1].estimate;
      estimate.fits = capacity.fits;
      estimate.pipeline = capacity.pipeline;
      estimates.push_back(estimate);
    }
    const Shape& shape = workload->shape();
    request = PlanRequest{shape.items,      shape.granularity, mode, shape.cost, estimates,
                          scenario.link_up, scenario.link_down};
    request.merge = scenario.work.merge;
    request.exchange = scenario.exchange;
    if (!workload->exchanged(mode).any()) return;
    std::vector<OpenDevice*> all;
    for (const auto& device : open) all.push_back(device.get());
    group = backend->connect(all, {});
    workload->connect(*group);
    programs.clear();  // a program takes its device's end of the group
    for (const auto& device : open)
      programs.push_back(workload->program(device->resources(), mode,
                                           workload->capacity(device->resources().traits(), mode)));
  }

  std::unique_ptr<SliceSource> source(const StrategyInfo& info) const {
    StrategyParams params;
    for (const StrategyParam& param : info.params) params[param.name] = param.standard;
    return info.make(params)->begin(request, {});
  }
  RawSample execute(SliceSource& source) {
    SampleRequest sample;
    sample.workload = workload.get();
    sample.source = &source;
    for (std::size_t i = 0; i < open.size(); ++i)
      sample.members.push_back({open[i].get(), programs[i].get()});
    if (group) {
      sample.exchanging = exchanging(request, source);
      if (std::count(sample.exchanging.begin(), sample.exchanging.end(), true) > 0)
        sample.peers = group.get();
    }
    for (std::uint32_t i = 0; sample.peers != nullptr && i < open.size(); ++i)
      sample.places.push_back({i});
    return executor.run(sample);
  }

  Scenario scenario;
  Mode mode;
  std::unique_ptr<FakeBackend> backend;
  std::unique_ptr<Workload> workload;
  Executor executor;
  std::vector<std::unique_ptr<OpenDevice>> open;
  std::unique_ptr<PeerGroup> group;  // none: nothing is exchanged
  std::vector<std::unique_ptr<DeviceProgram>> programs;
  std::vector<DeviceEstimate> estimates;
  PlanRequest request;
};

Scenario random_scenario(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto between = [&](std::uint64_t low, std::uint64_t high) {
    return std::uniform_int_distribution<std::uint64_t>(low, high)(random);
  };
  Scenario scenario = scenario_of(between(1, 8), between(100'000, 3'000'000));
  scenario.work.granularity = between(1, 2) == 1 ? 1 : between(1, 500);
  scenario.work.cost = {static_cast<double>(between(0, 16)), static_cast<double>(between(0, 4)), 1,
                        between(0, 1) * 100'000};
  scenario.work.merge = {Nanos{20'000}, Nanos{100}};
  scenario.link_up = static_cast<double>(between(0, 3)) * 1e10;
  scenario.link_down = static_cast<double>(between(0, 3)) * 1e10;
  if (between(0, 1) == 1) scenario.link_up = LinkRate({1e10, 1.5e10, 1.9e10, 1.8e10});
  for (ScenarioDevice& device : scenario.devices) {
    device.estimate.items_per_s = static_cast<double>(between(1, 9)) * 3e8;
    device.estimate.launch = Nanos{static_cast<std::int64_t>(between(0, 9000))};
    device.estimate.first_slice_discount =
        device.estimate.launch / static_cast<std::int64_t>(between(1, 3));
    device.estimate.minimum_slice =
        Nanos{static_cast<std::int64_t>(between(0, 1) * between(0, 40'000))};
    device.estimate.transfer = Nanos{static_cast<std::int64_t>(between(0, 9000))};
    device.estimate.fixed = Nanos{static_cast<std::int64_t>(between(0, 30'000))};
    device.estimate.per_peer_contention =
        device.estimate.fixed / static_cast<std::int64_t>(between(1, 10));
    device.estimate.up = static_cast<double>(between(0, 3)) * 5e9;
    device.estimate.down = static_cast<double>(between(0, 3)) * 5e9;
  }
  return scenario;
}

}  // namespace

namespace {

// Links of all speeds, over which devices gather a replicated input, combine parts of the result,
// or both.
void add_exchange(Scenario& scenario, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto between = [&](std::uint64_t low, std::uint64_t high) {
    return std::uniform_int_distribution<std::uint64_t>(low, high)(random);
  };
  const std::size_t count = scenario.devices.size();
  scenario.exchange.links = PeerLinks(count);
  for (std::size_t from = 0; from < count; ++from) {
    for (std::size_t to = 0; to < count; ++to) {
      scenario.exchange.links.of(from, to) = {PeerPath::direct,
                                              static_cast<double>(between(0, 4)) * 2e9,
                                              Nanos{static_cast<std::int64_t>(between(0, 20'000))}};
    }
  }
  scenario.exchange.gathers = between(0, 2) > 0;
  scenario.exchange.combines =
      scenario.exchange.gathers && between(0, 1) == 0 ? 0 : between(1, 3'000'000);
  scenario.work.cost.replicated = between(0, 2) * 5'000'001;
  scenario.work.merge.tree = between(0, 1) == 1;
  for (ScenarioDevice& device : scenario.devices)
    device.estimate.fixed_shared = device.estimate.fixed / 2;
}

void check_predictions(const Scenario& scenario) {
  for (const Mode mode : {Mode::resident, Mode::end_to_end}) {
    Opened opened(scenario, mode);
    for (const StrategyInfo& info : all_strategies()) {
      CAPTURE(info.name);
      CAPTURE(to_string(mode));
      const Simulation predicted = simulate(opened.request, *opened.source(info));
      const auto source = opened.source(info);
      const RawSample done = opened.execute(*source);
      const std::string why = done.failure ? done.failure->what() : "";
      CAPTURE(why);
      REQUIRE_FALSE(done.failure);
      CHECK(opened.workload->verify(VerifyLevel::full, 1).status == Verdict::Status::passed);
      CHECK(seconds(predicted.makespan) == doctest::Approx(seconds(done.makespan())).epsilon(0.01));
      CHECK(predicted.merge == done.merge_end - done.merge_begin);
      const SampleShare share = share_of(done, opened.open.size());
      for (std::size_t i = 0; i < opened.open.size(); ++i) {
        CHECK(static_cast<double>(predicted.devices[i].items) ==
              doctest::Approx(static_cast<double>(share.items[i])).epsilon(0.01));
        CHECK(seconds(predicted.devices[i].busy) ==
              doctest::Approx(seconds(share.busy[i])).epsilon(0.01));
      }
    }
  }
}

}  // namespace

TEST_CASE("what the simulator predicts is what the executor does, under every strategy") {
  for (std::uint64_t seed = 1; seed <= 40; seed += one_in(8)) {
    CAPTURE(seed);
    check_predictions(random_scenario(seed));
  }
}

TEST_CASE("so it is where devices exchange data") {
  for (std::uint64_t seed = 1; seed <= 40; seed += one_in(8)) {
    CAPTURE(seed);
    Scenario scenario = random_scenario(seed);
    add_exchange(scenario, seed);
    check_predictions(scenario);
  }
}

TEST_CASE("devices on one link take as long as it takes the link, whoever sends") {
  Scenario scenario = scenario_of(4, 4'000'000);
  scenario.work.cost.in_bytes = 10;
  scenario.link_up = 2e9;
  for (ScenarioDevice& device : scenario.devices) {
    device.estimate.items_per_s = 1e12;
    device.estimate.up = 1e9;
  }
  Opened opened(scenario, Mode::end_to_end);
  const auto equal = opened.source(*parse_strategies("equal").front().info);
  CHECK(seconds(opened.execute(*equal).makespan()) ==
        doctest::Approx(0.02).epsilon(0.001));  // 40 MB at 2 GB/s, not at 4
  const auto single = opened.source(*parse_strategies("single").front().info);
  CHECK(seconds(opened.execute(*single).makespan()) == doctest::Approx(0.04).epsilon(0.001));
}

TEST_CASE("work that is not done, or done twice, does not verify") {
  for (const Items items :
       {Items{1}, Items{2}, Items{3}, Items{1000}, (Items{1} << 40) + 12345, Items{1} << 62}) {
    CAPTURE(items);
    Scenario scenario = scenario_of(1, items);
    scenario.devices[0].estimate.items_per_s = 1e18;
    Opened opened(scenario, Mode::resident);
    const auto run = [&](std::initializer_list<Slice> slices) {
      opened.workload->begin_sample();
      DeviceProgram& program = *opened.programs[0];
      Stream& stream = opened.open[0]->stream();
      program.prepare(stream);
      for (const Slice& slice : slices) program.enqueue(slice, 0, stream);
      program.collect(stream);
      program.collected();
      opened.workload->merge();
      return opened.workload->verify(VerifyLevel::full, 1).status == Verdict::Status::passed;
    };
    CHECK(run({{0, items}}));
    CHECK_FALSE(run({}));
    if (items == 1) continue;
    const Items third = items / 3 + 1;
    CHECK(run({{0, third}, {third, items}}));
    CHECK_FALSE(run({{0, third}}));
    CHECK_FALSE(run({{0, third}, {third, items}, {0, 1}}));
    CHECK_FALSE(run({{0, third}, {0, items - third}}));
  }
}

TEST_CASE("memory decides what is resident and how large slices are") {
  Scenario scenario = scenario_of(1, 1000);
  scenario.work.granularity = 10;
  scenario.work.cost = {6, 2, 1, 100};
  scenario.devices[0].memory = 1700;
  const auto backend = make_scenario_backend(scenario);
  const auto workload = scenario_suite(scenario, *backend).make({});
  DeviceTraits traits;
  traits.global_memory = 1700;
  CHECK(workload->capacity(traits, Mode::resident).fits == 0);
  CHECK(workload->capacity(traits, Mode::resident).reason.find("do not fit") != std::string::npos);
  CHECK(workload->capacity(traits, Mode::end_to_end).fits ==
        100);  // two of 800 bytes beside the 100
  traits.global_memory = 8100;
  CHECK(workload->capacity(traits, Mode::resident).fits == 1000);
  traits.global_memory = 250;
  CHECK(workload->capacity(traits, Mode::end_to_end).fits == 0);
}

TEST_CASE(
    "work that goes in rounds waits for neighbours after each but the last, and is for strategies "
    "with fixed shares") {
  Scenario scenario = scenario_of(3, 3'000'001);
  scenario.work.rounds = 10;
  scenario.exchange.links = PeerLinks(3, {PeerPath::direct, 1e9, Nanos{700}});
  scenario.exchange.rounds = 9;
  scenario.exchange.halo = 5000;
  scenario.devices[2].slow = 2;
  const auto backend = make_scenario_backend(scenario);
  const SuiteInfo suite = scenario_suite(scenario, *backend);
  SessionOptions options;
  options.problems = {{&suite, {}}};
  options.modes = {Mode::resident};
  options.strategies = parse_strategies("equal,dynamic");
  options.devices = scenario_devices(scenario);
  options.device_counts = {3};
  options.stop.exactly = 1;
  options.given_estimates = SetEstimates{{}, 0, 0, {}, scenario.exchange};
  for (const ScenarioDevice& device : scenario.devices)
    options.given_estimates->devices.push_back(device.estimate);
  QuietObserver observer;
  const Report report = run_session(*backend, options, {}, observer);
  REQUIRE(report.runs.size() == 2);
  const RunRecord& run = report.runs[0];
  REQUIRE(run.status == Status::ok);
  CHECK(run.verify.status == VerifyStatus::passed);
  // Two ms of the slow device, which sends to the one before it and signals that, and at last
  // nothing.
  const std::int64_t items = static_cast<std::int64_t>(run.per_device[2].parts.items);
  CHECK(items >= 1'000'000);
  CHECK(run.samples == std::vector<Nanos>{Nanos{2 * items + 9 * (5000 + 700 + 700)}});
  CHECK(run.plan.work->rounds == 10);
  CHECK(run.per_device[1].parts.bytes_sent == 9 * 2 * 5000);
  CHECK(run.per_device[2].parts.bytes_sent == 9 * 5000);
  CHECK(run.metrics.round_imbalance_percent.value() == doctest::Approx(50).epsilon(0.001));
  std::map<std::uint32_t, int> kernels;  // of each round
  for (const Command& command : run.timeline.commands) {
    if (command.kind == CommandKind::compute && command.round) ++kernels[*command.round];
  }
  CHECK(kernels.size() == 10);
  for (const auto& [round, count] : kernels) CHECK(count == 3);
  CHECK(report.runs[1].status == Status::unsupported);
}

TEST_CASE(
    "a session on a scenario tells strategies what is stated, and slow devices do otherwise") {
  Scenario scenario = scenario_of(2, 10'000'000);
  scenario.devices[0].slow = 3;
  const auto backend = make_scenario_backend(scenario);
  const SuiteInfo suite = scenario_suite(scenario, *backend);
  SessionOptions options;
  options.problems = {{&suite, {}}};
  options.modes = {Mode::resident};
  options.strategies = parse_strategies("equal,dynamic");
  options.devices = scenario_devices(scenario);
  options.device_counts = {2};
  options.stop.exactly = 1;
  options.given_estimates =
      SetEstimates{{scenario.devices[0].estimate, scenario.devices[1].estimate}, 0, 0, {}};
  QuietObserver observer;
  const Report report = run_session(*backend, options, {}, observer);
  REQUIRE(report.runs.size() == 2);
  for (const RunRecord& run : report.runs) {
    CHECK(run.status == Status::ok);
    CHECK(run.verify.status == VerifyStatus::passed);
  }
  CHECK(report.runs[0].samples ==
        std::vector<Nanos>{std::chrono::milliseconds(15)});  // half of 10 ms, three times as slow
  CHECK(*report.runs[1].metrics.efficiency > 0.9);
  CHECK(*report.runs[1].per_device[0].alone == std::chrono::milliseconds(30));
}
