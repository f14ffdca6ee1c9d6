// Sessions whose devices gather an input, on the fake backend: results, participants, and the
// effect of a failing device.
#include <doctest/doctest.h>

#include "tests/support/combined_sum.hpp"
#include "tests/support/gathered_sum.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/sum_session.hpp"
#include "tests/support/sum_suite.hpp"
#include "tests/support/thorough.hpp"

using namespace mgpu;
using namespace mgpu::test;

namespace {

struct ExchangedRun {
  Report report;
  std::vector<std::uint64_t> exchanges;  // puts and signals, by device
  bool any() const {
    return std::any_of(exchanges.begin(), exchanges.end(), [](auto n) { return n > 0; });
  }
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
  FakeScript script = {};      // script of one device
  std::size_t scripted = 0;    // its index
  std::string no_direct = {};  // why there is no direct path; empty: there is one
  std::size_t groups = 1;
  Items items = 1000;
  std::function<void(FakeDevice&)> device = {};       // changes each device
  std::function<void(SessionOptions&)> options = {};  // changes the options
};

ExchangedRun run_exchanging(Sum sum, std::size_t count, std::optional<PeerPath> peer,
                            const Given& given = {}) {
  const SuiteInfo suite = suite_of([sum](const SuiteParams& params) -> std::unique_ptr<Workload> {
    if (sum == Sum::gathered) return std::make_unique<GatheredSum>(params.size);
    if (sum == Sum::too_large) return std::make_unique<TooLargeSum>(params.size);
    return std::make_unique<CombinedSum>(params.size);
  });
  ExchangedRun outcome{{}, std::vector<std::uint64_t>(count)};
  std::vector<FakeDevice> fakes;
  for (std::size_t i = 0; i < count; ++i) {
    fakes.push_back(sum_device("0:" + std::to_string(i), DeviceType::gpu));
    if (given.device) given.device(fakes.back());
    fakes.back().script = [&outcome, i, script = i == given.scripted ? given.script : FakeScript()](
                              FakeCall call, std::uint64_t number) {
      if (call == FakeCall::exchange) ++outcome.exchanges[i];
      return script ? script(call, number) : FakeFault{};
    };
  }
  FakeBackend backend(fakes, sum_kernels());
  backend.refuse_direct(given.no_direct);
  SessionOptions options =
      options_on(backend.enumerate().devices, problem_of(suite, given.items),
                 {sum == Sum::gathered ? Mode::end_to_end : Mode::resident}, given.strategies);
  options.problems.resize(given.groups, options.problems.front());
  options.stop.exactly = 3;
  options.peer = peer;
  options.case_timeout = std::chrono::seconds(1);
  if (given.options) given.options(options);
  QuietObserver observer;
  outcome.report = run_session(backend, options, {}, observer);
  return outcome;
}

void check_all_passed(const Report& report) {
  for (const RunRecord& row : report.runs) {
    CAPTURE(row.strategy);
    CHECK(row.status == Status::ok);
    CHECK(row.verify.status == VerifyStatus::passed);
  }
}

const RunRecord& row_of(const Report& report, std::string_view strategy, std::size_t devices) {
  for (const RunRecord& row : report.runs)
    if (row.strategy == strategy && row.devices.size() == devices) return row;
  FAIL("no such row");
  return report.runs.front();
}

}  // namespace

TEST_CASE("devices gather inputs and combine results under every strategy, also without a slice") {
  for (const Sum sum : {Sum::gathered, Sum::combined}) {
    for (const std::size_t count : testing::first_when_quick<std::size_t>(1, {3, 2, 5})) {
      CAPTURE(count);
      CAPTURE(static_cast<int>(sum));
      const ExchangedRun outcome = run_exchanging(sum, count, PeerPath::host);
      CHECK(outcome.any());
      check_all_passed(outcome.report);
    }
  }
}

TEST_CASE("staged on request nothing is exchanged, and a small input is not by default") {
  const Given one{.strategies = "equal"};
  CHECK_FALSE(run_exchanging(Sum::gathered, 2, PeerPath::staged, one).any());
  CHECK_FALSE(run_exchanging(Sum::gathered, 2, {}, one).any());
}

TEST_CASE("without a direct path nothing is exchanged by default, and the record says why once") {
  const std::string absent = "libcuda.so.1 cannot be loaded";
  const Given equal{.strategies = "equal,dynamic", .groups = 2};
  Given refused = equal;
  refused.no_direct = absent;
  const ExchangedRun with = run_exchanging(Sum::combined, 3, {}, equal),
                     without = run_exchanging(Sum::combined, 3, {}, refused);
  CHECK(with.any());
  CHECK(with.report.exchange_notes.empty());
  CHECK_FALSE(without.any());
  REQUIRE(without.report.exchange_notes.size() == 1);
  CHECK(without.report.exchange_notes[0].find(absent) != std::string::npos);
  REQUIRE(without.report.runs.size() == with.report.runs.size());
  for (std::size_t i = 0; i < with.report.runs.size(); ++i) {
    const RunRecord &one = with.report.runs[i], &other = without.report.runs[i];
    CHECK(other.status == Status::ok);
    CHECK(other.verify.digest == one.verify.digest);
    CHECK(other.faults.empty());
    CHECK(other.warnings == one.warnings);
  }
  // With the staged path requested, no other path is tried.
  CHECK(run_exchanging(Sum::combined, 3, PeerPath::staged, refused).report.exchange_notes.empty());
  // A requested path that is missing, and memory that cannot be shared on the direct path: the
  // host's path would not be faster.
  for (const ExchangedRun& none : {run_exchanging(Sum::gathered, 2, PeerPath::direct, refused),
                                   run_exchanging(Sum::too_large, 2, {}, equal)}) {
    CHECK_FALSE(none.any());
    CHECK(none.report.exchange_notes.size() == 1);
    check_all_passed(none.report);
  }
}

namespace {

// Checks that when a device fails in a session, the others continue without exchanges and with
// right results, and no other device is blamed. Returns false if it did not fail because it has no
// such call.
bool goes_on(Sum sum, std::size_t count, std::size_t failing, const FakeScript& script) {
  const Report report =
      run_exchanging(sum, count, PeerPath::host,
                     {.strategies = "equal,dynamic", .script = script, .scripted = failing})
          .report;
  check_all_passed(report);
  std::vector<Fault> faults = report.faults;
  for (const RunRecord& row : report.runs)
    faults.insert(faults.end(), row.faults.begin(), row.faults.end());
  CHECK(faults.size() <= 1);
  for (const Fault& fault : faults) CHECK(fault.device == "0:" + std::to_string(failing));
  for (const RunRecord& row : report.runs) {
    // A case that had all its samples before the device failed keeps them.
    CHECK(row.devices.size() <= count);
    CHECK(row.devices.size() >= count - faults.size());
  }
  return !faults.empty();
}

}  // namespace

TEST_CASE("a device that fails in an exchange, or before, is lost, and those left go on" *
          doctest::test_suite("slow")) {
  // The numbers are primes, so that no combination is always left out.
  const std::size_t every = testing::is_thorough() ? 1 : kSanitized ? 23 : 11;
  std::size_t failed = 0, turn = 0;
  for (const Sum sum : {Sum::gathered, Sum::combined}) {
    for (const FakeFault::Kind kind :
         {FakeFault::Kind::error, FakeFault::Kind::refused, FakeFault::Kind::hang}) {
      for (const FakeCall call : {FakeCall::exchange, FakeCall::launch, FakeCall::download}) {
        for (const std::uint64_t at : {0, 1, 3, 5, 14, 20, 33}) {
          // Uses the first and the last device: one of them is examined before, the other after
          // those whose time limits expire at the same moment.
          for (const auto& [of, which] : {std::pair{2, 0}, {2, 1}, {3, 0}, {3, 2}}) {
            if (turn++ % every != 0) continue;
            const auto count = static_cast<std::size_t>(of),
                       failing = static_cast<std::size_t>(which);
            CAPTURE(static_cast<int>(sum));
            CAPTURE(static_cast<int>(kind));
            CAPTURE(static_cast<int>(call));
            CAPTURE(at);
            CAPTURE(count);
            CAPTURE(failing);
            failed += goes_on(sum, count, failing, fails_from(call, at, kind));
          }
        }
      }
    }
  }
  CHECK(failed > 300 / every);
}

namespace {

// Returns a case that needs 8.4 ms from the host, on devices that compute it in a tenth of that,
// with links as given or unknown.
Given large(const std::string& strategies, double peer_bytes_per_s, bool calibrated = true) {
  constexpr double kScale = 0.5;  // factor of items and rates: 4 MiB is the least that is gathered
  const double rate = peer_bytes_per_s * kScale;
  const Nanos latency = std::chrono::microseconds(5);
  Given more;
  more.strategies = strategies;
  more.items = Items{1} << 19;
  more.device = [=](FakeDevice& device) {
    device.ops_per_s = 1e10 * kScale;
    device.up = device.down = 1e9 * kScale;
    device.peer_bytes_per_s = rate;
    device.peer_latency = latency;
  };
  more.options = [=](SessionOptions& options) {
    if (calibrated)
      options.calibration.peers =
          PeerLinks(options.devices.size(), {PeerPath::direct, rate, latency});
  };
  return more;
}

void check_predicted(const RunRecord& row) {
  CAPTURE(row.strategy);
  REQUIRE(row.status == Status::ok);
  CHECK(row.verify.status == VerifyStatus::passed);
  REQUIRE(row.plan.predicted);
  CHECK(seconds(*row.plan.predicted) == doctest::Approx(seconds(row.time.median)).epsilon(0.03));
}

}  // namespace

TEST_CASE("a gathered input is predicted as devices gather it, if links between them are known") {
  for (const auto& [rate, devices] : {std::pair{2e8, 2}, {1e9, 4}, {1e11, 2}}) {
    const auto count = static_cast<std::size_t>(devices);
    CAPTURE(count);
    const ExchangedRun outcome =
        run_exchanging(Sum::gathered, count, {}, large("equal,dynamic", rate));
    CHECK(outcome.any());
    for (const char* strategy : {"equal", "dynamic"}) {
      const RunRecord& row = row_of(outcome.report, strategy, count);
      check_predicted(row);
      CHECK(row.plan.estimates.exchange.gathers);
      CHECK(row.plan.estimates.exchange.links.of(0, 1).bytes_per_s == rate / 2);
    }
  }
  // Otherwise it is planned as if each device uploaded everything: unmeasured links are not
  // weighed.
  const ExchangedRun unknown = run_exchanging(Sum::gathered, 2, {}, large("equal", 1e11, false));
  CHECK(unknown.any());
  const RunRecord& row = row_of(unknown.report, "equal", 2);
  CHECK(seconds(*row.plan.predicted) > 1.5 * seconds(row.time.median));
  CHECK_FALSE(row.plan.estimates.exchange.any());
  // Figures of a path other than the one in use are not weighed either.
  const ExchangedRun other = run_exchanging(Sum::gathered, 2, PeerPath::host, large("equal", 1e11));
  CHECK(other.any());
  CHECK_FALSE(row_of(other.report, "equal", 2).plan.estimates.exchange.any());
}

TEST_CASE("latency and auto take one device over slow links, which gathers nothing, else all") {
  for (const bool fast : {true, false}) {
    CAPTURE(fast);
    const ExchangedRun outcome =
        run_exchanging(Sum::gathered, 3, {}, large("latency,auto", fast ? 1e11 : 1e8));
    for (const char* strategy : {"latency", "auto"}) {
      const RunRecord& row = row_of(outcome.report, strategy, 3);
      check_predicted(row);
      const auto busy = std::count_if(row.per_device.begin(), row.per_device.end(),
                                      [](const PerDevice& d) { return d.parts.items > 0; });
      CHECK(busy == (fast ? 3 : 1));
    }
    for (const std::uint64_t of_device : outcome.exchanges) CHECK((of_device > 0) == fast);
  }
}

TEST_CASE("a device that is given nothing exchanges nothing") {
  // The last of three devices gets none: the items fill one device, then the next.
  Given given{.strategies = "sequential"};
  given.options = [](SessionOptions& options) {
    DeviceEstimate estimate;
    estimate.items_per_s = 1e6;
    estimate.fits = 500;
    estimate.pipeline = 100;
    options.given_estimates = SetEstimates{{estimate, estimate, estimate}, 0, 0, {}};
  };
  for (const Sum sum : {Sum::gathered, Sum::combined}) {
    CAPTURE(static_cast<int>(sum));
    const ExchangedRun outcome = run_exchanging(sum, 3, PeerPath::host, given);
    CHECK(row_of(outcome.report, "sequential", 3).status == Status::ok);
    CHECK(outcome.exchanges[0] > 0);
    CHECK(outcome.exchanges[1] > 0);
    CHECK(outcome.exchanges[2] == 0);
  }
}
