// Sessions whose devices gather an input, on the fake backend: results, who takes part, what becomes of a device that fails then.
#include <doctest/doctest.h>

#include "lib/session/session.hpp"
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

Outcome run(std::size_t count, std::optional<PeerPath> peer, FakeScript of_last = {}, const std::string& strategies = "all") {
  SuiteInfo suite;
  suite.name = "gathered";
  suite.size_name = "items";
  suite.modes = {Mode::resident, Mode::end_to_end};
  suite.make = [](const SuiteParams& params) { return std::make_unique<GatheredSum>(params.size); };
  Outcome outcome;
  std::vector<FakeDevice> fakes;
  for (std::size_t i = 0; i < count; ++i) {
    fakes.push_back(sum_device("0:" + std::to_string(i), DeviceType::gpu));
    fakes.back().script = [&outcome, last = i + 1 == count, of_last](FakeCall call, std::uint64_t number) {
      outcome.exchanges += call == FakeCall::exchange ? 1 : 0;
      return last && of_last ? of_last(call, number) : FakeFault{};
    };
  }
  FakeBackend backend(fakes, sum_kernels());
  SessionOptions options;
  SuiteParams params;
  params.size = kItems;
  options.problems = {{&suite, params}};
  options.modes = {Mode::end_to_end};
  options.strategies = parse_strategies(strategies);
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

TEST_CASE("devices gather what they all need under every strategy, also those that are given no slice") {
  for (const std::size_t count : {2, 3, 5}) {
    const Outcome outcome = run(count, PeerPath::host);
    CAPTURE(count);
    CHECK(outcome.exchanges > 0);
    for (const RunRecord& row : outcome.report.runs) {
      CAPTURE(row.strategy);
      CHECK(row.status == Status::ok);
      CHECK(row.verify.status == VerifyStatus::passed);
      CHECK(row.devices.size() <= count);
    }
  }
}

TEST_CASE("staged on request nothing is exchanged, and a small input is not by default") {
  CHECK(run(2, PeerPath::staged).exchanges == 0);
  CHECK(run(2, {}).exchanges == 0);
}

TEST_CASE("a device that fails in an exchange is lost, those left go on without exchanges, and nobody else is blamed") {
  for (const FakeFault::Kind kind : {FakeFault::Kind::error, FakeFault::Kind::refused, FakeFault::Kind::hang}) {
    for (const std::uint64_t at : {0, 3, 5, 20}) {
      for (const std::size_t count : {2, 3}) {
        CAPTURE(static_cast<int>(kind));
        CAPTURE(at);
        CAPTURE(count);
        const Outcome outcome = run(count, PeerPath::host, fails_from(FakeCall::exchange, at, kind), "equal,dynamic");
        const std::string bad = "0:" + std::to_string(count - 1);
        std::size_t faults = 0;
        for (const RunRecord& row : outcome.report.runs) {
          CAPTURE(row.strategy);
          CHECK(row.status == Status::ok);
          CHECK(row.verify.status == VerifyStatus::passed);
          CHECK(row.devices.size() == count - 1);
          for (const Fault& fault : row.faults) {
            CHECK(fault.device == bad);
            ++faults;
          }
        }
        CHECK(faults == 1);
      }
    }
  }
}
