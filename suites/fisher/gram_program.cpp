// Copies and launches of one device, with kernels/fisher_gram*.cl, fisher_combine.cl and
// fisher_scores.cl.
#include "suites/fisher/gram_program.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace mgpu::fisher {
GramProgram::GramProgram(GramWorkload& workload, DeviceResources& device, Mode mode, Items fits)
    : workload_(workload),
      problem_(workload.problem()),
      blocks_(workload.blocks()),
      mode_(mode),
      kernels_(make_gram_kernels(device, problem_)),
      layout_(gram_layout(device.traits(), problem_, blocks_, kernels_.variant.tile, mode, fits)),
      forest_(blocks_.items) {
  for (const Kernel* kernel :
       {kernels_.combine_blocks.get(), kernels_.combine_nodes.get(), kernels_.divide.get(),
        kernels_.probabilities.get(), kernels_.make_scores.get()})
    if (kernel != nullptr) local_ = group_of(local_, *kernel);
  for (unsigned i = 0; i < layout_.input_buffers; ++i) input_[i] = device.allocate(layout_.input);
  params_ = device.allocate(layout_.params);
  scores_ = device.allocate(layout_.scores);
  probabilities_ = device.allocate(layout_.probabilities);
  partials_ = device.allocate(layout_.partials);
  if (Peer* peer = device.peer(); peer != nullptr && workload.gram_exchange() != nullptr) {
    place_ = peer->self();
    nodes_ = &workload.gram_exchange()->nodes().piece(*place_);
  } else {
    own_nodes_ = device.allocate(layout_.nodes);
    nodes_ = own_nodes_.get();
  }
}

// Uploads rows [first, end) of the input to a slot's buffer, each to a multiple of 16 bytes.
void GramProgram::upload_rows(std::uint64_t first, std::uint64_t end, unsigned slot,
                              Stream& stream) {
  const Bytes row = problem_.width * problem_.element(),
              stride = stride_of(problem_, problem_.width) * problem_.element();
  if (first >= end) return;
  const std::span<const std::byte> from =
      workload_.data().input().subspan(first * row, (end - first) * row);
  if (stride == row) return stream.upload(*input_[slot], 0, from);
  stream.upload_rows(*input_[slot], from.data(), {row, end - first, 0, stride, row});
}

void GramProgram::upload_params(Stream& stream) {
  if (!workload_.data().params().empty()) stream.upload(*params_, 0, workload_.data().params());
}

void GramProgram::load(Stream& stream) {
  upload_rows(0, blocks_.rows, 0, stream);
  upload_params(stream);
}

void GramProgram::prepare(Stream& stream) {
  forest_.clear();
  landed_.clear();
  if (mode_ == Mode::end_to_end) upload_params(stream);
}

void GramProgram::enqueue(const Slice& slice, unsigned slot, Stream& stream) {
  const unsigned buffer = mode_ == Mode::end_to_end ? slot : 0;
  const std::uint64_t begin = blocks_.first_row(slice.begin);
  if (mode_ == Mode::end_to_end) upload_rows(begin, blocks_.first_row(slice.end), buffer, stream);
  if (blocks_.blocks == 0) return;
  // Pieces begin at multiples of their length, so that a piece is one node if possible.
  for (Items item = slice.begin; item < slice.end;) {
    const Items end = std::min(slice.end, (item / layout_.piece + 1) * layout_.piece);
    compute_piece(item, end, mode_ == Mode::end_to_end ? begin : 0, buffer, stream);
    combine_piece(item, end, stream);
    item = end;
  }
}

void GramProgram::compute_piece(Items first, Items end, std::uint64_t buffer_start, unsigned slot,
                                Stream& stream) {
  const std::uint64_t blocks = blocks_.first_block(end) - blocks_.first_block(first),
                      tiles = tiles_of(problem_.dim, kernels_.variant.tile);
  std::uint64_t row = blocks_.first_row(first) - buffer_start,
                row_end = blocks_.first_row(end) - buffer_start;
  Buffer* from = input_[slot].get();
  std::uint64_t stride = stride_of(problem_, problem_.width);
  if (problem_.model != Model::scores) {
    make_scores(row, row_end - row, slot, stream);
    from = scores_.get();
    stride = stride_of(problem_, problem_.dim);
    row_end = (row_end - row) * problem_.scores;
    row = 0;
  }
  const std::size_t threads = kernels_.variant.threads;
  stream.launch(*kernels_.gram, {{tiles * threads, blocks, 1}, {threads, 1, 1}},
                {from, u32(stride), row, row_end, u32(blocks_.block_rows * problem_.scores),
                 u32(problem_.dim), partials_.get()});
}

void GramProgram::make_scores(std::uint64_t first, std::uint64_t rows, unsigned slot,
                              Stream& stream) {
  const std::uint32_t stride = u32(stride_of(problem_, problem_.width)),
                      score_stride = u32(stride_of(problem_, problem_.dim));
  const std::uint64_t vectors = rows * problem_.scores;
  stream.launch(*kernels_.probabilities, grid_of(rows, local_),
                {input_[slot].get(), stride, first, rows, params_.get(), probabilities_.get()});
  constexpr std::uint64_t most = 32768;  // most work-groups along the second dimension
  for (std::uint64_t at = 0; at < vectors; at += most) {
    const std::uint64_t count = std::min(vectors - at, most);
    stream.launch(*kernels_.make_scores,
                  {{round_up(problem_.dim, local_), count, 1}, {local_, 1, 1}},
                  {input_[slot].get(), stride, first, at, vectors, probabilities_.get(),
                   scores_.get(), score_stride});
  }
}

void GramProgram::combine_piece(Items first, Items end, Stream& stream) {
  for (const block_tree::TreeNode& node : block_tree::cover(first, end, blocks_.items))
    combine_node(node, blocks_.first_block(node.begin()) - blocks_.first_block(first), stream);
}

// Adds up a node of a piece from its blocks, the first of which is number `first_block` of the
// partials. A node of more than 16 blocks becomes several nodes of 16.
void GramProgram::combine_node(const block_tree::TreeNode& node, std::uint64_t first_block,
                               Stream& stream) {
  constexpr unsigned most = Blocks::most_height;  // most levels that a launch adds up
  const std::uint64_t begin = blocks_.first_block(node.begin()),
                      blocks = blocks_.first_block(node.end(blocks_.items)) - begin;
  const unsigned levels = std::min(node.level + blocks_.height, most),
                 item_level = levels - blocks_.height;
  const std::uint64_t groups = (blocks + (std::uint64_t{1} << levels) - 1) >> levels,
                      tiles = tiles_of(problem_.dim, kernels_.variant.tile);
  const std::uint64_t elements = tiles * kernels_.variant.tile * kernels_.variant.tile;
  stream.launch(*kernels_.combine_blocks,
                {{round_up(elements / kernels_.combine_lanes, local_), groups, 1}, {local_, 1, 1}},
                {partials_.get(), u32(tiles), u32(first_block), u32(blocks), levels, problem_.dim,
                 nodes_, node.begin(), Items{1} << item_level});
  for (std::uint64_t g = 0; g < groups; ++g)
    forest_.add({item_level, (node.begin() >> item_level) + g});
}

// Adds up elements [begin, end) of the nodes as far as possible.
void GramProgram::combine_nodes(NodeForest& forest, const Part& elements, Stream& stream) {
  for (const Combination& step : forest.combine()) {
    stream.launch(*kernels_.combine_nodes,
                  {{round_up(elements.size(), local_), step.groups, 1}, {local_, 1, 1}},
                  {nodes_, problem_.triangle(), elements.begin, elements.end, step.first,
                   step.stride, step.child_stride, step.count});
  }
}

void GramProgram::divide_root(const NodeForest& forest, const Part& elements, Stream& stream) {
  for (const block_tree::TreeNode& node : forest.nodes()) {
    if (node.begin() != 0 || node.end(blocks_.items) != blocks_.items) continue;
    stream.launch(*kernels_.divide, grid_of(elements.size(), local_),
                  {nodes_, elements.begin, elements.end,
                   std::bit_cast<std::uint64_t>(static_cast<double>(blocks_.rows))});
  }
}

Completion GramProgram::collect(Stream& stream) {
  if (!combines_with_others()) {
    bring_nodes(stream);
    return [this] { hand_over(); };
  }
  combine_nodes(forest_, {0, problem_.triangle()}, stream);
  return [this] { workload_.gram_exchange()->set_nodes(*place_, forest_.nodes()); };
}

void GramProgram::bring_nodes(Stream& stream) {
  const Part all{0, problem_.triangle()};
  combine_nodes(forest_, all, stream);
  divide_root(forest_, all, stream);
  for (const block_tree::TreeNode& node : forest_.nodes()) {
    landed_.push_back(workload_.landing(node));
    stream.download(*nodes_, node.begin() * all.size() * sizeof(double),
                    std::as_writable_bytes(landed_.back().values));
  }
  forest_.clear();
}

// If `together`, adds up this device's part of the elements of all nodes, which the other devices
// put into its memory, and brings that part.
Completion GramProgram::bring(bool together, Stream& stream) {
  if (!combines_with_others()) return {};
  if (!together) {
    bring_nodes(stream);
    return [this] { hand_over(); };
  }
  GramExchange& exchange = *workload_.gram_exchange();
  const std::uint64_t triangle = problem_.triangle();
  const std::vector<DeviceIndex> others = others_of(exchange.members(), *place_);
  for (const DeviceIndex member : others) {
    const Part theirs = exchange.part(member, triangle);
    for (const block_tree::TreeNode& node : forest_.nodes()) {
      const Bytes at = (node.begin() * triangle + theirs.begin) * sizeof(double);
      exchange.peer(*place_).put(*nodes_, at, exchange.nodes(), member, at,
                                 theirs.size() * sizeof(double));
    }
  }
  exchange.peer(*place_).sync(others, others);
  NodeForest all(blocks_.items);
  for (const block_tree::TreeNode& node : exchange.all_nodes()) all.add(node);
  const Part mine = exchange.part(*place_, triangle);
  if (mine.size() == 0 || all.nodes().empty()) return {};
  combine_nodes(all, mine, stream);
  divide_root(all, mine, stream);
  stream.download(*nodes_, mine.begin * sizeof(double),
                  std::as_writable_bytes(workload_.combined().subspan(mine.begin, mine.size())));
  return [this, elements = mine.size()] { workload_.add_combined(elements); };
}

void GramProgram::hand_over() {
  workload_.add_partials(landed_);
  landed_.clear();
}

}  // namespace mgpu::fisher
