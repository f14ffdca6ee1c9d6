// A whole session on the fake backend: the state after a failed device, a wrong result and a stop,
// and the record of it.
#include <doctest/doctest.h>

#include <set>

#include "lib/session/session.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/sum_session.hpp"
#include "tests/support/thorough.hpp"

using namespace mgpu;
using namespace mgpu::test;

namespace {

constexpr Items kLossItems = 1 << 12;

// Number of a launch after warm-ups and probes.
constexpr std::uint64_t kLateLaunch = 1500;

}  // namespace

TEST_CASE("a wrong result has no numbers, fails verification, and names who was wrong alone") {
  QuietObserver observer;
  const SessionOptions options = options_for(2, 1000, "equal", {Mode::resident});
  g_faults.corrupts = "0:1";
  const Report report = run(fake_devices(2), options, observer);
  const RunRecord& wrong = find(report, "equal");
  CHECK(wrong.status == Status::failed);
  CHECK(wrong.verify.status == VerifyStatus::failed);
  CHECK(wrong.samples.empty());
  CHECK(wrong.rate == 0);
  REQUIRE_FALSE(report.faults.empty());
  CHECK(report.faults.front().device == "0:1");
  CHECK(report.faults.front().kind == "wrong_result");
  CHECK_FALSE(observer.warnings.empty());
}

TEST_CASE(
    "devices are looked for again between groups: those that vanished take no part, others end "
    "the session") {
  const auto found = [](std::initializer_list<const char*> ids) {
    std::vector<FoundDevice> all;
    for (const char* id : ids) all.push_back({id, id, "fake"});
    return all;
  };
  struct Observer final : QuietObserver {
    void found_devices() override { others = true; }
    bool others = false;
  };
  for (const auto& [now, complete] : {std::pair{found({"0:0", "0:1"}), true},
                                      {found({"0:0"}), true},
                                      {found({"0:0", "0:1", "0:2"}), false},
                                      {found({"0:0", "0:7"}), false}}) {
    SessionOptions options = options_for(2, 1000, "equal");
    std::size_t looks = 0;
    options.find_devices = [&, now = now] {
      ++looks;
      return now;
    };
    Observer observer;
    const Report report = run(fake_devices(2), options, observer);
    const bool vanished = now.size() < 2 || now[1].id != std::string("0:1");
    CHECK(looks == 1);
    CHECK(report.complete == complete);
    CHECK(observer.others == !complete);
    REQUIRE(report.runs.size() == (complete ? 2 : 1));  // one row per mode
    CHECK(report.runs.front().devices.size() == 2);
    if (complete) CHECK(report.runs.back().devices.size() == (vanished ? 1 : 2));
    CHECK(report.faults.size() == (vanished ? 1 : 0));
  }
}

TEST_CASE("a result that cannot be written is told of, and costs nothing of what was measured") {
  QuietObserver observer;
  SessionOptions options = options_for(2, kLossItems, "equal,dynamic");
  options.result_file = "/dev/null/sum";
  const Report report = run(fake_devices(2), options, observer);
  CHECK(report.complete);
  CHECK(report.runs.size() == 4);
  for (const RunRecord& run : report.runs) CHECK(run.verify.status == VerifyStatus::passed);
  REQUIRE(observer.warnings.size() == 1);
  CHECK(observer.warnings.front().find("/dev/null/sum") != std::string::npos);
}

TEST_CASE("a lost device costs its case a sample; it is opened again after, unless it hung") {
  for (const auto kind : {FakeFault::Kind::error, FakeFault::Kind::hang}) {
    std::vector<FakeDevice> fakes = fake_devices(2);
    fakes[1].script = [kind](FakeCall call, std::uint64_t number) {
      return call == FakeCall::launch && number == kLateLaunch ? FakeFault{kind} : FakeFault{};
    };
    SessionOptions options = options_for(2, kLossItems, "equal,dynamic");
    options.stop.exactly = 200;
    QuietObserver observer;
    const Report report = run(fakes, options, observer);
    CHECK_FALSE(observer.warnings.empty());
    std::size_t lost = report.faults.size();
    for (const RunRecord& run : report.runs) {
      CHECK(run.status == Status::ok);
      CHECK(run.verify.status == VerifyStatus::passed);
      CHECK(run.samples.size() == 200);
      CHECK(run.devices_asked == 2);
      CHECK(run.invalidated.size() == run.faults.size());
      for (const InvalidatedSample& sample : run.invalidated)
        CHECK(sample.verify == VerifyStatus::passed);
      for (const Fault& fault : run.faults) CHECK(fault.device == "0:1");
      lost += run.faults.size();
      const bool back = run.mode == Mode::end_to_end && kind == FakeFault::Kind::error;
      // In the mode of the failure all continue with one.
      CHECK(run.devices.size() == (back ? 2 : 1));
    }
    CHECK(lost == 1);
  }
}

TEST_CASE("when the only device is lost the one in reserve finishes, and the record says who") {
  FakeDevice gpu = fake_device("0:0"), cpu = fake_device("1:0", 1e8);
  gpu.script = fails_from(FakeCall::launch, kLateLaunch, FakeFault::Kind::error);
  cpu.facts.score = 10;
  cpu.facts.type = DeviceType::cpu;
  FakeBackend backend({gpu, cpu}, sum_kernels());
  SessionOptions options = options_for(1, kLossItems, "equal,dynamic", {Mode::resident});
  options.stop.exactly = 300;
  options.devices = {backend.enumerate().devices[0]};
  options.reserve = backend.enumerate().devices[1];
  QuietObserver observer;
  const Report report = run_session(backend, options, {}, observer);
  std::size_t recovered = 0;
  REQUIRE(report.devices.size() == 2);
  CHECK(report.devices[1].device.id == "1:0");
  for (const RunRecord& run : report.runs) {
    CHECK(run.status == Status::ok);
    CHECK(run.devices == std::vector<std::string>{"1:0"});
    CHECK(run.samples.size() == 300);
    for (const InvalidatedSample& sample : run.invalidated) {
      CHECK(sample.verify == VerifyStatus::passed);
      CHECK(sample.devices == std::vector<std::string>{"0:0", "1:0"});
      ++recovered;
    }
  }
  CHECK(recovered + report.faults.size() == 1);
}

TEST_CASE("a first result that is wrong within the bound does not make the right ones wrong") {
  const SessionOptions options = options_for(2, 1000, "all", {Mode::resident});
  g_faults.slightly_wrong = 1;  // only the first device
  const Report report = run(twins(2), options);
  for (const RunRecord& run : report.runs) {
    if (run.strategy != "single") CHECK(run.status == Status::ok);
  }
  REQUIRE(report.faults.size() == 1);
  CHECK(report.faults.front().device == "0:0");
  CHECK(report.faults.front().kind == "wrong_result");
}

TEST_CASE("of two that differ in last bits nobody is named, of three the one, in every sample") {
  const TemporaryFolder folder;
  for (const std::size_t devices : {2u, 3u}) {
    CAPTURE(devices);
    SessionOptions options = options_for(devices, 1000, "single,equal", {Mode::resident});
    options.result_file = folder.path() / "sum.txt";
    g_faults.tolerant = true;
    g_faults.corrupts = "0:0";
    const Report report = run(twins(devices), options);
    std::set<std::string> named;
    for (const Fault& fault : report.faults) named.insert(fault.device);
    for (const RunRecord& row : report.runs) {
      for (const Fault& fault : row.faults) named.insert(fault.device);
      if (devices == 2 || row.strategy == "equal") CHECK(row.verify.status == VerifyStatus::failed);
    }
    CHECK((devices == 2 ? named.empty() : named == std::set<std::string>{"0:0"}));
  }
}

TEST_CASE("a device that is full at set-up is left out, and does what fits it afterwards") {
  SessionOptions options = options_for(2, kLossItems, "equal");
  give_estimates(options);
  std::vector<FakeDevice> fakes = fake_devices(2);
  fakes[1].script = [](FakeCall call, std::uint64_t number) {
    return call == FakeCall::allocate && number == 0 ? FakeFault{FakeFault::Kind::out_of_memory}
                                                     : FakeFault{};
  };
  const Report report = run(fakes, options);
  const RunRecord& without = find(report, "equal");
  CHECK(without.status == Status::ok);
  CHECK(without.devices == std::vector<std::string>{"0:0"});
  CHECK(without.devices_asked == 2);
  REQUIRE(without.warnings.size() == 1);
  CHECK(without.warnings[0].starts_with("device 0:1 was left out: "));
  CHECK(find(report, "equal", Mode::end_to_end).status == Status::ok);
  CHECK(find(report, "equal", Mode::end_to_end).devices.size() == 2);
  CHECK(report.faults.empty());
}

TEST_CASE("a device that a kernel does not suit is never lost: its rows are unsupported") {
  for (const std::size_t devices : {1u, 2u}) {
    // At set-up, in the warm-up and probes, and in a sample.
    for (const auto& [call, number] : {std::pair{FakeCall::build, std::uint64_t{0}},
                                       {FakeCall::launch, 0},
                                       {FakeCall::launch, 5},
                                       {FakeCall::launch, kLateLaunch}}) {
      CAPTURE(devices);
      CAPTURE(number);
      std::vector<FakeDevice> fakes = fake_devices(devices);
      fakes.back().script = fails_from(call, number, FakeFault::Kind::unsuited);
      QuietObserver observer;
      const Report report =
          run(fakes, options_for(devices, kLossItems, "equal", {Mode::resident}), observer);
      CHECK(report.faults.empty());
      for (const std::string& warning : observer.warnings)
        CHECK(warning.find("disabled") == std::string::npos);
      std::size_t unsupported = 0;
      for (const RunRecord& row : report.runs) {
        CAPTURE(row.strategy);
        CAPTURE(row.reason.value_or(""));
        CHECK(row.faults.empty());
        CHECK((row.status == Status::ok || row.status == Status::unsupported));
        if (row.devices.size() < asked_for(row)) CHECK(row.warnings.size() == 1);
        if (row.status != Status::unsupported) continue;
        ++unsupported;
        CHECK(row.reason.value_or("").find("does not suit the kernel") != std::string::npos);
      }
      // A device that computes alone is found out at once; one of two leaves the case to the other.
      CHECK((unsupported > 0 || devices == 2 || number == kLateLaunch));
    }
  }
}

namespace {

// Returns the options of a session in which device `wrong` computes wrongly and only recomputing
// reveals it.
SessionOptions recomputing(std::size_t devices, IntegrityLevel level, std::size_t wrong) {
  SessionOptions options = options_for(devices, 1000, "equal", {Mode::resident});
  options.verify = VerifyLevel::off;
  options.integrity = level;
  g_faults.corrupts = "0:" + std::to_string(wrong);
  return options;
}

}  // namespace

TEST_CASE("computing again on another device tells which one is wrong, without verification") {
  for (const IntegrityLevel level : {IntegrityLevel::sample, IntegrityLevel::full}) {
    for (const std::size_t devices : {2u, 3u}) {
      for (std::size_t wrong = 0; wrong < devices; ++wrong) {
        CAPTURE(devices);
        CAPTURE(wrong);
        const Report report = run(twins(devices), recomputing(devices, level, wrong));
        const RunRecord& row = find(report, "equal");
        CHECK(row.status == Status::failed);
        CHECK(row.verify.status == VerifyStatus::failed);
        REQUIRE(row.faults.size() == 1);
        CHECK(row.faults[0].kind == "wrong_result");
        CHECK(row.faults[0].device == "0:" + std::to_string(wrong));
      }
    }
  }
}

TEST_CASE("a device that is lost while results are computed again casts no doubt on another") {
  std::size_t failed = 0;
  for (const std::size_t devices : {2u, 3u}) {
    for (std::size_t lost = 0; lost < devices; ++lost) {
      for (std::uint64_t launch = 1; launch < 60;
           launch += testing::is_thorough() ? one_in(7) : 7) {
        CAPTURE(devices);
        CAPTURE(lost);
        CAPTURE(launch);
        std::vector<FakeDevice> fakes = twins(devices);
        fakes[lost].script = [launch](FakeCall call, std::uint64_t number) {
          return call == FakeCall::launch && number == launch ? FakeFault{FakeFault::Kind::error}
                                                              : FakeFault{};
        };
        const Report report = run(fakes, recomputing(devices, IntegrityLevel::full, 0));
        CHECK(report.complete);
        const auto check_named = [&](const std::vector<Fault>& faults) {
          for (const Fault& fault : faults) {
            if (fault.kind == "wrong_result") CHECK(fault.device == "0:0");
          }
        };
        check_named(report.faults);
        for (const RunRecord& row : report.runs) check_named(row.faults);
        failed += find(report, "equal").status == Status::failed;
      }
    }
  }
  CHECK(failed > 0);
}

TEST_CASE("what is computed again with equal bits is counted, and costs the samples nothing") {
  SessionOptions options = options_for(3, 1000);
  const Report without = run(twins(3), options);
  options.integrity = IntegrityLevel::full;
  const Report with = run(twins(3), options);
  for (const RunRecord& row : with.runs) {
    CHECK(row.status == Status::ok);
    CHECK(row.verify.recomputed == (row.strategy == "single" ? 4 : 12));
    CHECK(row.samples.size() == 4);
  }
  CHECK(find(with, "equal").samples == find(without, "equal").samples);
}

TEST_CASE("a session that is stopped keeps what was measured; nothing is lost or said for it") {
  // It is called before each sample.
  const std::size_t past_warm_ups = 2 * (all_strategies().size() + 2);
  for (const std::size_t asked : {std::size_t{1}, std::size_t{2}, std::size_t{3}, past_warm_ups}) {
    Stopping observer;
    observer.stop_after = asked;
    const Report report = run(fake_devices(2), options_for(2, 1 << 16), observer);
    CHECK_FALSE(report.complete);
    CHECK(report.faults.empty());
    CHECK(observer.warnings.empty());
    REQUIRE_FALSE(report.runs.empty());
    if (asked == past_warm_ups) {
      CHECK(report.runs.size() == all_strategies().size());
      CHECK_FALSE(report.runs.front().samples.empty());
      continue;
    }
    for (const RunRecord& row : report.runs) {
      CHECK(row.status == Status::skipped);
      CHECK(row.reason);
    }
  }
}
