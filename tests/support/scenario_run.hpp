// Makes a Scenario runnable by the executor: fake devices on a virtual clock, and a workload of the
// given sizes. No data moves. The workload computes sums over the numbers of the items, so that
// work that was lost or done twice does not verify.
#pragma once

#include <memory>

#include "lib/plan/scenario.hpp"
#include "lib/workload/workload.hpp"
#include "tests/support/fake_backend.hpp"

namespace mgpu {

// Returns a backend with the devices of devices_of(), none of which the scenario may name.
std::unique_ptr<FakeBackend> make_scenario_backend(const Scenario& scenario);

// Returns the scenario's work, to run on that backend, which must outlive it.
std::unique_ptr<Workload> make_scenario_workload(const Scenario& scenario, FakeBackend& backend);

}  // namespace mgpu
