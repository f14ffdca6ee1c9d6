// How the program was launched, according to variables that the launcher set, and which plug-in
// that needs.
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
  // Whether memory of devices is handed to MPI; none: as its library says.
  std::optional<bool> device_memory{};
};

// Returns none for a process that is not one of several ranks. MGPU_MPI overrides the MPI that the
// launcher's variables indicate (openmpi, mpich), or disables it (none). Throws Error(usage) for
// another value, and if srun started several processes without an MPI interface.
std::optional<Launch> find_launch(const Variable& variable);

// Returns the plug-in of that MPI: next to the program, or in lib/mgpu-bench next to its folder.
// Throws Error(input) that says what to install.
std::filesystem::path plugin_of(Launch::Mpi mpi, const std::filesystem::path& program);

}  // namespace mgpu
