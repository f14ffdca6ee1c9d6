#include "suites/stencil/problem.hpp"

#include <charconv>
#include <string>

#include "lib/base/error.hpp"
#include "lib/base/quote.hpp"
#include "lib/workload/npy.hpp"

namespace mgpu::stencil {
namespace {

// A count of at least one.
std::uint32_t count(const SuiteParams& params, const char* name, std::uint64_t most) {
  const std::string& text = params.options.at(name);
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  if (value >= 1 && value <= most) return static_cast<std::uint32_t>(value);
  throw Error(ErrorKind::usage, std::string("--") + name + ": " + in_quotes(text) + "; accepted: 1 to " + std::to_string(most));
}

std::uint32_t checkpoint_rounds(const SuiteParams& params) {
  return params.options.at("checkpoint-rounds") == "none" ? 0 : count(params, "checkpoint-rounds", 1000000);
}

float rate(const SuiteParams& params) {
  const std::string& text = params.options.at("rate");
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  constexpr double stable = 1.0 / 6;  // beyond, explicit steps in three dimensions grow without bound
  if (error == std::errc() && end == text.data() + text.size() && value > 0 && value <= stable) return static_cast<float>(value);
  throw Error(ErrorKind::usage, "--rate: " + in_quotes(text) + " is no stable step; accepted: above 0, up to 1/6 (0.166666)");
}

void check_input(const SuiteParams& params, const Problem& problem) {
  const NpyShape shape = read_npy_shape(*params.input);
  if (shape.element == sizeof(float) && shape.columns == problem.n && shape.rows == problem.layers() * problem.rows_of_layer())
    return;
  throw Error(ErrorKind::input, "--input: " + params.input->string() + " is " + std::to_string(shape.rows) + " x " +
                                    std::to_string(shape.columns) + " of " + std::to_string(shape.element * 8) +
                                    " bits; accepted: float32, n x n for jacobi2d, n*n x n for heat3d");
}

}  // namespace

Problem problem_of(const SuiteParams& params) {
  Problem problem;
  problem.kind = params.options.at("kind") == "heat3d" ? Kind::heat3d : Kind::jacobi2d;
  problem.n = params.size;
  problem.steps = count(params, "iterations", 1000000);
  problem.depth = count(params, "depth", 64);
  problem.checkpoint_rounds = checkpoint_rounds(params);
  problem.overlap = params.options.at("overlap") == "on";
  problem.rate = rate(params);
  problem.seed = params.seed;
  const std::uint64_t most = problem.kind == Kind::jacobi2d ? most_cells_2d : most_cells_3d;
  if (problem.n < 3 || problem.n > most) {
    throw Error(ErrorKind::usage, "--size: " + std::to_string(problem.n) + " cells along a side; accepted with --kind " +
                                      params.options.at("kind") + ": 3 to " + std::to_string(most));
  }
  if (problem.depth > problem.layers()) {
    throw Error(ErrorKind::usage, "--depth: " + std::to_string(problem.depth) + " layers are more than the " +
                                      std::to_string(problem.layers()) + " there are");
  }
  if (params.input) check_input(params, problem);
  return problem;
}

Shape shape_of(const Problem& problem) {
  Shape shape;
  shape.items = problem.layers();
  shape.rounds = problem.steps;
  shape.checkpoint_rounds = problem.checkpoint_rounds;
  shape.large_result = true;
  shape.ops = static_cast<double>(problem.cells()) * problem.steps;
  shape.rate_unit = "updates/s";
  shape.bytes_in = shape.bytes_out = problem.host_bytes();
  shape.cost.in_bytes = shape.cost.out_bytes = static_cast<double>(problem.cells_of_layer() * sizeof(float));
  shape.cost.ops = static_cast<double>(problem.cells_of_layer()) * problem.steps;
  return shape;
}

}  // namespace mgpu::stencil
