#include "suites/lbm/lattice.hpp"

#include <fmt/format.h>

#include "lib/base/error.hpp"
#include "suites/common/option_values.hpp"

namespace mgpu::lbm {
namespace {

Bytes fields_of_plane(const Problem& problem) {
  return problem.cells_of_plane() * 4 * sizeof(float);
}

// Returns the bytes that each slot takes: lattices, a copy for checkpoints, the fields of a plane,
// and the cells of a file.
Bytes bytes_of_slot(const Problem& problem) {
  return (problem.lattices + (problem.checkpoint_rounds > 0 ? 1 : 0)) * problem.plane_bytes() +
         (problem.from_file ? 2 : 1) * fields_of_plane(problem);
}

// Returns the bytes of exchanged data outside the lattices: halos, or for blocks the received data
// of two steps and the packed data to be sent.
Bytes bytes_beside(const Problem& problem) {
  if (problem.columns > 1) return 3 * most_landing(problem) * problem.number_bytes();
  const Bytes halves = problem.half_block > 0 ? 6 * problem.half_halo_bytes() : 0;
  return problem.depth == 1 ? halo_blocks * problem.plane_bytes() + halves : 0;
}

std::uint64_t slots_on(const Problem& problem, const DeviceMemory& memory) {
  if (memory.allocation < problem.plane_bytes()) return 0;
  const Bytes landing = bytes_beside(problem), most = memory.global / 10 * 9;
  const std::uint64_t slots = (most - std::min(most, landing)) / bytes_of_slot(problem);
  return std::min({problem.planes, slots,
                   memory.allocation / fields_of_plane(problem)});  // all fields are in one buffer
}

}  // namespace

std::uint64_t most_landing(const Problem& problem) {
  // A share is at most three patches. Each has two faces of at most n rows, two of at most all
  // planes, and four edges.
  return 3 * problem.n * (2 * crossing * (problem.n + problem.planes) + 4);
}

std::uint64_t most_of_share(const Problem& problem, const Lattice& lattice) {
  if (lattice.slots == problem.planes) return problem.planes;
  return lattice.slots > 2 * problem.depth ? lattice.slots - 2 * problem.depth : 0;
}

Lattice lattice_of(const Problem& problem, const std::vector<DeviceMemory>& devices) {
  std::uint64_t least = problem.planes;
  Bytes piece = ~Bytes{0};
  for (const DeviceMemory& device : devices) {
    least = std::min(least, slots_on(problem, device));
    piece = std::min(piece, device.allocation);
  }
  Lattice lattice{problem.planes, problem.planes};
  // If the devices together have no room for the box, those with the most memory may still compute
  // it alone.
  if (problem.columns == 1 && least > 2 * problem.depth &&
      (least - 2 * problem.depth) * devices.size() >= problem.planes)
    lattice.slots = least;
  const std::uint64_t most = std::max<std::uint64_t>(piece / problem.plane_bytes(), 1),
                      pieces = ceil_div(lattice.slots, most);
  lattice.in_piece = ceil_div(lattice.slots, pieces);
  return lattice;
}

DeviceBytes bytes_on_device(const Problem& problem, const Lattice& lattice,
                            std::uint64_t planes_of_file) {
  const Bytes fields = lattice.slots * fields_of_plane(problem),
              file = problem.from_file ? planes_of_file * fields_of_plane(problem) : 0,
              copy = problem.checkpoint_rounds > 0 ? lattice.slots * problem.plane_bytes() : 0;
  return {
      problem.lattices * lattice.slots * problem.plane_bytes() + fields + file + copy +
          bytes_beside(problem),
      std::max({lattice.in_piece * problem.plane_bytes(), fields, file, bytes_beside(problem)})};
}

std::vector<Run> runs_of(const Problem& problem, const Lattice& lattice, std::int64_t first,
                         std::int64_t end) {
  const auto planes = static_cast<std::int64_t>(problem.planes);
  std::vector<Run> runs;
  for (std::int64_t z = first; z < end; ++z) {
    const auto in_box = static_cast<std::uint64_t>((z % planes + planes) % planes);
    const Slot slot = lattice.slot_of(z);
    if (!runs.empty()) {
      Run& last = runs.back();
      if (last.in_box + last.count == in_box && last.slot.piece == slot.piece &&
          last.slot.at + last.count == slot.at) {
        ++last.count;
        continue;
      }
    }
    runs.push_back({z, in_box, 1, slot});
  }
  return runs;
}

void check_devices(const Problem& problem, const std::vector<DeviceMemory>& devices,
                   const char* planes_by) {
  const std::uint64_t count = devices.size();
  if (count == 0) return;
  const std::uint64_t each = problem.planes / count;
  if (count > 1 && each < problem.depth) {
    const std::string accepted =
        fmt::format("{} planes or more with --depth {}", count * problem.depth, problem.depth);
    throw refused_option(
        problem.depth > 1 ? "depth" : planes_by,
        fmt::format("{} planes are fewer than {} devices need, {} each; expected: {}",
                    problem.planes, count, problem.depth, accepted));
  }
  std::uint64_t most = 0, least = problem.planes;
  for (const DeviceMemory& device : devices) {
    const std::uint64_t slots = slots_on(problem, device);
    most = std::max(most, slots);
    least = std::min(least, slots);
  }
  const std::uint64_t share = most_of_share(problem, {least, least});
  if (most == problem.planes || (problem.columns == 1 && share * count >= problem.planes)) return;
  const std::string smaller = problem.columns > 1     ? "smaller sizes, or --split slabs"
                              : problem.lattices == 2 ? "smaller sizes, or --lattices one"
                                                      : "smaller sizes";
  throw refused_option(
      "size", fmt::format("{} planes of {} bytes in {} lattice{} do not fit: {} of them per "
                          "device, on {} device{}; expected: {}",
                          problem.planes, problem.plane_bytes(), problem.lattices,
                          problem.lattices == 1 ? "" : "s", problem.columns > 1 ? most : share,
                          count, count == 1 ? "" : "s", smaller));
}

}  // namespace mgpu::lbm
