// Throttling (handicaps) on the fake backend: exact to the nanosecond.
#include <doctest/doctest.h>

#include "lib/profile/bottleneck.hpp"
#include "tests/support/sum_sample.hpp"

using namespace mgpu;
using namespace mgpu::test;
using namespace std::chrono_literals;

namespace {

// One sample on devices that may each be throttled.
struct HandicappedRun {
  HandicappedRun(std::vector<FakeDevice> devices, std::vector<Handicap> handicaps,
                 const std::string& strategy, Items items, Mode mode = Mode::resident) {
    SumSample setup(std::move(devices), items, {}, FakeTime::is_virtual, mode,
                    std::move(handicaps));
    for (DeviceEstimate& estimate : setup.estimates) estimate.pipeline = estimate.fits;
    raw = setup.run(strategy);
    setup.check_right(raw);
    timeline = setup.timeline(raw);
    parts = device_parts(timeline);
    for (const DeviceParts& each : parts) CHECK(each.residue == Nanos{});
    CHECK(replay(timeline, {}) == timeline.makespan);
  }

  Nanos labelled(const std::string& label) const {
    Nanos sum{};
    for (const Command& command : timeline.commands) {
      if (command.label == label) sum += command.ended - command.started;
    }
    return sum;
  }

  RawSample raw;
  Timeline timeline;
  std::vector<DeviceParts> parts;
};

Handicap slowed(double factor) {
  Handicap handicap;
  handicap.slow = factor;
  return handicap;
}

// Returns the time of a kernel: 1 ns per item and 5 us per launch.
Nanos kernel_time(Items items) { return 5us + Nanos{static_cast<std::int64_t>(items)}; }

}  // namespace

TEST_CASE("a device slowed by three computes exactly three times as long, as the timeline says") {
  for (const Mode mode : {Mode::resident, Mode::end_to_end}) {
    const HandicappedRun plain({fake_device("0:0")}, {}, "dynamic:chunks=8", 1 << 20, mode);
    const HandicappedRun slow({fake_device("0:0")}, {slowed(3)}, "dynamic:chunks=8", 1 << 20, mode);
    CHECK(slow.parts[0].compute == 3 * plain.parts[0].compute);
    CHECK(slow.labelled("sum_slice") == plain.labelled("sum_slice"));
    CHECK(slow.labelled("slow-down") == 2 * plain.labelled("sum_slice"));
  }
}

TEST_CASE("uploads overlap a slow-down as they overlap kernels") {
  FakeDevice device = fake_device("0:0");
  device.up = 8e9;  // a slice takes as long to upload as to compute
  const HandicappedRun slow({device}, {slowed(3)}, "dynamic:chunks=8", 1 << 20, Mode::end_to_end);
  CHECK(seconds(slow.parts[0].transfer_hidden) > 0.8 * seconds(slow.parts[0].transfer_total));
}

TEST_CASE("a slow-down from a time on spares what was before, also in the middle of a kernel") {
  Handicap handicap = slowed(2);
  handicap.slow_from_time = 400us;
  const HandicappedRun run({fake_device("0:0")}, {handicap}, "equal", 1'000'000);
  REQUIRE(run.raw.slices.size() == 1);
  CHECK(run.parts[0].compute == kernel_time(1'000'000) + (kernel_time(1'000'000) - 400us));
  handicap.slow_from_time = 2ms;  // after the end of the sample
  const HandicappedRun late({fake_device("0:0")}, {handicap}, "equal", 1'000'000);
  CHECK(late.parts[0].compute == kernel_time(1'000'000));
  CHECK(late.labelled("slow-down") == Nanos{});
}

TEST_CASE("a slow-down from a share of the run on begins when anybody has finished that share") {
  Handicap handicap = slowed(2);
  handicap.slow_from_fraction = 0.5;
  const HandicappedRun alone({fake_device("0:0")}, {handicap}, "dynamic:chunks=4", 1'000'000);
  REQUIRE(alone.raw.slices.size() == 4);
  CHECK(alone.parts[0].compute == 6 * kernel_time(250'000));

  // The other device finishes its half after 500 us, when this one is halfway through its only
  // kernel, which takes 1 ms.
  handicap.slow = 3;
  const HandicappedRun two({fake_device("0:0", 1e9), fake_device("0:1", 5e8)}, {{}, handicap},
                           "equal", 1'000'000);
  REQUIRE(two.raw.slices.size() == 2);
  const Nanos other = kernel_time(500'000), own = 5us + 1ms;
  CHECK(two.parts[0].compute == other);
  CHECK(two.parts[1].compute == own + 2 * (own - other));
}

TEST_CASE("what is lost with a device is not finished, and no share of the run") {
  Handicap handicap = slowed(2);
  handicap.slow_from_fraction = 0.6;
  FakeDevice fails = fake_device("0:1", 1.1e9);
  fails.script = fails_from(
      FakeCall::launch, 2,
      FakeFault::Kind::error);  // two of its sixteenths have finished, and a third is running
  const HandicappedRun run({fake_device("0:0", 1e9), fails}, {handicap}, "dynamic:chunks=8",
                           1'000'000);
  REQUIRE(run.raw.faults.size() == 1);
  CHECK(run.raw.faults[0].items_lost == 250'000);
  CHECK(run.parts[0].compute == (10 + 2 * 6) * kernel_time(62'500));
}

TEST_CASE("every sample begins as fast as it can when the slow-down comes later") {
  Handicap handicap = slowed(2);
  handicap.slow_from_time = 100us;
  SlowDown slow_down(handicap);
  CHECK_FALSE(slow_down.from());
  for (const Nanos begin : {Nanos{1ms}, Nanos{7ms}}) {
    slow_down.begin_sample(begin);
    CHECK(slow_down.from() == begin + 100us);
    CHECK(slow_down.extra(begin, begin + 100us) == Nanos{});
    CHECK(slow_down.extra(begin, begin + 150us) == Nanos{50us});
    slow_down.end_sample();
    CHECK(slow_down.extra(begin, begin + 150us) == Nanos{});
  }
  SlowDown always(slowed(2.5));
  CHECK(always.extra(1ms, 3ms) == Nanos{3ms});  // applies to loading too
  CHECK(SlowDown().extra(1ms, 3ms) == Nanos{});
}

TEST_CASE("a delay puts off the kernels of every slice by exactly itself, and counts as compute") {
  Handicap handicap;
  handicap.delay = 1ms;
  const HandicappedRun plain({fake_device("0:0")}, {}, "dynamic:chunks=4", 1 << 20);
  const HandicappedRun late({fake_device("0:0")}, {handicap}, "dynamic:chunks=4", 1 << 20);
  CHECK(late.labelled("delay") == Nanos{4ms});
  CHECK(late.parts[0].compute == plain.parts[0].compute + 4ms);
  CHECK(late.parts[0].launch == plain.parts[0].launch);
}

TEST_CASE("slowing and delaying together: kernels are slowed, the delay is not") {
  Handicap handicap = slowed(2);
  handicap.delay = 1ms;
  const HandicappedRun run({fake_device("0:0")}, {handicap}, "equal", 100'000);
  CHECK(run.parts[0].compute == 1ms + 2 * kernel_time(100'000));
}

TEST_CASE("a source gets the time a slowed device took, so that shares follow it") {
  const HandicappedRun run({fake_device("0:0"), fake_device("0:1")}, {slowed(3)},
                           "dynamic:chunks=64", 1 << 20);
  const double share = static_cast<double>(run.parts[0].items) / (1 << 20);
  CHECK(share > 0.22);
  CHECK(share < 0.28);
  const SampleShare given = share_of(run.raw, 2);
  CHECK(given.busy[0] == run.parts[0].busy);
}

TEST_CASE("under a memory cap a device claims no more, and allocates no more") {
  FakeBackend backend({fake_device("0:0")}, sum_kernels());
  Handicap handicap;
  handicap.memory_cap = 1 << 20;
  const auto open = backend.open(backend.enumerate().devices.front(), handicap);
  CHECK(open->resources().traits().global_memory == 1 << 20);
  CHECK(open->resources().traits().max_allocation == 1 << 20);
  const auto fits = open->resources().allocate(1 << 19);
  CHECK_THROWS_AS(open->resources().allocate(1 << 20), Error);
  const SumWorkload workload(1 << 20);
  CHECK(workload.capacity(open->resources().traits(), Mode::resident).fits == 0);
  CHECK(workload.capacity(open->resources().traits(), Mode::end_to_end).fits ==
        (1 << 20) / 2 / 8 / 2);
}
