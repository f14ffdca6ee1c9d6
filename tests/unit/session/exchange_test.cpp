// Sessions whose devices gather an input, on the fake backend: results, who takes part, what becomes of a device that fails then.
#include <doctest/doctest.h>

#include "lib/session/session.hpp"
#include "tests/support/combined_sum.hpp"
#include "tests/support/gathered_sum.hpp"
#include "tests/support/quiet_observer.hpp"
#include "tests/support/sum_suite.hpp"

using namespace mgpu;
using namespace mgpu::test;

namespace {

constexpr Items kItems = 1000;

struct Outcome {
  Report report;
  std::uint64_t exchanges = 0;  // puts and signals of all devices
};

enum class Sum { gathered, combined };

struct Given {
  std::string strategies = "all";
  FakeScript script = {};      // of one device
  std::size_t scripted = 0;    // which
  std::string no_direct = {};  // why there is no direct path; empty: there is
  std::size_t groups = 1;
};

Outcome run(Sum sum, std::size_t count, std::optional<PeerPath> peer, const Given& given = {}) {
  SuiteInfo suite;
  suite.name = "sum";
  suite.size_name = "items";
  suite.modes = {Mode::resident, Mode::end_to_end};
  suite.make = [sum](const SuiteParams& params) -> std::unique_ptr<Workload> {
    if (sum == Sum::gathered) return std::make_unique<GatheredSum>(params.size);
    return std::make_unique<CombinedSum>(params.size);
  };
  Outcome outcome;
  std::vector<FakeDevice> fakes;
  for (std::size_t i = 0; i < count; ++i) {
    fakes.push_back(sum_device("0:" + std::to_string(i), DeviceType::gpu));
    fakes.back().script = [&outcome, script = i == given.scripted ? given.script : FakeScript()](FakeCall call,
                                                                                                 std::uint64_t number) {
      outcome.exchanges += call == FakeCall::exchange ? 1 : 0;
      return script ? script(call, number) : FakeFault{};
    };
  }
  FakeBackend backend(fakes, sum_kernels());
  backend.refuse_direct(given.no_direct);
  SessionOptions options;
  SuiteParams params;
  params.size = kItems;
  options.problems.assign(given.groups, {&suite, params});
  options.modes = {sum == Sum::gathered ? Mode::end_to_end : Mode::resident};
  options.strategies = parse_strategies(given.strategies);
  options.device_counts = {count};
  options.devices = backend.enumerate().devices;
  options.stop.exactly = 3;
  options.peer = peer;
  options.case_timeout = std::chrono::seconds(1);
  QuietObserver observer;
  outcome.report = run_session(backend, options, {}, observer);
  return outcome;
}

}  // namespace

TEST_CASE("devices gather inputs and combine results under every strategy, also those that are given no slice") {
  for (const Sum sum : {Sum::gathered, Sum::combined}) {
    for (const std::size_t count : {2, 3, 5}) {
      const Outcome outcome = run(sum, count, PeerPath::host);
      CAPTURE(count);
      CAPTURE(static_cast<int>(sum));
      CHECK(outcome.exchanges > 0);
      for (const RunRecord& row : outcome.report.runs) {
        CAPTURE(row.strategy);
        CHECK(row.status == Status::ok);
        CHECK(row.verify.status == VerifyStatus::passed);
        CHECK(row.devices.size() <= count);
      }
    }
  }
}

TEST_CASE("staged on request nothing is exchanged, and a small input is not by default") {
  CHECK(run(Sum::gathered, 2, PeerPath::staged).exchanges == 0);
  CHECK(run(Sum::gathered, 2, {}).exchanges == 0);
}

TEST_CASE("without libcuda nothing is exchanged by default; the record says why, once for all groups, and nothing else changes") {
  const std::string absent = "libcuda.so.1 cannot be loaded";
  const Outcome with = run(Sum::combined, 3, {}, {.groups = 2}),
                without = run(Sum::combined, 3, {}, {.no_direct = absent, .groups = 2});
  CHECK(with.exchanges > 0);
  CHECK(with.report.exchange_notes.empty());
  CHECK(without.exchanges == 0);
  CHECK(without.report.exchange_notes == std::vector{"staged between all devices: " + absent});
  REQUIRE(without.report.runs.size() == with.report.runs.size());
  for (std::size_t i = 0; i < with.report.runs.size(); ++i) {
    const RunRecord &one = with.report.runs[i], &other = without.report.runs[i];
    CHECK(other.status == Status::ok);
    CHECK(other.verify.digest == one.verify.digest);
    CHECK(other.faults.empty());
    CHECK(other.warnings == one.warnings);
  }
  // Asked for staging, nobody looks for another path.
  CHECK(run(Sum::combined, 3, PeerPath::staged, {.strategies = "equal", .no_direct = absent}).report.exchange_notes.empty());
}

TEST_CASE("a path that was asked for and is not there: nothing is exchanged, and the record says why") {
  const Outcome outcome = run(Sum::gathered, 2, PeerPath::direct, {.strategies = "equal", .no_direct = "libcuda.so.1 is too old"});
  CHECK(outcome.exchanges == 0);
  CHECK(outcome.report.exchange_notes ==
        std::vector<std::string>{"devices exchange no data: no direct path from 0:0 to 0:1: libcuda.so.1 is too old"});
  for (const RunRecord& row : outcome.report.runs) CHECK(row.verify.status == VerifyStatus::passed);
}

namespace {

// A device fails in a session: it is lost, the others go on without exchanges, with right results, and nobody else is blamed.
// Whether it failed at all; it may have no such call.
bool goes_on(Sum sum, std::size_t count, std::size_t failing, const FakeScript& script) {
  const Outcome outcome = run(sum, count, PeerPath::host, {.strategies = "equal,dynamic", .script = script, .scripted = failing});
  const std::string bad = "0:" + std::to_string(failing);
  std::size_t faults = 0;
  for (const RunRecord& row : outcome.report.runs) {
    CAPTURE(row.strategy);
    CHECK(row.status == Status::ok);
    CHECK(row.verify.status == VerifyStatus::passed);
    for (const Fault& fault : row.faults) CHECK(fault.device == bad);
    faults += row.faults.size();
  }
  for (const Fault& fault : outcome.report.faults) CHECK(fault.device == bad);
  faults += outcome.report.faults.size();
  CHECK(faults <= 1);
  for (const RunRecord& row : outcome.report.runs) {  // one that had all its samples when the device failed stands
    CHECK(row.devices.size() <= count);
    CHECK(row.devices.size() >= (faults > 0 ? count - 1 : count));
  }
  return faults > 0;
}

}  // namespace

TEST_CASE("a device that fails in an exchange, or before, is lost, and those left go on") {
  std::size_t failed = 0;
  for (const Sum sum : {Sum::gathered, Sum::combined}) {
    for (const FakeFault::Kind kind : {FakeFault::Kind::error, FakeFault::Kind::refused, FakeFault::Kind::hang}) {
      for (const FakeCall call : {FakeCall::exchange, FakeCall::launch, FakeCall::download}) {
        for (const std::uint64_t at : {0, 1, 3, 5, 14, 20, 33}) {
          // The first and the last: whose time is up at the same moment as others' is looked at before them, or after.
          for (const auto& [count, failing] : {std::pair{2, 0}, {2, 1}, {3, 0}, {3, 2}}) {
            CAPTURE(static_cast<int>(sum));
            CAPTURE(static_cast<int>(kind));
            CAPTURE(static_cast<int>(call));
            CAPTURE(at);
            CAPTURE(count);
            CAPTURE(failing);
            failed += goes_on(sum, static_cast<std::size_t>(count), static_cast<std::size_t>(failing), fails_from(call, at, kind))
                          ? 1
                          : 0;
          }
        }
      }
    }
  }
  CHECK(failed > 300);
}
