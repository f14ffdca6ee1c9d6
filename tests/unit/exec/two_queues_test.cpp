// Two compute queues on the fake backend: what overlaps, what waits, and that the timeline says which queue it was.
#include <doctest/doctest.h>

#include "lib/exec/executor.hpp"
#include "lib/plan/strategy.hpp"
#include "lib/profile/bottleneck.hpp"
#include "lib/profile/metrics.hpp"
#include "tests/support/sum_workload.hpp"

using namespace mgpu;
using namespace mgpu::test;
using namespace std::chrono_literals;

namespace {

FakeDevice with_two_queues() {
  FakeDevice device = fake_device("0:0");  // 1 ns an item, 5 us a launch
  device.compute_queues = 2;
  return device;
}

// A sample of the sum workload on one device, four slices of 100,000 items.
Timeline sample_on(const FakeDevice& device, Mode mode, const Handicap& handicap = {}) {
  FakeBackend backend({device}, sum_kernels());
  SumWorkload workload(400'000);
  const auto open = backend.open(device.facts, handicap);
  const Capacity capacity = workload.capacity(open->resources().traits(), mode);
  const auto program = workload.program(open->resources(), DeviceIndex{0}, mode, capacity);
  if (mode == Mode::resident) {
    program->load(open->stream());
    const BatchId batch = open->submit();
    while (!open->complete(batch)) REQUIRE(backend.advance({}));
    open->take(batch);
  }
  std::vector<DeviceEstimate> estimates(1);
  estimates[0].items_per_s = 1;
  estimates[0].fits = estimates[0].pipeline = capacity.fits;
  const PlanRequest request{400'000, 1, mode, workload.shape().cost, estimates, 0, 0, {}};
  const auto source = parse_strategies("dynamic").front().info->make({{"chunks", 4}})->begin(request, {});
  SampleRequest sample;
  sample.workload = &workload;
  sample.source = source.get();
  sample.members = {{open.get(), program.get()}};
  Executor executor(backend, 1);
  const RawSample raw = executor.run(sample);
  REQUIRE_FALSE(raw.failure);
  REQUIRE(raw.slices.size() == 4);
  CHECK(workload.digest() == std::to_string(workload.reference()));
  const std::vector<ClockMap> clocks{fit_clock(open->probe_clock(1), {})};
  return to_timeline(raw, clocks);
}

std::vector<const Command*> kernels(const Timeline& timeline) {
  std::vector<const Command*> all;
  for (const Command& command : timeline.commands) {
    if (command.label == "sum_slice") all.push_back(&command);
  }
  return all;
}

}  // namespace

TEST_CASE("slices alternate between two compute queues, and a launch passes beside the other queue's kernel") {
  const Timeline two = sample_on(with_two_queues(), Mode::resident), one = sample_on(fake_device("0:0"), Mode::resident);
  const auto commands = kernels(two);
  REQUIRE(commands.size() == 4);
  for (std::size_t i = 0; i < commands.size(); ++i) {
    CHECK(commands[i]->queue == i % 2);
    CHECK(commands[i]->slice == static_cast<std::int32_t>(i));
    // In turn, ops after ops: no two kernels at full rate at once.
    CHECK(commands[i]->ended == 5us + static_cast<std::int64_t>(i + 1) * 100us);
    CHECK(kernels(one)[i]->queue == 0);
    CHECK(kernels(one)[i]->ended == static_cast<std::int64_t>(i + 1) * 105us);
  }
  CHECK(one.makespan - two.makespan == 15us);  // three launches
}

TEST_CASE("with two compute queues parts add up, and the replay with nothing made free is exact") {
  for (const Mode mode : {Mode::resident, Mode::end_to_end}) {
    const Timeline timeline = sample_on(with_two_queues(), mode);
    CHECK(device_parts(timeline)[0].residue == Nanos{});
    CHECK(device_parts(timeline)[0].compute <= timeline.makespan);
    CHECK(replay(timeline, {}) == timeline.makespan);
    CHECK(find_bottleneck(timeline).free_launches.value() <= timeline.makespan);
  }
}

TEST_CASE("what is collected waits for the kernels of both queues") {
  const Timeline timeline = sample_on(with_two_queues(), Mode::end_to_end);
  Nanos last{};
  for (const Command* kernel : kernels(timeline)) last = std::max(last, kernel->ended);
  for (const Command& command : timeline.commands) {
    if (command.slice == kCollect) CHECK(command.started >= last);
  }
}

TEST_CASE("a device that is held back on purpose has one compute queue") {
  Handicap handicap;
  handicap.slow = 2;
  const Timeline timeline = sample_on(with_two_queues(), Mode::resident, handicap);
  for (const Command& command : timeline.commands) CHECK(command.queue == 0);
  CHECK(device_parts(timeline)[0].compute == 4 * 2 * 105us);
  handicap = {};
  handicap.memory_cap = Bytes{1} << 30;  // which holds nothing back
  CHECK(kernels(sample_on(with_two_queues(), Mode::resident, handicap))[1]->queue == 1);
}

TEST_CASE("kernels that are no slice's come after those of both queues, and before those after them") {
  const FakeDevice device = with_two_queues();
  FakeBackend backend({device}, sum_kernels());
  const auto open = backend.open(device.facts);
  const auto kernel = open->resources().kernel("", "sum_slice", "");
  const auto values = open->resources().allocate(8000), out = open->resources().allocate(8);
  const auto launch = [&](std::uint64_t items) {
    open->stream().launch(*kernel, {}, {values.get(), std::uint64_t{0}, items, out.get(), std::uint32_t{0}});
  };
  const auto slice = [&](unsigned lane) {
    open->begin_slice(lane);
    launch(1000);
    return open->submit();
  };
  slice(0);
  const BatchId second = slice(1);
  launch(1000);
  const BatchId collect = open->submit(), after = slice(1);
  CHECK(open->span(collect).started == open->span(second).ended);
  CHECK(open->span(after).started == open->span(collect).ended);
}
