#include "suites/pipeline/stage_kernels.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "lib/workload/splitmix64.hpp"
#include "suites/common/build_option.hpp"
#include "suites/common/group_limits.hpp"
#include "suites/common/uniform_element.hpp"

namespace mgpu::pipeline {
namespace {

constexpr std::uint64_t prime = 998244353, generator = 3;
constexpr std::uint32_t row_words = 16;
constexpr unsigned tries = 5;  // timed executions per stage

std::uint64_t power(std::uint64_t base, std::uint64_t exponent) {
  std::uint64_t result = 1;
  for (; exponent > 0; exponent >>= 1, base = base * base % prime)
    if (exponent & 1) result = result * base % prime;
  return result;
}

// Returns powers of a root of unity of order `width`, each followed by floor(w 2^32 / prime).
std::vector<std::uint32_t> roots_of(std::uint32_t width) {
  const std::uint64_t root = power(generator, (prime - 1) / width);
  std::vector<std::uint32_t> roots;
  std::uint64_t w = 1;
  for (std::uint32_t i = 0; i < width / 2; ++i, w = w * root % prime) {
    roots.push_back(static_cast<std::uint32_t>(w));
    roots.push_back(static_cast<std::uint32_t>((w << 32) / prime));
  }
  return roots;
}

std::vector<std::uint32_t> table_of(const Problem& problem, const Stage& stage) {
  const std::uint32_t side = std::min(stage.width, row_words);
  if (stage.kind == Kind::transform) return roots_of(stage.width);
  if (stage.kind == Kind::product) return matrix_of(problem, side);
  std::vector<std::uint32_t> words;
  for (const float number : numbers_of(problem, stage.kind, side))
    words.push_back(std::bit_cast<std::uint32_t>(number));
  return words;
}

// What the kernel of stages of rows is built for.
struct RowStages {
  std::string options;
  std::vector<std::uint32_t> table;  // tables of stages of rows first
};

RowStages rows_of(const Problem& problem, std::size_t first, std::size_t end, bool passes_given) {
  static constexpr const char* macros[kinds] = {"",         "TRANSFORM", "PRODUCT", "",
                                                "TROPICAL", "DUAL",      "CLIFFORD"};
  RowStages rows;
  std::vector<std::size_t> at(end - first);
  const auto append = [&](bool by_rows) {
    for (std::size_t s = first; s < end; ++s) {
      const Stage& stage = problem.stages[s];
      if (stage.by_rows() != by_rows || stage.kind == Kind::reduction) continue;
      at[s - first] = rows.table.size();
      const auto table = table_of(problem, stage);
      rows.table.insert(rows.table.end(), table.begin(), table.end());
    }
  };
  append(true);
  rows.options += define("TABLES", std::max<std::size_t>(rows.table.size(), 1));
  append(false);
  std::string stages;
  bool transforms = false;
  for (std::size_t s = first; s < end; ++s) {
    const Stage& stage = problem.stages[s];
    if (problem.takes_words(s)) stages += "NUMBERS()";
    if (stage.kind == Kind::reduction) {
      rows.options += define("REDUCED", stage.passes);
      continue;
    }
    transforms |= stage.kind == Kind::transform;
    stages += std::string(macros[static_cast<std::size_t>(stage.kind)]) + '(' +
              (passes_given ? std::to_string(stage.passes) : "passes") + ',' +
              std::to_string(at[s - first]) + ')';
  }
  rows.options += define("HALVES", transforms ? 2 : 1) + " -DSTAGES=" + stages;
  return rows;
}

}  // namespace

std::vector<std::uint32_t> matrix_of(const Problem& problem, std::uint32_t side) {
  constexpr std::uint64_t apart = 0x9d2c5680;  // separates it from the seed of records
  std::vector<std::uint32_t> matrix(std::size_t{side} * side);
  for (std::size_t i = 0; i < matrix.size(); ++i)
    matrix[i] = static_cast<std::uint32_t>(splitmix64(problem.seed ^ apart, i) >> 32) | 1;
  return matrix;
}

std::vector<float> numbers_of(const Problem& problem, Kind kind, std::uint32_t side) {
  constexpr std::uint64_t apart = 0x71c9bb4e;
  const auto uniform = [&](std::uint64_t i) {
    const auto of_kind = static_cast<std::uint64_t>(kind) << 32;
    return uniform_element<float>(splitmix64(problem.seed ^ apart ^ of_kind, i), false);
  };
  std::vector<float> numbers;
  if (kind == Kind::tropical) {
    for (std::uint32_t i = 0; i < side * side; ++i)
      numbers.push_back(i % (side + 1) == 0 ? 0.0f : std::fabs(uniform(i)));
  } else if (kind == Kind::dual) {
    for (std::uint32_t i = 0; i < 8; ++i) numbers.push_back(uniform(i) / 4);
  } else if (kind == Kind::clifford) {
    double even[4], norm = 0;  // of 1, e12, e13, e23
    for (std::uint32_t i = 0; i < 4; ++i) {
      even[i] = static_cast<double>(uniform(i));
      norm += even[i] * even[i];
    }
    for (double& x : even) x /= std::sqrt(norm);
    const double angle = static_cast<double>(uniform(4)), c = std::cos(angle), s = std::sin(angle);
    // e123 times e12, e13 and e23 is -e3, e2 and -e1. The blades are 1, e1, e2, e12, e3, ...
    for (const double x : {even[0] * c, -even[3] * s, even[2] * s, even[1] * c, -even[1] * s,
                           even[2] * c, even[3] * c, even[0] * s})
      numbers.push_back(static_cast<float>(x));
  }
  return numbers;
}

std::size_t fused_group(const Problem& problem, std::size_t group) {
  for (const Stage& stage : problem.stages)
    if (!stage.by_rows())
      return std::max<std::size_t>(group, problem.width() / std::min(problem.width(), row_words));
  return group;
}

Bytes buffer_bytes(const Problem& problem) {
  return std::min(problem.batch, problem.records) * problem.widest() * 4;
}

// Returns the work-group sizes. A work-group of 64 needs 4.25 KiB for its rows, so that local
// memory is no limit; PoCL compiles a loop over the work-items of each.
std::vector<std::size_t> groups_for(const DeviceTraits& device) {
  std::vector<std::size_t> groups;
  for (const std::size_t group :
       device.cpu ? std::vector<std::size_t>{16, 64} : std::vector<std::size_t>{64, 128, 256})
    if (group <= device.max_work_group) groups.push_back(group);
  if (groups.empty()) groups.push_back(std::max<std::size_t>(1, device.max_work_group));
  return groups;
}

std::string variant_name(std::size_t group) { return "groups of " + std::to_string(group); }

StageKernels::StageKernels(DeviceResources& device, const Problem& problem, std::size_t group)
    : device_(device),
      problem_(problem),
      group_(problem.fuse ? fused_group(problem, group) : group) {
  static constexpr const char* entries[kinds] = {"hash",     "transform", "product", "reduce",
                                                 "tropical", "dual",      "clifford"};
  for (auto& buffer : buffers_) buffer = device.allocate(buffer_bytes(problem));
  if (problem.fuse) {
    add_kernel("fused", 0, problem.stages.size());
    return;
  }
  for (std::size_t s = 0; s < problem.stages.size(); ++s)
    add_kernel(entries[static_cast<std::size_t>(problem.stages[s].kind)], s, s + 1);
}

// Adds the kernel of stages [first, end) and its table.
void StageKernels::add_kernel(const std::string& entry, std::size_t first, std::size_t end) {
  const DeviceTraits& traits = device_.traits();
  const Stage& stage = problem_.stages[first];
  std::string options = define("GROUP", group_) + define("WIDTH", stage.width);
  if (traits.cpu) options += " -DROLLED";
  std::vector<std::uint32_t> table;
  if (problem_.fuse || stage.by_rows()) {
    RowStages rows = rows_of(problem_, first, end, problem_.fuse);
    options += " -DROWS=" + entry + rows.options;
    table = std::move(rows.table);
    if (table.empty()) table.push_back(0);  // a kernel copies one word at least
  } else {
    if (traits.nvidia) options += " -DMULTIPLY_ADDS";
    table = table_of(problem_, stage);
  }
  const bool transforms = !problem_.fuse && stage.kind == Kind::transform;
  const std::size_t most = std::min<std::size_t>(
      stage.width / 2, std::min<std::size_t>(traits.max_work_group, traits.cpu ? 8 : 128));
  kernels_.push_back(
      make_first_suited(transforms ? halves_of(most) : std::vector{most}, [&](std::size_t items) {
        const bool by_rows = problem_.fuse || stage.by_rows();
        auto made = device_.kernel("pipeline.cl", entry,
                                   by_rows ? options : options + define("ITEMS", items));
        items_.push_back(items);
        return made;
      }));
  tables_.push_back(table.empty() ? nullptr : device_.allocate(table.size() * 4));
  if (!table.empty())
    device_.try_out([&](Stream& stream) {
      stream.upload(*tables_.back(), 0, std::as_bytes(std::span(table)));
    });
}

void StageKernels::run(std::size_t first, std::size_t end, const Records& from, const Records& to,
                       std::uint64_t count, Stream& stream) {
  if (problem_.fuse) return launch(0, from, to, count, stream);
  Records now = from;
  for (std::size_t s = first; s < end; ++s) {
    const Records next = s + 1 == end ? to : Records{buffers_[s % 2].get(), 0};
    launch(s, now, next, count, stream);
    now = next;
  }
}

void StageKernels::launch(std::size_t s, const Records& from, const Records& to,
                          std::uint64_t count, Stream& stream) {
  const Stage& stage = problem_.stages[s];
  const auto number = static_cast<std::uint32_t>(count);
  Kernel& kernel = *kernels_[s];
  Buffer* const table = tables_[s].get();
  if (problem_.fuse || stage.by_rows()) {
    const std::size_t rows = count * (stage.width / std::min(stage.width, row_words));
    stream.launch(kernel, grid_of(rows, group_),
                  {from.buffer, from.word, to.buffer, to.word, number, stage.passes, table});
    return;
  }
  switch (stage.kind) {
    case Kind::hash:
      stream.launch(
          kernel, grid_of(count, group_),
          {from.buffer, from.word, to.buffer, to.word, number, stage.passes, std::uint32_t{1}});
      break;
    case Kind::transform:
      stream.launch(kernel, grid_of(count * items_[s], items_[s]),
                    {from.buffer, from.word, to.buffer, to.word, number, stage.passes, table});
      break;
    case Kind::reduction:
      stream.launch(kernel, grid_of(kernel, count * reduced_width, group_),
                    {from.buffer, from.word, to.buffer, to.word, number, stage.passes});
      break;
    default:  // stages of rows
      break;
  }
}

std::optional<double> StageKernels::seconds_of(std::size_t stage, Buffer& to) {
  std::optional<Nanos> best;
  for (unsigned n = 0; n <= tries; ++n) {  // the first may compile
    const auto took = device_.try_out([&](Stream& stream) {
      launch(stage, {buffers_[0].get(), 0}, {&to, 0}, std::min(problem_.batch, problem_.records),
             stream);
    });
    if (!took) return std::nullopt;
    if (n > 0 && (!best || *took < *best)) best = took;
  }
  return seconds(*best);
}

// Fills the buffers with words such as stages see: a GPU that computes with zeros needs less power,
// and is faster.
void StageKernels::fill_buffers() {
  std::vector<std::uint64_t> words(buffer_bytes(problem_) / 8);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = splitmix64(problem_.seed, i);
  device_.try_out([&](Stream& stream) {
    for (const auto& buffer : buffers_) stream.upload(*buffer, 0, std::as_bytes(std::span(words)));
  });
}

std::optional<StageTimes> StageKernels::measure(Buffer* next) {
  if (problem_.fuse) return std::nullopt;
  fill_buffers();
  StageTimes times;
  for (std::size_t s = 0; s < problem_.stages.size(); ++s) {
    const auto keeps = seconds_of(s, *buffers_[1]);
    if (!keeps) return std::nullopt;
    times.keeps.push_back(*keeps);
    if (next == nullptr) continue;
    const bool last = s + 1 == problem_.stages.size();
    times.hands_over.push_back(last ? *keeps : *seconds_of(s, *next));
  }
  return times;
}

}  // namespace mgpu::pipeline
