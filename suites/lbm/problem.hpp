// What is asked for: which flow, in how large a box, for how many steps.
#pragma once

#include "lib/workload/workload.hpp"
#include "suites/common/blocks.hpp"

namespace mgpu::lbm {

enum class Flow {
  taylor_green,  // periodic on all sides: a vortex that viscosity slows down
  cavity,        // walls along x and y, the one after the last row moves along x
  channel        // walls along y, a force along x, from rest
};

// Sound goes a cell in sqrt(3) steps.
constexpr double mach_of(double speed) { return speed * 1.7320508075688772; }
// Errors grow with the square of the Mach number; beyond this flows count as compressible.
constexpr double most_mach = 0.3;
constexpr const char* beyond_most_mach =
    "beyond 0.3 the method's fluid is compressed, and what it does is that of no incompressible "
    "one";

struct Problem {
  Flow flow = Flow::taylor_green;
  bool from_file = false;      // --input: velocities and densities to begin with, in equilibrium
  std::uint64_t n = 0;         // cells along x and y
  std::uint64_t planes = 0;    // along z
  std::uint32_t steps = 0;     // rounds
  std::uint32_t depth = 1;     // steps from one exchange to the next
  std::uint32_t lattices = 2;  // 1: in place
  std::uint64_t columns = 1;   // of blocks, into which planes are cut; 1: they are not
  std::uint32_t checkpoint_rounds = 0;  // steps from one checkpoint to the next; 0: none
  bool overlap = true;  // what is exchanged is computed first, and sent before the rest is
  float speed =
      0;  // the largest at the beginning, of the lid, or in the middle of the channel in the end
  double viscosity = 0;
  float even_rate = 0,
        odd_rate = 0;  // of relaxation, of sums and differences of opposite populations

  bool has_walls_x() const { return flow == Flow::cavity; }
  bool has_walls_y() const { return flow != Flow::taylor_green; }
  PiecesOfLayers pieces() const { return {planes, n, columns}; }  // rows of planes
  std::uint64_t items() const { return planes * columns; }
  std::uint64_t cells_of_plane() const { return n * n; }
  std::uint64_t cells() const { return planes * cells_of_plane(); }
  std::uint64_t stride() const {
    return (n + 31) / 32 * 32;
  }  // on a device, rows begin at multiples of 128 bytes
  Bytes population_bytes() const {
    return n * stride() * sizeof(float);
  }                           // of one population of a plane, on a device
  Bytes plane_bytes() const;  // of all of them
  Bytes fields_bytes() const {
    return cells() * 4 * sizeof(float);
  }                           // of a result, and of an input
  Bytes state_bytes() const;  // in host memory, of a checkpoint
  double force() const;       // on a unit of mass, along x
  float drag() const { return flow == Flow::cavity ? speed / 6.0F : 0.0F; }
  float lift() const { return flow == Flow::channel ? static_cast<float>(3 * force()) : 0.0F; }
  float half_force() const {
    return flow == Flow::channel ? static_cast<float>(force() / 2) : 0.0F;
  }
  double mach() const { return mach_of(static_cast<double>(speed)); }
  double cell_reynolds() const { return static_cast<double>(speed) / viscosity; }
  double reynolds() const {
    return static_cast<double>(speed) * static_cast<double>(n) / viscosity;
  }
};

inline constexpr std::uint32_t populations = 19;
// Of those that go to the next plane, and those that go to the one before, the first, and how many.
inline constexpr std::uint32_t first_up = 9, first_down = 14, crossing = 5;
inline constexpr std::uint32_t halo_blocks = 2;

inline Bytes Problem::plane_bytes() const { return populations * population_bytes(); }
inline Bytes Problem::state_bytes() const { return cells() * populations * sizeof(float); }

inline constexpr std::uint64_t least_side = 3, most_side = 4096,
                               most_planes =
                                   65535;  // as many work-groups as NVIDIA GPUs take along z

// Throws Error(usage), Error(input).
Problem problem_of(const SuiteParams& params);
// Says what makes a flow of this problem stable, in words for a message.
std::string what_is_stable(const Problem& problem);
// Its size, steps and checkpoints only, whether they can be done or not: what the host's memory is
// asked for. Throws Error(usage).
Problem box_of(const SuiteParams& params);
Shape shape_of(const Problem& problem);
const char* name_of(Flow flow);

}  // namespace mgpu::lbm
