// How the program was launched, by what the launcher left in the environment, and which plug-in
// that takes.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lib/cluster/post.hpp"

namespace mgpu {

using Variable = std::function<std::optional<std::string>(const std::string& name)>;

struct Launch {
  enum class Mpi { open_mpi, mpich } mpi = Mpi::open_mpi;
  RankNumber rank = 0, size = 1;
  PostTimes times;
};

// None: not as one of several ranks. MGPU_MPI names another MPI than the launcher's signs do
// (openmpi, mpich), or none. Throws Error(usage) for another value of it, and where srun started
// several processes without telling any MPI.
std::optional<Launch> find_launch(const Variable& variable);

// The plug-in of that MPI: beside the program, or in lib/mgpu-bench beside its folder. Throws
// Error(input) with what to install.
std::filesystem::path plugin_of(Launch::Mpi mpi, const std::filesystem::path& program);

}  // namespace mgpu
