// The common wait function on the fake backend: its limit on both clocks, requests to stop, and the
// state it leaves.
#include "lib/exec/wait.hpp"

#include <doctest/doctest.h>

#include "tests/support/refusal.hpp"
#include "tests/support/sum_workload.hpp"

using namespace mgpu;
using namespace mgpu::test;
using std::chrono::milliseconds;

namespace {

// A device with one batch in flight: a kernel of 50 ms, or one that never ends.
struct BusyDevice {
  BusyDevice(FakeTime time, bool hangs) : backend({device(hangs)}, {{"work", kernel()}}, time) {
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

}  // namespace

TEST_CASE("a batch is waited for to its end, on either clock and however closely one looks") {
  for (const FakeTime time : {FakeTime::is_virtual, FakeTime::is_real}) {
    for (const WaitPolicy look : {WaitPolicy::sleep, WaitPolicy::spin}) {
      BusyDevice busy(time, false);
      const Nanos begin = busy.backend.now();
      wait_for(busy.backend, *busy.open, busy.batch, look);
      CHECK(busy.open->complete(busy.batch));
      CHECK(busy.backend.now() - begin >=
            (time == FakeTime::is_virtual ? milliseconds(50) : milliseconds(49)));
      CHECK(busy.open->take(busy.batch).size() == 1);
    }
  }
}

TEST_CASE("a device that hangs is found at the limit, to the ns on a virtual clock, and named") {
  for (const FakeTime time : {FakeTime::is_virtual, FakeTime::is_real}) {
    BusyDevice busy(time, true);
    busy.backend.limit_waits({milliseconds(20)});
    const Nanos begin = busy.backend.now();
    const Error error = thrown_by([&] { finish_batch(busy.backend, *busy.open, busy.batch); });
    CHECK(error.kind() == ErrorKind::timeout);
    for (const char* named : {"device 0:7", "20.0 ms"}) CHECK(has(error.what(), named));
    CHECK(busy.backend.now() - begin >= milliseconds(20));
    if (time == FakeTime::is_virtual) CHECK(busy.backend.now() - begin == milliseconds(20));
  }
}

TEST_CASE("what is complete only after the limit is not complete, on a virtual clock too") {
  const auto kind_at = [](Nanos limit, bool hangs) {
    BusyDevice busy(FakeTime::is_virtual, hangs);
    return thrown_by([&] { wait_for(busy.backend, *busy.open, busy.batch, WaitLimits{limit}); })
        .kind();
  };
  CHECK(kind_at(milliseconds(49), false) == ErrorKind::timeout);
  CHECK(kind_at(milliseconds(51), false) == ErrorKind::internal);  // nothing was thrown
  // Without a limit a hang is still found: on a virtual clock nothing else will ever happen.
  CHECK(kind_at(kNoLimit, true) == ErrorKind::timeout);
}

TEST_CASE("whoever asks to stop ends the wait, at once or while it goes on") {
  for (const FakeTime time : {FakeTime::is_virtual, FakeTime::is_real}) {
    BusyDevice busy(time, time == FakeTime::is_real);
    WaitLimits limits{std::chrono::seconds(60)};
    limits.stop = [] { return true; };
    const Error error = thrown_by([&] { wait_for(busy.backend, *busy.open, busy.batch, limits); });
    CHECK(error.kind() == ErrorKind::interrupted);
    CHECK(has(error.what(), "0:7"));
  }
  BusyDevice busy(FakeTime::is_real, true);
  unsigned asked = 0;
  WaitLimits limits{std::chrono::seconds(60)};
  limits.stop = [&] { return ++asked == 3; };
  CHECK(thrown_by([&] { wait_for(busy.backend, *busy.open, busy.batch, limits); }).kind() ==
        ErrorKind::interrupted);
  CHECK(asked == 3);
}

TEST_CASE("a device is drained when all has ended, or given up after a tenth of the time-out") {
  for (const FakeTime time : {FakeTime::is_virtual, FakeTime::is_real}) {
    BusyDevice busy(time, false);
    busy.open->stream().launch(*busy.work, {}, {});  // outside any batch
    CHECK_FALSE(busy.open->drained());
    CHECK(try_drain(busy.backend, *busy.open));
    CHECK(busy.open->drained());
    BusyDevice hung(time, true);
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
