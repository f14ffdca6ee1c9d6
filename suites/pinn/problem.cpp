#include "suites/pinn/problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>
#include <string>

#include "lib/base/error.hpp"
#include "lib/base/quote.hpp"
#include "lib/workload/splitmix64.hpp"
#include "suites/common/option_values.hpp"
#include "suites/pinn/network.hpp"
#include "suites/pinn/state_file.hpp"

namespace mgpu::pinn {
namespace {

// Networks and numbers of points known from the literature. Other options override those of
// --preset.
struct Preset {
  const char* name;
  std::uint32_t layers, width, steps;
  double data_weight;
  std::uint32_t boundary, initial;  // 0: derived from the number of points
};
constexpr Preset presets[] = {
    {"large", 4, 256, 100, 10, 0, 0},
    {"small", 3, 20, 20, 10, 0, 0},
    {"deepxde", 3, 20, 15000, 1, 80, 160},  // deepxde's example of Burgers' equation
    {"raissi", 8, 20, 10000, 1, 50, 50},    // Raissi, Perdikaris, Karniadakis 2019
};

Error refused(const char* option, const std::string& why) {
  return Error(ErrorKind::usage, "--" + (option + (": " + why)));
}

std::uint32_t count(const SuiteParams& params, const char* name, std::uint64_t least,
                    std::uint64_t most, std::uint32_t unless) {
  const std::string& text = params.options.at(name);
  if (text == "auto" || text == "never" || text == "none") return unless;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && value >= least && value <= most)
    return static_cast<std::uint32_t>(value);
  throw refused(name, in_quotes(text) + "; expected: " + std::to_string(least) + " to " +
                          std::to_string(most));
}

double number(const SuiteParams& params, const char* name, double most, double unless) {
  const std::string& text = params.options.at(name);
  if (text == "auto") return unless;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && value > least_float &&
      value <= most)
    return value;
  throw refused(name, fmt::format("{}; expected: above {:.2g}, up to {}", in_quotes(text),
                                  least_float, most));
}

std::uint32_t shards(const SuiteParams& params) {
  const std::uint32_t value = count(params, "shards", 1, 256, 128);
  if ((value & (value - 1)) != 0)
    throw refused("shards",
                  std::to_string(value) + " is no power of two; expected: 1, 2, 4 .. 256");
  if (value >= params.devices || params.options.at("partition") != "data") return value;
  throw refused("shards", std::to_string(value) + " cannot be shared by " +
                              std::to_string(params.devices) +
                              " devices; expected: at least as many as devices");
}

Equation equation(const std::string& text) {
  for (const Equation each : {Equation::burgers, Equation::allen_cahn, Equation::helmholtz})
    if (text == name_of(each)) return each;
  return Equation::poisson;
}

void check_points(const Problem& problem) {
  if (problem.initial > 0 && !problem.in_time())
    throw refused("initial-points", std::to_string(problem.initial) + " with --problem " +
                                        name_of(problem.equation) +
                                        ", which knows no time; expected with it: 0");
}

// Refuses options that only apply to one network trained step by step.
void refuse_of_several(const SuiteParams& params, const std::string& partition) {
  const auto refuse_unless = [&](const char* option, std::initializer_list<const char*> accepted) {
    const std::string& given = params.options.at(option);
    if (std::find(accepted.begin(), accepted.end(), given) == accepted.end())
      throw refused(option,
                    in_quotes(given) + " with --partition " + partition +
                        ", which trains several networks; expected with it: " + *accepted.begin());
  };
  refuse_unless("checkpoint-rounds", {"none"});
  refuse_unless("snapshots", {"0", "24"});  // 24 is the default
  if (params.input)
    throw refused(
        "input",
        params.input->string() + " with --partition " + partition +
            ", which trains several networks from the beginning; expected: --partition data");
}

void read_gradients(const SuiteParams& params, Problem& problem) {
  problem.compressed = params.options.at("gradients") == "bf16";
  if (!problem.compressed) return;
  for (const auto& [option, accepted] :
       {std::pair{"partition", "data"}, {"checkpoint-rounds", "none"}})
    if (params.options.at(option) != accepted)
      throw refused(option, in_quotes(params.options.at(option)) +
                                " is not for --gradients bf16; expected with it: " + accepted);
  if (problem.shards == 1)
    throw refused("shards",
                  "1 with --gradients bf16, which rounds sums of shards; expected with "
                  "it: 2, 4 .. 256");
}

void read_partition(const SuiteParams& params, Problem& problem) {
  const std::string& partition = params.options.at("partition");
  for (const auto& [option, of] : {std::pair{"members", "ensemble"}, {"parts", "domain"}})
    if (partition != of && params.options.at(option) != "auto")
      throw refused(option, in_quotes(params.options.at(option)) + " with --partition " +
                                partition + "; expected with it: auto");
  if (partition == "data") return;
  refuse_of_several(params, partition);
  problem.snapshots = 0;
  if (partition == "ensemble") {
    problem.partition = Partition::ensemble;
    problem.members = count(params, "members", 1, 1024, 8);
    return;
  }
  problem.partition = Partition::domain;
  problem.parts = count(params, "parts", 2, 64, std::max<std::uint32_t>(4, u32(params.devices)));
  if (problem.parts < params.devices)
    throw refused("parts", std::to_string(problem.parts) + " cannot be shared by " +
                               std::to_string(params.devices) +
                               " devices; expected: at least as many as devices");
  if (problem.hard)
    throw refused("constraints",
                  "hard with --partition domain, whose parts have ends where no value is known; "
                  "expected with it: soft");
}

}  // namespace

const char* name_of(Equation equation) {
  switch (equation) {
    case Equation::burgers:
      return "burgers";
    case Equation::allen_cahn:
      return "allen-cahn";
    case Equation::helmholtz:
      return "helmholtz";
    case Equation::poisson:
      break;
  }
  return "poisson";
}

double Problem::diffusion() const {
  return equation == Equation::burgers      ? 0.01 / std::numbers::pi
         : equation == Equation::allen_cahn ? 0.001
                                            : 0;
}

double Problem::source() const {
  constexpr double square = std::numbers::pi * std::numbers::pi;
  return equation == Equation::helmholtz ? wave() - 17 * square : -2 * square;
}

std::array<double, 4> Problem::weights() const {
  const auto of = [](double weight, std::uint32_t count) { return count > 0 ? weight / count : 0; };
  return {0, of(1, points), of(data_weight, boundary), of(data_weight, initial)};
}

Problem::Step Problem::adam(std::uint32_t step) const {
  const double done = static_cast<double>(steps_done) + step;
  const double first = 1 - std::pow(0.9, done + 1),
               second = std::sqrt(1 - std::pow(0.999, done + 1));
  const double now = rate * std::pow(decay, done / decay_steps);
  return {static_cast<float>(now * second / first), static_cast<float>(1e-8 * second)};
}

std::uint64_t Problem::seed_of_points(std::uint32_t step) const {
  return splitmix64(seed, resample > 0 ? (std::uint64_t{steps_done} + step) / resample : 0);
}

double Problem::flop_per_point() const {
  const double w = width;
  return (layers - 1) * 3 * 4 * 2 * w * w + 3 * 4 * 2 * w + 2 * 2 * 4 * w;
}

Problem Problem::member(std::uint64_t number) const {
  Problem member = *this;
  member.partition = Partition::data;
  member.members = 1;
  member.seed += number;
  return member;
}

Problem Problem::part(std::uint64_t number) const {
  constexpr double overlap = 0.1;
  const auto share = [&](std::uint32_t all) { return ceil_div(all, parts); };
  const double across = (whole().high - whole().low) / parts,
               low = whole().low + across * static_cast<double>(number);
  Problem part = member(number);
  part.parts = 1;
  part.points = share(points);
  part.initial = share(initial);
  part.goes_on_below = number > 0;
  part.goes_on_above = number + 1 < parts;
  part.range = Range{part.goes_on_below ? low - overlap * across : whole().low,
                     part.goes_on_above ? low + (1 + overlap) * across : whole().high};
  return part;
}

std::uint32_t places_of_shard(const Problem& problem) {
  std::uint64_t most = 0;
  for (std::uint64_t s = 0; s < problem.shards; ++s) {
    std::uint64_t here = 0;
    for (const std::uint64_t count : {problem.points, problem.boundary, problem.initial})
      here += points_of_shard(count, problem.shards, s).size();
    most = std::max(most, here);
  }
  return u32(most);
}

Problem problem_of(const SuiteParams& params) {
  Problem problem;
  problem.equation = equation(params.options.at("problem"));
  const std::string& name = params.options.at("preset");
  const std::string chosen = name != "auto" ? name : params.cpus ? "small" : "large";
  const auto preset = std::find_if(std::begin(presets), std::end(presets),
                                   [&](const Preset& each) { return chosen == each.name; });
  problem.layers = count(params, "layers", 2, 32, preset->layers);
  problem.width = count(params, "width", 2, 1024, preset->width);
  problem.shards = shards(params);
  if (params.size == 0 || params.size > most_points)
    throw refused("size", std::to_string(params.size) + " points; expected: 1 to " +
                              std::to_string(most_points));
  problem.points = u32(params.size);
  // 8192 points with 128 of both other kinds are two full waves of tiled products on a GPU of 132
  // multiprocessors.
  const std::uint32_t few =
      std::max(problem.shards, std::min(problem.points / 16, std::max(128U, problem.points / 256)));
  problem.boundary =
      count(params, "boundary-points", 1, 1 << 22, preset->boundary > 0 ? preset->boundary : few);
  const std::uint32_t initial = preset->initial > 0 ? preset->initial : few;
  problem.initial = count(params, "initial-points", problem.in_time() ? 1 : 0, 1 << 22,
                          problem.in_time() ? initial : 0);
  problem.hard = params.options.at("constraints") == "hard";
  if (problem.hard) {
    for (const char* const option : {"boundary-points", "initial-points", "data-weight"})
      if (params.options.at(option) != "auto")
        throw refused(option,
                      in_quotes(params.options.at(option)) +
                          " with --constraints hard, which needs no such points; expected: auto");
    problem.boundary = problem.initial = 0;
  }
  problem.steps = count(params, "iterations", 1, 1'000'000, preset->steps);
  problem.resample = count(params, "resample", 1, 1'000'000, 0);
  problem.checkpoint_rounds = count(params, "checkpoint-rounds", 1, 1'000'000, 0);
  problem.snapshots = std::min(count(params, "snapshots", 0, 1000, 24), problem.steps - 1);
  problem.rate = number(params, "learning-rate", 100, 1e-3);
  problem.decay = number(params, "decay", 1, 0.9);
  problem.decay_steps = number(params, "decay-steps", 1e9, 2000);
  const bool with_source = !problem.in_time();  // their residuals are hundreds of times as large
  problem.data_weight =
      number(params, "data-weight", 1e9, with_source ? 1000 : preset->data_weight);
  problem.seed = params.seed;
  const std::string& compute = params.options.at("compute");
  problem.compute = compute == "shards"   ? Compute::shards
                    : compute == "layers" ? Compute::layers
                                          : Compute::chosen;
  check_points(problem);
  read_partition(params, problem);
  read_gradients(params, problem);
  if (params.input) problem.steps_done = check_state_file(*params.input, problem);
  return problem;
}

namespace {

// Returns the fewest shards that keep a GPU busy in a step: all shards of small networks, whose
// shards are a work-group each.
Items shards_of_full_step(const Problem& problem, double flop) {
  constexpr double full = 2e10;  // half a millisecond on an H200
  if (problem.width <= 32 && problem.compute != Compute::layers) return problem.shards;
  Items shards = problem.shards;
  while (shards > 1 && flop / 2 >= full) {
    flop /= 2;
    shards /= 2;
  }
  return shards;
}

}  // namespace

Shape shape_of(const Problem& problem) {
  const Network network{problem.layers, problem.width};
  Shape shape;
  if (problem.partition == Partition::domain) {
    shape.items = problem.parts;
    shape.unit = {"subdomains"};
    shape.rounds = problem.steps;
    shape.result_on_devices = true;
    shape.cost.ops = static_cast<double>(problem.part(0).points) * problem.steps;
    shape.ops = shape.cost.ops * problem.parts;
    shape.rate_unit = "points/s";
    shape.cost.in_bytes = shape.cost.out_bytes =
        static_cast<double>(network.count() * 3 * sizeof(float));
    shape.bytes_in = shape.bytes_out = network.count() * 3 * sizeof(float) * problem.parts;
    return shape;
  }
  if (problem.partition == Partition::ensemble) {
    shape.items = problem.members;
    shape.unit = {"networks"};
    shape.cost.ops = static_cast<double>(problem.points) * problem.steps;
    shape.ops = shape.cost.ops * problem.members;
    shape.rate_unit = "points/s";
    shape.cost.in_bytes = static_cast<double>(network.count() * 3 * sizeof(float));
    shape.cost.out_bytes =
        static_cast<double>((network.count() * 5 + problem.steps * 3) * sizeof(float));
    shape.bytes_in = static_cast<Bytes>(shape.cost.in_bytes) * problem.members;
    shape.bytes_out = static_cast<Bytes>(shape.cost.out_bytes) * problem.members;
    return shape;
  }
  shape.items = problem.shards;
  if (problem.compressed) shape.granularity = problem.shards_of_block();
  shape.unit = {"points", problem.points};
  shape.rounds = problem.steps;
  shape.checkpoint_rounds = problem.checkpoint_rounds;
  const double flop = problem.flop_per_point() * static_cast<double>(problem.all_points());
  shape.fills_gpu = shards_of_full_step(problem, flop);
  constexpr double enough = 3e11;  // 10 ms on an H200
  const double each = flop * static_cast<double>(shape.fills_gpu) / problem.shards;
  shape.probe_rounds = static_cast<std::uint32_t>(std::clamp(enough / each, 8.0, 256.0));
  shape.result_on_devices = true;
  shape.ops = static_cast<double>(problem.points) * problem.steps;
  shape.rate_unit = "points/s";
  shape.bytes_in = shape.bytes_out = network.count() * 3 * sizeof(float);
  shape.spread_cost();
  return shape;
}

}  // namespace mgpu::pinn
