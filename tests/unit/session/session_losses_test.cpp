// A whole session on the fake backend: what a lost device, a wrong result and a stop leave, and
// what the record says of it.
#include <doctest/doctest.h>

#include "lib/session/session.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/sum_session.hpp"

using namespace mgpu;
using namespace mgpu::test;

TEST_CASE("a wrong result has no numbers and fails verification") {
  Stopping observer;
  SessionOptions options = options_for(2, 1000);
  g_faults.corrupts = "0:1";
  const Report report = run({fake_device("0:0"), fake_device("0:1")}, options, observer);
  const RunRecord& wrong = find(report, "equal", Mode::resident);
  CHECK(wrong.status == Status::failed);
  CHECK(wrong.verify.status == VerifyStatus::failed);
  CHECK(wrong.samples.empty());
  CHECK(wrong.rate == 0);
}

TEST_CASE("a result that cannot be written is told of, and costs nothing of what was measured") {
  Stopping observer;
  SessionOptions options = options_for(2, 1 << 20);
  options.result_file = "/dev/null/sum";
  const Report report = run({fake_device("0:0"), fake_device("0:1")}, options, observer);
  CHECK(report.complete);
  for (const RunRecord& run : report.runs) CHECK(run.verify.status == VerifyStatus::passed);
  CHECK(report.runs.size() == 2 * all_strategies().size());
  REQUIRE(observer.warnings.size() == 1);
  CHECK(observer.warnings.front() == "--output: cannot write \"/dev/null/sum\": Not a directory");
}

TEST_CASE(
    "when a device fails its case says what that cost, and all cases go on with the device that is "
    "left") {
  FakeDevice bad = fake_device("0:1");
  bad.script = fails_from(FakeCall::launch, 1500,
                          FakeFault::Kind::error);  // after warming up and probing: some 1100
  SessionOptions options = options_for(2, 1 << 16);
  options.stop.exactly = 200;
  Stopping observer;
  const Report report = run({fake_device("0:0"), bad}, options, observer);
  CHECK_FALSE(observer.warnings.empty());
  std::size_t faulty = 0, on_one = 0;
  for (const RunRecord& run : report.runs) {
    CHECK(run.status == Status::ok);
    CHECK(run.verify.status == VerifyStatus::passed);
    CHECK(run.samples.size() == 200);
    CHECK(run.devices_asked == 2);
    on_one += run.devices.size() == 1;
    if (run.faults.empty()) continue;
    ++faulty;
    CHECK(run.faults.front().device == "0:1");
    CHECK(run.disturbed.size() == 1);
    CHECK(run.disturbed.front().verify == VerifyStatus::passed);
  }
  CHECK(faulty + report.faults.size() >= 1);
  CHECK(on_one >= 10);
}

TEST_CASE("a device that failed is opened again for what comes next, but one that hung is not") {
  for (const auto kind : {FakeFault::Kind::error, FakeFault::Kind::hang}) {
    FakeDevice bad = fake_device("0:1");
    bad.script = [kind](FakeCall call, std::uint64_t number) {
      return call == FakeCall::launch && number == 1500 ? FakeFault{kind} : FakeFault{};
    };
    SessionOptions options = options_for(2, 1 << 16);
    options.strategies = parse_strategies("equal,dynamic");
    options.stop.exactly = 200;
    Stopping observer;
    const Report report = run({fake_device("0:0"), bad}, options, observer);
    std::size_t lost = report.faults.size();
    for (const RunRecord& run : report.runs) {
      CHECK(run.status == Status::ok);
      lost += run.faults.size();
      const bool back = run.mode == Mode::end_to_end && kind == FakeFault::Kind::error;
      if (run.mode == Mode::end_to_end) CHECK(run.devices.size() == (back ? 2 : 1));
    }
    CHECK(lost == 1);
  }
}

TEST_CASE(
    "when the only device is lost the one in reserve finishes the sample and the case, and the "
    "record says who") {
  FakeDevice gpu = fake_device("0:0");
  gpu.script = fails_from(FakeCall::launch, 1500, FakeFault::Kind::error);
  FakeDevice cpu = fake_device("1:0", 1e8);
  cpu.facts.score = 10;
  cpu.facts.type = DeviceType::cpu;
  FakeBackend backend({gpu, cpu}, sum_kernels());
  SessionOptions options = options_for(1, 1 << 16);
  options.strategies = parse_strategies("equal,dynamic");
  options.modes = {Mode::resident};
  options.stop.exactly = 300;
  options.devices = {backend.enumerate().devices[0]};
  options.reserve = backend.enumerate().devices[1];
  Stopping observer;
  const Report report = run_session(backend, options, {}, observer);
  std::size_t recovered = 0;
  REQUIRE(report.devices.size() == 2);
  CHECK(report.devices[1].device.id == "1:0");
  for (const RunRecord& run : report.runs) {
    CHECK(run.status == Status::ok);
    CHECK(run.devices == std::vector<std::string>{"1:0"});
    CHECK(run.samples.size() == 300);
    for (const DisturbedSample& sample : run.disturbed) {
      CHECK(sample.verify == VerifyStatus::passed);
      CHECK(sample.devices == std::vector<std::string>{"0:0", "1:0"});
      ++recovered;
    }
  }
  CHECK(recovered + report.faults.size() == 1);
}

TEST_CASE("a wrong result of a device alone is told, though no row is that device's") {
  Stopping observer;
  SessionOptions options = options_for(2, 1000);
  options.strategies = parse_strategies("equal");
  g_faults.corrupts = "0:1";
  const Report report = run({fake_device("0:0"), fake_device("0:1")}, options, observer);
  REQUIRE_FALSE(report.faults.empty());
  CHECK(report.faults.front().device == "0:1");
  CHECK(report.faults.front().kind == "wrong_result");
  CHECK_FALSE(observer.warnings.empty());
}

TEST_CASE(
    "a first result that is wrong within the reference's bound does not make the right ones after "
    "it wrong") {
  Stopping observer;
  SessionOptions options = options_for(2, 1000);
  options.modes = {Mode::resident};
  g_faults.slightly_wrong = 1;  // the first device alone
  std::vector<FakeDevice> fakes{fake_device("0:0"), fake_device("0:1")};
  for (FakeDevice& fake : fakes) fake.facts.name = "alike";
  const Report report = run(fakes, options, observer);
  for (const RunRecord& run : report.runs) {
    if (run.strategy != "single") CHECK(run.status == Status::ok);
  }
  REQUIRE(report.faults.size() == 1);
  CHECK(report.faults.front().device == "0:0");
  CHECK(report.faults.front().kind == "wrong_result");
}

TEST_CASE("a device that is full at set-up cannot do this, and does what fits it afterwards") {
  FakeDevice full = fake_device("0:1");
  Stopping observer;
  SessionOptions options = options_for(2, 1 << 16);
  options.strategies = parse_strategies("equal");
  DeviceEstimate estimate;
  estimate.items_per_s = 1e9;
  options.given_estimates = SetEstimates{{estimate, estimate}, 0, 0, {}};
  full.script = [](FakeCall call, std::uint64_t number) {
    return call == FakeCall::allocate && number == 0 ? FakeFault{FakeFault::Kind::out_of_memory}
                                                     : FakeFault{};
  };
  const Report report = run({fake_device("0:0"), full}, options, observer);
  CHECK(find(report, "equal", Mode::resident).status == Status::unsupported);
  CHECK(find(report, "equal", Mode::end_to_end).status == Status::ok);
  CHECK(find(report, "equal", Mode::end_to_end).devices.size() == 2);
  CHECK(report.faults.empty());
}

TEST_CASE(
    "what is computed again by another device tells which one is wrong, though nothing else is "
    "verified") {
  for (const IntegrityLevel level : {IntegrityLevel::sample, IntegrityLevel::full}) {
    for (const std::size_t devices : {2u, 3u}) {
      for (std::uint32_t wrong = 0; wrong < devices; ++wrong) {
        Stopping observer;
        SessionOptions options = options_for(devices, 1000);
        options.strategies = parse_strategies("equal");
        options.modes = {Mode::resident};
        options.verify = VerifyLevel::off;
        options.integrity = level;
        g_faults.corrupts = "0:" + std::to_string(wrong);
        std::vector<FakeDevice> fakes;
        for (std::size_t i = 0; i < devices; ++i)
          fakes.push_back(fake_device("0:" + std::to_string(i)));
        for (FakeDevice& fake : fakes) fake.facts.name = "alike";
        const Report report = run(fakes, options, observer);
        const RunRecord& row = find(report, "equal", Mode::resident);
        CAPTURE(devices);
        CAPTURE(wrong);
        CHECK(row.status == Status::failed);
        CHECK(row.verify.status == VerifyStatus::failed);
        REQUIRE(row.faults.size() == 1);
        CHECK(row.faults[0].kind == "wrong_result");
        CHECK(row.faults[0].device == "0:" + std::to_string(wrong));
      }
    }
  }
}

TEST_CASE("a device that is lost while results are computed again leaves no doubt upon another") {
  std::size_t failed = 0;
  for (const std::size_t devices : {2u, 3u}) {
    for (std::uint32_t lost = 0; lost < devices; ++lost) {
      for (std::uint64_t launch = 1; launch < 60; launch += one_in(7)) {
        Stopping observer;
        SessionOptions options = options_for(devices, 1000);
        options.strategies = parse_strategies("equal");
        options.modes = {Mode::resident};
        options.verify = VerifyLevel::off;
        options.integrity = IntegrityLevel::full;
        g_faults.corrupts = "0:0";
        std::vector<FakeDevice> fakes;
        for (std::size_t i = 0; i < devices; ++i)
          fakes.push_back(fake_device("0:" + std::to_string(i)));
        for (FakeDevice& fake : fakes) fake.facts.name = "alike";
        fakes[lost].script = [launch](FakeCall call, std::uint64_t number) {
          return call == FakeCall::launch && number == launch ? FakeFault{FakeFault::Kind::error}
                                                              : FakeFault{};
        };
        const Report report = run(fakes, options, observer);
        CAPTURE(devices);
        CAPTURE(lost);
        CAPTURE(launch);
        CHECK(report.complete);
        const auto named = [&](const std::vector<Fault>& faults) {
          for (const Fault& fault : faults) {
            if (fault.kind == "wrong_result") CHECK(fault.device == "0:0");
          }
        };
        named(report.faults);
        for (const RunRecord& row : report.runs) named(row.faults);
        failed += find(report, "equal", Mode::resident).status == Status::failed;
      }
    }
  }
  CHECK(failed > 0);
}

TEST_CASE("what is computed again with equal bits is counted, and costs the samples nothing") {
  Stopping observer, other;
  SessionOptions options = options_for(3, 1000);
  std::vector<FakeDevice> fakes{fake_device("0:0"), fake_device("0:1"), fake_device("0:2")};
  for (FakeDevice& fake : fakes) fake.facts.name = "alike";
  const Report without = run(fakes, options, other);
  options.integrity = IntegrityLevel::full;
  const Report with = run(fakes, options, observer);
  for (const RunRecord& row : with.runs) {
    CHECK(row.status == Status::ok);
    CHECK(row.verify.recomputed == (row.strategy == "single" ? 4 : 12));
    CHECK(row.samples.size() == 4);
  }
  CHECK(find(with, "equal", Mode::resident).samples ==
        find(without, "equal", Mode::resident).samples);
}

TEST_CASE("a session that is stopped keeps what was measured and is not complete") {
  Stopping observer;
  observer.stop_after = 2 * (all_strategies().size() +
                             2);  // it is asked before every sample and probe: past every warm-up
  const Report report =
      run({fake_device("0:0"), fake_device("0:1")}, options_for(2, 1 << 16), observer);
  CHECK_FALSE(report.complete);
  CHECK(report.runs.size() == all_strategies().size());
  CHECK_FALSE(report.runs.front().samples.empty());
}

TEST_CASE(
    "a session that is stopped while its devices are set up is interrupted: no device is lost for "
    "it, and its cases say why") {
  for (const std::size_t asked : {1u, 2u, 3u}) {
    Stopping observer;
    observer.stop_after = asked;
    const Report report =
        run({fake_device("0:0"), fake_device("0:1")}, options_for(2, 1 << 16), observer);
    CHECK_FALSE(report.complete);
    CHECK(report.faults.empty());
    CHECK(observer.warnings.empty());
    REQUIRE_FALSE(report.runs.empty());
    for (const RunRecord& row : report.runs) {
      CHECK(row.status == Status::skipped);
      CHECK(row.reason == "interrupted before its first sample");
    }
  }
}
