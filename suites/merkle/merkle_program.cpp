#include "suites/merkle/merkle_program.hpp"

#include <algorithm>

#include "suites/merkle/hash.hpp"

namespace mgpu::merkle {
namespace {

constexpr std::size_t words_per_digest = 8;
constexpr char file[] = "merkle.cl", leaves_file[] = "merkle_leaves.cl";

std::span<std::byte> bytes_of(std::vector<std::uint32_t>& words) {
  return std::as_writable_bytes(std::span(words));
}

Digest digest_at(Hash hash, const std::vector<std::uint32_t>& words, std::size_t i) {
  return from_words(hash, std::span(words).subspan(i * words_per_digest).first<words_per_digest>());
}

}  // namespace

MerkleProgram::MerkleProgram(MerkleWorkload& workload, DeviceResources& device, Mode mode,
                             Items fits)
    : workload_(workload),
      traits_(device.traits()),
      mode_(mode),
      layout_(layout(traits_, workload.rules(), workload.geometry(), mode, fits)),
      passes_(passes(traits_, workload.rules(), workload.geometry().height)),
      odd_flag_(workload.rules().is_bitcoin() && workload.geometry().leaves > 1 ? odd_twice : 0u) {
  const std::string options =
      kernel_options(traits_, workload.rules(), workload.leaves().unused_bytes() != 0);
  reduce_ = device.kernel(file, "reduce", options);
  if (!traits_.cpu) group_ = device.kernel(file, "reduce_group", options);
  if (layout_.digests != 0) {
    hash_leaves_ = device.kernel(leaves_file, "hash_leaves", options);
    digests_ = device.allocate(layout_.digests);
  }
  for (unsigned i = 0; i < layout_.leaf_buffers; ++i)
    leaves_[i] = allocate_input(device, layout_.leaves, mode);
  for (unsigned i = 0; i < 2; ++i) scratch_[i] = device.allocate(layout_.scratch[i]);
  item_roots_ = device.allocate(layout_.rows);
  nodes_ = device.allocate(layout_.rows);
  rows_ = device.allocate(layout_.rows);
  tasks_ = device.allocate(layout_.tasks);
}

void MerkleProgram::load(Stream& stream) {
  const auto bytes = workload_.leaves().bytes();
  if (!bytes.empty()) stream.upload(*leaves_[0], 0, bytes);
}

void MerkleProgram::prepare(Stream&) {
  pending_.clear();
  owned_.clear();
}

void MerkleProgram::enqueue(const Slice& slice, unsigned slot, Stream& stream) {
  const Geometry& geometry = workload_.geometry();
  const std::uint64_t begin = geometry.first_leaf(slice.begin),
                      end = geometry.first_leaf(slice.end);
  Buffer& leaves = mode_ == Mode::resident ? *leaves_[0] : *leaves_[slot];
  if (mode_ == Mode::end_to_end && begin < end)
    stream.upload(leaves, 0, workload_.leaves().bytes(begin, end));
  const std::uint64_t buffer_start = mode_ == Mode::resident ? 0 : begin;
  for (Items item = slice.begin; item < slice.end; item += layout_.piece) {
    const Items item_end = std::min(slice.end, item + layout_.piece);
    reduce_piece(leaves, geometry.first_leaf(item) - buffer_start, item, item_end, stream);
  }
  pending_.push_back({slice.begin, slice.end});
  owned_.push_back({slice.begin, slice.end});
}

// Reduces items begin .. end - 1, whose leaves begin at `first` of `leaves`, to their roots.
// Launches are in order, so the next piece may use the scratch buffers again. With no leaves, the
// launches have nothing to do.
void MerkleProgram::reduce_piece(Buffer& leaves, std::uint64_t first, Items begin, Items end,
                                 Stream& stream) {
  Buffer* in = &leaves;
  const Bytes unused =
      end == workload_.geometry().items ? workload_.leaves().unused_bytes() : Bytes{0};
  if (digests_) {
    const Geometry& geometry = workload_.geometry();
    hash_leaves(leaves, first, geometry.first_leaf(end) - geometry.first_leaf(begin), unused,
                stream);
    in = digests_.get();
    first = 0;
  }
  const std::vector<Segments> all = segments(traits_, passes_, workload_.geometry(), begin, end);
  for (std::size_t i = 0; i < passes_.size(); ++i) {
    const bool last = i + 1 == passes_.size();
    Buffer* out = last ? item_roots_.get() : scratch_[i % 2].get();
    Pass pass = passes_[i];
    pass.flags |= odd_flag_;
    launch(pass, all[i], *in, *out, i == 0 ? first : 0, last ? begin : 0, stream,
           i == 0 && !digests_ ? u32(8 * unused) : 0);
    in = out;
  }
}

// Hashes `count` leaves from leaf `first` of `leaves` on to digests_. The last one is `unused`
// bytes shorter than the others.
void MerkleProgram::hash_leaves(Buffer& leaves, std::uint64_t first, std::uint64_t count,
                                Bytes unused, Stream& stream) {
  const Bytes bytes = workload_.rules().leaf_bytes;
  const std::uint64_t whole = count - (unused != 0);
  const auto launch_part = [&](std::uint64_t from, std::uint64_t end, Bytes length) {
    if (from == end) return;
    const std::uint32_t one = 1;
    stream.launch(
        *hash_leaves_,
        grid_of(*hash_leaves_, ceil_div(end - from, lanes(traits_)), traits_.cpu ? 1 : 128),
        {&leaves, digests_.get(), (first + from) * bytes, from, end - from, u32(bytes), u32(length),
         one});
  };
  launch_part(0, whole, bytes);
  launch_part(whole, count, bytes - unused);
}

void MerkleProgram::launch(const Pass& pass, const Segments& segments, Buffer& in, Buffer& out,
                           std::uint64_t first, std::uint64_t out_first, Stream& stream,
                           std::uint32_t unused_bits) {
  const std::uint32_t levels = pass.levels, flags = pass.flags, one = 1;
  const std::uint64_t groups = segments.groups * segments.count;
  if (pass.group) {
    // Half as many work-items as the largest tree has nodes would all work only on its first level.
    // Fewer than 32 take as many lanes of a GPU as 32, and implementations that compile a kernel
    // for each work-group size (PoCL) would do so for each of them. If every compute unit has a
    // group, 32 is best: on upper levels only the first 32 of a larger group work, and as those of
    // all groups are on the same schedulers, half of an NVIDIA GPU's schedulers would be idle.
    const std::size_t half = std::size_t{1} << (levels > 1 ? levels - 1 : 0);
    const std::size_t most = groups >= traits_.compute_units ? 32 : 256;
    const std::size_t local = group_of(std::min(most, std::max<std::size_t>(half, 32)), *group_);
    const LocalBytes digests{digest_bytes << (levels > 1 ? levels - 1 : 0)};
    stream.launch(*group_, grid_of(groups * local, local),
                  {&in, &out, tasks_.get(), segments.full, segments.last, segments.in_stride,
                   segments.per_tree, segments.first, out_first, levels, flags, one, digests});
    return;
  }
  stream.launch(*reduce_, grid_of(*reduce_, groups, traits_.cpu ? 1 : 128),
                {&in, &out, tasks_.get(), first, segments.full, segments.last, segments.in_stride,
                 segments.groups, segments.count, segments.per_tree, segments.first, out_first,
                 segments.out_stride, levels, flags, one, unused_bits});
}

// Reduces each of `tasks_`, (first, count) of rows, to one row of `nodes_`.
void MerkleProgram::launch_tasks(Buffer& rows, std::uint32_t flags, Stream& stream) {
  std::uint32_t largest = 1;
  for (std::size_t i = 1; i < task_words_.size(); i += 2)
    largest = std::max(largest, task_words_[i]);
  stream.upload(*tasks_, 0, bytes_of(task_words_));
  Segments all;
  all.full = all.last = workload_.geometry().items;
  all.groups = task_words_.size() / 2;
  launch({!traits_.cpu, std::max(1u, ceil_log2(largest)), flags | tasks}, all, rows, *nodes_, 0, 0,
         stream);
  node_words_.resize(all.groups * words_per_digest);
  stream.download(*nodes_, 0, bytes_of(node_words_));
}

// Brings the roots of whole trees as they are, and those of items as the nodes that cover them.
Completion MerkleProgram::collect(Stream& stream) {
  collected_.clear();
  const Geometry& geometry = workload_.geometry();
  const std::vector<Range> ranges =
      geometry.leaves == 0 ? std::vector<Range>{} : coalesce(pending_);
  pending_.clear();
  if (geometry.per_tree == 1) {
    node_words_.resize(geometry.items * words_per_digest);
    for (const Range& range : ranges) {
      stream.download(
          *item_roots_, range.begin * digest_bytes,
          bytes_of(node_words_)
              .subspan(collected_.size() * digest_bytes, (range.end - range.begin) * digest_bytes));
      for (Items tree = range.begin; tree < range.end; ++tree) collected_.push_back({tree, {}, {}});
    }
  } else {
    task_words_.clear();
    for (const Range& range : ranges) collect_cover(range);
    if (!collected_.empty()) launch_tasks(*item_roots_, 0, stream);
  }
  if (collected_.empty()) return {};
  return [this] {
    for (std::size_t i = 0; i < collected_.size(); ++i)
      collected_[i].digest = digest_at(workload_.rules().hash, node_words_, i);
    workload_.add_partials(collected_);
  };
}

// Adds the nodes of each tree that cover its part of the range, and their tasks.
void MerkleProgram::collect_cover(const Range& range) {
  const Items per_tree = workload_.geometry().per_tree;
  for (Items begin = range.begin; begin < range.end;) {
    const std::uint64_t tree = begin / per_tree;
    const Items first = tree * per_tree, end = std::min(range.end, first + per_tree);
    for (const TreeNode& node :
         cover_items(workload_.rules(), begin - first, end - first, per_tree)) {
      collected_.push_back({tree, node, {}});
      task_words_.push_back(u32(first + node.begin()));
      task_words_.push_back(u32(node.end(per_tree) - node.begin()));
    }
    begin = end;
  }
}

Completion MerkleProgram::publish(Stream& stream) {
  if (workload_.geometry().leaves == 0) owned_.clear();
  owned_ = coalesce(owned_);
  published_words_.assign(workload_.geometry().items * words_per_digest, 0);
  for (const Range& range : owned_) {
    const Bytes offset = range.begin * digest_bytes;
    stream.download(
        *item_roots_, offset,
        bytes_of(published_words_).subspan(offset, (range.end - range.begin) * digest_bytes));
  }
  return [this] {
    for (const Range& range : owned_) {
      std::vector<Digest> roots;
      for (Items i = range.begin; i < range.end; ++i)
        roots.push_back(digest_at(workload_.rules().hash, published_words_, i));
      workload_.add_item_roots(range.begin, roots);
    }
  };
}

// Lays out the partials as rows at their first items, followed by the level of each, so that one
// launch combines them all.
Completion MerkleProgram::merge(Stream& stream) {
  constexpr std::uint32_t inside_a_node = 32;
  const Items items = workload_.geometry().items;
  row_words_.assign(items * (words_per_digest + 1), 0);
  std::fill(row_words_.begin() + static_cast<std::ptrdiff_t>(items * words_per_digest),
            row_words_.end(), inside_a_node);
  for (const Partial& partial : workload_.frontier()) {
    const Items at = partial.node.begin();
    const auto words = to_words(workload_.rules().hash, partial.digest);
    std::copy(words.begin(), words.end(),
              row_words_.begin() + static_cast<std::ptrdiff_t>(at * words_per_digest));
    row_words_[items * words_per_digest + at] = partial.node.level;
  }
  stream.upload(*rows_, 0, bytes_of(row_words_));
  task_words_ = {0, u32(items)};
  launch_tasks(*rows_, covered | odd_flag_, stream);
  return [this] { workload_.set_roots({digest_at(workload_.rules().hash, node_words_, 0)}); };
}

}  // namespace mgpu::merkle
