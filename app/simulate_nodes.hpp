// `simulate --nodes`: strong and weak scaling of a scenario over nodes.
#pragma once

#include <string>

#include "app/cli.hpp"
#include "app/commands.hpp"
#include "lib/plan/scenario.hpp"

namespace mgpu {

// Reads --network, the network between nodes of a measured result, into scenario.nodes. Throws
// Error(usage).
void read_network(const Settings& settings, Scenario& scenario);

// Simulates the scenario on each number of nodes. `mode`: mode in which its devices were measured;
// none: any. `source`: file it was read from.
ExitCode simulate_nodes(const Context& context, const Scenario& scenario, const std::string& source,
                        std::optional<Mode> mode);

}  // namespace mgpu
