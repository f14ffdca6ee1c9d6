// Environment variables of launchers, and the folders that are searched for plug-ins.
#include "lib/cluster/launch.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "lib/base/error.hpp"

namespace mgpu {
namespace {

std::optional<Launch> launched_with(const std::map<std::string, std::string>& variables) {
  return find_launch([&](const std::string& name) {
    const auto at = variables.find(name);
    return at == variables.end() ? std::nullopt : std::optional(at->second);
  });
}

}  // namespace

TEST_CASE("the launcher is known by its variables") {
  CHECK(!launched_with({}));
  CHECK(!launched_with({{"SLURM_STEP_NUM_TASKS", "1"}}));
  CHECK(!launched_with({{"OMPI_COMM_WORLD_SIZE", "1"}, {"OMPI_COMM_WORLD_RANK", "0"}}));

  const auto open_mpi = launched_with(
      {{"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_RANK", "3"}, {"PMIX_RANK", "3"}});
  REQUIRE(open_mpi);
  CHECK(open_mpi->mpi == Launch::Mpi::open_mpi);
  CHECK(open_mpi->rank == 3);
  CHECK(open_mpi->size == 4);

  const auto mpich = launched_with({{"PMI_SIZE", "2"}, {"PMI_RANK", "1"}});
  REQUIRE(mpich);
  CHECK(mpich->mpi == Launch::Mpi::mpich);
  CHECK(mpich->rank == 1);

  const auto pmix = launched_with({{"SLURM_STEP_NUM_TASKS", "8"}, {"PMIX_RANK", "5"}});
  REQUIRE(pmix);
  CHECK(pmix->mpi == Launch::Mpi::open_mpi);
  CHECK(pmix->size == 8);
  CHECK(launched_with({{"SLURM_STEP_NUM_TASKS", "8"}, {"PMI_RANK", "0"}})->mpi ==
        Launch::Mpi::mpich);
  CHECK_THROWS_WITH_AS(launched_with({{"SLURM_STEP_NUM_TASKS", "8"}}),
                       doctest::Contains("srun --mpi=pmix"), Error);
}

TEST_CASE("MGPU_MPI takes another MPI or none, and MGPU_MPI_PATIENCE how long silence is borne") {
  const std::map<std::string, std::string> two{{"PMI_SIZE", "2"}, {"PMI_RANK", "1"}};
  const auto with = [&](const std::string& name, const std::string& value) {
    auto variables = two;
    variables[name] = value;
    return launched_with(variables);
  };
  CHECK(!with("MGPU_MPI", "none"));
  CHECK(with("MGPU_MPI", "openmpi")->mpi == Launch::Mpi::open_mpi);
  CHECK_THROWS_WITH_AS(with("MGPU_MPI", "lam"), doctest::Contains("\"lam\""), Error);
  CHECK(with("MGPU_MPI_PATIENCE", "2s")->times.silence == std::chrono::seconds(2));
  CHECK_THROWS_AS(with("MGPU_MPI_PATIENCE", "long"), Error);
  CHECK_FALSE(with("MGPU_MPI_PATIENCE", "2s")->device_memory);
  CHECK(with("MGPU_MPI_DEVICE_MEMORY", "yes")->device_memory == true);
  CHECK(with("MGPU_MPI_DEVICE_MEMORY", "no")->device_memory == false);
  CHECK_THROWS_AS(with("MGPU_MPI_DEVICE_MEMORY", "maybe"), Error);
}

TEST_CASE("a plug-in is beside the program; where there is none, it says what to install") {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "mgpu-plugin-test";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "mgpu-bench-mpich.so") << "";
  CHECK(plugin_of(Launch::Mpi::mpich, folder / "mgpu-bench") == folder / "mgpu-bench-mpich.so");
  CHECK_THROWS_WITH_AS(plugin_of(Launch::Mpi::open_mpi, folder / "mgpu-bench"),
                       doctest::Contains("mgpu-bench-openmpi"), Error);
  std::filesystem::remove_all(folder);
}

}  // namespace mgpu
