#include "suites/lbm/problem.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lib/base/error.hpp"
#include "lib/base/quote.hpp"
#include "lib/workload/npy.hpp"
#include "suites/common/option_values.hpp"

namespace mgpu::lbm {
namespace {

constexpr std::uint64_t kMostDepth = 16;
constexpr double kMostRelaxation = 2, kMostSpeed = 0.3;

double number(const SuiteParams& params, const char* option, double above, double most,
              const char* why) {
  const std::string& text = params.options.at(option);
  if (const std::optional<double> value = number_in(text);
      value && *value > above && *value <= most)
    return *value;
  throw refused_option(option, fmt::format("{} {}; expected: above {:.2g}, up to {}",
                                           in_quotes(text), why, above, most));
}

Flow flow_of(const std::string& text) {
  return text == "cavity" ? Flow::cavity : text == "channel" ? Flow::channel : Flow::taylor_green;
}

// Sets viscosity and relaxation rates. Viscosity is (relaxation time - 0.5) / 3.
void set_rates(const SuiteParams& params, Problem& problem) {
  const std::string &reynolds = params.options.at("reynolds"),
                    &time = params.options.at("relaxation-time");
  constexpr const char* usual_time = "0.8";
  double relaxation =
      number(params, "relaxation-time", 0.5, kMostRelaxation, "is no stable relaxation time");
  if (reynolds != "none") {
    if (time != usual_time)
      throw refused_option(
          "reynolds",
          in_quotes(reynolds) +
              " and --relaxation-time both say how viscous it is; expected: one of them");
    constexpr double most = 1e6;
    const double asked = number(params, "reynolds", least_float, most, "is no Reynolds number");
    relaxation =
        3 * static_cast<double>(problem.speed) * static_cast<double>(problem.n) / asked + 0.5;
    if (static_cast<float>(relaxation) <= 0.5F || relaxation > kMostRelaxation) {
      throw refused_option("reynolds", fmt::format("{} makes the relaxation time {:.6g} with "
                                                   "--size {} --speed {}; expected: one that makes "
                                                   "it above 0.5, up to {}",
                                                   in_quotes(reynolds), relaxation, problem.n,
                                                   params.options.at("speed"), kMostRelaxation));
    }
  }
  problem.viscosity = (relaxation - 0.5) / 3;
  problem.even_rate = problem.odd_rate = static_cast<float>(1 / relaxation);
  // With this product of (relaxation time - 0.5) of both times, a wall lies exactly between two
  // cells (Ginzburg et al. 2008).
  constexpr double magic = 3.0 / 16;
  if (params.options.at("collision") == "trt")
    problem.odd_rate = static_cast<float>(1 / (0.5 + magic / (relaxation - 0.5)));
}

// Sets the precision of populations and of halos.
void set_precision(const SuiteParams& params, Problem& problem) {
  problem.half_storage = params.options.at("storage") == "fp16";
  if (params.options.at("halos") == "fp32") return;
  for (const auto& [option, accepted] :
       {std::pair{"lattices", "two"}, {"depth", "1"}, {"split", "slabs"}, {"storage", "fp32"}})
    if (params.options.at(option) != accepted)
      throw refused_option(option, in_quotes(params.options.at(option)) +
                                       " is not for --halos half; expected with it: " + accepted);
  problem.half_block = ceil_div(problem.planes, most_half_blocks);
}

// Sets halo depth, number of lattices, and the shape of shares.
void set_split(const SuiteParams& params, Problem& problem) {
  problem.depth = count_of_option(params, "depth", kMostDepth);
  problem.overlap = params.options.at("overlap") == "on";
  problem.lattices = params.options.at("lattices") == "one" ? 1 : 2;
  if (problem.lattices == 1 && problem.depth > 1)
    throw refused_option("depth",
                         in_quotes(params.options.at("depth")) +
                             " wants --lattices two: in place every step changes what lies "
                             "beyond a border; expected with one: 1");
  set_precision(params, problem);
  if (params.options.at("split") == "slabs") return;
  const auto only = [&](bool holds, const char* option, const char* accepted) {
    if (!holds)
      throw refused_option(option, in_quotes(params.options.at(option)) +
                                       " is not for --split blocks; expected with it: " + accepted);
  };
  only(problem.lattices == 2, "lattices", "two");
  only(problem.depth == 1, "depth", "1");
  only(problem.checkpoint_rounds == 0, "checkpoint-rounds", "none");
  problem.columns = columns_for(params.devices);
}

void check_size(const SuiteParams& params, const Problem& problem) {
  if (problem.n < least_side || problem.n > most_side)
    throw refused_option("size", fmt::format("{} cells along a side; expected: {} to {}", problem.n,
                                             least_side, most_side));
  if (problem.planes > most_planes)
    throw refused_option(
        params.has_flag("weak") ? "weak" : "planes",
        fmt::format("{} planes in all; expected: up to {}", problem.planes, most_planes));
  if (problem.depth > problem.planes)
    throw refused_option(
        "depth",
        fmt::format("{} planes are more than the {} there are; expected: 1 to {}", problem.depth,
                    problem.planes, std::min<std::uint64_t>(problem.planes, kMostDepth)));
}

void check_input(const SuiteParams& params, const Problem& problem) {
  const NpyShape shape = read_npy_shape(*params.input);
  if (shape.element == sizeof(float) && shape.columns == 4 && shape.rows == problem.cells()) return;
  throw Error(ErrorKind::input,
              fmt::format("--input: {} is {} x {} of float{}; expected: {} x 4 of float32, a row "
                          "for each of {} x {} x {} "
                          "cells (--planes says how many planes)",
                          params.input->string(), shape.rows, shape.columns, shape.element * 8,
                          problem.cells(), problem.planes, problem.n, problem.n));
}

}  // namespace

const char* name_of(Flow flow) {
  return flow == Flow::cavity ? "cavity" : flow == Flow::channel ? "channel" : "taylor-green";
}

std::string what_is_stable(const Problem& problem) {
  return fmt::format(
      "{}speed {:.3g} with relaxation time {:.6g} is a cell Reynolds number (speed by viscosity) "
      "of "
      "{:.3g}; try a lower --speed or a longer --relaxation-time",
      problem.from_file ? "what --input holds, or " : "", problem.speed,
      3 * problem.viscosity + 0.5, problem.cell_reynolds());
}

// Returns the force that makes the fluid in the middle of a channel of width n as fast as `speed`
// in the end.
double Problem::force() const {
  return 8 * viscosity * static_cast<double>(speed) /
         (static_cast<double>(n) * static_cast<double>(n));
}

Problem box_of(const SuiteParams& params) {
  Problem problem;
  problem.flow = flow_of(params.options.at("case"));
  problem.from_file = params.input.has_value();
  problem.n = params.size;
  problem.planes = params.options.at("planes") == "cube"
                       ? params.size
                       : count_of_option(params, "planes", most_planes);
  if (params.has_flag("weak")) problem.planes *= params.devices;
  problem.steps = count_of_option(params, "iterations", 10000000);
  if (params.options.at("checkpoint-rounds") != "none")
    problem.checkpoint_rounds = count_of_option(params, "checkpoint-rounds", 1000000);
  return problem;
}

Problem problem_of(const SuiteParams& params) {
  Problem problem = box_of(params);
  problem.speed =
      static_cast<float>(number(params, "speed", least_float, kMostSpeed,
                                "is no speed in cells a step that this method holds for"));
  set_split(params, problem);
  check_size(params, problem);
  set_rates(params, problem);
  if (params.input) check_input(params, problem);
  return problem;
}

Shape shape_of(const Problem& problem) {
  Shape shape;
  shape.items = problem.items();
  shape.unit = {problem.columns > 1 ? "blocks" : "planes"};
  shape.granularity = std::max<Items>(problem.half_block, 1);
  shape.rounds = problem.steps;
  shape.checkpoint_rounds = problem.checkpoint_rounds;
  shape.result_on_devices = true;
  shape.ops = static_cast<double>(problem.cells()) * problem.steps;
  shape.probe_whole(1 << 29, 16);  // 20 ms on an H200
  shape.rate_unit = "LUP/s";
  shape.bytes_in = problem.from_file ? problem.fields_bytes() : 0;
  shape.bytes_out = problem.fields_bytes();
  shape.spread_cost();
  return shape;
}

}  // namespace mgpu::lbm
