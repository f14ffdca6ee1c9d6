#include "suites/fisher/gram_layout.hpp"

#include <algorithm>

#include "lib/base/quantity.hpp"
#include "suites/fisher/gram_kernels.hpp"

namespace mgpu::fisher {
namespace {

// Most work-groups along the second dimension of a launch.
constexpr std::uint64_t most_groups = 32768;

Bytes input_bytes(const Problem& problem, std::uint64_t rows) {
  return std::max(least_buffer, rows * stride_of(problem, problem.width) * problem.element());
}

std::string in_words(Bytes bytes) { return format_bytes(static_cast<double>(bytes)); }

}  // namespace

Bytes GramLayout::largest() const {
  return std::max({input, scores, probabilities, partials, nodes});
}

Bytes GramLayout::total() const {
  return input_buffers * input + params + scores + probabilities + partials + nodes;
}

Bytes node_bytes(const Problem& problem, const Blocks& blocks) {
  return std::max(least_buffer, blocks.items * problem.triangle() * sizeof(double));
}

GramLayout gram_layout(const DeviceTraits& device, const Problem& problem, const Blocks& blocks,
                       unsigned tile, Mode mode, Items fits) {
  GramLayout plan;
  const std::uint64_t item_blocks = std::uint64_t{1} << blocks.height,
                      item_rows = item_blocks * blocks.block_rows;
  plan.input_buffers = mode == Mode::end_to_end ? 2 : 1;
  plan.input = input_bytes(
      problem, mode == Mode::end_to_end ? std::min(blocks.rows, fits * item_rows) : blocks.rows);
  plan.params = std::max(least_buffer, problem.params_bytes());
  const Bytes block = tiles_of(problem.dim, tile) * tile * tile * problem.element();
  const Bytes scores = problem.model == Model::scores
                           ? 0
                           : blocks.block_rows * problem.scores * stride_of(problem, problem.dim) *
                                 problem.element();
  // A launch computes whole items, in about 32 waves of blocks on a large GPU, so that idle
  // work-groups at its end do not matter.
  const Bytes room = std::clamp<Bytes>(device.global_memory / 32, Bytes{64} << 20, Bytes{4} << 30);
  const std::uint64_t blocks_at_once =
      std::clamp<std::uint64_t>(room / (block + scores), 1, most_groups);
  plan.piece = std::max<Items>(1, blocks_at_once >> blocks.height);
  // Aligned pieces whose length is a power of two consist of the fewest nodes.
  while ((plan.piece & (plan.piece - 1)) != 0) plan.piece &= plan.piece - 1;
  const std::uint64_t piece_blocks =
      std::min(std::min(plan.piece, std::max<Items>(fits, 1)) * item_blocks,
               std::max<std::uint64_t>(blocks.blocks, 1));
  plan.partials = std::max(least_buffer, piece_blocks * block);
  plan.scores = std::max(least_buffer, piece_blocks * scores);
  plan.probabilities = std::max(
      least_buffer, problem.model == Model::scores
                        ? 0
                        : piece_blocks * blocks.block_rows * problem.classes * problem.element());
  plan.nodes = node_bytes(problem, blocks);
  return plan;
}

Capacity gram_capacity(const DeviceTraits& device, const Problem& problem, const Blocks& blocks,
                       unsigned tile, Mode mode) {
  Capacity capacity;
  const Bytes usable = device.usable_memory();
  const auto plan_for = [&](Items fits) {
    return gram_layout(device, problem, blocks, tile, mode, fits);
  };
  const auto too_large = [&](const GramLayout& plan) {
    return plan.largest() > device.max_allocation || plan.total() > usable;
  };
  capacity.fits = blocks.items;
  GramLayout plan = plan_for(capacity.fits);
  const bool slots = mode == Mode::end_to_end;
  while (slots && capacity.fits > 1 && (too_large(plan) || plan.input > largest_slot)) {
    capacity.fits = (capacity.fits + 1) / 2;
    plan = plan_for(capacity.fits);
  }
  if (too_large(plan)) {
    capacity.fits = 0;
    capacity.reason = std::string(slots ? "two slices of the input" : "the input") +
                      " and the partial matrices (" + in_words(plan.total()) +
                      ") do not fit the device: " + in_words(device.max_allocation) + " at once, " +
                      in_words(usable) + " in all";
    return capacity;
  }
  capacity.resident = plan.total();
  capacity.pipeline = capacity.fits;
  if (slots) {
    // Sixteen slices let copies overlap compute. A slice has at least 8 MiB (1 MiB for CPUs); below
    // that the cost of launches matters.
    const Bytes item = std::max<Bytes>(
        1, input_bytes(problem, std::uint64_t{1} << blocks.height) * blocks.block_rows);
    const Items enough = std::max<Items>(1, (Bytes{device.cpu ? 1u : 8u} << 20) / item);
    capacity.pipeline =
        std::clamp<Items>(std::max((blocks.items + 15) / 16, enough), 1, capacity.fits);
  }
  return capacity;
}

std::vector<block_tree::TreeNode> NodeForest::nodes() const {
  std::vector<block_tree::TreeNode> all;
  for (const auto& [first, node] : nodes_) all.push_back(node);
  return all;
}

// Combines up to four levels in one launch. The children are at the level of the highest node that
// is there, but at most four levels below; children that are missing are built first.
void NodeForest::build(const block_tree::TreeNode& wanted, std::vector<Combination>& out) {
  const auto found = nodes_.find(wanted.begin());
  if (found != nodes_.end() && found->second.level >= wanted.level) return;
  const Items end = wanted.end(items_);
  unsigned highest = 0;
  for (auto at = nodes_.lower_bound(wanted.begin()); at != nodes_.end() && at->first < end; ++at) {
    highest = std::max(highest, at->second.level);
  }
  const unsigned below = std::max(highest, wanted.level > 4 ? wanted.level - 4 : 0);
  Combination step{wanted.begin(), Items{1} << below, 0, 0, 1, wanted.level};
  for (Items child = wanted.begin(); child < end; child += step.child_stride, ++step.count) {
    build({below, child >> below}, out);
  }
  if (step.count > 1) out.push_back(step);
  nodes_.erase(nodes_.lower_bound(wanted.begin()), nodes_.lower_bound(end));
  add(wanted);
}

std::vector<Combination> NodeForest::combine() {
  std::vector<block_tree::Range> ranges;
  for (const auto& [first, node] : nodes_) ranges.push_back({first, node.end(items_)});
  std::vector<Combination> steps;
  for (const block_tree::Range& range : block_tree::coalesce(ranges)) {
    for (const block_tree::TreeNode& node : block_tree::cover(range.begin, range.end, items_))
      build(node, steps);
  }
  // Combinations of one level are independent. Equal ones at equal distances become one launch.
  std::stable_sort(steps.begin(), steps.end(),
                   [](const Combination& a, const Combination& b) { return a.level < b.level; });
  std::vector<Combination> joined;
  for (const Combination& step : steps) {
    if (!joined.empty()) {
      Combination& last = joined.back();
      const bool alike = last.level == step.level && last.count == step.count &&
                         last.child_stride == step.child_stride;
      const Items stride = last.groups == 1 ? step.first - last.first : last.stride;
      if (alike && step.first == last.first + last.groups * stride && last.groups < most_groups) {
        last.stride = stride;
        ++last.groups;
        continue;
      }
    }
    joined.push_back(step);
  }
  return joined;
}

}  // namespace mgpu::fisher
