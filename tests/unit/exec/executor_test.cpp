// The executor and its workers on the fake backend: exact times, scripted failures.
#include "lib/exec/executor.hpp"

#include <doctest/doctest.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <system_error>

#include "lib/profile/metrics.hpp"
#include "tests/support/sum_sample.hpp"
#include "tests/support/thorough.hpp"

using namespace mgpu;
using namespace mgpu::test;
using std::chrono::milliseconds;

TEST_CASE("every strategy gives the right sum, every item once, and parts that add up to T" *
          doctest::test_suite("one thread")) {
  for (const StrategyInfo& info : all_strategies()) {
    for (const std::size_t devices : testing::first_when_quick<std::size_t>(2, {1, 3, 2, 4})) {
      CAPTURE(info.name);
      CAPTURE(devices);
      std::vector<FakeDevice> fakes;
      for (std::size_t i = 0; i < devices; ++i)
        fakes.push_back(fake_device("0:" + std::to_string(i), 1e9 / static_cast<double>(i + 1)));
      SumSample setup(fakes, 100'003);
      const RawSample sample = setup.run(info.name);
      setup.check_right(sample);
      std::set<std::pair<std::uint32_t, std::int32_t>>
          numbers;  // per slice of a device: the buffer, of two, that it uses
      for (const RawSlice& slice : sample.slices)
        CHECK(numbers.insert({slice.device.value, slice.slice}).second);
      const Timeline timeline = setup.timeline(sample);
      for (const DeviceParts& parts : device_parts(timeline)) CHECK(parts.residue == Nanos{});
    }
  }
}

TEST_CASE("clock offsets and drifts of devices do not move the timeline") {
  FakeDevice a = fake_device("0:0"), b = fake_device("0:1");
  a.clock_offset_ns = 5'000'000'000;
  b.clock_offset_ns = 77;
  b.clock_drift_ppb = 8500;
  SumSample setup({a, b}, 1 << 16);
  const Timeline timeline = setup.timeline(setup.run("equal"));
  for (const Command& command : timeline.commands) {
    CHECK(command.started >= Nanos{-20});
    CHECK(command.ended <= timeline.makespan + Nanos{20});
  }
}

TEST_CASE("no items at all is a sample without slices") {
  SumSample setup(2, 0);
  const RawSample sample = setup.run("equal");
  CHECK_FALSE(sample.failure);
  CHECK(sample.slices.empty());
}

TEST_CASE("in real time, polling or notified, samples are right and faults are survived") {
  std::size_t turn = 0;
  for (const DeviceType type : {DeviceType::gpu, DeviceType::cpu}) {  // CPUs notify
    for (const auto kind :
         {FakeFault::Kind::error, FakeFault::Kind::refused, FakeFault::Kind::hang}) {
      for (const StrategyInfo& info : all_strategies()) {
        if (!testing::is_thorough() && turn++ % 5 != 0) continue;
        CAPTURE(info.name);
        std::vector<FakeDevice> fakes{fake_device("0:0", 4e7), fake_device("0:1", 2e7),
                                      fake_device("0:2", 1e7), fake_device("0:3", 4e7)};
        fakes[3].script = fails_from(FakeCall::launch, 1, kind);
        for (FakeDevice& fake : fakes) fake.facts.type = type;
        SumSample setup(fakes, 200'000, {}, FakeTime::is_real);
        const RawSample sample =
            setup.run(info.name, milliseconds(kind == FakeFault::Kind::hang ? 100 : 20'000));
        setup.check_right(sample);
        CHECK(sample.makespan() > Nanos{});
        for (const DeviceFault& fault : sample.faults) CHECK(fault.device == DeviceIndex{3});
        // With fixed shares it has more than one slice; how much it gets from a queue depends on
        // when its thread gets a core.
        const bool has_a_share =
            info.traits.fixed_shares && info.name != "single" && info.name != "sequential";
        CHECK(sample.faults.size() <= 1);
        if (has_a_share) CHECK(sample.faults.size() == 1);
      }
    }
  }
}

TEST_CASE("a sample that shall stop ends when what is in flight has ended, and has no result") {
  SumSample setup({fake_device("0:0", 1e6), fake_device("0:1", 1e6)}, 1'000'000, {},
                  FakeTime::is_real);  // 0.5 s
  setup.stop = [] { return true; };
  const RawSample sample = setup.run("dynamic:chunks=64");
  CHECK(sample.interrupted);
  CHECK(sample.failure);
  CHECK(sample.faults.empty());
}

TEST_CASE("an executor whose threads cannot all be started says so, and waits for none") {
  FakeBackend backend({fake_device("0:0")}, sum_kernels(), FakeTime::is_real);
  int started = 0;
  const auto start = [&](std::function<void()> main) {
    if (++started == 3)
      throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
    return std::thread(std::move(main));
  };
  CHECK_THROWS_AS(Executor(backend, 4, start), Error);
}

TEST_CASE("the clock of a sample begins when every worker's thread is awake") {
  SumSample setup(2, 1000, {}, FakeTime::is_real);
  std::atomic<bool> first = true;
  std::atomic<std::int64_t> awake = 0;
  setup.start = [&](std::function<void()> main) {
    return std::thread([main = std::move(main), late = first.exchange(false), &awake, &setup] {
      if (late) {
        std::this_thread::sleep_for(milliseconds(50));
        awake = setup.backend.now().count();
      }
      main();
    });
  };
  const RawSample sample = setup.run("equal");
  CHECK(sample.begin.count() >= awake);
}

#ifdef __linux__
TEST_CASE("the thread of each device runs on the cores near it") {
  cpu_set_t all;
  REQUIRE(sched_getaffinity(getpid(), sizeof all, &all) == 0);
  std::uint32_t last = CPU_SETSIZE - 1;
  while (!CPU_ISSET(last, &all)) --last;
  std::vector<FakeDevice> fakes{fake_device("0:0"), fake_device("0:1")};
  fakes[0].near_cpus = {last};
  int fewest[] = {CPU_SETSIZE, CPU_SETSIZE};  // cores of the thread, over all launches
  for (std::size_t i = 0; i < 2; ++i)
    fakes[i].script = [&fewest, i](FakeCall call, std::uint64_t) {
      cpu_set_t mine;
      if (call == FakeCall::launch && sched_getaffinity(0, sizeof mine, &mine) == 0)
        fewest[i] = std::min(fewest[i], CPU_COUNT(&mine));
      return FakeFault{};
    };
  SumSample setup(fakes, 10'000, {}, FakeTime::is_real);
  setup.check_right(setup.run("equal"));
  CHECK(fewest[0] == 1);
  CHECK(fewest[1] == CPU_COUNT(&all));
}
#endif

TEST_CASE("one executor runs many samples on changing numbers of devices") {
  SumSample both(2, 10'000, {}, FakeTime::is_real), one(1, 10'000, {}, FakeTime::is_real);
  Executor executor(both.backend, 2);
  both.executor = one.executor = &executor;
  for (int i = 0; i < 20; ++i) {
    both.check_right(both.run("dynamic:chunks=8"));
    one.check_right(one.run("dynamic:chunks=8"));
  }
}
