// An OpenCL device that hangs: its queues wait for an event of the test. Every operation on it ends
// at its limit, and nothing that it may still use is released.
#include <doctest/doctest.h>

#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

#include "lib/exec/leak.hpp"
#include "lib/opencl/cl_backend.hpp"
#include "lib/opencl/cl_device.hpp"
#include "lib/opencl/cl_pinned.hpp"
#include "lib/opencl/cl_staging.hpp"
#include "tests/support/machine.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/sum_workload.hpp"

namespace mgpu::test {
namespace {

using std::chrono::milliseconds;
using testing::test_devices;

constexpr EmbeddedText kHangKernels[] = {kSumKernel};
constexpr Nanos kLong = std::chrono::minutes(1);

struct Stuck {
  Stuck()
      : backend(make_cl_backend({kHangKernels, {}})),
        open(backend->open(test_devices(*backend).front())) {
    in = open->resources().allocate(64);
    out = open->resources().allocate(64);
    kernel = open->resources().kernel("sum.cl", "sum_slice", "");
  }
  ~Stuck() { let_go(); }
  ClDevice& device() { return static_cast<ClDevice&>(*open); }
  // Makes uploads hang from now on, and kernels enqueued after one.
  void hang() {
    gate = cl::UserEvent(device().context());
    const std::vector<cl::Event> gates{gate};
    device().upload_queue().enqueueBarrierWithWaitList(&gates, nullptr);
    device().upload_queue().flush();
    backend->limit_waits({milliseconds(50), milliseconds(50)});
  }
  void let_go() {
    if (gate() == nullptr) return;
    gate.setStatus(CL_COMPLETE);
    gate = {};
    backend->limit_waits({kLong, kLong});
  }
  void enqueue() {
    open->stream().upload(*in, 0, std::as_bytes(std::span(values)));
    open->stream().launch(*kernel, {{1, 1, 1}, {1, 1, 1}},
                          {in.get(), std::uint64_t{0}, std::uint64_t{2}, out.get(), 0u});
  }

  std::unique_ptr<Backend> backend;
  std::unique_ptr<OpenDevice> open;
  std::vector<std::uint64_t> values{3, 4};
  std::unique_ptr<Buffer> in, out;
  std::unique_ptr<Kernel> kernel;
  cl::UserEvent gate;
};

}  // namespace

TEST_CASE("hang: a wait for a batch ends, it is drained only when its commands have ended") {
  Stuck stuck;
  stuck.hang();
  stuck.enqueue();
  const BatchId batch = stuck.open->submit();
  const WaitLimits limits{milliseconds(50), milliseconds(50)};
  CHECK(kind_of_error([&] { finish_batch(*stuck.backend, *stuck.open, batch, limits); }) ==
        ErrorKind::timeout);
  CHECK_FALSE(stuck.open->drained());
  CHECK_FALSE(try_drain(*stuck.backend, *stuck.open));
  stuck.let_go();
  CHECK(try_drain(*stuck.backend, *stuck.open));
  stuck.enqueue();  // the device can be used again
  CHECK_NOTHROW(finish_batch(*stuck.backend, *stuck.open, stuck.open->submit()));
}

TEST_CASE("hang: commands that were never submitted are drained too") {
  Stuck stuck;
  stuck.enqueue();
  CHECK(try_drain(*stuck.backend, *stuck.open));
}

TEST_CASE("hang: probing the clock ends at the limit") {
  Stuck stuck;
  stuck.hang();
  CHECK(kind_of_error([&] { stuck.open->probe_clock(3); }) == ErrorKind::timeout);
  CHECK_FALSE(stuck.open->drained());
  stuck.let_go();
  CHECK(try_drain(*stuck.backend, *stuck.open));
  CHECK(stuck.open->probe_clock(3).size() == 3);
}

TEST_CASE("hang: allocating ends at the limit, and its memory counts as taken") {
  Stuck stuck;
  stuck.hang();
  stuck.enqueue();
  stuck.open->submit();
  const Bytes before = stuck.open->take_setup_cost().allocated;
  CHECK(kind_of_error([&] { stuck.open->resources().allocate(32); }) == ErrorKind::timeout);
  CHECK(stuck.open->take_setup_cost().allocated == before + 32);
  stuck.in.reset();  // a command reads it
  CHECK(stuck.open->take_setup_cost().allocated == before + 32);
}

TEST_CASE("hang: a trial does not write to its caller's memory later") {
  Stuck stuck;
  stuck.hang();
  std::vector<std::uint64_t> result{77};
  const auto trial = [&](Stream& stream) {
    stream.upload(*stuck.in, 0, std::as_bytes(std::span(stuck.values)));
    stream.launch(*stuck.kernel, {{1, 1, 1}, {1, 1, 1}},
                  {stuck.in.get(), std::uint64_t{0}, std::uint64_t{2}, stuck.out.get(), 0u});
    stream.download(*stuck.out, 0, std::as_writable_bytes(std::span(result)));
  };
  CHECK(kind_of_error([&] { stuck.open->resources().try_out(trial); }) == ErrorKind::timeout);
  stuck.let_go();
  REQUIRE(try_drain(*stuck.backend, *stuck.open));
  CHECK(result.front() == 77);
  CHECK(stuck.open->resources().try_out(trial).has_value());
  CHECK(result.front() == 25);
}

TEST_CASE("hang: closing the device does not wait for it") {
  Stuck stuck;
  stuck.hang();
  stuck.enqueue();
  stuck.open->submit();
  stuck.open.reset();
  stuck.in.reset();
  stuck.out.reset();
  CHECK(stuck.open == nullptr);
  // It hangs for ever: when commands resumed after their device was closed, PoCL 3.1 crashed in 26
  // of 31 runs on a busy machine.
  leak(std::exchange(stuck.gate, {}));
}

// Skipped by default: PoCL 3.1 crashes in two of five runs when the stalled map resumes
// (pocl_update_event_running uses freed memory).
TEST_CASE("hang: pinning and unpinning end at the limit" * doctest::skip()) {
  Stuck stuck;
  std::vector<std::byte> memory(1 << 16);
  const auto known = std::make_shared<PinnedRanges>();
  {
    const ClPinned pinned(*stuck.backend, stuck.device(), memory, known);
    CHECK(known->hold(memory));
    stuck.hang();
  }
  CHECK_FALSE(known->hold(memory));
  CHECK(kind_of_error([&] { ClPinned(*stuck.backend, stuck.device(), memory, known); }) ==
        ErrorKind::timeout);
  CHECK_FALSE(known->hold(memory));
  stuck.let_go();
  CHECK(try_drain(*stuck.backend, *stuck.open));
}

TEST_CASE("hang: a build that nobody wants any more is left behind, the device is of use again") {
  Stuck stuck;
  WaitLimits limits{kLong, kLong};
  limits.stop = [] { return true; };
  {
    const LimitsInForce force(*stuck.backend, limits);
    CHECK(kind_of_error([&] {
            stuck.open->resources().kernel("sum.cl", "sum_slice", "-DUNUSED=2");
          }) == ErrorKind::interrupted);
    CHECK(kind_of_error([&] { stuck.backend->open(stuck.device().facts()); }) ==
          ErrorKind::interrupted);
  }
  CHECK(stuck.open->resources().kernel("sum.cl", "sum_slice", "-DUNUSED=2") != nullptr);
}

TEST_CASE("hang: a kernel may be compiled when it is first launched with a work-group size") {
  Stuck stuck;
  const auto launched = [&](std::size_t local) {
    stuck.open->stream().launch(
        *stuck.kernel, {{local, 1, 1}, {local, 1, 1}},
        {stuck.in.get(), std::uint64_t{0}, std::uint64_t{2}, stuck.out.get(), 0u});
    const BatchId batch = stuck.open->submit();
    const bool compiles = stuck.open->may_compile(batch);
    finish_batch(*stuck.backend, *stuck.open, batch);
    return compiles;
  };
  CHECK(launched(1));
  CHECK_FALSE(launched(1));
  CHECK(launched(2));
  CHECK_FALSE(launched(1));
}

TEST_CASE("hang: small transfers are staged, but not of what is pinned, too long, or too much") {
  Stuck stuck;
  const auto known = std::make_shared<PinnedRanges>();
  const auto wait = [](const cl::Event& event) {
    while (event.getInfo<CL_EVENT_COMMAND_EXECUTION_STATUS>() > CL_COMPLETE)
      std::this_thread::yield();
  };
  ClStaging staging(stuck.device().context(), stuck.device().upload_queue(), known, wait);
  std::vector<std::byte> memory(ClStaging::kLargest + 1);
  const auto some = std::span(std::as_const(memory));
  CHECK(staging.take(some).empty());
  const auto first = staging.take(some.first(ClStaging::kLargest));
  REQUIRE(first.size() == ClStaging::kLargest);
  std::fill(first.begin(), first.end(), std::byte{1});
  CHECK(staging.take(some.first(1)).data() == first.data() + first.size());
  CHECK(staging.take(some.first(1)).data() == first.data() + first.size() + 64);
  known->add(some.first(100));
  CHECK(staging.take(some.first(100)).empty());
  CHECK(staging.take(some.subspan(50, 50)).empty());
  CHECK(staging.take(some.subspan(50, 51)).size() == 51);
  std::size_t taken = ClStaging::kLargest + 3 * 64;
  while (taken + ClStaging::kLargest <= ClStaging::kSize) {
    REQUIRE(staging.take(some.last(ClStaging::kLargest)).size() == ClStaging::kLargest);
    taken += ClStaging::kLargest;
  }
  CHECK(staging.take(some.last(ClStaging::kLargest)).empty());
  CHECK(staging.take(some.last(64)).size() == 64);
  staging.release();
  CHECK(staging.take(some.last(ClStaging::kLargest)).data() == first.data());
  CHECK(ClStaging().take(some.last(1)).empty());
}

}  // namespace mgpu::test
