// Drivers that hold the thread that calls them, and such that only seem to.
#include <doctest/doctest.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "lib/exec/wait.hpp"
#include "lib/exec/worker.hpp"
#include "tests/support/sum_sample.hpp"

using namespace mgpu;
using namespace mgpu::test;

namespace {

// Holds whoever passes until it is opened.
class Gate {
 public:
  void pass() {
    std::unique_lock lock(mutex_);
    opened_.wait(lock, [&] { return open_; });
  }
  void open() {
    {
      const std::lock_guard lock(mutex_);
      open_ = true;
    }
    opened_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool open_ = false;
};

// Threads that count how many of them have ended.
Executor::StartThread counting(std::atomic<int>& ended) {
  return [&ended](std::function<void()> main) {
    return std::thread([main = std::move(main), &ended] {
      main();
      ++ended;
    });
  };
}

FakeScript held_at(std::uint64_t launch, Gate& gate) {
  return [launch, &gate](FakeCall call, std::uint64_t number) {
    if (call == FakeCall::launch && number == launch) gate.pass();
    return FakeFault{};
  };
}

class NoWork final : public SliceSource {
 public:
  Answer next(DeviceIndex) override { return Done{}; }
  void finished(DeviceIndex, const Slice&, Nanos) override {}
  void rejected(DeviceIndex, const Slice&, Items) override {}
  void lost(DeviceIndex, std::span<const Slice>) override {}
  void joined(DeviceIndex) override {}
};

}  // namespace

TEST_CASE(
    "a driver that does not return from a call costs its device, and the sample goes on without "
    "it") {
  Gate gate;
  FakeDevice sound = fake_device("0:0", 1e7), stuck = fake_device("0:1", 1e7);
  sound.facts.type = stuck.facts.type = DeviceType::cpu;  // whoever waits has to be notified
  stuck.script = held_at(1, gate);
  std::atomic<int> ended = 0;
  SumSample setup({sound, stuck}, 100'000, {}, FakeTime::is_real);
  setup.start = counting(ended);
  const RawSample sample = setup.run("dynamic", std::chrono::milliseconds(100));
  REQUIRE_FALSE(sample.failure);
  CHECK(setup.right());
  REQUIRE(sample.faults.size() == 1);
  CHECK(sample.faults[0].device == DeviceIndex{1});
  CHECK(sample.faults[0].hung());
  CHECK(std::string(sample.faults[0].what).find("did not return") != std::string::npos);
  CHECK(try_drain(setup.backend, *setup.open[0]));
  CHECK_FALSE(try_drain(setup.backend,
                        *setup.open[1]));  // though it does nothing: a thread is still inside
  gate.open();
  while (ended < 3)
    std::this_thread::yield();  // two workers and the one that took the stuck one's place: all end
                                // by themselves
  CHECK(setup.right());
}

TEST_CASE("when the driver holds the device that merges, the host merges") {
  Gate gate;
  std::atomic<int> ended = 0;
  SumFaults faults;
  faults.at_merge = [&] { gate.pass(); };
  SumSample setup({fake_device("0:0", 1e7), fake_device("0:1", 1e7)}, 10'000, faults,
                  FakeTime::is_real);
  setup.start = counting(ended);
  const RawSample sample = setup.run("equal", std::chrono::milliseconds(100));
  REQUIRE_FALSE(sample.failure);
  CHECK(setup.right());
  CHECK_FALSE(sample.merged_on);
  REQUIRE(sample.faults.size() == 1);
  CHECK(sample.faults[0].hung());
  gate.open();
  while (ended < 3) std::this_thread::yield();
}

TEST_CASE(
    "when the driver holds the device that merges, another device does where the host cannot") {
  Gate gate;
  std::atomic<int> ended = 0, merges = 0;
  SumFaults faults;
  faults.only_devices_merge = true;
  faults.at_merge = [&] {
    if (++merges == 1) gate.pass();
  };
  SumSample setup({fake_device("0:0", 1e7), fake_device("0:1", 1e7)}, 10'000, faults,
                  FakeTime::is_real);
  setup.start = counting(ended);
  const RawSample sample = setup.run("equal", std::chrono::milliseconds(100));
  REQUIRE_FALSE(sample.failure);
  CHECK(setup.right());
  REQUIRE(sample.faults.size() == 1);
  CHECK(sample.faults[0].hung());
  CHECK(sample.faults[0].items_lost == 0);
  REQUIRE(sample.merged_on);
  CHECK(*sample.merged_on != sample.faults[0].device);
  gate.open();
  while (ended < 3) std::this_thread::yield();
}

TEST_CASE(
    "a call into the driver that takes its time, and one that has returned, cost nobody a device") {
  FakeDevice sluggish = fake_device("0:1", 1e7);
  int sluggish_launches = 0;
  sluggish.script = [&](FakeCall call, std::uint64_t) {
    if (call == FakeCall::launch && sluggish_launches++ == 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    return FakeFault{};
  };
  SumSample setup({fake_device("0:0", 1e7), sluggish}, 10'000, {}, FakeTime::is_real);
  for (const Nanos timeout :
       {Nanos{std::chrono::seconds(30)}, Nanos{std::chrono::milliseconds(150)}}) {
    setup.compiling = std::chrono::seconds(30) - timeout;
    sluggish_launches = 0;
    const RawSample sample = setup.run("equal", timeout);
    REQUIRE_FALSE(sample.failure);
    CHECK(sample.faults.empty());
    CHECK(setup.right());
  }

  NoWork source;
  SampleRun run(setup.backend, source, setup.workload,
                {{setup.open[0].get(), setup.programs[0].get(), Nanos{}}}, 1);
  DeviceWorker worker(run, DeviceIndex{0});
  CHECK_FALSE(worker.call());
  CHECK_FALSE(worker.abandon(1, "a look that came too late"));
  CHECK(run.sample.faults.empty());
  CHECK(run.seats[0].alive);
}

TEST_CASE("a device that has nothing to do for longer than the time-out is not a hung one") {
  for (int turn = 0; turn < 4; ++turn) {
    SumSample setup({fake_device("0:0", 1e9), fake_device("0:1", 2e4)}, 9'600, {},
                    FakeTime::is_real);  // four slices of 60 ms
    const RawSample sample = setup.run("equal", std::chrono::milliseconds(120));
    REQUIRE_FALSE(sample.failure);
    CHECK(sample.faults.empty());
    CHECK(sample.decision > Nanos{});
    CHECK(sample.decision < sample.makespan());
    const bool waited =
        std::any_of(sample.spans.begin(), sample.spans.end(), [&](const auto& span) {
          return span.device == DeviceIndex{0} && span.state == HostState::sync &&
                 span.end - span.begin > std::chrono::milliseconds(100);
        });
    CHECK(waited);
    for (const auto& span : sample.spans) CHECK(span.begin >= sample.begin);
  }
}

TEST_CASE("the driver may hold the one in reserve as well") {
  Gate gate;
  std::atomic<int> ended = 0;
  FakeDevice bad = fake_device("0:0", 1e7), stuck = fake_device("0:1", 1e7);
  bad.script = fails_from(FakeCall::launch, 0, FakeFault::Kind::error);
  stuck.script = held_at(0, gate);
  SumSample setup({bad, stuck}, 10'000, {}, FakeTime::is_real);
  setup.reserve = 1;
  setup.start = counting(ended);
  const RawSample sample = setup.run("equal", std::chrono::milliseconds(100));
  REQUIRE(sample.failure);
  REQUIRE(sample.faults.size() == 2);
  CHECK(sample.faults[1].hung());
  gate.open();
  while (ended < 3) std::this_thread::yield();
}

TEST_CASE("another thread has the place of one that does not come back, in later samples too") {
  Gate gate;
  FakeDevice bad = fake_device("0:0", 1e7), stuck = fake_device("0:1", 1e7);
  bad.script = fails_from(FakeCall::launch, 0, FakeFault::Kind::error);
  stuck.script = held_at(0, gate);
  SumSample held({bad, stuck}, 10'000, {}, FakeTime::is_real);
  std::atomic<int> ended = 0;
  Executor executor(held.backend, 2, counting(ended));
  held.reserve = 1;
  held.executor = &executor;
  REQUIRE(held.run("equal", std::chrono::milliseconds(100)).failure);
  SumSample sound({fake_device("0:0", 1e7), fake_device("0:1", 1e7)}, 10'000, {},
                  FakeTime::is_real);
  sound.executor = &executor;
  const RawSample sample = sound.run("equal");
  CHECK_FALSE(sample.failure);
  CHECK(sound.right());
  gate.open();
  while (ended < 1) std::this_thread::yield();
}
