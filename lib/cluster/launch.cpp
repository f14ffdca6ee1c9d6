#include "lib/cluster/launch.hpp"

#include <fmt/format.h>

#include <charconv>
#include <system_error>

#include "lib/base/error.hpp"
#include "lib/base/quantity.hpp"
#include "lib/base/quote.hpp"

namespace mgpu {
namespace {

std::optional<std::uint32_t> number(const Variable& variable, const char* name) {
  const std::optional<std::string> text = variable(name);
  std::uint32_t value = 0;
  if (!text) return std::nullopt;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  return error == std::errc{} && end == text->data() + text->size() ? std::optional(value)
                                                                    : std::nullopt;
}

// Recognises a launcher by the variables that it sets: Open MPI's own, those of PMI (MPICH's
// mpiexec, srun --mpi=pmi2), or those of PMIx (srun --mpi=pmix), which Debian's Open MPI speaks.
std::optional<Launch> by_launcher(const Variable& variable) {
  const auto slurm_size = number(variable, "SLURM_STEP_NUM_TASKS");
  if (const auto size = number(variable, "OMPI_COMM_WORLD_SIZE"))
    return Launch{
        Launch::Mpi::open_mpi, number(variable, "OMPI_COMM_WORLD_RANK").value_or(0), *size, {}};
  if (const auto size = number(variable, "PMI_SIZE"))
    return Launch{Launch::Mpi::mpich, number(variable, "PMI_RANK").value_or(0), *size, {}};
  if (const auto rank = number(variable, "PMIX_RANK"); rank && slurm_size)
    return Launch{Launch::Mpi::open_mpi, *rank, *slurm_size, {}};
  if (const auto rank = number(variable, "PMI_RANK"); rank && slurm_size)
    return Launch{Launch::Mpi::mpich, *rank, *slurm_size, {}};
  if (slurm_size.value_or(1) > 1)
    throw Error(ErrorKind::usage,
                fmt::format("srun started {} processes that no MPI can join; expected: srun "
                            "--mpi=pmix (Open MPI), srun --mpi=pmi2 "
                            "(MPICH), or MGPU_MPI=none for runs that know nothing of each other",
                            *slurm_size));
  return std::nullopt;
}

}  // namespace

std::optional<Launch> find_launch(const Variable& variable) {
  const std::string asked = variable("MGPU_MPI").value_or("");
  if (asked == "none") return std::nullopt;
  if (!asked.empty() && asked != "openmpi" && asked != "mpich")
    throw Error(
        ErrorKind::usage,
        fmt::format("MGPU_MPI: unknown MPI {}; expected: openmpi, mpich, none", in_quotes(asked)));
  std::optional<Launch> launch = by_launcher(variable);
  if (!launch || launch->size < 2) return std::nullopt;
  if (!asked.empty()) launch->mpi = asked == "mpich" ? Launch::Mpi::mpich : Launch::Mpi::open_mpi;
  if (const auto time_limit_of = variable("MGPU_MPI_PATIENCE"))
    launch->times.silence = launch->times.leaving =
        parse_duration("MGPU_MPI_PATIENCE", *time_limit_of);
  if (const auto word = variable("MGPU_MPI_DEVICE_MEMORY")) {
    if (*word != "yes" && *word != "no")
      throw Error(ErrorKind::usage,
                  "MGPU_MPI_DEVICE_MEMORY: " + in_quotes(*word) + "; expected: yes or no");
    launch->device_memory = *word == "yes";
  }
  return launch;
}

std::filesystem::path plugin_of(Launch::Mpi mpi, const std::filesystem::path& program) {
  const bool open_mpi = mpi == Launch::Mpi::open_mpi;
  const std::string name = open_mpi ? "mgpu-bench-openmpi.so" : "mgpu-bench-mpich.so";
  const std::filesystem::path folder = program.parent_path();
  std::error_code ignored;
  std::string looked_at;
  for (const std::filesystem::path& place : {folder, folder.parent_path() / MGPU_PLUGIN_FOLDER}) {
    if (std::filesystem::exists(place / name, ignored)) return place / name;
    looked_at += (looked_at.empty() ? "" : " and ") + place.string();
  }
  throw Error(
      ErrorKind::input,
      fmt::format(
          "this was launched under {0}, and the plug-in for it is not there: {1} is not in {2}; "
          "install the "
          "package mgpu-bench-{3}, or build with {4} installed (MGPU_MPI=none: without MPI)",
          open_mpi ? "Open MPI" : "MPICH", name, looked_at, open_mpi ? "openmpi" : "mpich",
          open_mpi ? "libopenmpi-dev" : "libmpich-dev"));
}

}  // namespace mgpu
