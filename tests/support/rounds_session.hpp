// Whole sessions of an iterative suite, on devices of the fake backend that may fail.
#pragma once

#include <doctest/doctest.h>

#include "lib/session/session.hpp"
#include "tests/support/quiet_observer.hpp"
#include "tests/support/suite_params.hpp"
#include "tests/support/sum_workload.hpp"

namespace mgpu::test {

inline constexpr std::uint32_t kRounds = 40;

struct RoundsAsked {
  std::string suite;
  FakeKernels kernels;
  Options options = {};
  Mode mode = Mode::resident;
  std::vector<FakeScript> scripts{};
  std::uint64_t size = 30;
  std::string strategy = "equal";
  std::vector<Handicap> handicaps{};
  std::optional<Nanos> live_every{};
  SessionObserver* observer = nullptr;  // null: one that does nothing
};

// Runs four samples on three devices, or on one per script if there are more scripts.
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
  options.live_every = asked.live_every;
  Options with_rounds = asked.options;
  with_rounds.insert({"iterations", std::to_string(kRounds)});
  options.problems = {
      {&suite_named(asked.suite), suite_params(asked.suite, asked.size, with_rounds, 3)}};
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
  QuietObserver quiet;
  return run_session(backend, options, {}, asked.observer != nullptr ? *asked.observer : quiet);
}

inline FakeScript fails_at_launch(std::uint64_t launch) {
  return fails_from(FakeCall::launch, launch, FakeFault::Kind::error);
}

// Checks that all samples were right although device 1 failed. Returns how the sample in which it
// failed was restarted, if one was.
inline std::optional<Fault> fault_of(const Report& report) {
  REQUIRE(report.runs.size() == 1);
  const RunRecord& run = report.runs.front();
  CAPTURE(run.reason.value_or(""));
  CHECK(run.status == Status::ok);
  CHECK(run.verify.status == VerifyStatus::passed);
  CHECK(run.samples.size() == 4);
  for (const InvalidatedSample& sample : run.invalidated) {
    CHECK(sample.reason == "");
    CHECK(sample.verify == VerifyStatus::passed);
    CHECK(sample.timeline.makespan == sample.time);
  }
  CHECK(run.faults.size() == run.invalidated.size());
  if (run.faults.empty()) return std::nullopt;
  CHECK(run.devices.size() == 2);
  return run.faults.front();
}

}  // namespace mgpu::test
