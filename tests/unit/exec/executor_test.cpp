// The executor and its workers on the fake backend: exact times, scripted failures.
#include "lib/exec/executor.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <condition_variable>
#include <system_error>

#include "lib/plan/strategy.hpp"
#include "lib/profile/metrics.hpp"
#include "tests/support/sum_workload.hpp"

using namespace mgpu;
using namespace mgpu::test;

namespace {

// One sample of the sum workload under a strategy; estimates say what the devices really do.
struct Setup {
  Setup(std::vector<FakeDevice> fakes, Items items, SumFaults faults = {}, FakeTime time = FakeTime::is_virtual)
      : specs(fakes), backend(std::move(fakes), sum_kernels(), time), workload(items, faults) {
    for (std::uint32_t i = 0; i < specs.size(); ++i) {
      open.push_back(backend.open(specs[i].facts));
      const Capacity capacity = workload.capacity(open[i]->resources().traits(), mode);
      programs.push_back(workload.program(open[i]->resources(), DeviceIndex{i}, mode, capacity));
      DeviceEstimate estimate;
      estimate.items_per_s = specs[i].ops_per_s;
      estimate.score = 50;
      estimate.fits = capacity.fits;
      estimate.pipeline = capacity.pipeline;
      estimates.push_back(estimate);
    }
  }

  RawSample run(const std::string& strategy, Nanos timeout = std::chrono::seconds(60)) {
    const StrategyChoice choice = parse_strategies(strategy).front();
    if (reserve) estimates.resize(*reserve);
    const PlanRequest request{workload.shape().items, 1, mode, workload.shape().cost, estimates, 0, 0};
    const auto source = choice.info->make(choice.params)->begin(request, {});
    SampleRequest sample;
    sample.workload = &workload;
    sample.source = source.get();
    sample.timeout = timeout;
    for (std::size_t i = 0; i < open.size(); ++i) {
      if (reserve != i) sample.members.push_back({open[i].get(), programs[i].get()});
    }
    sample.stop = stop;
    if (reserve) {
      sample.reserve = [&]() -> std::optional<Member> {
        ++asked_reserve;
        return Member{open[*reserve].get(), programs[*reserve].get()};
      };
    }
    Executor executor(backend, open.size(), start);
    return executor.run(sample);
  }

  Timeline timeline(const RawSample& sample) {
    std::vector<ClockMap> clocks;
    for (auto& device : open) clocks.push_back(fit_clock(device->probe_clock(1), {}));
    return to_timeline(sample, clocks);
  }

  bool right() const { return workload.digest() == std::to_string(workload.reference()); }

  Mode mode = Mode::end_to_end;
  std::optional<std::size_t> reserve;  // the last device
  std::size_t asked_reserve = 0;
  std::function<bool()> stop;
  Executor::StartThread start;
  std::vector<FakeDevice> specs;
  FakeBackend backend;
  SumWorkload workload;
  std::vector<std::unique_ptr<OpenDevice>> open;
  std::vector<std::unique_ptr<DeviceProgram>> programs;
  std::vector<DeviceEstimate> estimates;
};

bool covers_once(std::vector<RawSlice> slices, Items items) {
  std::sort(slices.begin(), slices.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  Items reached = 0;
  for (const auto& slice : slices) {
    if (slice.begin != reached) return false;
    reached = slice.end;
  }
  return reached == items;
}

}  // namespace

TEST_CASE("every strategy gives the right sum, every item once, and parts that add up to T") {
  for (const StrategyInfo& info : all_strategies()) {
    for (std::size_t devices = 1; devices <= 4; ++devices) {
      CAPTURE(info.name);
      CAPTURE(devices);
      std::vector<FakeDevice> fakes;
      for (std::size_t i = 0; i < devices; ++i)
        fakes.push_back(fake_device("0:" + std::to_string(i), 1e9 / static_cast<double>(i + 1)));
      Setup setup(fakes, 100'003);
      const RawSample sample = setup.run(info.name);
      REQUIRE_FALSE(sample.failure);
      CHECK(setup.right());
      CHECK(covers_once(sample.slices, 100'003));
      const Timeline timeline = setup.timeline(sample);
      for (const DeviceParts& parts : device_parts(timeline)) CHECK(parts.residue == Nanos{});
    }
  }
}

TEST_CASE("two equal devices take half the time of one, to the launches") {
  FakeDevice device = fake_device("0:0"), other = fake_device("0:1");
  device.up = other.up = 1e14;  // nothing to wait for at the start but launches
  Setup one({device}, 1 << 20), two({device, other}, 1 << 20);
  const double ratio = seconds(one.run("equal").makespan()) / seconds(two.run("equal").makespan());
  CHECK(ratio > 1.95);
  CHECK(ratio <= 2.0);
}

TEST_CASE("clock offsets and drifts of devices do not move the timeline") {
  FakeDevice a = fake_device("0:0"), b = fake_device("0:1");
  a.clock_offset_ns = 5'000'000'000;
  b.clock_offset_ns = 77;
  b.clock_drift_ppb = 8500;
  Setup setup({a, b}, 1 << 18);
  const Timeline timeline = setup.timeline(setup.run("equal"));
  for (const Command& command : timeline.commands) {
    CHECK(command.started >= Nanos{-20});
    CHECK(command.ended <= timeline.makespan + Nanos{20});
  }
}

TEST_CASE("uploads of one slice run under the kernels of another") {
  FakeDevice device = fake_device("0:0", 1e9);
  device.up = 8e9;  // a slice uploads as long as it computes
  Setup setup({device}, 1 << 20);
  const auto parts = device_parts(setup.timeline(setup.run("equal")));
  CHECK(seconds(parts[0].transfer_hidden) > 0.8 * seconds(parts[0].transfer_total));
}

TEST_CASE("a device that fails loses its work to the others and the sum is right") {
  for (const StrategyInfo& info : all_strategies()) {
    if (info.name == "single" || info.name == "sequential") continue;  // they do not use the bad one
    for (const std::uint64_t launch : {0, 1, 2}) {
      CAPTURE(info.name);
      CAPTURE(launch);
      FakeDevice bad = fake_device("0:1");
      bad.script = fails_from(FakeCall::launch, launch, FakeFault::Kind::error);
      Setup setup({fake_device("0:0"), bad, fake_device("0:2")}, 100'000);
      const RawSample sample = setup.run(info.name);
      REQUIRE_FALSE(sample.failure);
      CHECK(setup.right());
      if (info.name == "sequential") continue;  // the first device holds everything
      if (sample.faults.empty()) {              // it had no launch of that number
        CHECK(launch > 0);
        continue;
      }
      REQUIRE(sample.faults.size() == 1);
      CHECK(sample.faults[0].device == DeviceIndex{1});
      CHECK(sample.faults[0].items_lost > 0);
    }
  }
}

TEST_CASE("a device that hangs is given up at the deadline and its work is done by the others") {
  FakeDevice bad = fake_device("0:0");
  bad.script = fails_from(FakeCall::launch, 1, FakeFault::Kind::hang);
  Setup setup({bad, fake_device("0:1")}, 100'000);
  const RawSample sample = setup.run("equal", std::chrono::milliseconds(50));
  REQUIRE_FALSE(sample.failure);
  CHECK(setup.right());
  REQUIRE(sample.faults.size() == 1);
  CHECK(sample.faults[0].hung());
  CHECK(sample.makespan() >= std::chrono::milliseconds(50));
}

TEST_CASE("when the last device fails the sample fails, and says why") {
  FakeDevice bad = fake_device("0:0");
  bad.script = fails_from(FakeCall::launch, 0, FakeFault::Kind::error);
  Setup setup({bad}, 1000);
  const RawSample sample = setup.run("equal");
  REQUIRE(sample.failure);
  CHECK(std::string(sample.failure->what()).find("0:0") != std::string::npos);
}

TEST_CASE("a slice that does not fit comes back in smaller pieces") {
  SumFaults faults;
  faults.too_many = 700;
  Setup setup({fake_device("0:0"), fake_device("0:1")}, 100'000, faults);
  const RawSample sample = setup.run("equal");
  REQUIRE_FALSE(sample.failure);
  CHECK(setup.right());
  for (const auto& slice : sample.slices) CHECK(slice.end - slice.begin <= 700);
}

TEST_CASE("work that fits nobody in any size fails instead of waiting for ever") {
  SumFaults faults;
  faults.too_many = 0;
  Setup setup({fake_device("0:0"), fake_device("0:1")}, 1000, faults);
  CHECK(setup.run("dynamic").failure);
}

TEST_CASE("when the device that merges fails, the host merges") {
  SumFaults faults;
  faults.merge_fails = true;
  Setup setup({fake_device("0:0"), fake_device("0:1")}, 1000, faults);
  const RawSample sample = setup.run("equal");
  REQUIRE_FALSE(sample.failure);
  CHECK(setup.right());
  REQUIRE(sample.faults.size() == 1);
  CHECK(sample.faults[0].what.find("merge") != std::string::npos);
}

TEST_CASE("what a device's commands came to may be known when the sample is over: a device lost then takes the result with it") {
  for (const char* strategy : {"equal", "dynamic"}) {
    FakeDevice fails = fake_device("0:1");
    fails.script = fails_from(FakeCall::take, 0, FakeFault::Kind::refused);
    Setup setup({fake_device("0:0"), fails}, 1000);
    const RawSample sample = setup.run(strategy);
    REQUIRE(sample.faults.size() == 1);
    CHECK(sample.faults[0].device == DeviceIndex{1});
    REQUIRE(sample.failure);
    CHECK(std::string(sample.failure->what()).find("refused, as its script says") != std::string::npos);
  }
}

TEST_CASE("no items at all is a sample without slices") {
  Setup setup({fake_device("0:0"), fake_device("0:1")}, 0);
  const RawSample sample = setup.run("equal");
  CHECK_FALSE(sample.failure);
  CHECK(sample.slices.empty());
}

TEST_CASE("in real time, with a thread each, polling or notified, samples are right and failures and hangs are survived") {
  for (const DeviceType type : {DeviceType::gpu, DeviceType::cpu}) {  // CPUs notify
    for (const auto kind : {FakeFault::Kind::error, FakeFault::Kind::refused, FakeFault::Kind::hang}) {
      std::size_t faults = 0;
      for (const StrategyInfo& info : all_strategies()) {
        CAPTURE(info.name);
        std::vector<FakeDevice> fakes{fake_device("0:0", 4e7), fake_device("0:1", 2e7), fake_device("0:2", 1e7),
                                      fake_device("0:3", 4e7)};
        fakes[3].script = fails_from(FakeCall::launch, 1, kind);
        for (FakeDevice& fake : fakes) fake.facts.type = type;
        Setup setup(fakes, 200'000, {}, FakeTime::is_real);
        const RawSample sample = setup.run(info.name, std::chrono::milliseconds(kind == FakeFault::Kind::hang ? 100 : 20'000));
        REQUIRE_FALSE(sample.failure);
        CHECK(setup.right());
        CHECK(sample.makespan() > Nanos{});
        for (const DeviceFault& fault : sample.faults) CHECK(fault.device == DeviceIndex{3});
        faults += sample.faults.size();
      }
      CHECK(faults >= 8);  // of some strategies it gets one slice at most
    }
  }
}

TEST_CASE("a device that completes one slice after the other is not given up, though each waited for the time-out") {
  FakeDevice device = fake_device("0:0", 1e6);
  device.launch = Nanos{};
  Setup setup({device}, 8'000);  // eight slices of 1 ms, two in flight
  const RawSample sample = setup.run("single", std::chrono::microseconds(1'500));
  CHECK_FALSE(sample.failure);
  CHECK(sample.faults.empty());
}

TEST_CASE("a hang is found when the time-out has passed since the device's last sign of life") {
  for (const StrategyInfo& info : all_strategies()) {
    FakeDevice bad = fake_device("0:0", 1e8);
    bad.script = fails_from(FakeCall::launch, 3, FakeFault::Kind::hang);
    Setup setup({bad, fake_device("0:1", 1e8)}, 1'000'000);
    const Nanos timeout = std::chrono::milliseconds(500);
    const RawSample sample = setup.run(info.name, timeout);
    CAPTURE(info.name);
    REQUIRE_FALSE(sample.failure);
    CHECK(setup.right());
    for (const DeviceFault& fault : sample.faults) {
      CHECK(fault.hung());
      CHECK(fault.detection >= timeout);
      CHECK(fault.detection <= timeout + timeout / 10);
    }
  }
}

TEST_CASE("losing one of two equal devices costs the work that is not on the host, and little more") {
  std::size_t faults = 0;
  for (const StrategyInfo& info : all_strategies()) {
    for (const std::uint64_t launch : {0, 1, 2, 3, 6}) {
      FakeDevice one = fake_device("0:0", 1e6), other = fake_device("0:1", 1e6);
      one.up = other.up = 1e12;
      other.script = fails_from(FakeCall::launch, launch, FakeFault::Kind::error);
      const Items items = 100'000;
      Setup setup({one, other}, items);
      const RawSample sample = setup.run(info.name);
      CAPTURE(info.name);
      CAPTURE(launch);
      REQUIRE_FALSE(sample.failure);
      CHECK(setup.right());
      if (sample.faults.empty()) continue;
      ++faults;
      const DeviceFault& fault = sample.faults.front();
      Items done = 0;  // by the other, when the fault was found
      for (const RawSlice& slice : sample.slices) {
        if (slice.device == DeviceIndex{0} && slice.finished - sample.begin <= fault.at) done += slice.end - slice.begin;
      }
      const double ideal = static_cast<double>(items - done) / 1e6;
      CHECK(seconds(sample.makespan() - fault.at) <= 1.1 * ideal);
      const Recovery recovery = recovery_of(sample, fault);
      CHECK(recovery.items == fault.items_lost);
      REQUIRE(recovery.time);
      CHECK(*recovery.time <= sample.makespan() - fault.at);
    }
  }
  CHECK(faults >= 30);
}

TEST_CASE("when every device is lost whoever is in reserve does what is left, on either clock") {
  for (const FakeTime time : {FakeTime::is_virtual, FakeTime::is_real}) {
    for (const StrategyInfo& info : all_strategies()) {
      FakeDevice one = fake_device("0:0", 1e8), other = fake_device("0:1", 1e8), third = fake_device("0:2", 1e7);
      one.script = other.script = fails_from(FakeCall::launch, 1, FakeFault::Kind::error);
      Setup setup({one, other, third}, 100'000, {}, time);
      setup.reserve = 2;
      const RawSample sample = setup.run(info.name);
      CAPTURE(info.name);
      REQUIRE_FALSE(sample.failure);
      CHECK(setup.right());
      CHECK_FALSE(sample.faults.empty());
      CHECK(setup.asked_reserve <= 1);
    }
  }
}

TEST_CASE("a sample that shall stop ends when what is in flight has ended, and has no result") {
  Setup setup({fake_device("0:0", 1e6), fake_device("0:1", 1e6)}, 4'000'000, {}, FakeTime::is_real);  // 2 s
  setup.stop = [] { return true; };
  const RawSample sample = setup.run("dynamic:chunks=64");
  CHECK(sample.interrupted);
  CHECK(sample.failure);
  CHECK(sample.faults.empty());
}

TEST_CASE("a driver that does not return from a call costs its device, and the sample goes on without it") {
  std::mutex mutex;
  std::condition_variable released;
  bool release = false;
  FakeDevice stuck = fake_device("0:1", 1e7);
  stuck.script = [&](FakeCall call, std::uint64_t number) {
    if (call == FakeCall::launch && number == 1) {
      std::unique_lock lock(mutex);
      released.wait(lock, [&] { return release; });
    }
    return FakeFault{};
  };
  std::atomic<int> ended = 0;
  Setup setup({fake_device("0:0", 1e7), stuck}, 100'000, {}, FakeTime::is_real);
  setup.start = [&](std::function<void()> main) {
    return std::thread([main = std::move(main), &ended] {
      main();
      ++ended;
    });
  };
  const RawSample sample = setup.run("dynamic", std::chrono::milliseconds(100));
  REQUIRE_FALSE(sample.failure);
  CHECK(setup.right());
  REQUIRE(sample.faults.size() == 1);
  CHECK(sample.faults[0].device == DeviceIndex{1});
  CHECK(sample.faults[0].hung());
  CHECK(std::string(sample.faults[0].what).find("did not return") != std::string::npos);
  CHECK(try_drain(setup.backend, *setup.open[0]));
  CHECK_FALSE(try_drain(setup.backend, *setup.open[1]));  // though it does nothing: a thread is still inside
  {
    const std::lock_guard lock(mutex);
    release = true;
  }
  released.notify_all();
  while (ended < 3) std::this_thread::yield();  // two workers and the one that took the stuck one's place: all end by themselves
  CHECK(setup.right());
}

TEST_CASE("an executor whose threads cannot all be started says so, and waits for none") {
  FakeBackend backend({fake_device("0:0")}, sum_kernels(), FakeTime::is_real);
  int started = 0;
  const auto start = [&](std::function<void()> main) {
    if (++started == 3) throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
    return std::thread(std::move(main));
  };
  CHECK_THROWS_AS(Executor(backend, 4, start), Error);
}

TEST_CASE("the clock of a sample begins when every worker's thread is awake") {
  Setup setup({fake_device("0:0"), fake_device("0:1")}, 1000, {}, FakeTime::is_real);
  std::atomic<bool> first = true;
  std::atomic<std::int64_t> awake = 0;
  setup.start = [&](std::function<void()> main) {
    return std::thread([main = std::move(main), late = first.exchange(false), &awake, &setup] {
      if (late) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        awake = setup.backend.now().count();
      }
      main();
    });
  };
  const RawSample sample = setup.run("equal");
  CHECK(sample.begin.count() >= awake);
}

TEST_CASE("one executor runs many samples on changing numbers of devices") {
  FakeBackend backend({fake_device("0:0", 1e9), fake_device("0:1", 1e9)}, sum_kernels(), FakeTime::is_real);
  SumWorkload workload(10'000);
  std::vector<std::unique_ptr<OpenDevice>> open;
  std::vector<std::unique_ptr<DeviceProgram>> programs;
  std::vector<DeviceEstimate> estimates;
  for (const Device& device : backend.enumerate().devices) {
    open.push_back(backend.open(device));
    const Capacity capacity = workload.capacity(open.back()->resources().traits(), Mode::end_to_end);
    programs.push_back(workload.program(open.back()->resources(), DeviceIndex{0}, Mode::end_to_end, capacity));
    DeviceEstimate& estimate = estimates.emplace_back();
    estimate.items_per_s = 1e9;
    estimate.fits = capacity.fits;
    estimate.pipeline = capacity.pipeline;
  }
  Executor executor(backend, 2);
  for (int i = 0; i < 50; ++i) {
    const std::size_t count = i % 2 == 0 ? 2 : 1;
    const PlanRequest request{10'000, 1, Mode::end_to_end, workload.shape().cost, std::span(estimates).first(count), 0, 0};
    const auto source = parse_strategies("dynamic").front().info->make({{"chunks", 8}})->begin(request, {});
    SampleRequest sample;
    sample.workload = &workload;
    sample.source = source.get();
    for (std::size_t d = 0; d < count; ++d) sample.members.push_back({open[d].get(), programs[d].get()});
    const RawSample raw = executor.run(sample);
    REQUIRE_FALSE(raw.failure);
    CHECK(workload.digest() == std::to_string(workload.reference()));
  }
}
