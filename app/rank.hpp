// The program as one of several ranks (lib/cluster): what each of them does before rank 0 runs its
// command, and after it.
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

// None: there is but this process.
std::optional<Launch> launch_of(const Environment& environment);

// Joins the others for a command that uses devices; null for one that does not: rank 0 alone
// carries it out. Throws Error(usage) for one that would start programs of its own, and what
// Cluster::join throws.
std::unique_ptr<Cluster> join_ranks(const Launch& launch, const std::string& command,
                                    const std::vector<std::string>& argv,
                                    const std::string& version, std::unique_ptr<Backend> local);

// Of every rank but 0: serves its devices until rank 0 is done. What is wrong with the command line
// rank 0 says.
ExitCode serve_rank(const Launch& launch, const std::string& command,
                    const std::vector<std::string>& argv, const std::string& version,
                    std::unique_ptr<Backend> local);

}  // namespace mgpu
