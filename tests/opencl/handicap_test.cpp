// Handicaps on real devices: PoCL is enough. Only lower bounds of times are checked, which hold on
// a busy machine too.
#include <doctest/doctest.h>

#include <thread>

#include "lib/exec/cl_backend.hpp"
#include "lib/session/session.hpp"
#include "tests/support/machine.hpp"
#include "tests/support/quiet_observer.hpp"
#include "tests/support/sum_workload.hpp"

using namespace mgpu;
using namespace mgpu::test;
using namespace std::chrono_literals;

using mgpu::testing::test_devices;

namespace {

// The sum, and what slows a GPU down.
const std::vector<EmbeddedText> kKernels = [] {
  std::vector<EmbeddedText> kernels{kSumKernel};
  for (const EmbeddedText& each : embedded_kernels()) {
    if (each.file == "spin.cl") kernels.push_back(each);
  }
  return kernels;
}();

Nanos length(const RawCommand& command) {
  return Nanos{static_cast<std::int64_t>(command.ended - command.started)};
}

// A device with a resident sum workload, driven by hand.
struct Bench {
  explicit Bench(const Handicap& handicap)
      : backend(make_cl_backend({kKernels, {}})), workload(1 << 20) {
    open = backend->open(test_devices(*backend).front(), handicap);
    program = workload.program(open->resources(), Mode::resident,
                               workload.capacity(open->resources().traits(), Mode::resident));
    program->load(open->stream());
    finish(open->submit());
    program->prepare(open->stream());
  }

  BatchId slice(Items begin, Items end) {
    open->begin_slice();
    program->enqueue({begin, end}, 0, open->stream());
    return open->submit();
  }

  std::vector<RawCommand> finish(BatchId batch) {
    while (!open->complete(batch)) std::this_thread::yield();
    return open->take(batch);
  }

  std::unique_ptr<Backend> backend;
  SumWorkload workload;
  std::unique_ptr<OpenDevice> open;
  std::unique_ptr<DeviceProgram> program;
};

}  // namespace

TEST_CASE(
    "a slowed device stands still after its kernels for as long as the factor asks, and the next "
    "slice waits") {
  Handicap handicap;
  handicap.slow = 3;
  Bench bench(handicap);
  const BatchId first = bench.slice(0, 1 << 19), second = bench.slice(1 << 19, 1 << 20);
  while (!bench.open->complete(first)) std::this_thread::yield();
  const DeviceSpan span = bench.open->span(first);
  const auto a = bench.finish(first), b = bench.finish(second);
  for (const auto& commands : {a, b}) {
    REQUIRE(commands.size() == 2);
    CHECK(commands[0].label == "sum_slice");
    CHECK(commands[1].label == "slow-down");
    CHECK(commands[1].kind == CommandKind::compute);
    CHECK(commands[1].started >= commands[0].ended);
    CHECK(commands[1].queued <= commands[1].submitted);
    CHECK(commands[1].submitted <= commands[1].started);
    CHECK(length(commands[1]) >= 1.9 * length(commands[0]));
  }
  CHECK(b[0].started >= a[1].ended);
  CHECK(span.started == a[0].started);
  CHECK(span.ended == a[1].ended);
}

TEST_CASE(
    "a slow-down that has not begun holds nothing back, and begins at the share it was given") {
  Handicap handicap;
  handicap.slow = 100;
  handicap.slow_from_fraction = 0.5;
  Bench bench(handicap);
  bench.open->slow_down().begin_sample(bench.backend->now());
  const auto before = bench.finish(bench.slice(0, 1 << 20));
  REQUIRE(before.size() == 2);
  CHECK(length(before[1]) <
        50 * length(before[0]));  // some 50 ms: more than a busy machine takes to look
  bench.open->slow_down().reached(0.5, bench.backend->now());
  const auto after = bench.finish(bench.slice(0, 1 << 20));
  CHECK(length(after[1]) > 90 * length(after[0]));
}

TEST_CASE(
    "a delayed device begins each slice later, by the delay at least, and its transfers do not "
    "wait") {
  Handicap handicap;
  handicap.delay = 20ms;
  Bench bench(handicap);
  const auto commands = bench.finish(bench.slice(0, 1 << 10));
  REQUIRE(commands.size() == 2);
  CHECK(commands[0].label == "delay");
  CHECK(length(commands[0]) >= 19ms);
  CHECK(commands[1].started >= commands[0].ended);
  bench.program->collect(bench.open->stream());
  CHECK(bench.finish(bench.open->submit()).size() == 1);  // no slice, no delay
}

TEST_CASE("a device that is closed, abandoned or allocated from while it is held does not hang") {
  Handicap handicap;
  handicap.delay = 1h;
  handicap.slow = 1000;
  {
    Bench closed(handicap);
    closed.slice(0, 1 << 20);
    closed.slice(0, 1 << 20);
  }
  Bench abandoned(handicap);
  const BatchId batch = abandoned.slice(0, 1 << 10);
  CHECK_FALSE(abandoned.open->complete(batch));
  abandoned.open->abandon();
  abandoned.slice(0, 1 << 10);
  const auto buffer = abandoned.open->resources().allocate(64);
  CHECK(buffer->size() == 64);
  CHECK(abandoned.open->complete(batch));
}

TEST_CASE(
    "a session with a device three times as slow is right under every strategy, in both modes") {
  const auto backend = make_cl_backend({kKernels, {}});
  static SuiteInfo suite;
  suite.name = "sum";
  suite.size_name = "items";
  suite.make = [](const SuiteParams& params) -> std::unique_ptr<Workload> {
    return std::make_unique<SumWorkload>(params.size);
  };
  SessionOptions options;
  SuiteParams params;
  params.size = 1 << 20;
  options.problems = {{&suite, params}};
  options.modes = {Mode::resident, Mode::end_to_end};
  options.strategies = parse_strategies("all");
  options.devices = test_devices(*backend);
  options.handicaps.resize(options.devices.size());
  options.handicaps.front().slow = 3;
  options.handicaps.back().delay = 100us;
  options.device_counts = {options.devices.size()};
  options.stop.exactly = 3;
  QuietObserver observer;
  const Report report = run_session(*backend, options, {}, observer);
  for (const std::string& warning : observer.warnings) FAIL_CHECK(warning);
  CHECK(report.devices.front().handicap.slow == 3);
  for (const RunRecord& run : report.runs) {
    CAPTURE(run.strategy);
    CAPTURE(to_string(run.mode));
    CHECK(run.status == Status::ok);
    CHECK(run.verify.status == VerifyStatus::passed);
    Nanos kernels{}, slowed{};
    for (const Command& command : run.timeline.commands) {
      if (command.device != DeviceIndex{0}) continue;
      if (command.label == "sum_slice") kernels += command.ended - command.started;
      if (command.label == "slow-down") slowed += command.ended - command.started;
    }
    CHECK(slowed >= 1.9 * kernels);
  }
}
