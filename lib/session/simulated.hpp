// A session over a scenario: cases, records and reports as run_session makes them, with samples
// that are simulated (lib/plan/simulator.hpp) instead of executed. Nothing is computed or verified.
#pragma once

#include <span>

#include "lib/plan/scenario.hpp"
#include "lib/plan/simulator.hpp"
#include "lib/profile/timeline.hpp"
#include "lib/report/record.hpp"
#include "lib/session/observer.hpp"
#include "lib/session/options.hpp"
#include "lib/workload/workload.hpp"

namespace mgpu {

// Returns what devices did in a simulated sample, of which `log` is the log. `links`: between the
// devices, if they exchange data.
Timeline timeline_of(const Simulation& simulated, std::span<const SimulatedBatch> log,
                     const PeerLinks& links);

// Returns a suite whose one problem is the scenario's work; no Workload can be made of it.
SuiteInfo scenario_suite(const Scenario& scenario);

// Simulates the session that `options` describes, of that problem on the scenario's devices. Fills
// devices, runs and `complete`, as run_session does. Throws Error(usage) if the simulated time
// exceeds the range of the clock.
Report simulate_session(const Scenario& scenario, const SessionOptions& options, Report begun,
                        SessionObserver& observer);

}  // namespace mgpu
