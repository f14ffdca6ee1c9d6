// A session over a scenario: cases, records and reports as run_session makes them, with samples
// that are simulated (lib/plan/simulator.hpp) instead of executed. Nothing is computed, so that
// nothing is verified.
#pragma once

#include "lib/plan/scenario.hpp"
#include "lib/report/record.hpp"
#include "lib/session/observer.hpp"
#include "lib/session/options.hpp"
#include "lib/workload/workload.hpp"

namespace mgpu {

// Its one problem is the scenario's work; no Workload is ever made of it.
SuiteInfo scenario_suite(const Scenario& scenario);

// `options` has that problem and the scenario's devices. As run_session, it fills devices, runs and
// `complete`. Throws Error(usage) where the simulated time exceeds what can be counted.
Report simulate_session(const Scenario& scenario, const SessionOptions& options, Report begun,
                        SessionObserver& observer);

}  // namespace mgpu
