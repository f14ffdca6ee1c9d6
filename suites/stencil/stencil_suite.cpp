// The stencil suite's registration: name, options and sizes.
#include "lib/base/error.hpp"
#include "lib/workload/npy.hpp"
#include "suites/stencil/room.hpp"
#include "suites/stencil/stencil_workload.hpp"
#include "suites/suites.hpp"

namespace mgpu {

SuiteInfo stencil_suite();

namespace {

using namespace stencil;

// Estimates host memory: the initial state, the result, two states of the reference, checkpoints.
// Unsupported sizes need more than any host has.
Bytes host_bytes(const SuiteParams& params) {
  const bool box = params.options.at("kind") == "heat3d";
  if (params.size > (box ? most_cells_3d : most_cells_2d)) return ~Bytes{0};
  const Bytes element = params.options.at("precision") == "fp64" ? sizeof(double) : sizeof(float);
  const Bytes checkpoints = params.options.at("checkpoint-rounds") == "none" ? 0
                            : params.options.at("kind") == "star"            ? 4
                                                                             : 2;
  return (4 + checkpoints) * element * params.size * params.size * (box ? params.size : 1);
}

// Returns a size with about as many cells in a box as in a plane, since a box with the plane's side
// takes 4 GB, which a host would fill in vain. On CPUs it is the smallest size with the rate of
// larger ones (1.71 G cells per second for 768 x 768 and for 1024 x 1024), since a run without
// rates begins with it.
std::uint64_t full_size(const SuiteParams& params) {
  if (params.options.at("kind") == "heat3d") return params.cpus ? 80 : 512;
  return params.cpus ? 768 : 8192;
}

void check(const SuiteParams& params) { check_devices(problem_of(params), params.memory); }

std::uint64_t size_of_input(SuiteParams& params) { return read_npy_shape(*params.input).columns; }

Shape shape(const SuiteParams& params) { return shape_of(problem_of(params)); }

std::unique_ptr<Workload> make(const SuiteParams& params) {
  return std::make_unique<StencilWorkload>(params);
}

}  // namespace

SuiteInfo stencil_suite() {
  using Option = SuiteOption::Kind;
  SuiteInfo info;
  info.name = "stencil";
  info.summary = "Stencil steps on a grid, split by layers or blocks; devices exchange halos";
  info.size_name = "side";
  info.default_size = 2048;
  info.quick_size = 256;
  info.sizes_per_doubling = 2;
  info.optional.full_size_of = full_size;
  info.optional.make_short = [](SuiteParams& params) { params.options["iterations"] = "25"; };
  info.options = {
      {"kind",
       "jacobi2d: a plane, each cell the mean of four neighbours; heat3d: a box, explicit steps of "
       "the heat equation; star: a plane, weighted sums along both axes, as in the Parallel "
       "Research Kernels",
       {"jacobi2d", "heat3d", "star"}},
      {"iterations", "Steps per sample", {"100"}, Option::count},
      {"precision", "Type of the cells and of every sum", {"fp32", "fp64"}},
      {"depth",
       "Halo depth: exchange every N steps (N layers at once, with redundant computation)",
       {"1"},
       Option::count},
      {"split",
       "Domain decomposition: layers (1-D: rows of a plane, slabs of a box) or blocks (2-D); auto: "
       "layers",
       {"auto", "rows", "slabs", "blocks"}},
      {"overlap", "Send what other devices need while the rest is computed", {"on", "off"}},
      {"steps",
       "Launches of the steps of jacobi2d in rows: enqueued (one per step) or persistent (many "
       "steps per launch; work-groups stay on the device and wait for each other); auto: "
       "persistent on NVIDIA GPUs with enough registers",
       {"auto", "enqueued", "persistent"}},
      {"exchange",
       "Exchange of layers: by the kernels of the steps, which write into each other's memory and "
       "wait for each other (kernels), or by commands after the steps (puts); auto: kernels on "
       "NVIDIA GPUs",
       {"auto", "kernels", "puts"}},
      {"rate",
       "Diffusion coefficient of heat3d: the share of a difference between cells that one step "
       "evens out, up to 1/6",
       {"0.1"},
       Option::number},
      {"checkpoint-rounds",
       "Checkpoint every N steps, from which a sample that loses a device restarts; none: it "
       "restarts from the beginning",
       {"none"},
       Option::count},
      {"radius", "Radius of star: cells along each axis, 1 to 4", {"2"}, Option::count},
      {"check-every",
       "With jacobi2d: compute the L2 norm of the change every N steps",
       {"never"},
       Option::count},
      {"initial",
       "Initial state: uniform (seeded numbers), ramp (row + column, for star), sine (in the fixed "
       "columns, for jacobi2d) or eigenmode (whose decay is known, for jacobi2d and heat3d); auto: "
       "ramp for star, else uniform",
       {"auto", "uniform", "ramp", "sine", "eigenmode"}},
  };
  info.modes = {Mode::resident, Mode::end_to_end};
  info.input =
      "the initial state: a .npy array of the --precision, n x n for jacobi2d and star, n*n x n "
      "for heat3d";
  info.host_bytes = host_bytes;
  info.size_of_input = size_of_input;
  info.check = check;
  info.shape = shape;
  info.make = make;
  return info;
}

}  // namespace mgpu
