#include "suites/pac/shifts.hpp"

#include <map>

#include "lib/workload/splitmix64.hpp"
#include "suites/common/block_tree.hpp"

namespace mgpu::pac {
namespace {

using block_tree::reversed;

constexpr unsigned class_bits = block_tree::ceil_log2(shift_classes);
// Separates the random numbers of shifts from those of series.
constexpr std::uint64_t shift_stream = 0x7061632d73686966u;

}  // namespace

bool can_transform(const Problem& problem) {
  return problem.power_of_two() && problem.samples >= least_transformed &&
         problem.samples <= most_transformed;
}

unsigned size_bits(const Problem& problem) {
  return can_transform(problem) && problem.samples > 2048 ? 15 : 16;
}

std::uint64_t shift_of(const Problem& problem, std::uint64_t n) {
  __extension__ using Wide = unsigned __int128;
  const std::uint64_t bits = splitmix64(splitmix64(problem.seed, 0) ^ shift_stream, n);
  return 1 + static_cast<std::uint64_t>(Wide{bits} * (problem.samples - 1) >> 64);
}

ShiftList shift_list(const Problem& problem) {
  std::map<std::uint64_t, std::uint32_t> times{{0, ShiftEntry::observed}};
  for (std::uint64_t n = 0; n < problem.surrogates; ++n) ++times[shift_of(problem, n)];
  ShiftList list;
  for (std::uint32_t c = 0; c < shift_classes; ++c) {
    list.first[c] = static_cast<std::uint32_t>(list.entries.size());
    for (const auto& [shift, count] : times)
      if (shift % shift_classes == reversed(c, class_bits))
        list.entries.push_back({static_cast<std::uint32_t>(shift), count});
  }
  list.first[shift_classes] = static_cast<std::uint32_t>(list.entries.size());
  return list;
}

std::vector<ShiftNode> nodes_of(const ShiftList& list, Items begin, Items end) {
  std::vector<ShiftNode> nodes;
  for (const block_tree::TreeNode& node : block_tree::cover(begin, end, shift_classes)) {
    const Items first = node.begin(), last = node.end(shift_classes);
    const unsigned bits = class_bits - node.level;
    nodes.push_back({std::uint32_t{1} << bits,
                     reversed(static_cast<std::uint32_t>(node.index), bits), list.first[first],
                     list.first[last] - list.first[first]});
  }
  return nodes;
}

}  // namespace mgpu::pac
