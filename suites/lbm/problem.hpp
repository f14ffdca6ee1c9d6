// Parameters of a problem: the flow, the size of the box, and the number of steps.
#pragma once

#include "lib/workload/workload.hpp"
#include "suites/common/blocks.hpp"

namespace mgpu::lbm {

enum class Flow {
  taylor_green,  // periodic on all sides; a vortex that viscosity slows down
  cavity,        // walls along x and y, the one after the last row moves along x
  channel        // walls along y, a force along x, starts from rest
};

// Returns the Mach number of a speed in cells per step; sound travels a cell in sqrt(3) steps.
constexpr double mach_of(double speed) { return speed * 1.7320508075688772; }
// Errors grow with the square of the Mach number; flows above this one count as compressible.
constexpr double most_mach = 0.3;
constexpr const char* beyond_most_mach =
    "beyond 0.3 the method's fluid is compressed, and what it does is that of no incompressible "
    "one";

struct Problem {
  Flow flow = Flow::taylor_green;
  bool from_file = false;               // --input: initial velocities and densities, in equilibrium
  std::uint64_t n = 0;                  // cells along x and y
  std::uint64_t planes = 0;             // cells along z
  std::uint32_t steps = 0;              // iterations ("rounds")
  std::uint32_t depth = 1;              // steps from one exchange to the next
  std::uint32_t lattices = 2;           // 1: in place
  std::uint64_t columns = 1;            // columns of blocks that planes are cut into; 1: not cut
  std::uint32_t checkpoint_rounds = 0;  // steps from one checkpoint to the next; 0: none
  // Planes of a block: populations that cross from one block to the next are rounded to half
  // precision, so that halos need half the bytes. 0: halos are in fp32.
  std::uint64_t half_block = 0;
  bool half_storage = false;  // populations are stored in half precision
  bool overlap = true;        // edges are computed and sent before the rest is computed
  // Largest initial speed, speed of the lid, or final speed in the middle of the channel.
  float speed = 0;
  double viscosity = 0;
  // Relaxation rates of sums and differences of opposite populations.
  float even_rate = 0, odd_rate = 0;

  bool has_walls_x() const { return flow == Flow::cavity; }
  bool has_walls_y() const { return flow != Flow::taylor_green; }
  // Layers are planes, their width is counted in rows.
  PiecesOfLayers pieces() const { return {planes, n, columns}; }
  std::uint64_t items() const { return planes * columns; }
  std::uint64_t cells_of_plane() const { return n * n; }
  std::uint64_t cells() const { return planes * cells_of_plane(); }
  Bytes number_bytes() const { return half_storage ? 2 : sizeof(float); }  // of a population
  // Rows on a device begin at multiples of 128 bytes.
  std::uint64_t stride() const { return round_up(n, 128 / number_bytes()); }
  Bytes population_bytes() const {
    return n * stride() * number_bytes();
  }                           // one population of a plane, on a device
  Bytes plane_bytes() const;  // all populations of a plane, on a device
  Bytes fields_bytes() const {
    return cells() * 4 * sizeof(float);
  }                           // size of a result, and of an input
  Bytes state_bytes() const;  // size of a checkpoint in host memory
  // Populations that cross one border of a share, in half precision, in whole units of 16 bytes.
  Bytes half_halo_bytes() const;
  double force() const;  // per unit of mass, along x
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
// The first population that goes to the next plane, the first that goes to the plane before, and
// the number of each.
inline constexpr std::uint32_t first_up = 9, first_down = 14, crossing = 5;
inline constexpr std::uint32_t halo_blocks = 2;
// Most blocks of --halos half. Shares consist of whole blocks, so that results do not depend on
// them.
inline constexpr std::uint64_t most_half_blocks = 32;
// Populations are multiplied by this before they become numbers of half precision, whose normal
// range is then 1.5e-8 to 16.
inline constexpr float half_scale = 4096;

inline Bytes Problem::plane_bytes() const { return populations * population_bytes(); }
inline Bytes Problem::half_halo_bytes() const {
  return round_up(crossing * cells_of_plane() * 2, Bytes{16});
}
inline Bytes Problem::state_bytes() const { return cells() * populations * number_bytes(); }

// Limits of a box. NVIDIA GPUs take at most 65535 work-groups along z.
inline constexpr std::uint64_t least_side = 3, most_side = 4096, most_planes = 65535;

// Returns the problem of these parameters. Throws Error(usage), Error(input).
Problem problem_of(const SuiteParams& params);
// Returns what makes a flow of this problem stable, as part of a message.
std::string what_is_stable(const Problem& problem);
// Returns only size, steps and checkpoints, whether the problem is possible or not; the check of
// host memory needs no more. Throws Error(usage).
Problem box_of(const SuiteParams& params);
Shape shape_of(const Problem& problem);
const char* name_of(Flow flow);

}  // namespace mgpu::lbm
