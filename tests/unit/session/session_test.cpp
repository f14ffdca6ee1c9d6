// A whole session on the fake backend: its record, and the cases that are unsupported or skipped.
#include "lib/session/session.hpp"

#include <doctest/doctest.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <filesystem>
#include <set>

#include "tests/support/refusal.hpp"
#include "tests/support/sum_session.hpp"

using namespace mgpu;
using namespace mgpu::test;

TEST_CASE("all strategies in both modes are recorded and verified, with one digest") {
  SessionOptions options = options_for(2, 1 << 16);
  options.modes.push_back(Mode{"weights_stay", false, true});  // the suite does not have this mode
  std::size_t written = 0;
  g_faults.written = &written;
  options.result_file = std::filesystem::temp_directory_path() / "mgpu-bench-session-test-result";
  const Report report = run(fake_devices(2, 1e8), options);
  CHECK(report.complete);
  CHECK(report.runs.size() == 2 * all_strategies().size());
  std::set<std::string> digests;
  for (const RunRecord& run : report.runs) {
    CAPTURE(run.strategy);
    CHECK(run.status == Status::ok);
    CHECK(run.verify.status == VerifyStatus::passed);
    CHECK(run.verify.checked == 4);
    CHECK(run.samples.size() == 4);
    CHECK(run.per_device.size() == 2);
    digests.insert(run.verify.digest);
  }
  CHECK(digests.size() == 1);
  CHECK(*find(report, "single").metrics.speedup == doctest::Approx(1.0));
  CHECK(*find(report, "equal").metrics.speedup > 1.9);
  CHECK(*find(report, "equal").metrics.efficiency > 0.95);
  CHECK(written == 1);
  std::filesystem::remove(*options.result_file);
}

TEST_CASE("the roof is that of the devices that did the work, if all of them are calibrated") {
  SessionOptions options = options_for(2, 1 << 17, "single,equal", {Mode::resident});
  Capability capability;
  capability.int32_ops = 1e8;  // the true speed of the fakes
  options.calibration.devices = {capability, capability};
  const Report known = run(fake_devices(2, 1e8), options);
  for (const RunRecord& run : known.runs) {
    CAPTURE(run.strategy);
    CHECK(run.work.ceiling == "int32");
    REQUIRE(run.metrics.roofline_fraction);
    CHECK(*run.metrics.roofline_fraction > 0.9);
    CHECK(*run.metrics.roofline_fraction <= 1.0);
  }
  options.calibration.devices[1].reset();
  const Report half = run(fake_devices(2, 1e8), options);
  CHECK(find(half, "single").metrics.roofline_fraction);
  CHECK_FALSE(find(half, "equal").metrics.roofline_fraction);
  CHECK_FALSE(find(half, "equal").work.ceiling);
}

TEST_CASE("single is the faster device and says so though it is not the first") {
  const Report report = run({fake_device("0:0", 1e8), fake_device("0:1", 1e9)},
                            options_for(2, 1 << 16, "single", {Mode::resident}));
  const RunRecord& single = find(report, "single");
  CHECK(single.per_device[0].parts.items == 0);
  CHECK(single.per_device[1].parts.items == 1 << 16);
  for (const PerDevice& device : single.per_device) CHECK(device.parts.residue == Nanos{});
}

TEST_CASE("a sample of no time is none: the case fails and says why") {
  FakeDevice instant = fake_device("0:0", 1e30);
  instant.up = instant.down = 0;
  instant.launch = {};
  const Report report = run({instant}, options_for(1, 1 << 10, "equal", {Mode::resident}));
  const RunRecord& none = find(report, "equal");
  CHECK(none.status == Status::failed);
  REQUIRE(none.reason);
  CHECK(has(*none.reason, "clock"));
}

TEST_CASE("device counts are cases of their own, measured against the same single devices") {
  SessionOptions options = options_for(4, 1 << 17, "equal", {Mode::resident});
  options.device_counts = {1, 2, 4};
  const Report report = run(fake_devices(4, 1e8), options);
  REQUIRE(report.runs.size() == 3);
  CHECK(report.runs[2].devices.size() == 4);
  CHECK(*report.runs[1].metrics.ideal_speedup == doctest::Approx(2.0));
  CHECK(*report.runs[2].metrics.speedup > 3.8);
}

TEST_CASE("what does not fit the memory, or its cap, is unsupported resident and runs in pieces") {
  for (const bool capped : {false, true}) {
    FakeDevice device = fake_device("0:0");
    SessionOptions options = options_for(1, 1 << 20, "equal");
    if (capped)
      options.handicaps.emplace_back().memory_cap = 1 << 20;
    else
      device.facts.global_memory = device.facts.max_allocation = 1 << 20;
    const Report report = run({device}, options);
    CHECK(find(report, "equal").status == Status::unsupported);
    CHECK(find(report, "equal").reason);
    CHECK(find(report, "equal", Mode::end_to_end).status == Status::ok);
  }
}

TEST_CASE("handicaps are put on the devices they are meant for, and recorded with them") {
  SessionOptions options = options_for(2, 1 << 17, "equal,dynamic", {Mode::resident});
  options.handicaps.resize(2);
  options.handicaps[1].slow = 3;
  options.handicaps[1].memory_cap = Bytes{1} << 30;
  const Report report = run(fake_devices(2, 1e8), options);
  REQUIRE(report.devices.size() == 2);
  CHECK_FALSE(report.devices[0].handicap.any());
  CHECK(report.devices[1].handicap.slow == 3);
  CHECK(report.devices[1].handicap.memory_cap == Bytes{1} << 30);
  CHECK(report.devices[1].device.global_memory ==
        fake_device("").facts.global_memory);  // its memory, not the free part
  const RunRecord& equal = find(report, "equal");
  CHECK(seconds(*equal.per_device[1].alone) ==
        doctest::Approx(3 * seconds(*equal.per_device[0].alone)).epsilon(0.01));
  CHECK(*equal.metrics.efficiency == doctest::Approx(0.5).epsilon(0.02));
  CHECK(*find(report, "dynamic").metrics.efficiency > 0.9);
}

namespace {

// Returns the number of samples that a workload computed, for cases with four counted samples each;
// on a virtual clock, devices are never idle.
std::size_t session_samples(FakeTime time, std::size_t devices, const std::string& strategies,
                            double ops_per_s, std::chrono::milliseconds verifying) {
  SessionOptions options = options_for(devices, 1 << 12, strategies, {Mode::resident});
  give_estimates(options);  // no probes, whose number depends on the time
  std::size_t samples = 0;
  g_faults.samples = &samples;
  if (time == FakeTime::is_real) g_faults.verifying = verifying;
  const Report report = run(fake_devices(devices, ops_per_s), options, time);
  for (const RunRecord& run : report.runs) CHECK(run.samples.size() == 4);
  return samples;
}

}  // namespace

TEST_CASE("devices that stood still warm up again before what is counted") {
  const auto repeats_in_real_time = [](std::size_t times, auto... setting) {
    CHECK(session_samples(FakeTime::is_real, setting...) >=
          session_samples(FakeTime::is_virtual, setting...) + times);
  };
  // After a long verification: once after the first verifications of the three cases, and once
  // after the last one of each case but the last.
  repeats_in_real_time(3, 1u, "equal,dynamic", 1e9, std::chrono::milliseconds(20));
  // While another device worked: once in each of four rounds, for the 5 ms of the other.
  repeats_in_real_time(4, 2u, "equal", (1 << 12) / 0.005, std::chrono::milliseconds());
}

TEST_CASE("rounds go forwards and backwards in turn, so that a drift hits all cases alike") {
  std::vector<std::size_t> sharing;
  SessionOptions options = options_for(2, 1000, "equal", {Mode::resident});
  give_estimates(options);
  g_faults.sharing = &sharing;
  run(fake_devices(2), options);
  // Warm-ups of two single devices and of both; then single, single, both; both, single, single;
  // and so on.
  CHECK(sharing == std::vector<std::size_t>{1, 1, 2, 1, 1, 2, 2, 1, 1, 1, 1, 2, 2, 1, 1});
}

TEST_CASE("building is as long as the slowest device takes: they build at once") {
  std::vector<FakeDevice> fakes = fake_devices(2);
  fakes[0].build = std::chrono::milliseconds(20);
  fakes[1].build = std::chrono::milliseconds(30);
  const Report report = run(fakes, options_for(2, 1000, "equal"));
  for (const RunRecord& run : report.runs) CHECK(run.setup.build == std::chrono::milliseconds(30));
}

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_CASE("a thousand sessions in one process hold no more memory than ten, with a pool too") {
  SessionOptions options = options_for(2, 1000, "equal,dynamic", {Mode::resident});
  give_estimates(options);
  options.handicaps.resize(2);
  options.handicaps[1].keeps_freed = true;
  const auto held_after = [&](int sessions) {
    for (int i = 0; i < sessions; ++i) run(fake_devices(2), options);
    return mallinfo2().uordblks;
  };
  const std::size_t few = held_after(10), many = held_after(990);
  CHECK(many <= few + 1024);
}
#endif

TEST_CASE("the stop rule wants enough samples, enough time and a narrow interval, within bounds") {
  using namespace std::chrono_literals;
  StopRule rule;
  const auto satisfied = [&](std::size_t n, Nanos each) {
    return rule.satisfied(std::vector<Nanos>(n, each));
  };
  CHECK_FALSE(satisfied(9, 100ms));  // too few
  CHECK_FALSE(satisfied(20, 1ms));   // too short
  CHECK(satisfied(10, 100ms));
  CHECK(satisfied(3, 2s));  // long samples: three suffice
  CHECK_FALSE(satisfied(2, 9s));
  CHECK_FALSE(satisfied(4999, 5us));
  CHECK(satisfied(5000, 5us));  // short samples: enough of them
  std::vector<Nanos> wide;
  for (int i = 0; i < 40; ++i) wide.push_back(i % 2 ? 10ms : 20ms);
  CHECK_FALSE(rule.satisfied(wide));  // an interval of 50 %
  // With many samples the interval is checked only now and then.
  for (const std::size_t n : {63u, 64u, 100u}) CHECK(satisfied(n, 10ms));
  CHECK_FALSE(satisfied(101, 10ms));
  for (const std::size_t n : {1024u, 1056u}) CHECK(satisfied(n, 4ms));
  for (const std::size_t n : {1025u, 1055u}) CHECK_FALSE(satisfied(n, 4ms));
  rule.exactly = 2;
  CHECK(satisfied(2, Nanos{1}));
}
