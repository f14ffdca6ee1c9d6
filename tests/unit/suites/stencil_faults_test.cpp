// Whole sessions of the stencil suite on the fake backend, one of whose devices is lost in the middle of a sample: the others begin
// it again, from a checkpoint where there is one, and its result is right.
#include <doctest/doctest.h>

#include <algorithm>

#include "lib/session/session.hpp"
#include "lib/workload/checkpoints.hpp"
#include "suites/suites.hpp"
#include "tests/support/quiet_observer.hpp"
#include "tests/support/stencil_kernels.hpp"
#include "tests/support/sum_workload.hpp"

using namespace mgpu;

namespace {

constexpr std::uint32_t kSteps = 40;

struct Asked {
  std::map<std::string, std::string> options = {};
  Mode mode = Mode::resident;
  std::vector<FakeScript> scripts{};
};

// `equal` on three devices, or as many as there are scripts.
Report run(const Asked& asked) {
  std::vector<FakeDevice> fakes;
  for (std::size_t i = 0; i < std::max<std::size_t>(3, asked.scripts.size()); ++i) {
    fakes.push_back(test::fake_device("0:" + std::to_string(i), 1e6));
    fakes.back().facts.max_work_group = 64;
    if (i < asked.scripts.size()) fakes.back().script = asked.scripts[i];
  }
  FakeBackend backend(fakes, test::stencil_kernels<float>(0, 2));
  SessionOptions options;
  options.devices = backend.enumerate().devices;
  const auto suites = all_suites();
  const auto found = std::find_if(suites.begin(), suites.end(), [](const SuiteInfo& info) { return info.name == "stencil"; });
  REQUIRE(found != suites.end());
  const SuiteInfo& suite = *found;
  SuiteParams params;
  params.size = 30;
  params.seed = 3;
  for (const SuiteOption& option : suite.options) params.options[option.name] = option.values.front();
  params.options["iterations"] = std::to_string(kSteps);
  for (const auto& [name, value] : asked.options) params.options[name] = value;
  options.problems = {{&suite, params}};
  options.modes = {asked.mode};
  options.strategies = parse_strategies("equal");
  options.device_counts = {fakes.size()};
  options.stop.exactly = 4;
  options.stop.warmup = 1;
  SetEstimates& given = options.given_estimates.emplace();  // nothing is probed
  given.devices.resize(fakes.size());
  for (DeviceEstimate& device : given.devices) {
    device.items_per_s = 1e4;
    device.score = 50;
    device.fits = device.pipeline = 30;
  }
  test::QuietObserver observer;
  return run_session(backend, options, {}, observer);
}

FakeScript fails(std::uint64_t launch) { return fails_from(FakeCall::launch, launch, FakeFault::Kind::error); }

// All samples were right, whenever device 1 was lost. How the sample was begun again, if it was lost in one.
std::optional<Fault> fault_of(const Report& report) {
  REQUIRE(report.runs.size() == 1);
  const RunRecord& run = report.runs.front();
  CAPTURE(run.reason.value_or(""));
  CHECK(run.status == Status::ok);
  CHECK(run.verify.status == VerifyStatus::passed);
  CHECK(run.samples.size() == 4);
  for (const DisturbedSample& sample : run.disturbed) {
    CHECK_MESSAGE(sample.reason.empty(), sample.reason);
    CHECK(sample.verify == VerifyStatus::passed);
    CHECK(sample.timeline.makespan == sample.time);
  }
  CHECK(run.faults.size() == run.disturbed.size());
  if (run.faults.empty()) return std::nullopt;
  CHECK(run.devices.size() == 2);
  return run.faults.front();
}

}  // namespace

TEST_CASE("a sample that loses a device is begun again by the others, whenever that is, and its result is right") {
  for (const char* kind : {"jacobi2d", "heat3d", "star"}) {
    for (const char* every : {"none", "7"}) {
      for (const Mode& mode : {Mode::resident, Mode::end_to_end}) {
        std::size_t begun_again = 0, from_a_checkpoint = 0;
        for (std::uint64_t launch = 20; launch < 900; launch += 97) {
          CAPTURE(kind);
          CAPTURE(every);
          CAPTURE(to_string(mode));
          CAPTURE(launch);
          std::map<std::string, std::string> options{{"kind", kind}, {"checkpoint-rounds", every}};
          if (kind == std::string("jacobi2d")) options["check-every"] = "3";
          const auto fault = fault_of(run({options, mode, {{}, fails(launch)}}));
          if (!fault) continue;
          REQUIRE(fault->round);
          REQUIRE(fault->begun_again);
          ++begun_again;
          const std::uint32_t from = fault->begun_again->round;
          CHECK(from <= *fault->round);
          CHECK(*fault->round <= kSteps);
          CHECK((every == std::string("none") ? from == 0 : from % 7 == 0));
          CHECK(fault->begun_again->after >= Nanos{});
          CHECK(fault->items_redone == fault->items_lost);
          CHECK(fault->recovery.value_or(Nanos{}) >= fault->begun_again->after);
          from_a_checkpoint += from > 0;
        }
        CHECK(begun_again > 2);
        CHECK((from_a_checkpoint > 0) == (every != std::string("none")));
      }
    }
  }
}

TEST_CASE("two devices lost in one sample: the one that is left begins it again, and goes on alone") {
  std::size_t both = 0;
  for (std::uint64_t second = 300; second < 700; second += 20) {
    CAPTURE(second);
    const Report report = run({{{"checkpoint-rounds", "5"}}, Mode::resident, {{}, fails(300), fails(second)}});
    REQUIRE(report.runs.size() == 1);
    const RunRecord& record = report.runs.front();
    CHECK(record.status == Status::ok);
    for (const DisturbedSample& sample : record.disturbed) CHECK(sample.verify == VerifyStatus::passed);
    both += record.disturbed.size() == 1 && record.faults.size() == 2;
  }
  CHECK(both > 0);
}

TEST_CASE("when every device of a sample is lost there is no result, and the record says so") {
  const Report report = run({{{"checkpoint-rounds", "5"}}, Mode::resident, {fails(300), fails(300), fails(300)}});
  REQUIRE(report.runs.size() == 1);
  CHECK(report.runs.front().status != Status::ok);
  CHECK_FALSE(report.runs.front().reason.value_or("").empty());
}

TEST_CASE("a checkpoint counts when all items of it have arrived, and keeps its place until the next one does") {
  Checkpoints checkpoints(10, 4);
  checkpoints.begin_sample();
  CHECK(checkpoints.may_take(4));
  checkpoints.arrived({0, 6}, 4);
  CHECK(checkpoints.complete() == 0);
  CHECK_FALSE(checkpoints.may_take(8));
  checkpoints.arrived({6, 10}, 4);
  CHECK(checkpoints.complete() == 4);
  CHECK(checkpoints.may_take(8));
  CHECK_FALSE(checkpoints.may_take(12));
  CHECK(checkpoints.place(4) != checkpoints.place(8));
  checkpoints.arrived({0, 9}, 8);
  checkpoints.forget_incomplete();  // begun again: every item comes again
  checkpoints.arrived({0, 9}, 8);
  CHECK(checkpoints.complete() == 4);
  checkpoints.arrived({9, 10}, 8);
  CHECK(checkpoints.complete() == 8);
}
