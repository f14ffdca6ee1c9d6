// Whole sessions of a suite that goes in rounds, on devices of the fake backend that may be lost.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>

#include "lib/session/session.hpp"
#include "suites/suites.hpp"
#include "tests/support/quiet_observer.hpp"
#include "tests/support/sum_workload.hpp"

namespace mgpu::test {

inline constexpr std::uint32_t kRounds = 40;

struct RoundsAsked {
  std::string suite;
  FakeKernels kernels;
  std::map<std::string, std::string> options = {};
  Mode mode = Mode::resident;
  std::vector<FakeScript> scripts{};
  std::uint64_t size = 30;
  std::string strategy = "equal";
  std::vector<Handicap> handicaps{};
};

// On three devices, or as many as there are scripts.
inline Report run_rounds(const RoundsAsked& asked) {
  std::vector<FakeDevice> fakes;
  for (std::size_t i = 0; i < std::max<std::size_t>(3, asked.scripts.size()); ++i) {
    fakes.push_back(fake_device("0:" + std::to_string(i), 1e6));
    fakes.back().facts.max_work_group = 64;
    if (i < asked.scripts.size()) fakes.back().script = asked.scripts[i];
  }
  FakeBackend backend(fakes, asked.kernels);
  SessionOptions options;
  options.devices = backend.enumerate().devices;
  options.handicaps = asked.handicaps;
  const auto suites = all_suites();
  const auto found = std::find_if(suites.begin(), suites.end(),
                                  [&](const SuiteInfo& info) { return info.name == asked.suite; });
  REQUIRE(found != suites.end());
  const SuiteInfo& suite = *found;
  SuiteParams params;
  params.size = asked.size;
  params.seed = 3;
  for (const SuiteOption& option : suite.options)
    if (option.kind != SuiteOption::Kind::flag) params.options[option.name] = option.values.front();
  params.options["iterations"] = std::to_string(kRounds);
  for (const auto& [name, value] : asked.options) params.options[name] = value;
  options.problems = {{&suite, params}};
  options.modes = {asked.mode};
  options.strategies = parse_strategies(asked.strategy);
  options.device_counts = {fakes.size()};
  options.stop.exactly = 4;
  options.stop.warmup = 1;
  SetEstimates& given = options.given_estimates.emplace();  // nothing is probed
  given.devices.resize(fakes.size());
  for (DeviceEstimate& device : given.devices) {
    device.items_per_s = 1e4;
    device.score = 50;
    device.fits = device.pipeline = std::max<Items>(30, asked.size);
  }
  QuietObserver observer;
  return run_session(backend, options, {}, observer);
}

inline FakeScript fails_at_launch(std::uint64_t launch) {
  return fails_from(FakeCall::launch, launch, FakeFault::Kind::error);
}

// All samples were right, whenever device 1 was lost. How the sample was begun again, if it was
// lost in one.
inline std::optional<Fault> fault_of(const Report& report) {
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

}  // namespace mgpu::test
