// Drivers that block the calling thread, and those that only seem to.
#include <doctest/doctest.h>

#include <future>
#include <thread>

#include "lib/exec/driver_call.hpp"
#include "lib/exec/leak.hpp"
#include "lib/exec/wait.hpp"
#include "tests/support/sum_sample.hpp"

using namespace mgpu;
using namespace mgpu::test;
using std::chrono::milliseconds;

namespace {

// Blocks every thread that passes a copy of `way` until it is opened, perhaps after the test has
// ended.
struct Gate {
  void open() { opens.set_value(); }

  std::promise<void> opens;
  std::shared_future<void> way = opens.get_future().share();
};

// A sample in real time on devices of 1e7 items/s, some of which the gate blocks.
struct HeldSample {
  explicit HeldSample(std::vector<FakeDevice> fakes, SumFaults faults = {}, Items items = 10'000)
      : setup(std::move(fakes), items, std::move(faults), FakeTime::is_real) {}
  RawSample run(const std::string& strategy = "equal") {
    return setup.run(strategy, milliseconds(100));
  }
  SumSample setup;
};

// Returns a sample that is never freed, as a thread stays inside one of its devices.
template <class... Arguments>
HeldSample& held_sample(Arguments&&... arguments) {
  auto made = std::make_unique<HeldSample>(std::forward<Arguments>(arguments)...);
  HeldSample& held = *made;
  leak(std::move(made));
  return held;
}

FakeDevice held_at(const std::string& id, std::uint64_t launch, const Gate& gate) {
  FakeDevice device = fake_device(id, 1e7);
  device.script = [launch, way = gate.way](FakeCall call, std::uint64_t number) {
    if (call == FakeCall::launch && number == launch) way.wait();
    return FakeFault{};
  };
  return device;
}

FakeDevice fails_at_once(const std::string& id) {
  FakeDevice device = fake_device(id, 1e7);
  device.script = fails_from(FakeCall::launch, 0, FakeFault::Kind::error);
  return device;
}

}  // namespace

TEST_CASE("a driver that does not return costs its device, and the sample goes on without it") {
  Gate gate;
  std::vector<FakeDevice> fakes{fake_device("0:0", 1e7), held_at("0:1", 1, gate)};
  // CPUs notify the waiting thread.
  for (FakeDevice& fake : fakes) fake.facts.type = DeviceType::cpu;
  HeldSample& held =
      held_sample(fakes, SumFaults{}, Items{3'000'000});  // 0.3 s for the remaining device
  const RawSample sample = held.run("dynamic");
  held.setup.check_right(sample);
  REQUIRE(sample.faults.size() == 1);
  CHECK(sample.faults[0].device == DeviceIndex{1});
  CHECK(sample.faults[0].hung());
  CHECK(try_drain(held.setup.backend, *held.setup.open[0]));
  // Draining fails although the device is idle: a thread is still inside.
  CHECK_FALSE(try_drain(held.setup.backend, *held.setup.open[1]));
  gate.open();  // the returning thread touches nothing
  std::this_thread::sleep_for(milliseconds(20));
  CHECK(held.setup.right());
}

TEST_CASE("when the driver holds the device that merges, the host merges, or another device") {
  for (const bool only_devices : {false, true}) {
    Gate gate;
    const auto merges = std::make_shared<std::atomic<int>>(0);
    SumFaults faults;
    faults.only_devices_merge = only_devices;
    faults.at_merge = [merges, way = gate.way] {
      const DriverCall inside;
      if (++*merges == 1) way.wait();
    };
    HeldSample& held = held_sample(SumSample::equal_devices(2), faults);
    const RawSample sample = held.run();
    held.setup.check_right(sample);
    REQUIRE(sample.faults.size() == 1);
    CHECK(sample.faults[0].hung());
    CHECK(sample.faults[0].items_lost == 0);
    CHECK(sample.merged_on.has_value() == only_devices);
    if (only_devices) CHECK(*sample.merged_on != sample.faults[0].device);
    gate.open();
  }
}

TEST_CASE("a call that takes its time, or compiles, costs nobody a device") {
  for (const bool compiles : {false, true}) {
    FakeDevice sluggish = fake_device("0:1", 1e7);
    sluggish.compiles_at_launch = compiles;
    int launches = 0;
    sluggish.script = [&](FakeCall call, std::uint64_t) {
      if (call == FakeCall::launch && launches++ == 0)
        std::this_thread::sleep_for(milliseconds(200));
      return FakeFault{};
    };
    SumSample setup({fake_device("0:0", 1e7), sluggish}, 10'000, {}, FakeTime::is_real);
    setup.backend.limit_waits({.build = std::chrono::seconds(30)});
    const RawSample sample =
        setup.run("equal", compiles ? Nanos{milliseconds(150)} : Nanos{std::chrono::seconds(30)});
    setup.check_right(sample);
    CHECK(sample.faults.empty());
  }
}

TEST_CASE("a device that has nothing to do for longer than the time-out is not a hung one") {
  for (int turn = 0; turn < 2; ++turn) {
    SumSample setup({fake_device("0:0", 1e9), fake_device("0:1", 2e4)}, 9'600, {},
                    FakeTime::is_real);  // four slices of 60 ms
    const RawSample sample = setup.run("equal", milliseconds(120));
    REQUIRE_FALSE(sample.failure);
    CHECK(sample.faults.empty());
    CHECK(sample.decision > Nanos{});
    CHECK(sample.decision < sample.makespan());
    const bool waited =
        std::any_of(sample.spans.begin(), sample.spans.end(), [&](const auto& span) {
          return span.device == DeviceIndex{0} && span.state == HostState::sync &&
                 span.end - span.begin > milliseconds(100);
        });
    CHECK(waited);
    for (const auto& span : sample.spans) CHECK(span.begin >= sample.begin);
  }
}

TEST_CASE("the driver may hold the one in reserve; another thread has its place in later samples") {
  Gate gate;
  HeldSample& held =
      held_sample(std::vector<FakeDevice>{fails_at_once("0:0"), held_at("0:1", 0, gate)});
  Executor executor(held.setup.backend, 2, held.setup.start);
  held.setup.reserve = 1;
  held.setup.executor = &executor;
  const RawSample failed = held.run();
  REQUIRE(failed.failure);
  REQUIRE(failed.faults.size() == 2);
  CHECK(failed.faults[1].hung());
  SumSample sound(2, 10'000, {}, FakeTime::is_real);
  sound.executor = &executor;
  sound.check_right(sound.run("equal"));
  gate.open();
}
