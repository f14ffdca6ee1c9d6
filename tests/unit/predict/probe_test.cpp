// Lines through probes, and estimates derived from them.
#include "lib/predict/probe.hpp"

#include <doctest/doctest.h>

#include "lib/predict/predictor.hpp"
#include "lib/predict/probe_reading.hpp"
#include "tests/support/fake_backend.hpp"
#include "tests/support/sum_workload.hpp"

using namespace mgpu;
using std::chrono::microseconds;

TEST_CASE("a line goes through both medians") {
  const StageCost cost =
      fit_stage(10, microseconds(120), 40, microseconds(180), 1000, 0);  // 100 + 2 k
  CHECK(cost.fixed == microseconds(100));
  CHECK(cost.per_item_s == doctest::Approx(2e-6));
}

TEST_CASE("a queue with nothing to do costs nothing") {
  CHECK(fit_stage(10, Nanos{}, 40, Nanos{}, 1000, 0).per_item_s == 0);
}

TEST_CASE("one point makes a line through zero") {
  const StageCost cost = fit_stage(10, microseconds(100), 10, microseconds(100), 1000, 0);
  CHECK(cost.fixed == Nanos{});
  CHECK(cost.per_item_s == doctest::Approx(10e-6));
}

TEST_CASE("where a slice leaves the device idle, the slope is that of a full device") {
  const StageCost cost = fit_stage(10, microseconds(100), 40, microseconds(101), 1000, 0.5e-6);
  CHECK(cost.per_item_s == doctest::Approx(0.5e-6));
  CHECK(cost.fixed == microseconds(81));
  // A measured rate is not below the given one, nor a little above it, as small slices use less of
  // a device ...
  CHECK(fit_stage(10, microseconds(100), 40, microseconds(160), 1000, 3e-6).per_item_s ==
        doctest::Approx(3e-6));
  CHECK(fit_stage(10, microseconds(100), 40, microseconds(160), 1000, 1.5e-6).per_item_s ==
        doctest::Approx(1.5e-6));
  // ... but if it is far above, the device has become slower.
  CHECK(fit_stage(10, microseconds(100), 40, microseconds(160), 1000, 1e-6).per_item_s ==
        doctest::Approx(2e-6));
}

TEST_CASE("a line that falls is taken for latency") {
  const StageCost cost = fit_stage(10, microseconds(110), 40, microseconds(100), 1000, 0);
  CHECK(cost.per_item_s == doctest::Approx(100e-6 / 1000));
  CHECK(cost.fixed.count() > 0);
}

TEST_CASE("an estimate end to end knows the links; a CPU's folds its copies into computing") {
  Probe probe;
  probe.fixed = microseconds(7);
  probe.replicated = microseconds(2);
  const SmallSlices slices{
      10, 40, microseconds(30), microseconds(60), microseconds(15), 0.6e-6, microseconds(2)};
  probe.devices.push_back({{microseconds(10), 2e-9},
                           {microseconds(20), 1e-6},
                           {microseconds(5), 5e-9},
                           slices,
                           microseconds(3)});
  ItemCost cost;
  cost.in_bytes = 1000;
  cost.out_bytes = 100;
  const DeviceEstimate gpu = estimate_of(probe, 0, cost, Mode::end_to_end, {});
  CHECK(gpu.items_per_s == doctest::Approx(1e6));
  CHECK(gpu.up == doctest::Approx(5e8));
  CHECK(gpu.down == doctest::Approx(2e8));
  CHECK(gpu.launch == microseconds(17));  // the constant part, and contention
  CHECK(gpu.minimum_slice == microseconds(62));
  CHECK(estimate_of(probe, 0, cost, Mode::end_to_end, {0, 0, 20}).minimum_slice ==
        microseconds(42));  // on the line between the sizes
  CHECK(estimate_of(probe, 0, cost, Mode::end_to_end, {0, 0, 5}).minimum_slice == microseconds(32));
  CHECK(estimate_of(probe, 0, cost, Mode::end_to_end, {0, 0, 400}).minimum_slice ==
        microseconds(62));
  CHECK(gpu.transfer == microseconds(10));
  // Without the replicated inputs, whose bytes are counted separately.
  CHECK(gpu.fixed == microseconds(5));
  probe.devices.front().kernels.grows_per_item_s =
      0.2e-6;  // the growing times are not the cost per item of a full device
  CHECK(estimate_of(probe, 0, cost, Mode::end_to_end, {}).launch == microseconds(2));
  const DeviceEstimate cpu = estimate_of(probe, 0, cost, Mode::end_to_end, {1, 0, 0});
  CHECK(cpu.items_per_s == doctest::Approx(1 / 3.5e-6));
  CHECK(cpu.up == 0);
  CHECK(cpu.launch == microseconds(3));
  CHECK(cpu.fixed == microseconds(7 + 35 - 3));
  // For 1000 items in pieces of 100, eight cores are measured to upload for 0.55 of 2 us and to
  // download for 0.1 of 0.5, and one core for the rest.
  CHECK(estimate_of(probe, 0, cost, Mode::end_to_end, {8, 1000, 100}).items_per_s ==
        doctest::Approx(1 / (2.15e-6 + 1.35e-6 / 8)));
  CHECK(estimate_of(probe, 0, cost, Mode::end_to_end, {8, 100, 100}).items_per_s ==
        doctest::Approx(1 / 3.5e-6));  // one piece
  const DeviceEstimate resident = estimate_of(probe, 0, cost, Mode::resident, {});
  CHECK(resident.launch == microseconds(3));
  CHECK(resident.first_slice_discount == Nanos{});
  CHECK(resident.items_per_s == doctest::Approx(1 / 3.5e-6));
  CHECK(resident.fixed == microseconds(7 + 35 - 3));
  probe.devices.front().same_down = 2000;  // no item adds to it
  const DeviceEstimate constant = estimate_of(probe, 0, cost, Mode::resident, {});
  CHECK(constant.items_per_s == doctest::Approx(1 / 3e-6));
  CHECK(constant.fixed == microseconds(7 + 35 + 10 - 3));
  probe.devices.front().same_down = 0;
  probe.devices.front().next_slice =
      microseconds(50);  // more than the only one took without its items: 42 us
  const DeviceEstimate rebalance_point = estimate_of(probe, 0, cost, Mode::resident, {});
  CHECK(rebalance_point.launch == microseconds(50));
  CHECK(rebalance_point.first_slice_discount == microseconds(8));
  CHECK(rebalance_point.fixed == Nanos{});
  CHECK(estimate_of({}, 0, cost, Mode::resident, {}).items_per_s == 0);
}

TEST_CASE("what kernels wait for their own uploads is not a work of theirs, other gaps are") {
  RawBatch batch;
  const auto add = [&](CommandKind kind, std::uint64_t started, std::uint64_t ended) {
    batch.commands.emplace_back();
    batch.commands.back().kind = kind;
    batch.commands.back().started = started;
    batch.commands.back().ended = ended;
  };
  add(CommandKind::upload, 0, 10);
  add(CommandKind::compute, 12, 20);
  add(CommandKind::upload, 10, 90);
  add(CommandKind::compute, 95, 120);  // it waited 70 of 75 ns for bytes
  add(CommandKind::compute, 125, 200);
  CHECK(kernels_of(batch) == Nanos{200 - 12 - 70});
  CHECK(kernels_of({}) == Nanos{});
}

TEST_CASE("a device that waits for what is not enqueued yet is late, not one that works") {
  const auto at = [](CommandKind kind, std::uint64_t queued, std::uint64_t started,
                     std::uint64_t ended) {
    RawCommand command;
    command.kind = kind;
    command.queued = queued;
    command.started = started;
    command.ended = ended;
    return command;
  };
  const DeviceIndex mine{1};
  const RawBatch slice{
      mine,
      0,
      {at(CommandKind::upload, 10, 20, 30), at(CommandKind::compute, 45, 50, 60),  // 15 late
       at(CommandKind::compute, 70, 75, 80),  // part of the time of kernels
       at(CommandKind::compute, 55, 85, 90)}};
  const RawBatch collect{mine,
                         kCollect,
                         {at(CommandKind::upload, 58, 66, 68),        // in time
                          at(CommandKind::compute, 92, 95, 100),      // 2 late
                          at(CommandKind::download, 99, 110, 112)}};  // in time
  const RawBatch of_another{
      DeviceIndex{0}, 0, {at(CommandKind::upload, 0, 1, 2), at(CommandKind::compute, 50, 51, 52)}};
  const std::vector<RawBatch> batches{of_another, collect, slice};
  CHECK(enqueue_delay_in(batches, mine) == Nanos(17));
  CHECK(enqueue_delay_in(batches, {0}) == Nanos(48));
  CHECK(enqueue_delay_in(batches, {2}) == Nanos{});

  RawSample sample;
  sample.begin = Nanos(1000);
  sample.end = Nanos(1130);
  sample.batches = batches;
  for (const std::uint32_t device : {0u, 1u}) {
    SliceRecord& record = sample.slices.emplace_back();
    record.device = {device};
    record.finished = Nanos(1060 + 40 * device);
  }
  const Execution execution = read_execution(sample, 2);
  CHECK(execution.collecting == std::vector<Nanos>{Nanos{}, Nanos(5)});
  CHECK(execution.afterwards == Nanos(30));
  CHECK(execution.rest ==
        Nanos(130 - 10 - 40));  // device 1: an upload of 10, kernels from 50 to 90
  CHECK(execution.enqueue_delay == Nanos(17));
  sample.end = Nanos(1060);
  CHECK(read_execution(sample, 2).enqueue_delay == Nanos(10));  // at most the remaining time
}

TEST_CASE("longer slices than those of a probe hide that the host is late") {
  Probe probe;
  probe.items = 100;
  probe.fixed = microseconds(90);
  probe.enqueue_delay = microseconds(30);
  ProbedDevice& device = probe.devices.emplace_back();
  device.kernels = {25, 100, microseconds(40), microseconds(50), Nanos{}, 0, Nanos{}};
  device.compute = {Nanos{}, 50e-9};
  device.upload = {Nanos{}, 1e-9};  // per byte
  ItemCost cost;
  cost.in_bytes = 10;
  const auto fixed = [&](const Share& share, Mode mode) {
    return estimate_of(probe, 0, cost, mode, share).fixed;
  };
  CHECK(fixed({}, Mode::end_to_end) == microseconds(90));  // the number of items is unknown
  CHECK(fixed({0, 100, 0}, Mode::end_to_end) == microseconds(90));  // the same number
  CHECK(fixed({0, 200, 0}, Mode::end_to_end) ==
        microseconds(84));  // 5 us of kernels and 1 us of copies more
  CHECK(fixed({0, 200, 150}, Mode::end_to_end) == microseconds(90) - Nanos(5500));
  CHECK(fixed({0, 200, 0}, Mode::resident) == microseconds(85));
  CHECK(fixed({0, 5000, 0}, Mode::end_to_end) == microseconds(60));  // at most the measured delay
  CHECK(fixed({2, 5000, 0}, Mode::end_to_end) ==
        microseconds(90));  // host threads of a CPU share its cores
  device.per_doubling = microseconds(3);
  CHECK(fixed({0, 400, 0}, Mode::resident) ==
        microseconds(75));  // 6 us of collecting, which is hidden as well, and 15 us of kernels
  CHECK(fixed({0, 6400, 0}, Mode::resident) == microseconds(90 + 18 - 30));
  CHECK(fixed({0, 50, 0}, Mode::resident) == microseconds(90));
}

TEST_CASE("short slices of a CPU are not believed, long ones are") {
  const StageCost known =
      fit_compute(10, microseconds(100), 40, microseconds(700), 1000, 5e-6, microseconds(1000));
  CHECK(known.per_item_s == doctest::Approx(5e-6));
  CHECK(known.fixed == microseconds(500));
  CHECK(fit_compute(10, microseconds(100), 40, microseconds(700), 1000, 5e-6, microseconds(600))
            .per_item_s == doctest::Approx(20e-6));
  CHECK(fit_compute(10, microseconds(100), 40, microseconds(700), 1000, 0, microseconds(1000))
            .per_item_s == doctest::Approx(20e-6));
  // The slice is an upper bound: it took no longer than that.
  CHECK(fit_compute(10, microseconds(100), 40, microseconds(120), 1000, 5e-6, microseconds(1000))
            .per_item_s == doctest::Approx(3e-6));
  const StageCost whole =
      fit_compute(10, microseconds(100), 40, microseconds(120), 1000, 5e-6, Nanos::max());
  CHECK(whole.per_item_s == doctest::Approx(5e-6));  // the work is superlinear
  CHECK(whole.fixed == Nanos{});
}

TEST_CASE("where work is superlinear, a share is on the line through whole problems") {
  const KnownLine known{1000, microseconds(350), {microseconds(100), 0.25e-6}};
  const auto beyond = fit_line(10, microseconds(150), 50, microseconds(160), known, 4000);
  REQUIRE(beyond);
  CHECK(beyond->fixed == microseconds(100));
  CHECK(beyond->per_item_s == doctest::Approx(0.25e-6));
  // 160 us for 50 items, 350 us for 1000.
  const auto before = fit_line(10, microseconds(150), 50, microseconds(160), known, 500);
  REQUIRE(before);
  CHECK(before->per_item_s == doctest::Approx(0.2e-6));
  CHECK(before->fixed == microseconds(150));
  // The device is slower than it was: no known time applies.
  CHECK_FALSE(fit_line(50, microseconds(350), 50, microseconds(350), known, 4000));
  // 1 us per item.
  CHECK_FALSE(fit_line(10, microseconds(120), 50, microseconds(160), known, 4000));
  CHECK(fit_line(50, microseconds(160), 50, microseconds(160), known,
                 4000));  // only one size: nothing contradicts it
  // A probe of more items than known, for a share of fewer, has its own two sizes.
  CHECK_FALSE(fit_line(500, microseconds(290), 1000, microseconds(300), known, 900));
}
