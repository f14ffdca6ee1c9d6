// Scenarios: the simulator's prediction equals what the executor does on fake devices, command by
// command; work left undone does not verify; sessions with simulated samples.
#include <doctest/doctest.h>

#include <map>
#include <random>
#include <set>

#include "lib/base/error.hpp"
#include "lib/exec/executor.hpp"
#include "lib/plan/exchange.hpp"
#include "lib/plan/rounds.hpp"
#include "lib/plan/simulator.hpp"
#include "lib/plan/strategy.hpp"
#include "lib/session/simulated.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/scenario_run.hpp"
#include "tests/support/sum_session.hpp"
#include "tests/support/thorough.hpp"

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

// A scenario opened as in a session.
struct OpenedScenario {
  OpenedScenario(const Scenario& stated, Mode chosen)
      : scenario(stated),
        mode(chosen),
        backend(make_scenario_backend(stated)),
        workload(make_scenario_workload(stated, *backend)),
        executor(*backend, stated.devices.size()) {
    std::vector<OpenDevice*> all;
    for (const Device& facts : devices_of(scenario)) {
      open.push_back(backend->open(facts));
      all.push_back(open.back().get());
    }
    if (workload->exchange()->exchanged(mode).any()) {
      group = backend->connect(all, {});
      workload->exchange()->connect(*group);
    }
    for (std::size_t i = 0; i < open.size(); ++i) {
      const Capacity capacity = workload->capacity(open[i]->resources().traits(), mode);
      REQUIRE(capacity.reason == "");
      programs.push_back(workload->program(open[i]->resources(), mode, capacity));
      DeviceEstimate& estimate = estimates.emplace_back(scenario.devices[i].estimate);
      estimate.fits = capacity.fits;
      estimate.pipeline = capacity.pipeline;
    }
    const Shape& shape = workload->shape();
    request = PlanRequest{shape.items,      shape.granularity, mode, shape.cost, estimates,
                          scenario.link_up, scenario.link_down};
    request.merge = scenario.work.merge;
    request.exchange = scenario.exchange;
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
      sample.participants.push_back({open[i].get(), programs[i].get()});
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
  std::unique_ptr<PeerGroup> group;  // null: nothing is exchanged
  std::vector<std::unique_ptr<DeviceProgram>> programs;
  std::vector<DeviceEstimate> estimates;
  PlanRequest request;
};

class Between {
 public:
  explicit Between(std::uint64_t seed) : random_(seed) {}
  std::uint64_t operator()(std::uint64_t low, std::uint64_t high) {
    return std::uniform_int_distribution<std::uint64_t>(low, high)(random_);
  }
  // Returns a multiple of `step`, from none to `most` of them.
  double rate(std::uint64_t most, double step) {
    return static_cast<double>((*this)(0, most)) * step;
  }
  Nanos time(std::uint64_t most) { return Nanos{static_cast<std::int64_t>((*this)(0, most))}; }
  std::int64_t divisor(std::uint64_t most) { return static_cast<std::int64_t>((*this)(1, most)); }

 private:
  std::mt19937_64 random_;
};

Scenario random_scenario(std::uint64_t seed) {
  Between between(seed);
  Scenario scenario = scenario_of(between(1, 8), between(100'000, 3'000'000));
  scenario.work.granularity = between(1, 2) == 1 ? 1 : between(1, 500);
  scenario.work.cost = {between.rate(16, 1), between.rate(4, 1), 1, between(0, 1) * 100'000};
  scenario.work.merge = {Nanos{20'000}, Nanos{100}};
  scenario.link_up = between.rate(3, 1e10);
  scenario.link_down = between.rate(3, 1e10);
  if (between(0, 1) == 1) scenario.link_up = LinkRate({1e10, 1.5e10, 1.9e10, 1.8e10});
  for (ScenarioDevice& device : scenario.devices) {
    DeviceEstimate& estimate = device.estimate;
    estimate.items_per_s = static_cast<double>(between(1, 9)) * 3e8;
    estimate.launch = between.time(9000);
    estimate.first_slice_discount = estimate.launch / between.divisor(3);
    estimate.minimum_slice = between.time(1) * between.time(40'000).count();
    estimate.transfer = between.time(9000);
    estimate.fixed = between.time(30'000);
    estimate.per_peer_contention = estimate.fixed / between.divisor(10);
    estimate.up = between.rate(3, 5e9);
    estimate.down = between.rate(3, 5e9);
  }
  return scenario;
}

// Adds links of all speeds, over which devices gather a replicated input, combine parts of the
// result, or both.
void add_exchange(Scenario& scenario, std::uint64_t seed) {
  Between between(seed);
  const std::size_t count = scenario.devices.size();
  scenario.exchange.links = PeerLinks(count);
  for (std::size_t from = 0; from < count; ++from) {
    for (std::size_t to = 0; to < count; ++to) {
      PeerLink& link = scenario.exchange.links.of(from, to);
      link = {PeerPath::direct, between.rate(4, 2e9), between.time(20'000)};
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

// Time of each kind of command per device.
using Times = std::map<std::pair<std::uint32_t, CommandKind>, Nanos>;

Times times_of(const RawSample& sample) {
  Times times;
  for (const RawBatch& batch : sample.batches) {
    for (const RawCommand& command : batch.commands)
      times[{batch.device.value, command.kind}] +=
          Nanos{static_cast<std::int64_t>(command.ended - command.started)};
  }
  return times;
}

Times times_of(const std::vector<SimulatedBatch>& log) {
  using enum SimulatedCommand::Kind;
  Times times;
  for (const SimulatedBatch& batch : log) {
    for (const SimulatedCommand& command : batch.commands) {
      const CommandKind kind = command.kind == upload     ? CommandKind::upload
                               : command.kind == download ? CommandKind::download
                               : command.kind == compute  ? CommandKind::compute
                                                          : CommandKind::exchange;
      times[{batch.device.value, kind}] += command.ended - command.started;
    }
  }
  return times;
}

void check_predictions(const Scenario& scenario) {
  for (const Mode mode : kBothModes) {
    OpenedScenario opened(scenario, mode);
    for (const StrategyInfo& info : all_strategies()) {
      CAPTURE(info.name);
      CAPTURE(to_string(mode));
      std::vector<SimulatedBatch> log;
      const Simulation predicted = simulate(opened.request, *opened.source(info), &log);
      const auto source = opened.source(info);
      const RawSample done = opened.execute(*source);
      const std::string why = done.failure ? done.failure->what() : "";
      CAPTURE(why);
      REQUIRE_FALSE(done.failure);
      CHECK(opened.workload->verify(VerifyLevel::full, 1).status == Verdict::Status::passed);
      CHECK(seconds(predicted.makespan) == doctest::Approx(seconds(done.makespan())).epsilon(0.01));
      CHECK(predicted.merge == done.merge_end - done.merge_begin);
      const Times simulated = times_of(log), executed = times_of(done);
      CHECK(simulated.size() == executed.size());
      for (const auto& [of, time] : executed) {
        CAPTURE(of.first);
        CAPTURE(to_string(of.second));
        REQUIRE(simulated.contains(of));
        CHECK(seconds(simulated.at(of)) == doctest::Approx(seconds(time)).epsilon(0.01));
      }
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

TEST_CASE("what the simulator predicts is what the executor does, also where data is exchanged") {
  const std::uint64_t step = testing::is_thorough() ? 1 : kSanitized ? 11 : 4;
  for (std::uint64_t seed = 1; seed <= 40; seed += step) {
    CAPTURE(seed);
    Scenario scenario = random_scenario(seed);
    check_predictions(scenario);
    add_exchange(scenario, seed);
    check_predictions(scenario);
  }
}

TEST_CASE("work that is not done, or done twice, does not verify") {
  for (const Items items :
       {Items{1}, Items{2}, Items{3}, Items{1000}, (Items{1} << 40) + 12345, Items{1} << 62}) {
    CAPTURE(items);
    Scenario scenario = scenario_of(1, items);
    scenario.devices[0].estimate.items_per_s = 1e18;
    OpenedScenario opened(scenario, Mode::resident);
    const auto run = [&](std::initializer_list<Slice> slices) {
      opened.workload->begin_sample();
      DeviceProgram& program = *opened.programs[0];
      Stream& stream = opened.open[0]->stream();
      program.prepare(stream);
      for (const Slice& slice : slices) program.enqueue(slice, 0, stream);
      program.collect(stream)();
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
  const auto workload = make_scenario_workload(scenario, *backend);
  DeviceTraits traits;
  traits.global_memory = 1700;
  CHECK(workload->capacity(traits, Mode::resident).fits == 0);
  CHECK(workload->capacity(traits, Mode::resident).reason != "");
  CHECK(workload->capacity(traits, Mode::end_to_end).fits ==
        100);  // two of 800 bytes in addition to the 100
  traits.global_memory = 8100;
  CHECK(workload->capacity(traits, Mode::resident).fits == 1000);
  traits.global_memory = 250;
  CHECK(workload->capacity(traits, Mode::end_to_end).fits == 0);
}

namespace {

Report run_scenario(const Scenario& scenario, const std::string& strategies = "equal,dynamic",
                    std::optional<PeerPath> peer = {}) {
  const SuiteInfo suite = scenario_suite(scenario);
  SessionOptions options =
      options_on(devices_of(scenario), {&suite, {}}, {Mode::resident}, strategies);
  options.stop.exactly = 1;
  options.peer = peer;
  QuietObserver observer;
  return simulate_session(scenario, options, {}, observer);
}

}  // namespace

TEST_CASE("iterative work waits for all, and is for strategies of fixed shares") {
  Scenario scenario = scenario_of(3, 3'000'001);
  scenario.work.rounds = 10;
  scenario.exchange.links = PeerLinks(3, {PeerPath::direct, 1e9, Nanos{700}});
  scenario.exchange.rounds = 9;
  scenario.exchange.halo = 5000;
  scenario.devices[2].slow = 2;
  const Report report = run_scenario(scenario);
  REQUIRE(report.runs.size() == 2);
  const RunRecord& run = report.runs[0];
  REQUIRE(run.status == Status::ok);
  CHECK(run.verify.status == VerifyStatus::off);
  // The slow device takes two ns per item; the others wait for it, and all wait for the data sent
  // after each iteration but the last.
  const std::int64_t items = static_cast<std::int64_t>(run.per_device[2].parts.items);
  CHECK(items >= 1'000'000);
  CHECK(run.samples == std::vector<Nanos>{Nanos{2 * items + 9 * (5000 + 700)}});
  CHECK(run.plan.work->rounds == 10);
  CHECK(run.per_device[2].parts.compute == Nanos{2 * items});
  CHECK(seconds(run.per_device[0].parts.exchange) > 0.45 * seconds(run.samples[0]));
  CHECK(run.per_device[1].parts.bytes_sent == 9 * 2 * 5000);
  CHECK(run.per_device[2].parts.bytes_sent == 9 * 5000);
  CHECK(run.metrics.round_imbalance_percent.value() == doctest::Approx(50).epsilon(0.001));
  std::map<std::uint32_t, int> kernels;  // number in each iteration
  for (const Command& command : run.timeline.commands) {
    if (command.kind == CommandKind::compute && command.round) ++kernels[*command.round];
  }
  CHECK(kernels.size() == 10);
  for (const auto& [round, count] : kernels) CHECK(count == 3);
  CHECK(report.runs[1].status == Status::unsupported);
}

TEST_CASE("strategies are told what a scenario states, and slow devices do otherwise") {
  Scenario scenario = scenario_of(2, 10'000'000);
  scenario.devices[0].slow = 3;
  const Report report = run_scenario(scenario);
  REQUIRE(report.runs.size() == 2);
  for (const RunRecord& run : report.runs) {
    CHECK(run.status == Status::ok);
    CHECK(run.verify.status == VerifyStatus::off);
    CHECK(run.verify.digest.empty());
  }
  CHECK(report.runs[0].samples ==
        std::vector<Nanos>{std::chrono::milliseconds(15)});  // half of 10 ms, three times as slow
  CHECK(*report.runs[1].metrics.efficiency > 0.9);
  CHECK(*report.runs[1].per_device[0].alone == std::chrono::milliseconds(30));
}

TEST_CASE("a device that works alone is as it is alone, under its own id") {
  Scenario scenario = scenario_of(3, 12'000'000);
  scenario.devices[0].id = "0:0.0";
  scenario.devices[1].id = "0:2";
  scenario.devices[1].alone = scenario.devices[1].estimate;
  scenario.devices[1].alone->items_per_s = 2e9;
  const std::vector<Device> devices = devices_of(scenario);
  CHECK(devices[0].id == "0:0.0");
  CHECK(devices[1].id == "0:2");
  CHECK(devices[2].id == "0:3");  // the first free position from its own onwards
  const Report report = run_scenario(scenario, "single,equal,sequential,dynamic");
  REQUIRE(report.runs.size() == 4);
  using std::chrono::milliseconds;
  CHECK(report.runs[0].samples == std::vector<Nanos>{milliseconds(6)});
  CHECK(report.runs[1].samples == std::vector<Nanos>{milliseconds(4)});
  CHECK(report.runs[2].samples == std::vector<Nanos>{milliseconds(12)});  // on the first device
  CHECK(*report.runs[1].per_device[1].alone == milliseconds(6));
  CHECK(*report.runs[1].per_device[0].alone == milliseconds(12));
  CHECK(report.devices[1].device.id == "0:2");
}

TEST_CASE("contention that a record proves is named by its simulation, and otherwise nothing is") {
  Scenario scenario = scenario_of(2, 12'000'000);
  for (ScenarioDevice& device : scenario.devices) {
    device.alone = device.estimate;
    device.alone->items_per_s = 1.5e9;
  }
  scenario.given = SetEstimates{{scenario.devices[0].estimate, scenario.devices[1].estimate}};
  const auto bottleneck = [&] {
    return run_scenario(scenario, "equal").runs.front().bottleneck.name;
  };
  CHECK(bottleneck() == "unexplained");
  for (ScenarioDevice& device : scenario.devices) device.contention = 1.5;
  CHECK(bottleneck() == "free_contention");
}

TEST_CASE("only the four iterations before a rebalancing point are enqueued one by one") {
  Scenario scenario = scenario_of(2, 1'000'000);
  scenario.work.rounds = 40;
  OpenedScenario opened(scenario, Mode::resident);
  opened.request.rounds = 40;
  for (const bool rebalances : {true, false}) {
    const std::vector<Items> halves(2, 500'000);
    const auto source = make_kept_shares(
        halves, rebalances ? std::optional(Rebalancer(opened.request, halves)) : std::nullopt);
    std::set<std::uint32_t> begun;
    for (const RawBatch& batch : opened.execute(*source).batches)
      for (const RawCommand& command : batch.commands)
        if (command.round) begun.insert(*command.round);
    CHECK(begun == (rebalances ? std::set<std::uint32_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 13, 14, 15,
                                                         16, 28, 29, 30, 31, 32}
                               : std::set<std::uint32_t>{0}));
  }
}

TEST_CASE("devices that lack the path asked for exchange nothing, and rounds need them to") {
  Scenario scenario = scenario_of(2, 1'000'000);
  scenario.work.rounds = 10;
  scenario.exchange.links = PeerLinks(2, {PeerPath::staged, 1e9, Nanos{700}});
  scenario.exchange.rounds = 9;
  CHECK(run_scenario(scenario).runs[0].status == Status::ok);
  const Report report = run_scenario(scenario, "equal", PeerPath::direct);
  REQUIRE(report.exchange_notes.size() == 1);
  CHECK(report.exchange_notes[0] ==
        "devices exchange no data: devices 0:0 and 0:1 have no direct path");
  CHECK(report.runs[0].status == Status::unsupported);
  CHECK(*report.runs[0].reason ==
        "these devices cannot exchange data, which they have to after each round");
}

TEST_CASE("a session of simulated samples that is asked to stop is not complete") {
  struct Stops : QuietObserver {
    bool stop_requested() override { return asked++ >= 3; }
    int asked = 0;
  } observer;
  const Scenario scenario = scenario_of(2, 1'000'000);
  const SuiteInfo suite = scenario_suite(scenario);
  SessionOptions options = options_on(devices_of(scenario), {&suite, {}},
                                      {Mode::resident, Mode::end_to_end}, "equal,dynamic");
  options.stop.exactly = 1;
  const Report report = simulate_session(scenario, options, {}, observer);
  CHECK_FALSE(report.complete);
  REQUIRE(report.runs.size() == 2);
  CHECK(report.runs[0].status == Status::ok);
  CHECK(report.runs[1].status == Status::skipped);
}
