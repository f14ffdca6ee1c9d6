// Operations that devices begin together: number of repetitions, times, and the device named if one
// does not do its part.
#include "lib/measure/together.hpp"

#include <doctest/doctest.h>

#include "lib/base/error.hpp"
#include "lib/exec/leak.hpp"
#include "tests/support/sum_workload.hpp"

using namespace mgpu;
using namespace mgpu::test;

namespace {

constexpr Nanos kFakeSignal = std::chrono::microseconds(2);  // time of a fake device's signal

struct RingOfDevices {
  explicit RingOfDevices(std::size_t count, FakeTime time = FakeTime::is_virtual,
                         FakeScript script = {})
      : backend(devices(count, std::move(script)), {}, time) {
    for (const Device& device : backend.enumerate().devices) opened.push_back(backend.open(device));
    for (const auto& device : opened) open.push_back(device.get());
    group = backend.connect(open, {});
    for (std::uint32_t i = 0; i < count; ++i) all.push_back({i});
  }
  // Returns the devices, the last of which has the script.
  static std::vector<FakeDevice> devices(std::size_t count, FakeScript script) {
    std::vector<FakeDevice> made;
    for (std::size_t i = 0; i < count; ++i) made.push_back(fake_device("0:" + std::to_string(i)));
    made.back().script = std::move(script);
    return made;
  }
  // Makes each device signal the next one and wait for the one before.
  void ring(DeviceIndex device) {
    const auto n = static_cast<std::uint32_t>(open.size());
    const DeviceIndex next{(device.value + 1) % n}, before{(device.value + n - 1) % n};
    group->peer(device).sync(std::span(&next, 1), std::span(&before, 1));
  }
  std::string failure() {
    Together together(backend, open, group.get());
    try {
      together.measure(all, {}, [&](DeviceIndex device) { ring(device); });
    } catch (const Error& error) {
      backend.limit_waits({.answer = std::chrono::milliseconds(200)});  // no observer stops it
      for (OpenDevice* device : open) CHECK(try_drain(backend, *device) != (device == open.back()));
      leak(std::move(group));
      return error.what();
    }
    return {};
  }

  FakeBackend backend;
  std::vector<std::unique_ptr<OpenDevice>> opened;
  std::vector<OpenDevice*> open;
  std::unique_ptr<PeerGroup> group;
  std::vector<DeviceIndex> all;
};

}  // namespace

TEST_CASE("repetitions: a warm-up, then until the budget is spent, within the limits") {
  RingOfDevices devices(2);
  Together together(devices.backend, devices.open, devices.group.get());
  std::size_t calls = 0;
  const auto ring = [&](DeviceIndex device) {
    calls += device.value == 0 ? 1 : 0;
    devices.ring(device);
  };
  const auto samples = [&](const Repetitions& repetitions) {
    calls = 0;
    const auto times = whole_times(together.measure(devices.all, repetitions, ring));
    for (const Nanos time : times) CHECK(time == kFakeSignal);
    return times.size();
  };
  CHECK(samples({.warmup = 3, .least = 2, .most = 4, .budget = std::chrono::seconds(1)}) == 4);
  CHECK(calls == 7);
  CHECK(samples({.warmup = 0, .least = 2, .most = 4, .budget = Nanos{1}}) == 2);
  CHECK(calls == 2);
  CHECK(samples({.warmup = 9, .least = 1, .most = 100, .budget = 6 * kFakeSignal}) == 6);
  CHECK(calls == 9);  // the warm-up took half of the budget
}

TEST_CASE("an interval begins for all at once and ends with each device's own part") {
  RingOfDevices devices(3);
  Together together(devices.backend, devices.open, devices.group.get());
  const auto memory = devices.group->allocate(1 << 20);
  const auto once =
      together.measure(devices.all, {.warmup = 0, .least = 1, .most = 1}, [&](DeviceIndex device) {
        for (std::uint32_t k = 0; k < device.value; ++k)
          devices.group->peer(device).put(memory->piece(device), 0, *memory, device, 0, 1 << 20);
      });
  REQUIRE(once.size() == 1);
  const Nanos put = kFakeSignal + from_seconds((1 << 20) / 1e11);
  CHECK(once[0][0].begin == once[0][2].begin);
  CHECK(once[0][1].end - once[0][1].begin == put);
  CHECK(once[0][2].end - once[0][2].begin == 2 * put);
  CHECK(whole_time(once[0]) == 2 * put);
}

TEST_CASE("whoever does not do its part is named, whoever waited for it") {
  for (const FakeTime time : {FakeTime::is_virtual, FakeTime::is_real}) {
    RingOfDevices devices(3, time, fails_from(FakeCall::exchange, 2, FakeFault::Kind::hang));
    devices.backend.limit_waits({.answer = std::chrono::milliseconds(200)});
    const std::string what = devices.failure();
    CAPTURE(what);
    for (const char* named : {"200 ms", "device 0:2"}) CHECK(what.find(named) != std::string::npos);
  }
}

TEST_CASE("in real time, on threads of their own, as often as on one") {
  RingOfDevices devices(4, FakeTime::is_real);
  Together together(devices.backend, devices.open, devices.group.get());
  std::atomic<unsigned> calls = 0;
  const auto samples =
      together.measure(devices.all, {.warmup = 2, .least = 3, .most = 3}, [&](DeviceIndex device) {
        ++calls;
        devices.ring(device);
      });
  CHECK(samples.size() == 3);
  CHECK(calls == 4 * 5);
  for (const TogetherSample& sample : samples) CHECK(whole_time(sample) > Nanos{});
}

TEST_CASE("a stop that is asked for ends it") {
  for (const FakeTime time : {FakeTime::is_virtual, FakeTime::is_real}) {
    RingOfDevices devices(2, time, fails_from(FakeCall::exchange, 0, FakeFault::Kind::hang));
    devices.backend.limit_waits({.stop = [] { return true; }});
    CHECK(devices.failure().find("stopped") != std::string::npos);
  }
}
