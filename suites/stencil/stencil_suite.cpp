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
  info.summary =
      "Steps of a stencil on a grid, whose layers are split; devices exchange the outermost after "
      "steps";
  info.size_name = "side";
  info.default_size = 2048;
  info.quick_size = 256;
  info.sizes_per_doubling = 2;
  info.optional.full_size_of = full_size;
  info.optional.make_short = [](SuiteParams& params) { params.options["iterations"] = "25"; };
  info.options = {
      {"kind",
       "jacobi2d: a plane, each cell the mean of four neighbours; heat3d: a box, explicit steps of "
       "the heat equation; star: a "
       "plane, "
       "the weighted cells along both axes are added up, as in the Parallel Research Kernels",
       {"jacobi2d", "heat3d", "star"}},
      {"iterations", "steps of a sample", {"100"}, Option::count},
      {"precision", "of the cells and every sum", {"fp32", "fp64"}},
      {"depth",
       "steps from one exchange to the next: as many layers are exchanged at once, and some "
       "computed twice",
       {"1"},
       Option::count},
      {"split",
       "what shares are: layers, which are rows of a plane or slabs of a box (auto), or blocks, "
       "which end along two axes",
       {"auto", "rows", "slabs", "blocks"}},
      {"overlap",
       "whether what others need is computed first, and sent while the rest is computed",
       {"on", "off"}},
      {"steps",
       "of jacobi2d in rows, how they are launched: one after another (enqueued), or many at once "
       "by work-groups that stay on the "
       "device and wait for each other (persistent), where all of them can; auto: persistent on "
       "NVIDIA GPUs that have room",
       {"auto", "enqueued", "persistent"}},
      {"exchange",
       "how layers reach the devices that need them: by the kernels of steps, which store them in "
       "each other's memory and wait for "
       "theirs (kernels), or by commands after steps (puts); auto: kernels on NVIDIA GPUs",
       {"auto", "kernels", "puts"}},
      {"rate",
       "of heat3d: how much of a difference between cells a step evens out, up to 1/6",
       {"0.1"},
       Option::number},
      {"checkpoint-rounds",
       "a checkpoint after so many steps, from which a sample that loses a device begins again; "
       "none: from the beginning",
       {"none"},
       Option::count},
      {"radius", "of star: cells that it reaches along each axis, 1 to 4", {"2"}, Option::count},
      {"check-every",
       "of jacobi2d: steps from one L2 norm of the change to the next",
       {"never"},
       Option::count},
      {"initial",
       "the initial state: seeded numbers; row + column (ramp, of star); a sine in the fixed "
       "columns (of jacobi2d); an eigenmode, "
       "whose "
       "decay is known (of jacobi2d and heat3d); auto: ramp for star, else uniform",
       {"auto", "uniform", "ramp", "sine", "eigenmode"}},
  };
  info.modes = {Mode::resident, Mode::end_to_end};
  info.input =
      "the initial state: a .npy array in the --precision, n x n for jacobi2d and star, n*n x n "
      "for heat3d";
  info.host_bytes = host_bytes;
  info.size_of_input = size_of_input;
  info.check = check;
  info.shape = shape;
  info.make = make;
  return info;
}

}  // namespace mgpu
