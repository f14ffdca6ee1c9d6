// Calls that may not come back, and what is kept of them.
#include "lib/exec/driver_call.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include "lib/base/error.hpp"
#include "lib/exec/leak.hpp"

using namespace mgpu;
using std::chrono::milliseconds;

namespace {

constexpr Nanos kLong = std::chrono::minutes(1);

// A driver that comes back when the test says so, with what it was given.
struct Driver {
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

Error failure_of(const std::function<void()>& run) {
  try {
    run();
  } catch (const Error& error) {
    return error;
  }
  return Error(ErrorKind::internal, "nothing was thrown");
}

}  // namespace

TEST_CASE(
    "what a driver returns or throws arrives at the caller, and what the call held is released by "
    "then") {
  Driver driver;
  driver.come_back.set_value();
  CHECK(*driver_result("building", kLong, {}, driver.call()) == 7);
  CHECK(driver.handle.use_count() == 1);
  CHECK_THROWS_AS(driver_call("building", kLong, {}, [] { throw std::out_of_range("as it is"); }),
                  std::out_of_range);
  CHECK(failure_of([] {
          driver_call("opening", kLong, {}, [] { throw Error(ErrorKind::device, "broken"); });
        }).kind() == ErrorKind::device);
  std::thread::id there;
  driver_call("looking", kLong, {}, [&] { there = std::this_thread::get_id(); });
  CHECK(there != std::this_thread::get_id());
}

TEST_CASE(
    "a driver that does not come back is left behind at the limit, which the error names, and "
    "keeps what it holds") {
  Driver driver;
  const Error error =
      failure_of([&] { driver_result("building sum.cl", milliseconds(20), {}, driver.call()); });
  CHECK(error.kind() == ErrorKind::timeout);
  CHECK(std::string(error.what()) == "building sum.cl took longer than 20.0 ms");
  CHECK(driver.handle.use_count() == 2);
  driver.come_back.set_value();
  while (driver.handle.use_count() > 1)
    std::this_thread::yield();  // a result that nobody waits for is released
}

TEST_CASE("a call nobody wants any more is left behind at once, or not begun") {
  Driver driver;
  std::atomic<bool> stop = false;
  std::thread later([&] {
    std::this_thread::sleep_for(milliseconds(20));
    stop = true;
  });
  const auto asked = [&] { return stop.load(); };
  CHECK(failure_of([&] { driver_result("building", kLong, asked, driver.call()); }).kind() ==
        ErrorKind::interrupted);
  later.join();
  bool begun = false;
  CHECK(failure_of([&] { driver_call("building", kLong, asked, [&] { begun = true; }); }).kind() ==
        ErrorKind::interrupted);
  CHECK_FALSE(begun);
  driver.come_back.set_value();
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
