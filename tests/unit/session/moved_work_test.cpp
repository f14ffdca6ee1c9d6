// Records of sessions about work that moves between devices, and about their memory.
#include <doctest/doctest.h>

#include "tests/support/sum_session.hpp"

using namespace mgpu;
using namespace mgpu::test;
using namespace std::chrono_literals;

namespace {

constexpr Items kItems = 1 << 22;

// Returns the items of a case's sample that is shown which lie outside the first shares of the
// device that computed them, counted item by item.
Items moved_by_hand(const RunRecord& run, const std::vector<Items>& first) {
  std::vector<std::uint32_t> owner;
  for (std::uint32_t i = 0; i < first.size(); ++i) owner.insert(owner.end(), first[i], i);
  Items moved = 0;
  for (const SliceRecord& slice : run.timeline.slices)
    for (Items item = slice.begin; item < slice.end; ++item)
      moved += owner[item] != slice.device.value;
  return moved;
}

SessionOptions slowed_options(const std::string& strategies, double from,
                              std::vector<Mode> modes = {Mode::end_to_end}) {
  SessionOptions options = options_for(2, kItems, strategies, std::move(modes));
  options.handicaps.resize(2);
  options.handicaps[1].slow = 2;
  options.handicaps[1].slow_from_fraction = from;
  return options;
}

}  // namespace

TEST_CASE("work that changed its device is recorded, of strategies that move work") {
  SessionOptions options = slowed_options("stealing,adaptive,equal,dynamic", 0.25);
  const Report report = run(fake_devices(2, 1e8), options);
  for (const char* strategy : {"stealing", "adaptive"}) {
    CAPTURE(strategy);
    const RunRecord& run = find(report, strategy, Mode::end_to_end);
    REQUIRE(run.metrics.moved_share);
    CHECK(*run.metrics.moved_share > 0.02);
    const auto shown =
        std::find_if(run.migrations.begin(), run.migrations.end(),
                     [&](const MigrationRecord& one) { return one.sample == run.sample_index; });
    REQUIRE(shown != run.migrations.end());
    CHECK(shown->items == moved_by_hand(run, shown->first));
    CHECK(*run.metrics.moved_share == doctest::Approx(static_cast<double>(shown->items) / kItems));
    CHECK(shown->bytes == shown->items * 8);  // an item is 8 bytes of input
    CHECK(run.metrics.moving_share == 0);     // on a virtual clock, deciding takes no time
  }
  for (const char* strategy : {"equal", "dynamic"}) {
    const RunRecord& run = find(report, strategy, Mode::end_to_end);
    CHECK(run.migrations.empty());
    CHECK_FALSE(run.metrics.moved_share);
    CHECK(run.adaptations.empty());
  }
}

TEST_CASE("in resident mode every device holds all inputs, and no bytes move") {
  const Report report =
      run(fake_devices(2, 1e8), slowed_options("adaptive", 0.25, {Mode::resident}));
  const RunRecord& run = find(report, "adaptive");
  REQUIRE(!run.migrations.empty());
  CHECK(run.migrations.front().items > 0);
  CHECK(run.migrations.front().bytes == 0);
}

TEST_CASE("adaptive moves work away from a device that becomes slower, and soon") {
  const Report report = run(fake_devices(2, 1e8), slowed_options("adaptive", 0.5));
  const RunRecord& run = find(report, "adaptive", Mode::end_to_end);
  REQUIRE(run.adaptations.size() == run.samples.size());
  for (const AdaptationRecord& change : run.adaptations) {
    CHECK(change.device == "0:1");
    CHECK(change.cause == kSlowDownCause);
    // The device becomes slower when half of the items are finished.
    const double share = seconds(change.at) / seconds(run.samples[change.sample]);
    CHECK((share > 0.3 && share < 0.6));
    REQUIRE(change.latency);
    CHECK(*change.latency > Nanos{});
    // Its next two pieces show it; a piece is at most a sixth of the rest.
    CHECK(seconds(*change.latency) < 0.3 * seconds(run.samples[change.sample]));
  }
  REQUIRE(run.metrics.adaptation_ms);
  std::vector<double> latencies;
  for (const AdaptationRecord& change : run.adaptations)
    latencies.push_back(seconds(*change.latency) * 1e3);
  CHECK(*run.metrics.adaptation_ms == doctest::Approx(median(latencies)));
}

TEST_CASE("a slow-down at a time is known to the nanosecond") {
  SessionOptions options = options_for(2, kItems, "adaptive", {Mode::end_to_end});
  options.handicaps.resize(2);
  options.handicaps[0].slow = 3;
  options.handicaps[0].slow_from_time = 5ms;
  const Report report = run(fake_devices(2, 1e8), options);
  const RunRecord& run = find(report, "adaptive", Mode::end_to_end);
  REQUIRE(run.samples.front() > 10ms);
  REQUIRE(run.adaptations.size() == run.samples.size());
  for (const AdaptationRecord& change : run.adaptations) {
    CHECK(change.device == "0:0");
    CHECK(change.at == Nanos{5ms});
  }
  options.handicaps[0].slow_from_time = 1s;  // after the end of every sample
  const Report late = mgpu::test::run(fake_devices(2, 1e8), options);
  CHECK(find(late, "adaptive", Mode::end_to_end).adaptations.empty());
}

TEST_CASE("the memory of each device is a share of what it has, or may use") {
  SessionOptions options = options_for(2, 1 << 16, "equal");
  std::vector<FakeDevice> fakes = fake_devices(2);
  fakes[0].facts.global_memory = fakes[0].facts.max_allocation = 16 << 20;
  fakes[1].facts.global_memory = fakes[1].facts.max_allocation = 8 << 20;
  options.handicaps.resize(2);
  options.handicaps[0].memory_cap = 4 << 20;
  const Report report = run(fakes, options);
  const RunRecord& run = find(report, "equal");
  const Bytes memory[] = {4 << 20, 8 << 20};
  for (std::size_t i = 0; i < 2; ++i) {
    const PerDevice& device = run.per_device[i];
    REQUIRE(device.bytes_peak);
    CHECK(*device.bytes_peak >= (1 << 16) * 8);
    CHECK(*device.bytes_peak >= device.bytes_resident);
    CHECK(*device.memory_used == doctest::Approx(static_cast<double>(*device.bytes_peak) /
                                                 static_cast<double>(memory[i])));
    CHECK(device.memory_saved == 0);  // each holds all values
    CHECK_FALSE(device.pool);
  }
  CHECK(run.metrics.memory_used == run.per_device[0].memory_used);
  CHECK(run.metrics.memory_saved == 0);
}

TEST_CASE("a device that holds less than the whole problem at once saves memory") {
  SessionOptions options = options_for(1, 1 << 16, "equal", {Mode::end_to_end});
  std::vector<FakeDevice> fakes = fake_devices(1);
  const Bytes all = (1 << 16) * 8;
  fakes[0].facts.global_memory = fakes[0].facts.max_allocation = all;  // a slot has half of that
  const Report report = run(fakes, options);
  const RunRecord& run = find(report, "equal", Mode::end_to_end);
  REQUIRE(run.per_device[0].memory_saved);
  const auto held = static_cast<double>(run.per_device[0].bytes_resident);
  // By its plan, a slot takes a quarter of what it would take alone.
  CHECK(
      *run.per_device[0].memory_saved ==
      doctest::Approx(0.75 * static_cast<double>(all) / (held + 0.75 * static_cast<double>(all))));
  CHECK(run.metrics.memory_saved == run.per_device[0].memory_saved);
}

TEST_CASE("a memory pool reuses the buffers of an earlier problem, and its record says so") {
  SessionOptions options = options_for(2, 4096, "equal", {Mode::resident});
  for (const Items items : {4096, 6000, 8192})
    options.problems.push_back(problem_of(sum_suite(), items));
  options.handicaps.resize(2);
  options.handicaps[0].keeps_freed = true;
  std::vector<FakeDevice> fakes = fake_devices(2);
  for (FakeDevice& fake : fakes)  // values of 8 bytes, and 128 KiB for sums
    fake.facts.global_memory = fake.facts.max_allocation = 256 << 10;
  const Report report = run(fakes, options);
  REQUIRE(report.runs.size() == 4);
  for (const RunRecord& run : report.runs) {
    CAPTURE(run.reason.value_or(""));
    REQUIRE(run.verify.status == VerifyStatus::passed);
    CHECK_FALSE(run.per_device[1].pool);
    CHECK(*run.per_device[0].bytes_peak <= fakes[0].facts.global_memory);
  }
  const auto pool = [&](std::size_t k) { return report.runs[k].per_device[0].pool.value(); };
  CHECK(pool(0).evicted == 0);
  CHECK(pool(1).reused == 2);  // its values, and its sums
  CHECK(pool(1).evicted == 0);
  CHECK(pool(2).evicted == 0);
  CHECK(pool(3).evicted > 0);  // there is no room for it next to the values of two problems
}
