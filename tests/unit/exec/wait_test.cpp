// The one wait, on the fake backend: its limit on both clocks, who asked it to stop, what it leaves
// behind.
#include "lib/exec/wait.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <string>

#include "lib/base/error.hpp"
#include "lib/exec/fake_backend.hpp"
#include "tests/support/sum_workload.hpp"

using namespace mgpu;
using namespace mgpu::test;
using std::chrono::milliseconds;

namespace {

// One device with one batch under way: a kernel of 50 ms, or one that never ends.
struct Busy {
  Busy(FakeTime time, bool hangs) : backend({device(hangs)}, {{"work", kernel()}}, time) {
    open = backend.open(backend.enumerate().devices.front());
    work = open->resources().kernel("", "work", "");
    open->stream().launch(*work, {}, {});
    batch = open->submit();
  }
  static FakeDevice device(bool hangs) {
    FakeDevice made = fake_device("0:7");
    made.launch = Nanos{};
    if (hangs) made.script = fails_from(FakeCall::launch, 0, FakeFault::Kind::hang);
    return made;
  }
  static FakeKernelCode kernel() {
    FakeKernelCode code;
    code.run = [](const Grid&, std::span<const FakeArg>) {};
    code.time = [](std::span<const FakeArg>) { return Nanos{milliseconds(50)}; };
    return code;
  }

  FakeBackend backend;
  std::unique_ptr<OpenDevice> open;
  std::unique_ptr<Kernel> work;
  BatchId batch;
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

TEST_CASE("a batch is waited for to its end, on either clock and however closely one looks") {
  for (const FakeTime time : {FakeTime::is_virtual, FakeTime::is_real}) {
    for (const Look look : {Look::gently, Look::closely}) {
      Busy busy(time, false);
      const Nanos begin = busy.backend.now();
      wait_for(busy.backend, *busy.open, busy.batch, look);
      CHECK(busy.open->complete(busy.batch));
      CHECK(busy.backend.now() - begin >=
            (time == FakeTime::is_virtual ? milliseconds(50) : milliseconds(49)));
      CHECK(busy.open->take(busy.batch).size() == 1);
    }
  }
}

TEST_CASE(
    "a device that hangs is found at the limit, which the error names with the device; a virtual "
    "clock honours it to the ns") {
  for (const FakeTime time : {FakeTime::is_virtual, FakeTime::is_real}) {
    Busy busy(time, true);
    busy.backend.limit_waits({milliseconds(20)});
    const Nanos begin = busy.backend.now();
    const Error error = failure_of([&] { finish_batch(busy.backend, *busy.open, busy.batch); });
    CHECK(error.kind() == ErrorKind::timeout);
    CHECK(std::string(error.what()) == "device 0:7 did not answer for 20.0 ms");
    CHECK(busy.backend.now() - begin >= milliseconds(20));
    if (time == FakeTime::is_virtual) CHECK(busy.backend.now() - begin == milliseconds(20));
  }
}

TEST_CASE("what is complete only after the limit is not complete, on a virtual clock too") {
  Busy busy(FakeTime::is_virtual, false);
  CHECK(failure_of([&] {
          wait_for(busy.backend, *busy.open, busy.batch, WaitLimits{milliseconds(49)});
        }).kind() == ErrorKind::timeout);
  Busy other(FakeTime::is_virtual, false);
  CHECK_NOTHROW(wait_for(other.backend, *other.open, other.batch, WaitLimits{milliseconds(51)}));
}

TEST_CASE("without a limit a device that hangs is found all the same where time is virtual") {
  Busy busy(FakeTime::is_virtual, true);
  CHECK(failure_of([&] {
          wait_for(busy.backend, *busy.open, busy.batch, WaitLimits{kNoLimit});
        }).kind() == ErrorKind::timeout);
}

TEST_CASE("whoever asks to stop ends the wait, at once or while it goes on") {
  for (const FakeTime time : {FakeTime::is_virtual, FakeTime::is_real}) {
    Busy busy(time, time == FakeTime::is_real);
    WaitLimits limits{std::chrono::seconds(60)};
    limits.stop = [] { return true; };
    const Error error = failure_of([&] { wait_for(busy.backend, *busy.open, busy.batch, limits); });
    CHECK(error.kind() == ErrorKind::interrupted);
    CHECK(std::string(error.what()).find("0:7") != std::string::npos);
  }
  Busy busy(FakeTime::is_real, true);
  unsigned asked = 0;
  WaitLimits limits{std::chrono::seconds(60)};
  limits.stop = [&] { return ++asked == 3; };
  CHECK(failure_of([&] { wait_for(busy.backend, *busy.open, busy.batch, limits); }).kind() ==
        ErrorKind::interrupted);
  CHECK(asked == 3);
}

TEST_CASE(
    "a device is drained when all it was given has ended, submitted or not, and given up after a "
    "tenth of the time for an answer") {
  for (const FakeTime time : {FakeTime::is_virtual, FakeTime::is_real}) {
    Busy busy(time, false);
    busy.open->stream().launch(*busy.work, {}, {});  // of no batch
    CHECK_FALSE(busy.open->drained());
    CHECK(try_drain(busy.backend, *busy.open));
    CHECK(busy.open->drained());
    Busy hung(time, true);
    hung.backend.limit_waits({milliseconds(200)});
    const Nanos begin = hung.backend.now();
    CHECK_FALSE(try_drain(hung.backend, *hung.open));
    CHECK(hung.backend.now() - begin >= milliseconds(20));
    if (time == FakeTime::is_virtual) CHECK(hung.backend.now() - begin == milliseconds(20));
  }
}

TEST_CASE("limits in force end with whoever put them there") {
  FakeBackend backend({fake_device("0:0")}, sum_kernels());
  backend.limit_waits({std::chrono::seconds(7)});
  {
    const LimitsInForce others(backend, {milliseconds(1), milliseconds(2)});
    CHECK(backend.limits().answer == milliseconds(1));
    CHECK(backend.limits().build == milliseconds(2));
  }
  CHECK(backend.limits().answer == std::chrono::seconds(7));
}
