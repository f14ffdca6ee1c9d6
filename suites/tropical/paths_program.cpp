#include "suites/tropical/paths_program.hpp"

#include <algorithm>

#include "suites/common/product_program.hpp"

namespace mgpu::tropical {
namespace {

constexpr std::size_t close_columns = 64;  // COLUMNS of tropical_close.cl

std::uint64_t round_up(std::uint64_t n, std::uint64_t to) { return (n + to - 1) / to * to; }

}  // namespace

PathsProgram::PathsProgram(PathsWorkload& workload, DeviceResources& device, Mode mode, Kernels kernels)
    : workload_(workload),
      problem_(workload.problem()),
      blocks_(workload.blocks()),
      mode_(mode),
      kernels_(std::move(kernels)),
      peer_(device.peer()),
      group_(blocks_.inner == 64 ? 256 : 64),
      parts_(blocks_.inner == 64 ? 4 : 1) {
  const std::string options = define("T", blocks_.inner) + define("GROUP", group_) + define("PARTS", parts_) +
                              define("PATHS", problem_.paths) + define("INT32", problem_.integers) +
                              define("MAXIMUM", problem_.maximum) + define("ORDERED", 0) + (device.traits().cpu ? " -DROLLED" : "");
  const auto kernel = [&](const char* name) { return device.kernel("tropical_close.cl", name, options); };
  begin_ = kernel("begin");
  copy_rows_ = kernel("copy_rows");
  close_block_ = kernel("close_block");
  close_rows_ = kernel("close_rows");
  const Bytes state = blocks_.state_bytes(), panel = blocks_.panel_bytes();
  if (mode_ == Mode::resident) initial_ = device.allocate(state);
  state_ = device.allocate(state);
  if (problem_.paths) paths_ = device.allocate(state);
  for (unsigned i = 0; i < 2 && peer_ == nullptr; ++i) {
    own_panels_[i] = device.allocate(panel);
    if (problem_.paths) own_panel_paths_[i] = device.allocate(panel);
  }
  if (blocks_.inner < blocks_.edge) {
    inner_panel_ = device.allocate(blocks_.inner * blocks_.stride() * 4);
    if (problem_.paths) inner_paths_ = device.allocate(blocks_.inner * blocks_.stride() * 4);
  }
  const Variant& variant = kernels_.variant;
  const std::uint64_t rows = round_up(blocks_.count() * blocks_.edge, std::max(variant.panel_rows, 1u));
  packed_ = device.allocate(rows * variant.packed_inner(blocks_.edge) * 4);
  packed_inner_ = device.allocate(rows * variant.packed_inner(blocks_.inner) * 4);
  if (variant.panel_columns == 0) return;
  const std::uint64_t columns = round_up(blocks_.stride(), variant.panel_columns);
  packed_panel_ = device.allocate(columns * blocks_.edge * 4);
  packed_inner_panel_ = device.allocate(columns * blocks_.inner * 4);
}

Buffer& PathsProgram::panel(std::uint64_t block) {
  return peer_ != nullptr ? workload_.panel(block % 2)->piece(peer_->self()) : *own_panels_[block % 2];
}

Buffer& PathsProgram::panel_paths(std::uint64_t block) {
  if (!problem_.paths) return panel(block);
  return peer_ != nullptr ? workload_.panel_paths(block % 2)->piece(peer_->self()) : *own_panel_paths_[block % 2];
}

Rows PathsProgram::rows_of(const Slice& slice) const {
  const Bytes row = blocks_.vertices * 4, stride = blocks_.stride() * 4;
  const std::uint64_t first = blocks_.first(slice.begin);
  return {row, blocks_.first(slice.end) - first, first * stride, stride, row};
}

void PathsProgram::load(Stream& stream) {
  stream.upload_rows(*initial_, workload_.weights().data(), rows_of({0, blocks_.count()}));
}

void PathsProgram::enqueue(const Slice& slice, unsigned, Stream& stream) {
  sample_ = workload_.sample();
  done_ = slice;
  others_.clear();
  const auto& owners = workload_.owners();
  const auto is_mine = [&](const Owner& owner) { return peer_ != nullptr && owner.device == peer_->self(); };
  const bool shared =
      std::any_of(owners.begin(), owners.end(), [&](const Owner& owner) { return is_mine(owner) && owner.items == slice; });
  for (const Owner& owner : owners)
    if (shared && !is_mine(owner)) others_.push_back(owner.device);
  const Rows rows = rows_of(slice);
  if (mode_ == Mode::end_to_end)
    stream.upload_rows(*state_, workload_.weights().data() + blocks_.first(slice.begin) * rows.host_stride, rows);
  stream.launch(*begin_, {{blocks_.stride(), rows.count, 1}, {64, 1, 1}},
                {mode_ == Mode::resident ? initial_.get() : state_.get(), state_.get(), &paths(), u32(blocks_.first(slice.begin)),
                 u32(blocks_.vertices), u32(blocks_.stride())});
  meet();  // nobody has panels of the sample before to read any more
}

void PathsProgram::enqueue_round(const Slice& slice, std::uint32_t round, Stream& stream) {
  const std::uint64_t first = blocks_.first(slice.begin), end = blocks_.first(slice.end), next = round + 1;
  const auto owns = [&](std::uint64_t block) { return block >= slice.begin && block < slice.end; };
  if (round == 0) {
    if (owns(0)) close(0, stream);
    meet();
  }
  Buffer& of_round = packed_if_wanted(panel(round), blocks_.size(round), packed_panel_.get(), stream);
  pack(first, end - first, blocks_.first(round), blocks_.size(round), *packed_, stream);
  const auto better = [&](std::uint64_t from, std::uint64_t to) {  // but for the block itself, which is closed
    if (from >= to) return;
    const bool has_it = blocks_.first(round) >= from && blocks_.first(round) < to;
    update({from, to - from, blocks_.first(round), blocks_.size(round), has_it ? blocks_.first(round) : to,
            has_it ? blocks_.size(round) : 0},
           *packed_, of_round, panel_paths(round), stream);
  };
  if (next < blocks_.count() && owns(next)) {
    better(blocks_.first(next), blocks_.first(next + 1));
    close(next, stream);
    better(first, blocks_.first(next));
    better(blocks_.first(next + 1), end);
  } else {
    better(first, end);
  }
  if (next < blocks_.count()) {
    meet();
  } else if (mode_ == Mode::end_to_end) {
    bring_result(slice, stream);
  }
}

void PathsProgram::pack(std::uint64_t first, std::uint64_t rows, std::uint64_t by, std::uint64_t size, Buffer& packed,
                        Stream& stream) {
  const Variant& variant = kernels_.variant;
  stream.launch(*kernels_.pack_rows, pack_rows_grid(variant, rows, variant.packed_inner(size)),
                {state_.get(), &packed, u32(first), u32(blocks_.vertices), u32(size), u32(blocks_.stride()), u32(by)});
}

// Of `size` rows of a panel: as the kernel reads them.
Buffer& PathsProgram::packed_if_wanted(Buffer& rows, std::uint64_t size, Buffer* packed, Stream& stream) {
  const unsigned columns = kernels_.variant.panel_columns;
  if (columns == 0) return rows;
  constexpr std::uint64_t at_once = 64;  // k of a work-group of the kernel
  const std::uint64_t stride = blocks_.stride();
  stream.launch(*kernels_.pack_columns, {{round_up(stride, columns) / columns, round_up(size, at_once) / at_once, 1}, {1, 1, 1}},
                {&rows, packed, 0u, u32(stride), u32(size), u32(stride)});
  return *packed;
}

void PathsProgram::update(const Product& product, Buffer& packed, Buffer& panel, Buffer& panel_paths, Stream& stream) {
  const Variant& variant = kernels_.variant;
  const std::uint64_t stride = blocks_.stride(), tile = variant.tile_rows;
  const std::uint64_t gap = round_up(product.gap_size, tile) / tile, tiles = round_up(product.rows, tile) / tile - gap;
  const std::uint64_t each = round_up(stride, variant.tile_columns) / variant.tile_columns;
  if (tiles == 0) return;
  stream.launch(*kernels_.multiply, {{tiles * each * variant.threads, 1, 1}, {variant.threads, 1, 1}},
                {&packed, &panel, state_.get(), &paths(), &panel_paths, u32(product.gap / tile), u32(gap),
                 u32(product.first / tile), u32(tiles), u32(each), u32(blocks_.vertices), u32(stride), u32(product.size), 0u, 0u,
                 u32(product.size), u32(stride), u32(stride)});
}

void PathsProgram::close(std::uint64_t block, Stream& stream) {
  const std::uint64_t first = blocks_.first(block), end = first + blocks_.size(block), stride = blocks_.stride();
  const bool at_once = blocks_.inner == blocks_.edge;  // its rows are the panel then
  Buffer& rows = at_once ? panel(block) : *inner_panel_;
  Buffer& rows_paths = !problem_.paths ? rows : at_once ? panel_paths(block) : *inner_paths_;
  for (std::uint64_t by = first; by < end; by += blocks_.inner) {
    const std::uint64_t size = std::min(blocks_.inner, end - by);
    stream.launch(*close_block_, {{group_, 1, 1}, {group_, 1, 1}}, {state_.get(), &paths(), u32(by), u32(size), u32(stride)});
    stream.launch(*close_rows_, {{stride * parts_, 1, 1}, {close_columns * parts_, 1, 1}},
                  {state_.get(), &paths(), &rows, &rows_paths, u32(by), u32(size), u32(stride)});
    if (at_once) break;
    Buffer& wanted = packed_if_wanted(rows, size, packed_inner_panel_.get(), stream);
    pack(first, end - first, by, size, *packed_inner_, stream);
    update({first, end - first, by, size, end, 0}, *packed_inner_, wanted, rows_paths, stream);
  }
  if (!at_once) {
    stream.launch(*copy_rows_, {{round_up(stride / 4, 64), end - first, 1}, {64, 1, 1}},
                  {state_.get(), &paths(), &panel(block), &panel_paths(block), u32(first), u32(stride)});
  }
  send(block);
}

void PathsProgram::send(std::uint64_t block) {
  const Bytes size = blocks_.size(block) * blocks_.stride() * 4;
  for (const DeviceIndex other : others_) {
    peer_->put(panel(block), 0, *workload_.panel(block % 2), other, 0, size);
    if (problem_.paths) peer_->put(panel_paths(block), 0, *workload_.panel_paths(block % 2), other, 0, size);
  }
}

void PathsProgram::meet() {
  if (!others_.empty()) peer_->sync(others_, others_);
}

void PathsProgram::bring_result(const Slice& slice, Stream& stream) {
  const Rows rows = rows_of(slice);
  const Bytes at = blocks_.first(slice.begin) * rows.host_stride;
  stream.download_rows(*state_, workload_.lengths().data() + at, rows);
  if (paths_) stream.download_rows(*paths_, workload_.before().data() + at, rows);
}

void PathsProgram::publish(Stream& stream) {
  if (mode_ == Mode::end_to_end || sample_ != workload_.sample() || !done_) return;
  bring_result(*done_, stream);
}

void PathsProgram::published() {
  if (mode_ == Mode::resident && sample_ == workload_.sample() && done_) workload_.arrived(*done_);
}

}  // namespace mgpu::tropical
