#include "suites/common/block_tree.hpp"

namespace mgpu::block_tree {

std::vector<TreeNode> cover(Items begin, Items end, Items items) {
  std::vector<TreeNode> nodes;
  while (begin < end) {
    TreeNode node{0, begin};
    // Move up while the parent begins here too and ends at or before `end`. The last node of a
    // level ends at `items`, whatever its index.
    for (TreeNode parent{1, begin >> 1}; node.end(items) - node.begin() < items &&
                                         parent.begin() == begin && parent.end(items) <= end;
         parent = {parent.level + 1, parent.index >> 1})
      node = parent;
    nodes.push_back(node);
    begin = node.end(items);
  }
  return nodes;
}

std::vector<Range> coalesce(std::vector<Range> ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const Range& a, const Range& b) { return a.begin < b.begin; });
  std::vector<Range> joined;
  for (const Range& range : ranges) {
    if (!joined.empty() && joined.back().end == range.begin) {
      joined.back().end = range.end;
    } else {
      joined.push_back(range);
    }
  }
  return joined;
}

}  // namespace mgpu::block_tree
