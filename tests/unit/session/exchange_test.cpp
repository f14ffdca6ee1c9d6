// Sessions whose devices gather an input, on the fake backend: results, who takes part, what
// becomes of a device that fails then.
#include <doctest/doctest.h>

#include "lib/session/session.hpp"
#include "tests/support/combined_sum.hpp"
#include "tests/support/gathered_sum.hpp"
#include "tests/support/quiet_observer.hpp"
#include "tests/support/sum_suite.hpp"
#include "tests/support/thorough.hpp"

using namespace mgpu;
using namespace mgpu::test;

namespace {

constexpr Items kItems = 1000;

struct Outcome {
  Report report;
  std::uint64_t exchanges = 0;  // puts and signals of all devices
};

enum class Sum { gathered, combined, too_large };

class TooLargeSum final : public CombinedSum {
 public:
  using CombinedSum::CombinedSum;
  void connect(PeerGroup& group) override {
    if (group.peer({0}).path({1}) == PeerPath::direct)
      throw Error(ErrorKind::unsupported, "pieces are too large");
    CombinedSum::connect(group);
  }
};

struct Given {
  std::string strategies = "all";
  FakeScript script = {};      // of one device
  std::size_t scripted = 0;    // which
  std::string no_direct = {};  // why there is no direct path; empty: there is
  std::size_t groups = 1;
  Items items = kItems;
  std::function<void(FakeDevice&)> device = {};        // changes each
  std::function<void(SessionOptions&)> options = {};   // and these
  std::vector<std::uint64_t>* exchanges_of = nullptr;  // puts and signals of each device
};

Given with(const std::string& strategies, Given given) {
  given.strategies = strategies;
  return given;
}

Outcome run(Sum sum, std::size_t count, std::optional<PeerPath> peer, const Given& given = {}) {
  SuiteInfo suite;
  suite.name = "sum";
  suite.size_name = "items";
  suite.modes = {Mode::resident, Mode::end_to_end};
  suite.make = [sum](const SuiteParams& params) -> std::unique_ptr<Workload> {
    if (sum == Sum::gathered) return std::make_unique<GatheredSum>(params.size);
    if (sum == Sum::too_large) return std::make_unique<TooLargeSum>(params.size);
    return std::make_unique<CombinedSum>(params.size);
  };
  Outcome outcome;
  std::vector<FakeDevice> fakes;
  for (std::size_t i = 0; i < count; ++i) {
    fakes.push_back(sum_device("0:" + std::to_string(i), DeviceType::gpu));
    if (given.device) given.device(fakes.back());
    fakes.back().script = [&outcome, &given, i,
                           script = i == given.scripted ? given.script : FakeScript()](
                              FakeCall call, std::uint64_t number) {
      outcome.exchanges += call == FakeCall::exchange ? 1 : 0;
      if (given.exchanges_of != nullptr && call == FakeCall::exchange) ++given.exchanges_of->at(i);
      return script ? script(call, number) : FakeFault{};
    };
  }
  FakeBackend backend(fakes, sum_kernels());
  backend.refuse_direct(given.no_direct);
  SessionOptions options;
  SuiteParams params;
  params.size = given.items;
  options.problems.assign(given.groups, {&suite, params});
  options.modes = {sum == Sum::gathered ? Mode::end_to_end : Mode::resident};
  options.strategies = parse_strategies(given.strategies);
  options.device_counts = {count};
  options.devices = backend.enumerate().devices;
  options.stop.exactly = 3;
  options.peer = peer;
  options.case_timeout = std::chrono::seconds(1);
  if (given.options) given.options(options);
  QuietObserver observer;
  outcome.report = run_session(backend, options, {}, observer);
  return outcome;
}

}  // namespace

TEST_CASE(
    "devices gather inputs and combine results under every strategy, also those that are given no "
    "slice") {
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

TEST_CASE(
    "without libcuda nothing is exchanged by default; the record says why, once for all groups, "
    "and nothing else changes") {
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
  CHECK(run(Sum::combined, 3, PeerPath::staged, {.strategies = "equal", .no_direct = absent})
            .report.exchange_notes.empty());
}

TEST_CASE(
    "what cannot be shared on the direct path is exchanged by another, and the record says why") {
  const Outcome outcome = run(Sum::too_large, 2, {}, {.strategies = "equal"});
  CHECK(outcome.exchanges == 0);  // by way of the host it would not pay
  CHECK(outcome.report.exchange_notes ==
        std::vector<std::string>{"staged between all devices: pieces are too large"});
  for (const RunRecord& row : outcome.report.runs) CHECK(row.verify.status == VerifyStatus::passed);
}

TEST_CASE(
    "a path that was asked for and is not there: nothing is exchanged, and the record says why") {
  const Outcome outcome = run(Sum::gathered, 2, PeerPath::direct,
                              {.strategies = "equal", .no_direct = "libcuda.so.1 is too old"});
  CHECK(outcome.exchanges == 0);
  CHECK(outcome.report.exchange_notes ==
        std::vector<std::string>{
            "devices exchange no data: no direct path from 0:0 to 0:1: libcuda.so.1 is too old"});
  for (const RunRecord& row : outcome.report.runs) CHECK(row.verify.status == VerifyStatus::passed);
}

namespace {

// A device fails in a session: it is lost, the others go on without exchanges, with right results,
// and nobody else is blamed. Whether it failed at all; it may have no such call.
bool goes_on(Sum sum, std::size_t count, std::size_t failing, const FakeScript& script) {
  const Outcome outcome =
      run(sum, count, PeerPath::host,
          {.strategies = "equal,dynamic", .script = script, .scripted = failing});
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
  for (const RunRecord& row :
       outcome.report.runs) {  // one that had all its samples when the device failed stands
    CHECK(row.devices.size() <= count);
    CHECK(row.devices.size() >= (faults > 0 ? count - 1 : count));
  }
  return faults > 0;
}

}  // namespace

TEST_CASE("a device that fails in an exchange, or before, is lost, and those left go on") {
  // Fewer than all by a prime, so that nothing is left out.
  const std::size_t every = testing::is_thorough() ? 1 : 5;
  std::size_t failed = 0, turn = 0;
  for (const Sum sum : {Sum::gathered, Sum::combined}) {
    for (const FakeFault::Kind kind :
         {FakeFault::Kind::error, FakeFault::Kind::refused, FakeFault::Kind::hang}) {
      for (const FakeCall call : {FakeCall::exchange, FakeCall::launch, FakeCall::download}) {
        for (const std::uint64_t at : {0, 1, 3, 5, 14, 20, 33}) {
          // The first and the last: whose time is up at the same moment as others' is looked at
          // before them, or after.
          for (const auto& [of, which] : {std::pair{2, 0}, {2, 1}, {3, 0}, {3, 2}}) {
            if (turn++ % every != 0) continue;
            const int count = of, failing = which;  // CAPTURE is a lambda, and clang 14 captures no
                                                    // structured binding
            CAPTURE(static_cast<int>(sum));
            CAPTURE(static_cast<int>(kind));
            CAPTURE(static_cast<int>(call));
            CAPTURE(at);
            CAPTURE(count);
            CAPTURE(failing);
            failed += goes_on(sum, static_cast<std::size_t>(count),
                              static_cast<std::size_t>(failing), fails_from(call, at, kind))
                          ? 1
                          : 0;
          }
        }
      }
    }
  }
  CHECK(failed > 300 / every);
}

namespace {

// Of eight MiB, which take 8.4 ms from the host, on devices that compute them in a tenth of that.
constexpr Items kMany = Items{1} << 20;

Given large(double peer_bytes_per_s, Nanos latency, bool calibrated = true) {
  Given more;
  more.items = kMany;
  more.device = [=](FakeDevice& device) {
    device.ops_per_s = 1e10;
    device.up = device.down = 1e9;
    device.peer_bytes_per_s = peer_bytes_per_s;
    device.peer_latency = latency;
  };
  more.options = [=](SessionOptions& options) {
    if (calibrated)
      options.calibration.peers =
          PeerLinks(options.devices.size(), {PeerPath::direct, peer_bytes_per_s, latency});
  };
  return more;
}

const RunRecord& row_of(const Report& report, const std::string& strategy, std::size_t devices) {
  for (const RunRecord& row : report.runs)
    if (row.strategy == strategy && row.devices.size() == devices) return row;
  FAIL("no such row");
  return report.runs.front();
}

}  // namespace

TEST_CASE(
    "a gathered input is predicted as devices gather it, where links between them are known") {
  for (const double rate : {2e8, 1e9, 1e11}) {
    for (const std::size_t count : {2, 4}) {
      CAPTURE(rate);
      CAPTURE(count);
      const Outcome outcome = run(Sum::gathered, count, {},
                                  with("equal,dynamic", large(rate, std::chrono::microseconds(5))));
      CHECK(outcome.exchanges > 0);
      for (const char* strategy : {"equal", "dynamic"}) {
        const RunRecord& row = row_of(outcome.report, strategy, count);
        CAPTURE(strategy);
        REQUIRE(row.status == Status::ok);
        REQUIRE(row.plan.predicted);
        CHECK(seconds(*row.plan.predicted) ==
              doctest::Approx(seconds(row.time.median)).epsilon(0.03));
        CHECK(row.plan.estimates.exchange.gathers);
        CHECK(row.plan.estimates.exchange.links.of(0, 1).bytes_per_s == rate);
      }
    }
  }
  // Otherwise as if each uploaded all of it: what nobody has measured is not weighed.
  const Outcome unknown =
      run(Sum::gathered, 2, {}, with("equal", large(1e11, std::chrono::microseconds(5), false)));
  CHECK(unknown.exchanges > 0);
  const RunRecord& row = row_of(unknown.report, "equal", 2);
  CHECK(seconds(*row.plan.predicted) > 1.5 * seconds(row.time.median));
  CHECK_FALSE(row.plan.estimates.exchange.any());
}

TEST_CASE("figures of another path than the one in use are not weighed") {
  const Outcome outcome = run(Sum::gathered, 2, PeerPath::host,
                              with("equal", large(1e11, std::chrono::microseconds(5))));
  CHECK(outcome.exchanges > 0);
  CHECK_FALSE(row_of(outcome.report, "equal", 2).plan.estimates.exchange.any());
}

TEST_CASE(
    "over slow links latency and auto take one device, which then gathers nothing, over fast ones "
    "all") {
  for (const bool fast : {true, false}) {
    CAPTURE(fast);
    std::vector<std::uint64_t> exchanges(3, 0);
    Given more = large(fast ? 1e11 : 1e8, std::chrono::microseconds(5));
    more.exchanges_of = &exchanges;
    const Outcome outcome = run(Sum::gathered, 3, {}, with("latency,auto", more));
    for (const char* strategy : {"latency", "auto"}) {
      const RunRecord& row = row_of(outcome.report, strategy, 3);
      CAPTURE(strategy);
      REQUIRE(row.status == Status::ok);
      CHECK(row.verify.status == VerifyStatus::passed);
      const auto busy = std::count_if(row.per_device.begin(), row.per_device.end(),
                                      [](const PerDevice& d) { return d.parts.items > 0; });
      CHECK(busy == (fast ? 3 : 1));
      CHECK(seconds(*row.plan.predicted) ==
            doctest::Approx(seconds(row.time.median)).epsilon(0.03));
    }
    for (const std::uint64_t of_device : exchanges) CHECK((of_device > 0) == fast);
  }
}

namespace {

// The last of three devices is given nothing: what fits on one goes to one, then to the next.
Given third_is_left_out(std::vector<std::uint64_t>& exchanges) {
  Given more;
  more.exchanges_of = &exchanges;
  more.options = [](SessionOptions& options) {
    DeviceEstimate estimate;
    estimate.items_per_s = 1e6;
    estimate.fits = 500;
    estimate.pipeline = 100;
    options.given_estimates = SetEstimates{{estimate, estimate, estimate}, 0, 0, {}};
    options.device_counts = {3};
  };
  return more;
}

}  // namespace

TEST_CASE("a device that is given nothing exchanges nothing") {
  for (const Sum sum : {Sum::gathered, Sum::combined}) {
    CAPTURE(static_cast<int>(sum));
    std::vector<std::uint64_t> exchanges(3, 0);
    const Outcome outcome =
        run(sum, 3, PeerPath::host, with("sequential", third_is_left_out(exchanges)));
    CHECK(row_of(outcome.report, "sequential", 3).status == Status::ok);
    CHECK(exchanges[0] > 0);
    CHECK(exchanges[1] > 0);
    CHECK(exchanges[2] == 0);
  }
}
