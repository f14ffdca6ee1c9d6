// Whole sessions of a suite "sum" on the fake backend.
#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/session/session.hpp"
#include "tests/support/quiet_observer.hpp"
#include "tests/support/sum_workload.hpp"

namespace mgpu::test {

inline const std::vector<Mode> kBothModes{Mode::resident, Mode::end_to_end};

inline SumFaults g_faults;  // faults of the workloads that sum_suite makes

// Returns a suite of both modes whose workloads `make` makes.
inline SuiteInfo suite_of(decltype(SuiteInfo::make) make) {
  SuiteInfo made;
  made.name = "sum";
  made.size_name = "items";
  made.modes = kBothModes;
  made.make = std::move(make);
  return made;
}

inline const SuiteInfo& sum_suite() {
  static const SuiteInfo info = suite_of([](const SuiteParams& params) {
    return std::make_unique<SumWorkload>(params.size, g_faults);
  });
  return info;
}

inline Problem problem_of(const SuiteInfo& suite, Items items) {
  Problem problem{&suite, {}};
  problem.params.size = items;
  return problem;
}

// Returns the options of a session of one problem on all of these devices.
inline SessionOptions options_on(std::vector<Device> devices, Problem problem,
                                 std::vector<Mode> modes, const std::string& strategies) {
  SessionOptions options;
  options.problems = {std::move(problem)};
  options.modes = std::move(modes);
  options.strategies = parse_strategies(strategies);
  options.device_counts = {devices.size()};
  options.devices = std::move(devices);
  return options;
}

class Stopping final : public QuietObserver {
 public:
  bool stop_requested() override { return stop_after > 0 && ++asked > stop_after; }
  std::size_t stop_after = 0, asked = 0;
};

// Returns the options of a session with four samples of sum_suite, without faults.
inline SessionOptions options_for(std::size_t devices, Items items,
                                  const std::string& strategies = "all",
                                  std::vector<Mode> modes = kBothModes) {
  SessionOptions options =
      options_on({}, problem_of(sum_suite(), items), std::move(modes), strategies);
  options.device_counts = {devices};
  options.stop.exactly = 4;
  g_faults = {};
  return options;
}

// Gives strategies equal estimates for all devices, so that nothing is probed.
inline void give_estimates(SessionOptions& options) {
  DeviceEstimate estimate;
  estimate.items_per_s = 1e9;
  options.given_estimates.emplace().devices.assign(options.device_counts.front(), estimate);
}

inline std::vector<FakeDevice> fake_devices(std::size_t count, double ops_per_s = 1e9) {
  std::vector<FakeDevice> made;
  for (std::size_t i = 0; i < count; ++i)
    made.push_back(fake_device("0:" + std::to_string(i), ops_per_s));
  return made;
}

// Returns devices of the same model, whose results may be compared.
inline std::vector<FakeDevice> twins(std::size_t count) {
  std::vector<FakeDevice> made = fake_devices(count);
  for (FakeDevice& device : made) device.facts.name = "alike";
  return made;
}

inline Report run(std::vector<FakeDevice> fakes, SessionOptions options, QuietObserver& observer,
                  FakeTime time = FakeTime::is_virtual) {
  FakeBackend backend(std::move(fakes), sum_kernels(), time);
  options.devices = backend.enumerate().devices;
  return run_session(backend, options, {}, observer);
}
inline Report run(std::vector<FakeDevice> fakes, SessionOptions options,
                  FakeTime time = FakeTime::is_virtual) {
  QuietObserver observer;
  return run(std::move(fakes), std::move(options), observer, time);
}

inline const RunRecord& find(const Report& report, std::string_view strategy,
                             Mode mode = Mode::resident) {
  for (const RunRecord& run : report.runs) {
    if (run.strategy == strategy && run.mode == mode) return run;
  }
  FAIL("no such run");
  return report.runs.front();
}

}  // namespace mgpu::test
