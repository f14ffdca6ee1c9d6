// A Scenario made runnable by a session: fake devices on a virtual clock, and a workload of the
// given sizes. No data moves; what is computed are sums over the numbers of the items, so that work
// that was lost or done twice does not verify.
#pragma once

#include <memory>

#include "lib/exec/fake_backend.hpp"
#include "lib/plan/scenario.hpp"
#include "lib/workload/workload.hpp"

namespace mgpu {

// Devices "0:0", "0:1", ... in the order of the scenario, of other nodes "1/0:8", ...
std::unique_ptr<FakeBackend> make_scenario_backend(const Scenario& scenario);
// In that order, unlike FakeBackend::enumerate(), which puts the best score first.
std::vector<Device> scenario_devices(const Scenario& scenario);

// Its problems are the scenario's work, whatever their parameters; they run on that backend, which
// must outlive them.
SuiteInfo scenario_suite(const Scenario& scenario, FakeBackend& backend);

}  // namespace mgpu
