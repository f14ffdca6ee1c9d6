// Describes the lbm suite for the tool: name, options, sizes.
#include <fmt/format.h>

#include "lib/base/error.hpp"
#include "lib/workload/npy.hpp"
#include "suites/lbm/lbm_workload.hpp"
#include "suites/suites.hpp"

namespace mgpu {

SuiteInfo lbm_suite();

namespace {

// Returns the host memory for the result, a file's content, checkpoints, and two lattices of the
// reference. These are limited, because the reference does not compute all cells of larger boxes.
// Returns the largest number for sizes beyond the limit, so that they never fit.
Bytes lbm_host_bytes(const SuiteParams& params) {
  if (params.size > lbm::most_side) return ~Bytes{0};
  const lbm::Problem problem = lbm::box_of(params);
  const Bytes reference =
      std::min(2 * problem.state_bytes() + problem.fields_bytes(), Bytes{24} << 30);
  return lbm::LbmWorkload::in_memory(problem) + reference;
}

void check_lbm(const SuiteParams& params) {
  lbm::check_devices(lbm::problem_of(params), params.memory,
                     params.options.at("planes") == "cube" ? "size" : "planes");
}

std::vector<std::string> lbm_caveats(const SuiteParams& params) {
  const lbm::Problem problem = lbm::problem_of(params);
  std::vector<std::string> doubts;
  if (problem.mach() > lbm::most_mach)
    doubts.push_back(fmt::format("--speed {} is Mach number {:.2g}: {}", params.options.at("speed"),
                                 problem.mach(), lbm::beyond_most_mach));
  // Beyond a cell Reynolds number of about ten this method is known to become unstable (Krueger et
  // al., The Lattice Boltzmann Method, 2017, 4.4).
  constexpr double most_stable = 20;
  if (problem.cell_reynolds() > most_stable)
    doubts.push_back(fmt::format("the flow may grow without bound: {}", what_is_stable(problem)));
  return doubts;
}

// Returns the side of a cube with the input's cells, or of a box with the requested number of
// planes.
std::uint64_t side_of_input(SuiteParams& params) {
  const std::uint64_t cells = read_npy_shape(*params.input).rows;
  for (std::uint64_t n = lbm::least_side; n <= lbm::most_side; ++n) {
    SuiteParams tried = params;
    tried.size = n;
    if (lbm::box_of(tried).cells() >= cells) return n;
  }
  return lbm::most_side;
}

Shape lbm_shape(const SuiteParams& params) { return lbm::shape_of(lbm::problem_of(params)); }

std::unique_ptr<Workload> make_lbm(const SuiteParams& params) {
  return std::make_unique<lbm::LbmWorkload>(params);
}

std::vector<SuiteOption> lbm_options() {
  using Option = SuiteOption::Kind;
  return {
      {"case",
       "Flow: taylor-green (a vortex, periodic on all sides), cavity (walls along x and y; the "
       "upper one moves along x) or channel (walls along y, a force along x, starting from rest)",
       {"taylor-green", "cavity", "channel"}},
      {"iterations", "Steps per sample", {"100"}, Option::count},
      {"planes", "Cells along z; cube: as many as along x and y (--size)", {"cube"}, Option::count},
      {"weak",
       "Weak scaling: one box of that size per device, stacked, instead of one that the devices "
       "share",
       {"no", "yes"},
       Option::flag},
      {"collision",
       "Collision operator: bgk (one relaxation time) or trt (two, which places walls exactly "
       "halfway between two cells)",
       {"bgk", "trt"}},
      {"relaxation-time",
       "Relaxation time tau in (0.5, 2], in steps; viscosity = (tau - 0.5) / 3",
       {"0.8"},
       Option::number},
      {"reynolds",
       "Reynolds number, speed x size / viscosity, instead of the relaxation time",
       {"none"},
       Option::number},
      {"speed",
       "Speed in cells per step, up to 0.3: the initial maximum of a vortex, the lid of a cavity, "
       "the final maximum in a channel",
       {"0.05"},
       Option::number},
      {"lattices", "two: ping-pong buffers; one: in place, half the memory", {"two", "one"}},
      {"split",
       "Domain decomposition: slabs of planes (1-D), or blocks that also divide y (2-D)",
       {"slabs", "blocks"}},
      {"depth",
       "Halo depth: exchange every N steps (N planes at once, with redundant computation)",
       {"1"},
       Option::count},
      {"storage",
       "Precision of stored populations: fp32, or fp16, which halves memory and traffic; "
       "arithmetic "
       "stays in fp32",
       {"fp32", "fp16"}},
      {"halos",
       "Precision of exchanged populations: fp32, or half, which halves the bytes; populations are "
       "then rounded at the borders of 32 blocks of planes, however many devices there are",
       {"fp32", "half"}},
      {"overlap", "Send what other devices need while the rest is computed", {"on", "off"}},
      {"kernel",
       "Work-group size along x, and which accesses bypass caches; auto: the fastest by calibrate "
       "--tune, else 256",
       {"auto", "256", "128", "64", "512", "256-stream-stores", "128-stream-stores",
        "64-stream-stores", "512-stream-stores", "256-stream-all", "128-stream-all",
        "64-stream-all", "512-stream-all"}},
      {"checkpoint-rounds",
       "Checkpoint every N steps, from which a sample that loses a device restarts; none: it "
       "restarts from the beginning",
       {"none"},
       Option::count},
  };
}

}  // namespace

SuiteInfo lbm_suite() {
  SuiteInfo info;
  info.name = "lbm";
  info.summary =
      "Lattice Boltzmann flow (D3Q19) in a box, split by planes or blocks; devices exchange halos";
  info.size_name = "side";
  info.default_size = 128;
  info.quick_size = 32;
  info.sizes_per_doubling = 2;
  info.full_size = 256;
  info.full_size_cpu = 24;
  info.optional.make_short = [](SuiteParams& params) { params.options["iterations"] = "25"; };
  info.options = lbm_options();
  info.modes = {Mode::resident, Mode::end_to_end};
  info.input =
      "initial velocities and densities, as --save-data writes them: a .npy array of float32, "
      "cells x 4";
  info.has_kernel_variants = true;
  info.tuned_options = {"lattices"};
  info.host_bytes = lbm_host_bytes;
  info.size_of_input = side_of_input;
  info.check = check_lbm;
  info.optional.caveats = lbm_caveats;
  info.shape = lbm_shape;
  info.make = make_lbm;
  return info;
}

}  // namespace mgpu
