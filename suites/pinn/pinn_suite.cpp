// The pinn suite's registration: name, options and sizes.
#include <fmt/format.h>

#include "suites/pinn/domain_workload.hpp"
#include "suites/pinn/ensemble_workload.hpp"
#include "suites/pinn/pinn_workload.hpp"
#include "suites/pinn/state_file.hpp"
#include "suites/suites.hpp"

namespace mgpu {

SuiteInfo pinn_suite();

namespace {

using namespace pinn;

// Estimates host memory: parameters and moments, twice, checkpoints, and gradients of all shards
// for verification. Unsupported sizes need more than any host has.
Bytes host_bytes(const SuiteParams& params) {
  if (params.size > most_points) return ~Bytes{0};
  const Problem problem = problem_of(params);
  const Bytes parameters = Network{problem.layers, problem.width}.count() * sizeof(float);
  if (problem.partition == Partition::domain)
    return problem.parts * (20 * parameters + Bytes{problem.steps} * 24);
  if (problem.partition == Partition::ensemble)
    return problem.members * (20 * parameters + Bytes{problem.steps} * 24);
  const Bytes residuals = problem.compressed ? 12 * Bytes{problem.blocks()} : 0;
  return (residuals + 2 * Bytes{problem.shards} + 2 * Bytes{problem.snapshots} + 20) * parameters +
         Bytes{problem.steps} * 24;
}

std::vector<std::map<std::string, std::string>> swept(
    const std::map<std::string, std::string>& options) {
  std::vector<std::map<std::string, std::string>> all{options};
  if (options.at("gradients") != "both") return all;
  all.push_back(options);
  all[0]["gradients"] = "fp32";
  all[1]["gradients"] = "bf16";
  return all;
}

void check(const SuiteParams& params) { problem_of(params); }

// Makes a training short: a hundred steps of a large network, or the 15,000 of deepxde, would take
// seconds in each of a dozen executions.
void shorten(SuiteParams& params) {
  params.options["iterations"] = "8";
  params.options["snapshots"] = "0";
  if (params.options.at("partition") == "ensemble") params.options["members"] = "4";
}

std::uint64_t size_of_input(SuiteParams& params) { return points_in_state_file(*params.input); }

Shape shape(const SuiteParams& params) { return shape_of(problem_of(params)); }

std::unique_ptr<Workload> make(const SuiteParams& params) {
  if (params.options.at("partition") == "domain") return std::make_unique<DomainWorkload>(params);
  if (params.options.at("partition") == "ensemble")
    return std::make_unique<EnsembleWorkload>(params);
  return std::make_unique<PinnWorkload>(params);
}

// Warns about GPUs that exchange after too little work; on CPUs a step takes longer than an
// exchange.
std::vector<std::string> doubts(const SuiteParams& params) {
  const Problem problem = problem_of(params);
  constexpr double enough = 2e9;  // FLOP per step: 50 us on an H200
  const double flop = problem.flop_per_point() * problem.points;
  if (params.devices < 2 || params.cpus || problem.partition != Partition::data || flop >= enough)
    return {};
  return {
      fmt::format("a step of {} x {} at {} points is {:.2g} GFLOP, a few microseconds of a GPU, "
                  "after each of which devices "
                  "exchange gradients: more of them make it no faster; --partition ensemble trains "
                  "several networks at once",
                  problem.layers, problem.width, problem.points, flop / 1e9)};
}

}  // namespace

SuiteInfo pinn_suite() {
  using Option = SuiteOption::Kind;
  SuiteInfo info;
  info.name = "pinn";
  info.summary =
      "Training of a physics-informed network, split by points; devices exchange gradients after "
      "each step";
  info.size_name = "points";
  info.default_size = 8192;
  info.quick_size = 1024;
  info.full_size = 65536;
  info.full_size_cpu = 64;
  info.options = {
      {"problem",
       "Equation: burgers and allen-cahn in one space dimension and time, helmholtz and poisson in "
       "two space dimensions",
       {"burgers", "allen-cahn", "helmholtz", "poisson"}},
      {"preset",
       "Network, steps and weights that other options leave open: large is 4 x 256, small 3 x 20; "
       "from the literature: deepxde 3 x 20, raissi 8 x 20; auto: large, or small if all devices "
       "are CPUs",
       {"auto", "large", "small", "deepxde", "raissi"}},
      {"partition",
       "What devices share: the points of one network (data); the domain, with one network per "
       "part, which is another problem (domain); or an ensemble of networks of different seeds, "
       "each trained by one device (ensemble)",
       {"data", "domain", "ensemble"}},
      {"parts",
       "Parts of the domain along the first input; auto: 4, or the number of devices if that is "
       "larger",
       {"auto"},
       Option::count},
      {"members",
       "Networks of an ensemble, with consecutive seeds from --seed; auto: 8",
       {"auto"},
       Option::count},
      {"layers", "Hidden layers (tanh)", {"auto"}, Option::count},
      {"width", "Neurons per hidden layer", {"auto"}, Option::count},
      {"iterations", "Steps per sample", {"auto"}, Option::count},
      {"shards",
       "Groups of points whose gradients are added along a fixed tree, a power of two; auto: 128",
       {"auto"},
       Option::count},
      {"gradients",
       "Gradients that devices exchange: fp32, or bf16 with error feedback, which halves the "
       "bytes; "
       "rounded the same way on any number of devices; both: one problem each, next to each other",
       {"fp32", "bf16", "both"}},
      {"boundary-points",
       "Points on the boundary; auto: a 16th of the points, but at most 128 or a 256th of them, "
       "and at least one per shard",
       {"auto"},
       Option::count},
      {"initial-points",
       "Points of the initial state; auto: as on the boundary, if the equation has any",
       {"auto"},
       Option::count},
      {"learning-rate", "Learning rate of Adam", {"0.001"}, Option::number},
      {"decay",
       "Factor by which the learning rate falls gradually over --decay-steps steps",
       {"0.9"},
       Option::number},
      {"decay-steps",
       "Steps in which the learning rate falls by the factor --decay",
       {"2000"},
       Option::number},
      {"constraints",
       "Boundary and initial values: terms of the loss (soft), or built into the network (hard)",
       {"soft", "hard"}},
      {"data-weight",
       "Weight of boundary and initial points in the loss; auto: that of the preset, else 10",
       {"auto"},
       Option::number},
      {"resample", "Draw new points every N steps", {"never"}, Option::count},
      {"checkpoint-rounds",
       "Checkpoint every N steps, from which a sample that loses a device restarts; none: it "
       "restarts from the beginning",
       {"none"},
       Option::count},
      {"snapshots",
       "Number of parameter sets that are saved at equal intervals, to show how the error of the "
       "solution falls during training",
       {"24"},
       Option::count},
      {"compute",
       "Computation of gradients: one work-group per shard in local memory (shards), or all points "
       "layer by layer with tiled products (layers)",
       {"auto", "shards", "layers"}},
  };
  info.modes = {Mode::resident, Mode::end_to_end};
  info.has_kernel_variants = true;
  info.tuned_options = {"compute"};
  info.input = "a training to continue: the .npy array that run pinn --save-data wrote";
  info.host_bytes = host_bytes;
  info.size_of_input = size_of_input;
  info.check = check;
  info.optional.make_short = shorten;
  info.optional.swept = swept;
  info.optional.caveats = doubts;
  info.shape = shape;
  info.make = make;
  return info;
}

}  // namespace mgpu
