#include "suites/pipeline/problem.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <sstream>

#include "lib/base/error.hpp"
#include "lib/base/quantity.hpp"
#include "lib/base/quote.hpp"
#include "lib/workload/npy.hpp"
#include "lib/workload/pages.hpp"
#include "suites/common/option_values.hpp"

namespace mgpu::pipeline {
namespace {

constexpr std::string_view names[] = {"hash",     "transform", "product", "reduction",
                                      "tropical", "dual",      "clifford"};
static_assert(std::size(names) == kinds);
// Default number of batches: the first and the last, in which devices wait, then take 3 % of a
// pipeline's time.
constexpr std::uint64_t batches_of_all = 32, most_by_itself = 65536;

Error refused_stages(const std::string& text, const std::string& why) {
  return refused_option(
      "stages",
      in_quotes(text) + ": " + why +
          "; expected: up to 16 of hash, transform, product, reduction, tropical, dual and "
          "clifford, separated by commas, each with a number of passes from 1 to 1024 if "
          "it likes: hash:8,transform,reduction");
}

Stage stage_of(const std::string& text, const std::string& all) {
  Stage stage;
  const std::size_t colon = text.find(':');
  const std::string name = text.substr(0, colon);
  const auto found = std::find(std::begin(names), std::end(names), name);
  if (found == std::end(names)) throw refused_stages(all, "no stage is called " + in_quotes(name));
  stage.kind = static_cast<Kind>(found - std::begin(names));
  if (colon == std::string::npos) return stage;
  const char *begin = text.data() + colon + 1, *end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(begin, end, stage.passes);
  if (error != std::errc() || rest != end || stage.passes < 1 || stage.passes > most_passes)
    throw refused_stages(all, in_quotes(text.substr(colon + 1)) + " is not a number of passes");
  return stage;
}

std::uint32_t width_of(const SuiteParams& params) {
  const std::uint32_t width = count_of_option(params, "width", most_width);
  if (width < least_width || !std::has_single_bit(width))
    throw refused_option("width", in_quotes(params.options.at("width")) +
                                      "; expected: a power of two from 8 to 4096");
  return width;
}

std::uint64_t records_in(const SuiteParams& params, std::uint32_t width, bool real) {
  const NpyShape shape =
      read_npy_shape(*params.input, "--input", real ? NpyNumbers::real : NpyNumbers::int32);
  if (shape.element != 4)
    throw Error(ErrorKind::input,
                "--input: " + params.input->string() + " has float64 numbers; expected: float32");
  if (shape.columns != width)
    throw Error(ErrorKind::input, "--input: " + params.input->string() + " has " +
                                      std::to_string(shape.columns) +
                                      " columns; expected with --width " + std::to_string(width) +
                                      ": " + std::to_string(width) + ", one a word");
  return shape.rows;
}

void check_fused(const Problem& problem) {
  const std::string* why = nullptr;
  static const std::string hash = "hash takes one work-item per record, other stages take many",
                           narrow = "stages after a reduction have records of another width",
                           chain = "--place pipeline runs stages on several devices";
  if (problem.place == Place::stages) why = &chain;
  for (std::size_t s = 0; s < problem.stages.size(); ++s) {
    if (problem.stages[s].kind == Kind::hash) why = &hash;
    if (problem.stages[s].kind == Kind::reduction && s + 1 < problem.stages.size()) why = &narrow;
  }
  if (why != nullptr)
    throw refused_option("fuse", *why +
                                     "; expected: --place data or auto, and --stages of product, "
                                     "transform, tropical, dual and clifford, then at most one "
                                     "reduction");
}

}  // namespace

std::string Stage::name() const {
  const std::string name(names[static_cast<std::size_t>(kind)]);
  return passes == 1 ? name : name + ':' + std::to_string(passes);
}

std::uint32_t Problem::widest() const {
  std::uint32_t widest = width_after();
  for (const Stage& stage : stages) widest = std::max(widest, stage.width);
  return widest;
}

Bytes Problem::most_handed_over() const {
  std::uint32_t most = reduced_width;
  for (std::size_t s = 1; s < stages.size(); ++s) most = std::max(most, stages[s].width);
  return std::min(batch, records) * most * 4;
}

std::vector<Stage> stages_of(const std::string& text, std::uint32_t width) {
  std::vector<Stage> stages;
  std::istringstream parts(text + ',');
  for (std::string part; std::getline(parts, part, ',');) {
    stages.push_back(stage_of(part, text));
    stages.back().width = width;
    width = stages.back().width_after();
  }
  if (stages.size() > most_stages)
    throw refused_stages(text, std::to_string(stages.size()) + " stages are too many");
  return stages;
}

Problem problem_of(const SuiteParams& params) {
  Problem problem;
  const std::uint32_t width = width_of(params);
  problem.stages = stages_of(params.options.at("stages"), width);
  const std::string& place = params.options.at("place");
  problem.place = place == "pipeline" ? Place::stages : place == "data" ? Place::data : Place::open;
  problem.seed = params.seed;
  problem.fuse = params.has_flag("fuse");
  if (problem.fuse) check_fused(problem);
  problem.records =
      params.input ? records_in(params, width, problem.stages.front().is_real()) : params.size;
  if (problem.records < 1 || problem.records > most_records)
    throw Error(params.input ? ErrorKind::input : ErrorKind::usage,
                (params.input ? "--input: " : "--size: ") + std::to_string(problem.records) +
                    " records; expected: 1 to " + std::to_string(most_records));
  const std::uint64_t widest = most_of_batch / 4 / width;
  if (params.options.at("batch") == "auto") {
    const std::uint64_t wanted = ceil_div(problem.records, batches_of_all);
    problem.batch = std::clamp<std::uint64_t>(wanted, 1, std::min(most_by_itself, widest));
  } else {
    problem.batch = count_of_option(params, "batch", most_records);
    if (std::min(problem.batch, problem.records) > widest)
      throw refused_option("batch", in_quotes(params.options.at("batch")) +
                                        "; expected with --width " + std::to_string(width) +
                                        ": 1 to " + std::to_string(widest) +
                                        ", as a batch has at most " +
                                        format_bytes(static_cast<double>(most_of_batch)));
  }
  return problem;
}

Shape shape_of(const Problem& problem) {
  Shape shape;
  const bool by_stages = problem.place == Place::stages;
  shape.items = by_stages ? problem.stages.size() : problem.batches();
  shape.unit = by_stages ? ItemUnit{"stages"} : ItemUnit{"records", problem.records};
  shape.rounds = by_stages ? u32(problem.batches()) : 0;
  shape.result_on_devices = true;
  shape.ops = static_cast<double>(problem.records);
  shape.rate_unit = "records/s";
  shape.bytes_in = problem.in_bytes();
  shape.bytes_out = problem.out_bytes();
  shape.spread_cost();
  // Stages with the same number of operations have about the same rate, so that rates of one chain
  // predict another.
  shape.work_unit = "Op/s";
  shape.cost.ops = 0;
  for (const Stage& stage : problem.stages)
    shape.cost.ops += operations(stage) * shape.ops / static_cast<double>(shape.items);
  return shape;
}

Bytes host_bytes(const Problem& problem) {
  return in_pages(problem.in_bytes()) + in_pages(problem.out_bytes());
}

// A block of SHA-256 is 64 rounds of 14 operations and 48 words of the schedule of 10 (rotations
// count as one). A butterfly of the transform is three multiplications, four additions and two
// minima. A multiply-add counts as two, and so do an addition and a minimum.
double operations(const Stage& stage) {
  const double width = stage.width, passes = stage.passes;
  switch (stage.kind) {
    case Kind::hash:
      return passes * (std::floor(width / 16) + 1) * (64 * 14 + 48 * 10) + width * passes * 2;
    case Kind::transform:
      return passes * width / 2 * std::log2(width) * 9;
    case Kind::product:
    case Kind::tropical:
      return passes * width * std::min(width, 16.0) * 2;
    case Kind::reduction:
      return passes * width * 3;
    case Kind::dual:  // per coefficient and pair two multiply-adds and a multiplication
      return passes * width / 2 * 8 * 5;
    case Kind::clifford:
      return passes * width * 8 * 2;
  }
  return 0;
}

}  // namespace mgpu::pipeline
