// `simulate --nodes`: strong and weak scaling of a scenario over nodes.
#pragma once

#include <string>

#include "app/cli.hpp"
#include "app/commands.hpp"
#include "lib/plan/scenario.hpp"

namespace mgpu {

// --network, which says what the network of a result's nodes is like: into scenario.nodes. Throws
// Error(usage).
void read_network(const Settings& settings, Scenario& scenario);

// `mode`: in which its devices were measured; none: any. `source`: where it was read.
ExitCode simulate_nodes(const Context& context, const Scenario& scenario, const std::string& source,
                        std::optional<Mode> mode);

}  // namespace mgpu
