#include "suites/pipeline/stage_kernels.hpp"

#include <algorithm>

#include "lib/workload/splitmix64.hpp"
#include "suites/common/build_option.hpp"

namespace mgpu::pipeline {
namespace {

constexpr std::uint64_t prime = 998244353, generator = 3;
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
  if (stage.kind == Kind::transform) return roots_of(stage.width);
  if (stage.kind == Kind::product) return matrix_of(problem, std::min(stage.width, 16u));
  return {};
}

}  // namespace

std::vector<std::uint32_t> matrix_of(const Problem& problem, std::uint32_t side) {
  constexpr std::uint64_t apart = 0x9d2c5680;  // separates it from the seed of records
  std::vector<std::uint32_t> matrix(std::size_t{side} * side);
  for (std::size_t i = 0; i < matrix.size(); ++i)
    matrix[i] = static_cast<std::uint32_t>(splitmix64(problem.seed ^ apart, i) >> 32) | 1;
  return matrix;
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
    : device_(device), problem_(problem), group_(group) {
  static constexpr const char* entries[] = {"hash", "transform", "product", "reduce"};
  const DeviceTraits& traits = device.traits();
  std::string options = define("GROUP", group_);
  if (traits.cpu) options += " -DROLLED";
  if (traits.nvidia) options += " -DMULTIPLY_ADDS";
  for (const Stage& stage : problem.stages) {
    items_.push_back(std::min<std::size_t>(
        stage.width / 2, std::min<std::size_t>(traits.max_work_group, traits.cpu ? 8 : 128)));
    kernels_.push_back(
        device.kernel("pipeline.cl", entries[static_cast<std::size_t>(stage.kind)],
                      options + define("WIDTH", stage.width) + define("ITEMS", items_.back())));
    const std::vector<std::uint32_t> table = table_of(problem, stage);
    tables_.push_back(table.empty() ? nullptr : device.allocate(table.size() * 4));
    if (!table.empty())
      device.try_out([&](Stream& stream) {
        stream.upload(*tables_.back(), 0, std::as_bytes(std::span(table)));
      });
  }
  for (auto& buffer : buffers_) buffer = device.allocate(buffer_bytes(problem));
}

void StageKernels::run(std::size_t first, std::size_t end, const Records& from, const Records& to,
                       std::uint64_t count, Stream& stream) {
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
    case Kind::product: {
      const std::size_t rows = count * (stage.width / std::min(stage.width, 16u));
      stream.launch(kernel, grid_of(rows, group_),
                    {from.buffer, from.word, to.buffer, to.word, number, stage.passes, table});
      break;
    }
    case Kind::reduction:
      stream.launch(kernel, grid_of(count * reduced_width, group_),
                    {from.buffer, from.word, to.buffer, to.word, number, stage.passes});
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
