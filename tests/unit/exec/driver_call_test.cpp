// Calls that may not return, and the objects that stay allocated for them.
#include "lib/exec/driver_call.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include "lib/exec/leak.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/sum_workload.hpp"

using namespace mgpu;
using namespace mgpu::test;
using std::chrono::milliseconds;

namespace {

constexpr Nanos kLongCall = std::chrono::minutes(1);

// A driver that returns when the test says so, with the arguments it got.
struct StuckDriver {
  std::promise<void> come_back;
  std::shared_future<void> back = come_back.get_future().share();
  std::shared_ptr<int> handle = std::make_shared<int>(7);

  auto call() const {
    return [wait = back, held = handle] {
      wait.wait();
      return std::make_shared<int>(*held);
    };
  }
};

}  // namespace

TEST_CASE("what a driver returns or throws arrives at the caller, and what it held is released") {
  StuckDriver driver;
  driver.come_back.set_value();
  CHECK(*driver_result("building", kLongCall, {}, driver.call()) == 7);
  CHECK(driver.handle.use_count() == 1);
  CHECK_THROWS_AS(
      driver_call("building", kLongCall, {}, [] { throw std::out_of_range("as it is"); }),
      std::out_of_range);
  CHECK(thrown_by([] {
          driver_call("opening", kLongCall, {}, [] { throw Error(ErrorKind::device, "broken"); });
        }).kind() == ErrorKind::device);
  std::thread::id there;
  driver_call("looking", kLongCall, {}, [&] { there = std::this_thread::get_id(); });
  CHECK(there != std::this_thread::get_id());
}

TEST_CASE("a driver that does not come back is left behind at the limit, and keeps what it holds") {
  StuckDriver driver;
  const Error error =
      thrown_by([&] { driver_result("building sum.cl", milliseconds(20), {}, driver.call()); });
  CHECK(error.kind() == ErrorKind::timeout);
  for (const char* named : {"building sum.cl", "20.0 ms"}) CHECK(has(error.what(), named));
  CHECK(driver.handle.use_count() == 2);
  driver.come_back.set_value();
  while (driver.handle.use_count() > 1)
    std::this_thread::yield();  // an abandoned result is released
}

TEST_CASE("a call nobody wants any more is left behind at once, or not begun") {
  StuckDriver driver;
  std::atomic<bool> stop = false;
  std::thread later([&] {
    std::this_thread::sleep_for(milliseconds(20));
    stop = true;
  });
  const auto asked = [&] { return stop.load(); };
  CHECK(thrown_by([&] { driver_result("building", kLongCall, asked, driver.call()); }).kind() ==
        ErrorKind::interrupted);
  later.join();
  bool begun = false;
  CHECK(thrown_by([&] {
          driver_call("building", kLongCall, asked, [&] { begun = true; });
        }).kind() == ErrorKind::interrupted);
  CHECK_FALSE(begun);
  driver.come_back.set_value();
}

TEST_CASE("a thread that a driver holds is given up, its device with it, and never acts again") {
  FakeBackend backend({fake_device("0:0")}, {}, FakeTime::is_real);
  const auto device = backend.open(backend.enumerate().devices.front());
  for (const bool stops : {false, true}) {
    const auto begun = std::chrono::steady_clock::now();
    const auto stop = [=] {
      return stops && std::chrono::steady_clock::now() - begun > milliseconds(20);
    };
    backend.limit_waits({.answer = stops ? kLongCall : Nanos{milliseconds(50)}, .stop = stop});
    StuckDriver driver;
    const auto acted = std::make_shared<std::atomic<bool>>(false);
    const Error error = thrown_by([&] {
      attend(backend, stops ? nullptr : device.get(), [acted, call = driver.call()] {
        {
          const DriverCall inside;
          call();
        }
        *acted = true;
      });
    });
    CHECK(error.kind() == (stops ? ErrorKind::interrupted : ErrorKind::timeout));
    CHECK(has(error.what(), "0:0") == !stops);
    driver.come_back.set_value();
    std::this_thread::sleep_for(milliseconds(20));
    CHECK_FALSE(*acted);
  }
  CHECK(device->has_thread_inside());
  CHECK_FALSE(try_drain(backend, *device));
}

TEST_CASE("a call that may compile has time to, and one that waits in a loop has that loop's") {
  FakeBackend backend({fake_device("0:0")}, {}, FakeTime::is_real);
  const auto device = backend.open(backend.enumerate().devices.front());
  backend.limit_waits({.answer = milliseconds(30), .build = kLongCall});
  const auto takes = [](Nanos time, bool renews) {
    const auto end = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(milliseconds(1));
      if (renews) DriverCall::renew();
    }
  };
  attend(backend, device.get(), [&] {
    {
      const DriverCall inside(device.get());
      const DriverCall compiling(device.get(), true);  // the inner call only marks compiling
      takes(milliseconds(100), false);
    }
    const DriverCall inside(device.get());
    takes(milliseconds(100), true);
  });
  attend(backend, device.get(), [&] { takes(milliseconds(100), false); });  // in no driver call
  CHECK_FALSE(device->has_thread_inside());
}

TEST_CASE("what is leaked is never destroyed") {
  std::weak_ptr<int> seen;
  {
    auto object = std::make_shared<int>(1);
    seen = object;
    leak(std::make_unique<std::shared_ptr<int>>(std::move(object)));
  }
  CHECK_FALSE(seen.expired());
}
