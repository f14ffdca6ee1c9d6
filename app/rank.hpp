// The program as one of several ranks (lib/cluster): what each rank does before and after rank 0
// runs its command.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/cli.hpp"
#include "app/environment.hpp"
#include "app/exit_codes.hpp"
#include "lib/cluster/cluster.hpp"

namespace mgpu {

// Returns the rank and the number of ranks; none: there is only this process.
std::optional<Launch> launch_of(const Environment& environment);

// Joins the cluster; returns null for a command that uses no devices, which rank 0 runs alone.
// Throws Error(usage) for a command that would start other programs, and what Cluster::join throws.
std::unique_ptr<Cluster> join_ranks(const Launch& launch, const std::string& command,
                                    const std::vector<std::string>& argv,
                                    const std::string& version, std::unique_ptr<Backend> local);

// Runs any rank but 0: serves its devices until rank 0 is done. Rank 0 reports mistakes in the
// command line.
ExitCode serve_rank(const Launch& launch, const std::string& command,
                    const std::vector<std::string>& argv, const std::string& version,
                    std::unique_ptr<Backend> local);

}  // namespace mgpu
