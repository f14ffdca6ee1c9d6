// Whole sessions of the sum workload on the fake backend.
#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/session/session.hpp"
#include "tests/support/quiet_observer.hpp"
#include "tests/support/sum_workload.hpp"

namespace mgpu::test {

inline SumFaults
    g_faults;  // of the workloads that sum_suite makes: a plain function pointer cannot carry them

inline const SuiteInfo& sum_suite() {
  static SuiteInfo info = [] {
    SuiteInfo made;
    made.modes = {Mode::resident, Mode::end_to_end};
    made.name = "sum";
    made.size_name = "items";
    made.make = [](const SuiteParams& params) -> std::unique_ptr<Workload> {
      return std::make_unique<SumWorkload>(params.size, g_faults);
    };
    return made;
  }();
  return info;
}

class Stopping final : public QuietObserver {
 public:
  void recorded(const Report& so_far) override { complete.push_back(so_far.complete); }
  bool stop_requested() override { return stop_after > 0 && ++asked > stop_after; }
  std::vector<bool> complete;
  std::size_t stop_after = 0, asked = 0;
};

inline SessionOptions options_for(std::size_t devices, Items items) {
  SessionOptions options;
  SuiteParams params;
  params.size = items;
  options.problems = {{&sum_suite(), params}};
  options.modes = {Mode::resident, Mode::end_to_end};
  options.strategies = parse_strategies("all");
  options.device_counts = {devices};
  options.stop.exactly = 4;
  g_faults = {};
  return options;
}

inline Report run(std::vector<FakeDevice> fakes, SessionOptions options, Stopping& observer) {
  FakeBackend backend(fakes, sum_kernels());
  options.devices = backend.enumerate().devices;
  return run_session(backend, options, {}, observer);
}

inline const RunRecord& find(const Report& report, std::string_view strategy, Mode mode) {
  for (const RunRecord& run : report.runs) {
    if (run.strategy == strategy && run.mode == mode) return run;
  }
  FAIL("no such run");
  return report.runs.front();
}

}  // namespace mgpu::test
