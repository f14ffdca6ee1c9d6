#include "suites/tropical/paths_program.hpp"

#include <algorithm>

#include "suites/common/build_option.hpp"
#include "suites/common/group_limits.hpp"
#include "suites/common/product_program.hpp"

namespace mgpu::tropical {
PathsProgram::PathsProgram(PathsWorkload& workload, DeviceResources& device, Mode mode,
                           Kernels kernels)
    : PartitionedProgram(workload, mode, device.peer()),
      blocks_(workload.blocks()),
      kernels_(std::move(kernels)),
      panel_(workload.panels(), device, blocks_.panel_bytes(), 1) {
  // Both closing kernels have as many work-items: one per 4 x 4 elements of the inner block, or
  // fewer.
  make_first_suited(halves_of(blocks_.inner * blocks_.inner / 16), [&](std::size_t group) {
    constexpr std::size_t most_columns = 64;
    group_ = group;
    parts_ = std::max<std::size_t>(group / most_columns, 1);
    close_columns_ = std::min(group, most_columns);
    const std::string options =
        define("T", blocks_.inner) + define("GROUP", group_) + define("PARTS", parts_) +
        define("PATHS", problem_.paths) + define("INT32", problem_.integers) +
        define("MAXIMUM", problem_.maximum) + define("ORDERED", 0) +
        (device.traits().cpu ? " -DROLLED" : "") +
        (close_columns_ < most_columns ? define("COLUMNS", close_columns_) : "");
    const auto kernel = [&](const char* name) {
      return device.kernel("tropical_close.cl", name, options);
    };
    begin_ = kernel("begin");
    copy_rows_ = kernel("copy_rows");
    close_block_ = kernel("close_block");
    close_rows_ = kernel("close_rows");
    return true;
  });
  const Bytes state = blocks_.state_bytes();
  if (mode_ == Mode::resident) initial_ = device.allocate(state);
  state_ = device.allocate(state);
  if (problem_.paths) paths_ = device.allocate(state);
  if (problem_.paths)
    panel_paths_.emplace(workload_.panel_paths(), device, blocks_.panel_bytes(), 1);
  for (const std::uint32_t block : blocks_.order)
    first_vertices_.push_back(u32(blocks_.first(block)));
  order_ = device.allocate(first_vertices_.size() * sizeof(std::uint32_t));
  if (blocks_.inner < blocks_.edge) {
    inner_panel_ = device.allocate(blocks_.inner * blocks_.stride() * 4);
    if (problem_.paths) inner_paths_ = device.allocate(blocks_.inner * blocks_.stride() * 4);
  }
  const Variant& variant = kernels_.variant;
  const std::uint64_t rows = round_up(blocks_.rows(), std::max(variant.panel_rows, 1u));
  packed_ = device.allocate(rows * variant.packed_inner(blocks_.edge) * 4);
  packed_inner_ = device.allocate(rows * variant.packed_inner(blocks_.inner) * 4);
  if (variant.panel_columns == 0) return;
  const std::uint64_t columns = round_up(blocks_.stride(), variant.panel_columns);
  packed_panel_ = device.allocate(columns * blocks_.edge * 4);
  packed_inner_panel_ = device.allocate(columns * blocks_.inner * 4);
}

Rows PathsProgram::rows_of(std::uint64_t block) const {
  const Bytes row = blocks_.vertices * 4, stride = blocks_.stride() * 4;
  return {row, blocks_.size(block), blocks_.row(block) * stride, stride, row};
}

void PathsProgram::upload_weights(Buffer& to, const Slice& slice, Stream& stream) {
  for (Items item = slice.begin; item < slice.end; ++item) {
    const std::uint64_t block = blocks_.order[item];
    const Rows rows = rows_of(block);
    stream.upload_rows(to, workload_.weights().data() + blocks_.first(block) * rows.host_stride,
                       rows);
  }
}

void PathsProgram::load(Stream& stream) { upload_weights(*initial_, {0, blocks_.count()}, stream); }

void PathsProgram::enqueue(const Slice& slice, unsigned, Stream& stream) {
  settle(slice);
  const Owner* const self = owner_of(workload_.owners(), slice);
  panels_ = self != nullptr ? PanelOrder(blocks_, workload_.owners(), self->device) : PanelOrder();
  others_.assign(panels_.others().begin(), panels_.others().end());
  if (!order_is_there_) stream.upload(*order_, 0, std::as_bytes(std::span(first_vertices_)));
  order_is_there_ = true;
  if (mode_ == Mode::end_to_end) upload_weights(*state_, slice, stream);
  stream.launch(*begin_,
                {{blocks_.stride(), slice.size() * blocks_.edge, 1}, {group_of(64, *begin_), 1, 1}},
                {mode_ == Mode::resident ? initial_.get() : state_.get(), state_.get(), &paths(),
                 order_.get(), u32(slice.begin * blocks_.edge), u32(blocks_.edge),
                 u32(blocks_.vertices), u32(blocks_.stride())});
  meet();  // peers have finished reading the panels of the previous sample
}

void PathsProgram::enqueue_round(const Slice& slice, std::uint32_t round, Stream& stream) {
  const std::uint64_t next = round + 1;
  const auto owns = [&](std::uint64_t block) {
    return block < blocks_.count() && blocks_.places[block] >= slice.begin &&
           blocks_.places[block] < slice.end;
  };
  if (round == 0) {
    if (owns(0)) close(0, stream);
    exchange(panels_.before_first_round());
  }
  Buffer& of_round =
      packed_if_wanted(panel_[round], blocks_.size(round), packed_panel_.get(), stream);
  pack(slice.begin * blocks_.edge, slice.size() * blocks_.edge, blocks_.first(round),
       blocks_.size(round), *packed_, stream);
  std::vector<std::uint64_t> done;
  if (owns(round)) done.push_back(round);  // already closed
  if (owns(next) && !others_.empty()) {
    update(
        {blocks_.row(next), blocks_.edge, blocks_.size(round), blocks_.row(next) + blocks_.edge, 0},
        *packed_, of_round, panel_paths(round), stream);
    done.push_back(next);
    close(next, stream);
    peer_->sync(others_, {});
  }
  update_but(slice, std::move(done), round, of_round, stream);
  if (owns(next) && others_.empty()) close(next, stream);
  exchange(panels_.after_round(round));
  if (next == blocks_.count() && mode_ == Mode::end_to_end) bring_result(slice, stream);
}

// Updates all rows of the slice by paths through the round's block, except for at most two blocks.
// A launch can skip one block.
void PathsProgram::update_but(const Slice& slice, std::vector<std::uint64_t> left_out,
                              std::uint64_t round, Buffer& panel, Stream& stream) {
  const std::uint64_t size = blocks_.size(round), end = slice.end * blocks_.edge;
  std::uint64_t from = slice.begin * blocks_.edge;
  for (std::uint64_t& block : left_out) block = blocks_.row(block);
  std::sort(left_out.begin(), left_out.end());
  if (left_out.size() == 2) {
    update({from, left_out[1] - from, size, left_out[0], blocks_.edge}, *packed_, panel,
           panel_paths(round), stream);
    from = left_out[1] + blocks_.edge;
    left_out.clear();
  }
  const bool leaves_out = !left_out.empty();
  update({from, end - from, size, leaves_out ? left_out[0] : end, leaves_out ? blocks_.edge : 0},
         *packed_, panel, panel_paths(round), stream);
}

void PathsProgram::pack(std::uint64_t first, std::uint64_t rows, std::uint64_t by,
                        std::uint64_t size, Buffer& packed, Stream& stream) {
  const Variant& variant = kernels_.variant;
  stream.launch(*kernels_.pack_rows,
                pack_rows_grid(variant, rows, variant.packed_inner(size),
                               group_of(product::kPackingGroup, *kernels_.pack_rows)),
                {state_.get(), &packed, u32(first), u32(first + rows), u32(size),
                 u32(blocks_.stride()), u32(by)});
}

// Returns `size` rows of a panel in the layout that the kernel reads.
Buffer& PathsProgram::packed_if_wanted(Buffer& rows, std::uint64_t size, Buffer* packed,
                                       Stream& stream) {
  const unsigned columns = kernels_.variant.panel_columns;
  if (columns == 0) return rows;
  constexpr std::uint64_t at_once = 64;  // k per work-group of the kernel
  const std::uint64_t stride = blocks_.stride();
  stream.launch(
      *kernels_.pack_columns,
      {{round_up(stride, columns) / columns, round_up(size, at_once) / at_once, 1}, {1, 1, 1}},
      {&rows, packed, 0u, u32(stride), u32(size), u32(stride)});
  return *packed;
}

void PathsProgram::update(const Product& product, Buffer& packed, Buffer& panel,
                          Buffer& panel_paths, Stream& stream) {
  const Variant& variant = kernels_.variant;
  const std::uint64_t stride = blocks_.stride(), tile = variant.tile_rows;
  const std::uint64_t gap = round_up(product.gap_size, tile) / tile,
                      tiles = round_up(product.rows, tile) / tile - gap;
  const std::uint64_t each = round_up(stride, variant.tile_columns) / variant.tile_columns;
  if (tiles == 0) return;
  stream.launch(
      *kernels_.multiply, grid_of(tiles * each * variant.threads, variant.threads),
      {&packed, &panel, state_.get(), &paths(), &panel_paths, u32(product.gap / tile), u32(gap),
       u32(product.first / tile), u32(tiles), u32(each), u32(blocks_.rows()), u32(stride),
       u32(product.size), 0u, 0u, u32(product.size), u32(stride), u32(stride)});
}

void PathsProgram::close(std::uint64_t block, Stream& stream) {
  const std::uint64_t first = blocks_.first(block), end = first + blocks_.size(block),
                      stride = blocks_.stride();
  const std::uint64_t row = blocks_.row(block);
  const bool at_once = blocks_.inner == blocks_.edge;  // the closed rows are the panel
  Buffer& rows = at_once ? panel_[block] : *inner_panel_;
  Buffer& rows_paths = !problem_.paths ? rows : at_once ? panel_paths(block) : *inner_paths_;
  for (std::uint64_t by = first; by < end; by += blocks_.inner) {
    const std::uint64_t size = std::min(blocks_.inner, end - by);
    stream.launch(*close_block_, grid_of(group_, group_),
                  {state_.get(), &paths(), u32(row + by - first), u32(by), u32(size), u32(stride)});
    stream.launch(*close_rows_, grid_of(stride * parts_, close_columns_ * parts_),
                  {state_.get(), &paths(), &rows, &rows_paths, u32(row + by - first), u32(by),
                   u32(size), u32(stride)});
    if (at_once) break;
    Buffer& wanted = packed_if_wanted(rows, size, packed_inner_panel_.get(), stream);
    pack(row, blocks_.edge, by, size, *packed_inner_, stream);
    update({row, blocks_.edge, size, row + blocks_.edge, 0}, *packed_inner_, wanted, rows_paths,
           stream);
  }
  if (!at_once) {
    const std::size_t group = group_of(64, *copy_rows_);
    stream.launch(
        *copy_rows_, {{round_up(stride / 4, group), end - first, 1}, {group, 1, 1}},
        {state_.get(), &paths(), &panel_[block], &panel_paths(block), u32(row), u32(stride)});
  }
  send(block);
}

void PathsProgram::send(std::uint64_t block) {
  const Bytes size = blocks_.size(block) * blocks_.stride() * 4;
  for (const DeviceIndex other : others_) {
    peer_->put(panel_[block], 0, workload_.panels()[block], other, 0, size);
    if (problem_.paths)
      peer_->put(panel_paths(block), 0, workload_.panel_paths()[block], other, 0, size);
  }
}

void PathsProgram::exchange(const PanelOrder::Signals& signals) {
  std::span<const DeviceIndex> give = signals.give, panel;
  if (signals.await_panel) panel = {&*signals.await_panel, 1};
  if (!signals.await_readers.empty()) {
    peer_->sync(give, signals.await_readers);
    give = {};
  }
  if (!give.empty() || !panel.empty()) peer_->sync(give, panel);
}

void PathsProgram::bring_result(const Slice& slice, Stream& stream) {
  for (Items item = slice.begin; item < slice.end; ++item) {
    const std::uint64_t block = blocks_.order[item];
    const Rows rows = rows_of(block);
    const Bytes at = blocks_.first(block) * rows.host_stride;
    stream.download_rows(*state_, workload_.lengths().data() + at, rows);
    if (paths_) stream.download_rows(*paths_, workload_.before().data() + at, rows);
  }
}

}  // namespace mgpu::tropical
