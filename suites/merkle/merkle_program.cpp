#include "suites/merkle/merkle_program.hpp"

#include <algorithm>

#include "suites/merkle/sha256.hpp"

namespace mgpu::merkle {
namespace {

constexpr std::size_t words_per_digest = 8;
constexpr char file[] = "merkle.cl";

std::span<std::byte> bytes_of(std::vector<std::uint32_t>& words) {
  return std::as_writable_bytes(std::span(words));
}

Digest digest_at(const std::vector<std::uint32_t>& words, std::size_t i) {
  return from_words(std::span(words).subspan(i * words_per_digest).first<words_per_digest>());
}

}  // namespace

MerkleProgram::MerkleProgram(MerkleWorkload& workload, DeviceResources& device, Mode mode,
                             Items fits)
    : workload_(workload),
      traits_(device.traits()),
      mode_(mode),
      layout_(layout(traits_, workload.kind(), workload.geometry(), mode, fits)),
      passes_(passes(traits_, workload.kind(), workload.geometry().height)) {
  const std::string options =
      kernel_options(traits_, workload.kind(), workload.leaves().unused_bits() != 0);
  reduce_ = device.kernel(file, "reduce", options);
  if (!traits_.cpu) group_ = device.kernel(file, "reduce_group", options);
  for (unsigned i = 0; i < layout_.leaf_buffers; ++i) leaves_[i] = device.allocate(layout_.leaves);
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
    const std::uint64_t first = geometry.first_leaf(item),
                        last = geometry.first_leaf(std::min(slice.end, item + layout_.piece));
    const std::uint32_t unused_bits =
        last == geometry.leaves ? workload_.leaves().unused_bits() : 0;
    reduce_piece(leaves, first - buffer_start, last - first, unused_bits, item, stream);
  }
  pending_.push_back({slice.begin, slice.end});
  owned_.push_back({slice.begin, slice.end});
}

// Reduces leaves first .. first + count - 1 of `leaves` to the roots of the items from first_item
// on; the last leaf leaves `unused_bits` of its 256 bits unused. Launches are in order, so the next
// piece may use the scratch buffers again. With no leaves, the launches have nothing to do.
void MerkleProgram::reduce_piece(Buffer& leaves, std::uint64_t first, std::uint64_t count,
                                 std::uint32_t unused_bits, Items first_item, Stream& stream) {
  Buffer* in = &leaves;
  std::uint64_t nodes = count;
  for (std::size_t i = 0; i < passes_.size(); ++i) {
    const Pass& pass = passes_[i];
    const bool last = i + 1 == passes_.size();
    const std::uint64_t a_group = std::uint64_t{pass.group ? 1 : lanes(traits_)} << pass.levels;
    Buffer* out = last ? item_roots_.get() : scratch_[i % 2].get();
    launch(pass, *in, *out, i == 0 ? first : 0, nodes, last ? first_item : 0,
           std::max<std::uint64_t>(1, ceil_div(nodes, a_group)), stream, i == 0 ? unused_bits : 0);
    nodes = (nodes + (std::uint64_t{1} << pass.levels) - 1) >> pass.levels;
    in = out;
  }
}

void MerkleProgram::launch(const Pass& pass, Buffer& in, Buffer& out, std::uint64_t first,
                           std::uint64_t count, std::uint64_t out_first, std::uint64_t groups,
                           Stream& stream, std::uint32_t unused_bits) {
  const std::uint32_t levels = pass.levels, flags = pass.flags, one = 1;
  if (pass.group) {
    // Half as many work-items as the largest tree has nodes would all work only on its first level.
    // Fewer than 32 take as many lanes of a GPU as 32, and implementations that compile a kernel
    // for each work-group size (PoCL) would do so for each of them. If every compute unit has a
    // group, 32 is best: on upper levels only the first 32 of a larger group work, and as those of
    // all groups are on the same schedulers, half of an NVIDIA GPU's schedulers would be idle.
    const std::size_t half = std::size_t{1} << (levels > 1 ? levels - 1 : 0);
    const std::size_t most = groups >= traits_.compute_units ? 32 : 256;
    const std::size_t local =
        std::min({traits_.max_work_group, most, std::max<std::size_t>(half, 32)});
    const LocalBytes digests{digest_bytes << (levels > 1 ? levels - 1 : 0)};
    stream.launch(*group_, grid_of(groups * local, local),
                  {&in, &out, tasks_.get(), count, out_first, levels, flags, one, digests});
    return;
  }
  const std::size_t local = traits_.cpu ? 1 : std::min<std::size_t>(traits_.max_work_group, 128);
  const std::size_t global = round_up(groups, local);
  stream.launch(
      *reduce_, grid_of(global, local),
      {&in, &out, tasks_.get(), first, count, out_first, levels, flags, one, unused_bits});
}

Completion MerkleProgram::collect(Stream& stream) {
  nodes_collected_.clear();
  task_words_.clear();
  const Geometry& geometry = workload_.geometry();
  if (geometry.leaves > 0) {
    for (const Range& range : coalesce(pending_)) {
      for (const TreeNode& node : cover(range.begin, range.end, geometry.items)) {
        nodes_collected_.push_back(node);
        task_words_.push_back(static_cast<std::uint32_t>(node.begin()));
        task_words_.push_back(static_cast<std::uint32_t>(node.end(geometry.items) - node.begin()));
      }
    }
  }
  pending_.clear();
  if (nodes_collected_.empty()) return {};
  std::uint32_t largest = 1;
  for (std::size_t i = 1; i < task_words_.size(); i += 2)
    largest = std::max(largest, task_words_[i]);
  stream.upload(*tasks_, 0, bytes_of(task_words_));
  launch({!traits_.cpu, std::max(1u, ceil_log2(largest)), tasks}, *item_roots_, *nodes_, 0,
         geometry.items, 0, nodes_collected_.size(), stream);
  node_words_.resize(nodes_collected_.size() * words_per_digest);
  stream.download(*nodes_, 0, bytes_of(node_words_));
  return [this] {
    std::vector<Partial> partials;
    for (std::size_t i = 0; i < nodes_collected_.size(); ++i)
      partials.push_back({nodes_collected_[i], digest_at(node_words_, i)});
    workload_.add_partials(partials);
  };
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
        roots.push_back(digest_at(published_words_, i));
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
    const auto words = to_words(partial.digest);
    std::copy(words.begin(), words.end(),
              row_words_.begin() + static_cast<std::ptrdiff_t>(at * words_per_digest));
    row_words_[items * words_per_digest + at] = partial.node.level;
  }
  stream.upload(*rows_, 0, bytes_of(row_words_));
  launch({true, std::max(1u, ceil_log2(items)), covered}, *rows_, *nodes_, 0, items, 0, 1, stream);
  node_words_.resize(words_per_digest);
  stream.download(*nodes_, 0, bytes_of(node_words_));
  return [this] { workload_.set_root(digest_at(node_words_, 0)); };
}

}  // namespace mgpu::merkle
