#include "suites/stencil/problem.hpp"

#include <string>

#include "lib/base/error.hpp"
#include "lib/base/quote.hpp"
#include "lib/workload/npy.hpp"
#include "suites/common/option_values.hpp"

namespace mgpu::stencil {
namespace {

// Resolves --steps: "auto" is persistent if nothing rules it out.
Launches launches(const SuiteParams& params, const Problem& problem) {
  const std::string& text = params.options.at("steps");
  if (text == "enqueued") return Launches::enqueued;
  const char* why = problem.kind != Kind::jacobi2d ? "is for --kind jacobi2d"
                    : problem.columns > 1          ? "is for --split rows"
                    : problem.depth > 1            ? "exchanges after every step: --depth 1"
                                                   : nullptr;
  if (why == nullptr) return text == "persistent" ? Launches::persistent : Launches::chosen;
  if (text == "persistent")
    throw refused_option("steps", in_quotes(text) + ' ' + why + "; expected: auto, enqueued");
  return Launches::enqueued;
}

// Resolves --exchange: "auto" is by kernels if nothing rules it out.
HaloWay halo_way(const SuiteParams& params, const Problem& problem) {
  const std::string& text = params.options.at("exchange");
  if (text == "puts") return HaloWay::puts;
  const char* why = problem.columns > 1 ? "is for whole layers, which --split blocks cuts"
                    : problem.depth > 1 ? "exchanges after every step: --depth 1"
                                        : nullptr;
  if (why == nullptr) return text == "kernels" ? HaloWay::kernels : HaloWay::chosen;
  if (text == "kernels")
    throw refused_option("exchange", in_quotes(text) + ' ' + why + "; expected: auto, puts");
  return HaloWay::puts;
}

std::uint32_t checkpoint_rounds(const SuiteParams& params) {
  const std::string& text = params.options.at("checkpoint-rounds");
  if (text == "none") return 0;
  if (params.options.at("split") == "blocks")
    throw refused_option("checkpoint-rounds",
                         in_quotes(text) + " is not for --split blocks; expected with it: none");
  return count_of_option(params, "checkpoint-rounds", 1000000);
}

double rate(const SuiteParams& params, bool wide) {
  const std::string& text = params.options.at("rate");
  const std::optional<double> value = number_in(text);
  // Above this, explicit steps in three dimensions diverge.
  constexpr double stable = 1.0 / 6;
  if (value && *value > least_float && *value <= stable)
    return wide ? *value : static_cast<double>(static_cast<float>(*value));
  throw refused_option(
      "rate",
      in_quotes(text) + " is no stable step; expected: above 1.2e-38, up to 1/6 (0.166666)");
}

// Refuses options of another kind whose values differ from their defaults.
void check_kind(const SuiteParams& params, const Problem& problem) {
  const std::string& kind = params.options.at("kind");
  const auto only = [&](Kind of, const char* name, const char* option, const char* unless) {
    if (problem.kind != of && params.options.at(option) != unless)
      throw refused_option(option, in_quotes(params.options.at(option)) + " is for --kind " + name +
                                       ", not for " + kind);
  };
  only(Kind::heat3d, "heat3d", "rate", "0.1");
  only(Kind::star, "star", "radius", "2");
  only(Kind::jacobi2d, "jacobi2d", "check-every", "never");
  if (problem.kind == Kind::star && problem.depth > 1) {
    throw refused_option("depth",
                         in_quotes(params.options.at("depth")) +
                             " saves nothing with --kind star, whose steps do not build on "
                             "each other; expected: 1");
  }
}

// Returns the columns of blocks: 1 for rows, slabs and "auto", which do not cut layers.
std::uint64_t columns(const SuiteParams& params, Kind kind) {
  const std::string& split = params.options.at("split");
  const char* const layers = kind == Kind::heat3d ? "slabs" : "rows";
  if (split == "auto" || split == layers) return 1;
  if (split != "blocks")
    throw refused_option("split", in_quotes(split) + " is not for --kind " +
                                      params.options.at("kind") + "; expected: " + layers +
                                      ", blocks");
  if (params.options.at("check-every") != "never")
    throw refused_option("check-every",
                         "norms are sums of whole rows, which --split blocks cuts; expected with "
                         "them: --split rows");
  return columns_for(params.devices);
}

Initial initial(const SuiteParams& params, Kind kind) {
  const std::string& text = params.options.at("initial");
  if (params.input) {
    if (text == "auto") return Initial::file;
    throw refused_option(
        "initial", in_quotes(text) + " and --input are two initial states; expected: one of them");
  }
  if (text == "auto") return kind == Kind::star ? Initial::ramp : Initial::uniform;
  if (text == "uniform") return Initial::uniform;
  const auto of = [&](bool fits, const char* kinds, Initial found) {
    if (!fits)
      throw refused_option("initial", in_quotes(text) + " is for --kind " + kinds + ", not for " +
                                          params.options.at("kind"));
    return found;
  };
  if (text == "ramp") return of(kind == Kind::star, "star", Initial::ramp);
  if (text == "sine") return of(kind == Kind::jacobi2d, "jacobi2d", Initial::sine);
  return of(kind != Kind::star, "jacobi2d and heat3d", Initial::eigenmode);
}

void check_input(const SuiteParams& params, const Problem& problem) {
  const NpyShape shape = read_npy_shape(*params.input);
  if (shape.element == problem.element && shape.columns == problem.n &&
      shape.rows == problem.layers() * problem.rows_of_layer())
    return;
  throw Error(ErrorKind::input,
              "--input: " + params.input->string() + " is " + std::to_string(shape.rows) + " x " +
                  std::to_string(shape.columns) + " of float" + std::to_string(shape.element * 8) +
                  "; expected with --kind " + params.options.at("kind") + " --precision " +
                  params.options.at("precision") + ": " +
                  (problem.kind == Kind::heat3d ? "n*n x n" : "n x n") + " of float" +
                  std::to_string(problem.element * 8));
}

// Limits the norms, since their sums per layer are kept until the end of a sample.
void check_norms(const Problem& problem) {
  constexpr Bytes most = Bytes{1} << 28;
  const std::uint64_t fits = most / (problem.layers() * problem.element);
  if (problem.checks() <= fits) return;
  throw refused_option(
      "check-every",
      std::to_string(problem.check_every) + " makes " + std::to_string(problem.checks()) +
          " norms of " + std::to_string(problem.layers()) +
          " rows; expected: " + std::to_string(problem.steps / (fits + 1) + 1) + " or more");
}

}  // namespace

const char* name_of(Kind kind) {
  return kind == Kind::jacobi2d ? "jacobi2d" : kind == Kind::heat3d ? "heat3d" : "star";
}

Problem problem_of(const SuiteParams& params) {
  Problem problem;
  const std::string& kind = params.options.at("kind");
  problem.kind = kind == "heat3d" ? Kind::heat3d : kind == "star" ? Kind::star : Kind::jacobi2d;
  problem.n = params.size;
  problem.element = params.options.at("precision") == "fp64" ? sizeof(double) : sizeof(float);
  problem.steps = count_of_option(params, "iterations", 1000000);
  problem.depth = count_of_option(params, "depth", 64);
  const std::uint32_t radius = count_of_option(params, "radius", 4);
  problem.radius = problem.kind == Kind::star ? radius : 1;
  if (params.options.at("check-every") != "never")
    problem.check_every = count_of_option(params, "check-every", problem.steps);
  problem.checkpoint_rounds = checkpoint_rounds(params);
  problem.overlap = params.options.at("overlap") == "on";
  problem.rate = rate(params, problem.wide());
  problem.seed = params.seed;
  check_kind(params, problem);
  problem.columns = columns(params, problem.kind);
  problem.launches = launches(params, problem);
  problem.halo_way = halo_way(params, problem);
  problem.initial = initial(params, problem.kind);
  const std::uint64_t least = 2 * problem.radius + 1,
                      most = problem.kind == Kind::heat3d ? most_cells_3d : most_cells_2d;
  if (problem.n < least || problem.n > most) {
    throw refused_option(
        "size", std::to_string(problem.n) + " cells along a side; expected with --kind " + kind +
                    (problem.kind == Kind::star ? " --radius " + params.options.at("radius") : "") +
                    ": " + std::to_string(least) + " to " + std::to_string(most));
  }
  if (problem.depth > problem.layers()) {
    throw refused_option("depth", std::to_string(problem.depth) + " layers are more than the " +
                                      std::to_string(problem.layers()) + " there are");
  }
  check_norms(problem);
  if (params.input) check_input(params, problem);
  return problem;
}

Shape shape_of(const Problem& problem) {
  Shape shape;
  shape.items = problem.items();
  shape.unit = {problem.columns > 1 ? "blocks" : problem.kind == Kind::heat3d ? "slabs" : "rows"};
  shape.rounds = problem.steps;
  shape.checkpoint_rounds = problem.checkpoint_rounds;
  shape.result_on_devices = true;
  shape.ops = static_cast<double>(problem.cells()) * problem.steps;
  shape.probe_whole(1 << 29, 16);  // 5 ms on an H200
  shape.rate_unit = "updates/s";
  shape.bytes_in = shape.bytes_out = problem.host_bytes();
  shape.spread_cost();
  return shape;
}

}  // namespace mgpu::stencil
