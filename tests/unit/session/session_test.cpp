// A whole session on the fake backend: what is recorded, and what is unsupported or skipped.
#include "lib/session/session.hpp"

#include <doctest/doctest.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <filesystem>
#include <set>

#include "tests/support/sum_session.hpp"

using namespace mgpu;
using namespace mgpu::test;

TEST_CASE("all strategies in both modes are recorded, verified, and have one digest") {
  Stopping observer;
  const Report report =
      run({fake_device("0:0"), fake_device("0:1")}, options_for(2, 1 << 20), observer);
  CHECK(report.complete);
  CHECK(report.runs.size() == 2 * all_strategies().size());
  std::set<std::string> digests;
  for (const RunRecord& run : report.runs) {
    CAPTURE(run.strategy);
    CHECK(run.status == Status::ok);
    CHECK(run.verify.status == VerifyStatus::passed);
    CHECK(run.samples.size() == 4);
    CHECK(run.per_device.size() == 2);
    digests.insert(run.verify.digest);
  }
  CHECK(digests.size() == 1);
  CHECK(*find(report, "single", Mode::resident).metrics.speedup == doctest::Approx(1.0));
  CHECK(*find(report, "equal", Mode::resident).metrics.speedup > 1.9);
  CHECK(*find(report, "equal", Mode::resident).metrics.efficiency > 0.95);
}

TEST_CASE(
    "what was reached is a share of the roof of the devices that did the work, where both are "
    "calibrated") {
  Stopping observer;
  SessionOptions options = options_for(2, 1 << 20);
  options.strategies = parse_strategies("single,equal");
  options.modes = {Mode::resident};
  Capability capability;
  capability.int32_ops = 1e9;  // as many as the fakes really do
  options.calibration.devices = {capability, capability};
  const Report known = run({fake_device("0:0"), fake_device("0:1")}, options, observer);
  for (const RunRecord& run : known.runs) {
    CAPTURE(run.strategy);
    CHECK(run.work.roof == "int32");
    REQUIRE(run.metrics.roofline_fraction);
    CHECK(*run.metrics.roofline_fraction > 0.9);
    CHECK(*run.metrics.roofline_fraction <= 1.0);
  }
  options.calibration.devices[1].reset();
  const Report half = run({fake_device("0:0"), fake_device("0:1")}, options, observer);
  CHECK(find(half, "single", Mode::resident).metrics.roofline_fraction);
  CHECK_FALSE(find(half, "equal", Mode::resident).metrics.roofline_fraction);
  CHECK_FALSE(find(half, "equal", Mode::resident).work.roof);
}

TEST_CASE("a mode that the suite does not have is left out") {
  Stopping observer;
  SessionOptions options = options_for(2, 1 << 18);
  options.modes = {Mode{"weights_stay", false, true}, Mode::resident};
  const Report report = run({fake_device("0:0"), fake_device("0:1")}, std::move(options), observer);
  CHECK(report.complete);
  CHECK(report.runs.size() == all_strategies().size());
  for (const RunRecord& record : report.runs) CHECK(record.mode == Mode::resident);
}

TEST_CASE("single is the faster device and says so though it is not the first") {
  Stopping observer;
  const Report report =
      run({fake_device("0:0", 1e8), fake_device("0:1", 1e9)}, options_for(2, 1 << 18), observer);
  const RunRecord& single = find(report, "single", Mode::resident);
  CHECK(single.per_device[0].parts.items == 0);
  CHECK(single.per_device[1].parts.items == 1 << 18);
  for (const PerDevice& device : single.per_device) CHECK(device.parts.residue == Nanos{});
}

TEST_CASE("device counts are cases of their own, measured against the same single devices") {
  Stopping observer;
  SessionOptions options = options_for(4, 1 << 20);
  options.device_counts = {1, 2, 4};
  options.strategies = parse_strategies("equal");
  const Report report =
      run({fake_device("0:0"), fake_device("0:1"), fake_device("0:2"), fake_device("0:3")}, options,
          observer);
  REQUIRE(report.runs.size() == 6);
  CHECK(report.runs[2].devices.size() == 4);
  CHECK(*report.runs[1].metrics.ideal_speedup == doctest::Approx(2.0));
  CHECK(*report.runs[2].metrics.speedup > 3.8);
}

TEST_CASE("what does not fit is unsupported resident and runs in pieces end to end") {
  FakeDevice small = fake_device("0:0");
  small.facts.global_memory = small.facts.max_allocation = 1 << 20;
  Stopping observer;
  const Report report = run({small}, options_for(1, 1 << 20), observer);
  CHECK(find(report, "equal", Mode::resident).status == Status::unsupported);
  CHECK(find(report, "equal", Mode::resident).reason->find("do not fit") != std::string::npos);
  CHECK(find(report, "equal", Mode::end_to_end).status == Status::ok);
}

TEST_CASE("handicaps are put on the devices they are meant for, and recorded with them") {
  Stopping observer;
  SessionOptions options = options_for(2, 1 << 20);
  options.handicaps.resize(2);
  options.handicaps[1].slow = 3;
  options.handicaps[1].memory_cap = Bytes{1} << 30;
  const Report report = run({fake_device("0:0"), fake_device("0:1")}, options, observer);
  REQUIRE(report.devices.size() == 2);
  CHECK_FALSE(report.devices[0].handicap.any());
  CHECK(report.devices[1].handicap.slow == 3);
  CHECK(report.devices[1].handicap.memory_cap == Bytes{1} << 30);
  CHECK(report.devices[1].device.global_memory ==
        fake_device("").facts.global_memory);  // what it has, not what it was left
  const RunRecord& equal = find(report, "equal", Mode::resident);
  CHECK(seconds(*equal.per_device[1].alone) ==
        doctest::Approx(3 * seconds(*equal.per_device[0].alone)).epsilon(0.01));
  CHECK(*equal.metrics.efficiency == doctest::Approx(0.5).epsilon(0.02));
  CHECK(*find(report, "dynamic", Mode::resident).metrics.efficiency > 0.9);
}

TEST_CASE("after a long verification, devices warm up again before what is counted") {
  const auto samples_of = [](FakeTime time, std::chrono::milliseconds verifying) {
    Stopping observer;
    SessionOptions options = options_for(1, 1 << 12);
    options.strategies = parse_strategies("equal,dynamic");
    options.modes = {Mode::resident};
    std::size_t samples = 0;
    g_faults.samples = &samples;
    g_faults.verifying = verifying;
    FakeBackend backend({fake_device("0:0")}, sum_kernels(), time);
    options.devices = backend.enumerate().devices;
    DeviceEstimate estimate;
    estimate.items_per_s = 1e9;
    options.given_estimates =
        SetEstimates{{estimate}, 0, 0, {}};  // no probes, which would be as many as fit their time
    const Report report = run_session(backend, options, {}, observer);
    for (const RunRecord& run : report.runs) CHECK(run.samples.size() == 4);
    return samples;
  };
  // Three cases. One sample more after they were verified first, and one after the last of each
  // case but the last. Virtual devices never sleep.
  CHECK(samples_of(FakeTime::is_real, std::chrono::milliseconds(60)) >=
        samples_of(FakeTime::is_virtual, {}) + 3);
}

TEST_CASE("a device that had nothing to do while another worked warms up before what is counted") {
  const auto samples_of = [](FakeTime time) {
    Stopping observer;
    SessionOptions options = options_for(2, 1 << 12);
    options.strategies = parse_strategies("equal");
    options.modes = {Mode::resident};
    std::size_t samples = 0;
    g_faults.samples = &samples;
    std::vector<FakeDevice> fakes = {fake_device("0:0"), fake_device("0:1")};
    for (FakeDevice& fake : fakes) fake.ops_per_s = (1 << 12) / 0.005;
    FakeBackend backend(fakes, sum_kernels(), time);
    options.devices = backend.enumerate().devices;
    DeviceEstimate estimate;
    estimate.items_per_s = 1e9;
    options.given_estimates = SetEstimates{{estimate, estimate}, 0, 0, {}};
    const Report report = run_session(backend, options, {}, observer);
    for (const RunRecord& run : report.runs) CHECK(run.samples.size() == 4);
    return samples;
  };
  // In each of four rounds the second device, or the first, stood still for the 5 ms of the other.
  CHECK(samples_of(FakeTime::is_real) >= samples_of(FakeTime::is_virtual) + 4);
}

TEST_CASE("a cap that is too small for the problem makes it unsupported resident") {
  Stopping observer;
  SessionOptions options = options_for(1, 1 << 20);
  options.handicaps.resize(1);
  options.handicaps[0].memory_cap = 1 << 20;
  const Report report = run({fake_device("0:0")}, options, observer);
  CHECK(find(report, "equal", Mode::resident).status == Status::unsupported);
  CHECK(find(report, "equal", Mode::end_to_end).status == Status::ok);
}

TEST_CASE(
    "every result that is compared is counted, and the one that is asked for is written once") {
  Stopping observer;
  SessionOptions options = options_for(2, 1000);
  std::size_t written = 0;
  g_faults.written = &written;
  options.result_file = std::filesystem::temp_directory_path() / "mgpu-bench-session-test-result";
  const Report report = run({fake_device("0:0"), fake_device("0:1")}, options, observer);
  CHECK(written == 1);
  for (const RunRecord& run : report.runs)
    CHECK(run.verify.checked == 1 + 4 + 1);  // warm-up, samples, the last thoroughly
  std::filesystem::remove(*options.result_file);
}

TEST_CASE("rounds go forwards and backwards in turn, so that a drift hits all cases alike") {
  std::vector<std::size_t> sharing;
  SessionOptions options = options_for(2, 1000);
  options.modes = {Mode::resident};
  options.strategies = parse_strategies("equal");
  DeviceEstimate estimate;
  estimate.items_per_s = 1e9;
  options.given_estimates = SetEstimates{{estimate, estimate}, 0, 0, {}};
  g_faults.sharing = &sharing;
  Stopping observer;
  run({fake_device("0:0"), fake_device("0:1")}, options, observer);
  // Warm-ups of two alone and of both; then alone, alone, both; both, alone, alone; and so on.
  CHECK(sharing == std::vector<std::size_t>{1, 1, 2, 1, 1, 2, 2, 1, 1, 1, 1, 2, 2, 1, 1});
}

TEST_CASE("building is as long as the slowest device takes: they build at once") {
  FakeDevice slow = fake_device("0:0"), slower = fake_device("0:1");
  slow.build = std::chrono::milliseconds(20);
  slower.build = std::chrono::milliseconds(30);
  Stopping observer;
  const Report report = run({slow, slower}, options_for(2, 1000), observer);
  for (const RunRecord& run : report.runs) CHECK(run.setup.build == std::chrono::milliseconds(30));
}

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_CASE("a thousand sessions in one process hold no more memory than ten") {
  SessionOptions options = options_for(2, 1000);
  options.strategies = parse_strategies("equal,dynamic");
  options.modes = {Mode::resident};
  DeviceEstimate estimate;
  estimate.items_per_s = 1e9;
  options.given_estimates = SetEstimates{{estimate, estimate}, 0, 0, {}};
  const auto held_after = [&](int sessions) {
    for (int i = 0; i < sessions; ++i) {
      Stopping observer;
      run({fake_device("0:0"), fake_device("0:1")}, options, observer);
    }
    return mallinfo2().uordblks;
  };
  const std::size_t few = held_after(10), many = held_after(990);
  CHECK(many <= few + 4096);
}
#endif

TEST_CASE(
    "the stop rule wants enough samples, enough time and a narrow interval, but not for ever") {
  StopRule rule;
  const auto times = [](std::size_t n, Nanos each) { return std::vector<Nanos>(n, each); };
  CHECK_FALSE(rule.satisfied(times(9, std::chrono::milliseconds(100))));  // too few
  CHECK_FALSE(rule.satisfied(times(20, std::chrono::milliseconds(1))));   // too short
  CHECK(rule.satisfied(times(10, std::chrono::milliseconds(100))));
  CHECK(rule.satisfied(times(3, std::chrono::seconds(2))));  // long: three will do
  CHECK_FALSE(rule.satisfied(times(4999, std::chrono::microseconds(5))));
  CHECK(rule.satisfied(times(5000, std::chrono::microseconds(5))));  // short: enough of them
  CHECK_FALSE(rule.satisfied(times(2, std::chrono::seconds(9))));
  std::vector<Nanos> wide;
  for (int i = 0; i < 40; ++i) wide.push_back(std::chrono::milliseconds(i % 2 ? 10 : 20));
  CHECK_FALSE(rule.satisfied(wide));  // interval of 50 %
  rule.exactly = 2;
  CHECK(rule.satisfied(times(2, Nanos{1})));
}
