#include "suites/common/product_program.hpp"

#include <algorithm>

namespace mgpu::product {
namespace {

Rect whole(const ProductSizes& sizes) { return {0, sizes.rows, 0, sizes.columns}; }

}  // namespace

Grid pack_rows_grid(const TileKernel& kernel, std::uint64_t rows, std::uint64_t inner,
                    std::size_t group) {
  if (!kernel.packs_in_blocks) return grid_of(ceil_div(rows, kernel.panel_rows), 1);
  constexpr std::uint64_t block_k = 32;  // as in the kernel
  const std::uint64_t block_rows = std::min(64u, kernel.panel_rows);
  return {{ceil_div(inner, block_k) * group, ceil_div(rows, block_rows), 1}, {group, 1, 1}};
}

ProductProgram::ProductProgram(ProductWorkload& workload, DeviceResources& device, Mode mode,
                               Items fits, const TileKernel& kernel)
    : workload_(workload),
      sizes_(workload.sizes()),
      geometry_(workload.geometry()),
      mode_(mode),
      kernel_(kernel),
      layout_(layout(sizes_, geometry_, kernel, mode, fits)),
      table_(layout_.waves() ? TileTable{}
                             : tile_table(geometry_, kernel.tile_rows, kernel.tile_columns)) {
  const auto allocate = [&](std::unique_ptr<Buffer>(&buffers)[2], unsigned count, Bytes size,
                            bool input = false) {
    for (unsigned i = 0; i < count && size > 0; ++i)
      buffers[i] = input ? allocate_input(device, size, mode) : device.allocate(size);
  };
  // An operand that every device needs whole may be in shared memory, which each device fills a
  // part of.
  if (Peer* peer = device.peer();
      peer != nullptr && mode_ == Mode::end_to_end && workload_.replicated() != nullptr) {
    place_ = peer->self();
    shared_ = &workload_.replicated()->piece(place_);
  }
  // Uploads of whole rows of A, each into its begin, replace what was there.
  const bool by_rows = !layout_.waves() && sizes_.axis != Axis::tiles;
  if (!gathers(Axis::cols)) allocate(a_, layout_.a_buffers(), layout_.a, by_rows);
  if (!gathers(Axis::rows)) allocate(b_, layout_.b_buffers(), layout_.b);
  allocate(c_, layout_.c_buffers(), layout_.c);
  allocate(c_in_, layout_.c_buffers(), layout_.c_in);
  allocate(paths_, layout_.c_buffers(), layout_.paths);
  allocate(packed_a_, layout_.a_buffers(), layout_.packed_a);
  allocate(packed_b_, layout_.b_buffers(), layout_.packed_b);
  allocate(tiles_, layout_.tile_buffers(), layout_.tiles);
}

Rows ProductProgram::rows_of_c(const Rect& rect, unsigned slot, Bytes element) const {
  const Bytes stride = sizes_.columns * element;
  if (layout_.waves()) {
    const Wave& wave = waves_[slot];
    const std::uint64_t at =
        wave.place_of_row(rect.row) * wave.column_count + wave.place_of_column(rect.column);
    return {rect.columns * element, rect.rows, at * element, wave.column_count * element, stride};
  }
  const bool own = layout_.slot_rows || layout_.slot_columns;
  return {rect.columns * element, rect.rows, own ? 0 : rect.row * stride + rect.column * element,
          layout_.slot_columns ? rect.columns * element : stride, stride};
}

std::uint64_t ProductProgram::place_of_c(const Rect& rect) const {
  return rect.row * sizes_.columns + rect.column;
}

void ProductProgram::upload_a(std::uint64_t first, std::uint64_t end, std::uint64_t to,
                              unsigned slot, Stream& stream) {
  const Bytes row = sizes_.inner * sizes_.element;
  if (sizes_.summed() == 0 || first >= end) return;
  stream.upload(*a(slot), to * row,
                workload_.memory().a().subspan(first * row, (end - first) * row));
}

// Uploads columns first .. end of B to column `to` of a buffer that is `width` columns wide.
void ProductProgram::upload_b(std::uint64_t first, std::uint64_t end, std::uint64_t to,
                              std::uint64_t width, unsigned slot, Stream& stream) {
  const Bytes element = sizes_.element;
  if (sizes_.summed() == 0 || first >= end) return;
  stream.upload_rows(*b(slot), workload_.memory().b().data() + first * element,
                     {(end - first) * element, sizes_.inner, to * element, width * element,
                      sizes_.columns * element});
}

void ProductProgram::upload_c(const Rect& rect, unsigned slot, Stream& stream) {
  if (!sizes_.reads_c) return;
  stream.upload_rows(*c_in_[slot],
                     workload_.memory().c_in().data() + place_of_c(rect) * sizes_.element,
                     rows_of_c(rect, slot, sizes_.element));
}

void ProductProgram::load(Stream& stream) {
  upload_a(0, sizes_.rows, 0, 0, stream);
  upload_b(0, sizes_.columns, 0, sizes_.columns, 0, stream);
  upload_c(whole(sizes_), 0, stream);
}

// ResultPolicy and packs what every slice needs. Packing is part of the product, as in every
// library, and therefore inside the sample, resident or not.
void ProductProgram::prepare(Stream& stream) {
  done_.clear();
  sample_ = workload_.sample();
  if (!tiles_there_ && !table_.tiles.empty())
    stream.upload(*tiles_[0], 0, std::as_bytes(std::span(table_.tiles)));
  tiles_there_ = true;
  const Axis axis = sizes_.axis;
  if (axis == Axis::tiles) {  // each slice brings the panels it needs
    row_panels_.assign(sizes_.rows / geometry_.edge() + 1, false);
    column_panels_.assign(sizes_.columns / geometry_.edge() + 1, false);
  } else if (axis == Axis::cols) {
    if (gathers(axis))
      workload_.replicated()->bring(place_, workload_.memory().a(), stream);
    else if (mode_ == Mode::end_to_end)
      upload_a(0, sizes_.rows, 0, 0, stream);
    fill_row_panels(0, sizes_.rows, sizes_.rows, 0, stream);
  } else {
    if (gathers(axis))
      workload_.replicated()->bring(place_, workload_.memory().b(), stream);
    else if (mode_ == Mode::end_to_end)
      upload_b(0, sizes_.columns, 0, sizes_.columns, 0, stream);
    fill_column_panels(0, sizes_.columns, sizes_.columns, 0, stream);
  }
}

void ProductProgram::enqueue(const Slice& slice, unsigned slot, Stream& stream) {
  const std::vector<Rect> rects = geometry_.cover(slice.begin, slice.end);
  const unsigned slot_c = layout_.c_buffers() > 1 ? slot : 0;
  const bool end_to_end = mode_ == Mode::end_to_end;
  if (layout_.waves()) {
    waves_[slot] =
        wave_of(geometry_, slice.begin, slice.end, kernel_.tile_rows, kernel_.tile_columns);
    stream.upload(*tiles_[slot], 0, std::as_bytes(std::span(waves_[slot].tiles)));
  }
  for (const Rect& rect : rects) {
    if (end_to_end) upload_c(rect, slot_c, stream);
    if (sizes_.axis == Axis::tiles && !layout_.waves()) bring_panels(rect, stream);
  }
  launch(
      layout_.waves() ? bring_wave(slot, stream) : bring_slice(slice, rects.front(), slot, stream),
      slot, stream);
  if (end_to_end) {
    for (const Rect& rect : rects) download_c(rect, slot_c, stream);
  } else {
    done_.push_back(slice);
  }
}

ProductProgram::Part ProductProgram::bring_slice(const Slice& slice, const Rect& rect,
                                                 unsigned slot, Stream& stream) {
  const std::uint64_t row_end = rect.row + rect.rows, column_end = rect.column + rect.columns;
  if (layout_.slot_rows) {
    upload_a(rect.row, row_end, 0, slot, stream);
    fill_row_panels(0, rect.rows, rect.rows, slot, stream);
  } else if (sizes_.axis == Axis::rows) {
    fill_row_panels(rect.row, row_end, sizes_.rows, 0, stream);
  }
  if (layout_.slot_columns) {
    upload_b(rect.column, column_end, 0, rect.columns, slot, stream);
    fill_column_panels(0, rect.columns, rect.columns, slot, stream);
  } else if (sizes_.axis == Axis::cols) {
    fill_column_panels(rect.column, column_end, sizes_.columns, 0, stream);
  }
  // Tiles with adjacent numbers are close to each other along a Z-curve. Otherwise the kernel goes
  // through a band of items at a time.
  const std::uint32_t begin = table_.first[slice.begin], tiles = table_.first[slice.end] - begin;
  const std::uint32_t items = u32(slice.size()), each = tiles / items;
  const bool alike = sizes_.axis != Axis::tiles && each * items == tiles;
  return {tiles_[0].get(),
          begin,
          alike ? items : 1,
          alike ? each : tiles,
          sizes_.rows,
          sizes_.columns,
          layout_.slot_rows ? rect.row : 0,
          layout_.slot_columns ? rect.column : 0,
          layout_.slot_columns ? rect.columns : sizes_.columns};
}

// Uploads the rows and columns that the wave gathers. Its tiles too are numbered along a Z-curve.
ProductProgram::Part ProductProgram::bring_wave(unsigned slot, Stream& stream) {
  const Wave& wave = waves_[slot];
  for (const Stretch& rows : wave.rows)
    upload_a(rows.from, rows.from + rows.count, rows.to, slot, stream);
  for (const Stretch& columns : wave.columns)
    upload_b(columns.from, columns.from + columns.count, columns.to, wave.column_count, slot,
             stream);
  fill_row_panels(0, wave.row_count, wave.row_count, slot, stream);
  fill_column_panels(0, wave.column_count, wave.column_count, slot, stream);
  return {tiles_[slot].get(), 0, 1, u32(wave.tiles.size()), wave.row_count,
          wave.column_count,  0, 0, wave.column_count};
}

// Uploads and packs (resident: packs) the rows of A and columns of B that a block of C needs,
// unless a slice of this sample has done so already. They stay in their place, and later slices may
// rely on them, because a launch starts after all uploads enqueued before it.
void ProductProgram::bring_panels(const Rect& rect, Stream& stream) {
  const std::uint64_t edge = geometry_.edge();
  const bool bring = mode_ == Mode::end_to_end;
  // Adjacent panels go in one copy: single rows of 256 floats of B are too short for the link.
  const auto missing = [&](std::vector<bool>& there, std::uint64_t first, std::uint64_t end,
                           const auto& take) {
    for (std::uint64_t at = first; at < end;) {
      std::uint64_t stop = at;
      while (stop < end && !there[stop / edge]) {
        there[stop / edge] = true;
        stop = std::min(end, stop + edge);
      }
      if (stop > at) take(at, stop);
      at = std::max(stop, at + edge);
    }
  };
  missing(row_panels_, rect.row, rect.row + rect.rows, [&](std::uint64_t first, std::uint64_t end) {
    if (bring) upload_a(first, end, first, 0, stream);
    fill_row_panels(first, end, sizes_.rows, 0, stream);
  });
  missing(column_panels_, rect.column, rect.column + rect.columns,
          [&](std::uint64_t first, std::uint64_t end) {
            if (bring) upload_b(first, end, first, sizes_.columns, 0, stream);
            fill_column_panels(first, end, sizes_.columns, 0, stream);
          });
}

// Packs rows first .. end of the `count` rows in the buffer.
void ProductProgram::fill_row_panels(std::uint64_t first, std::uint64_t end, std::uint64_t count,
                                     unsigned slot, Stream& stream) {
  if (kernel_.panel_rows == 0 || sizes_.summed() == 0 || first >= end) return;
  pack_rows(pack_rows_grid(kernel_, end - first, kernel_.packed_inner(sizes_.inner)), *a(slot),
            *packed_a_[slot], u32(first), u32(count), stream);
}

void ProductProgram::fill_column_panels(std::uint64_t first, std::uint64_t end, std::uint64_t count,
                                        unsigned slot, Stream& stream) {
  constexpr std::uint64_t at_once = 64;  // k per work-group of the kernel
  const unsigned panel = kernel_.panel_columns;
  if (panel == 0 || sizes_.summed() == 0 || first >= end) return;
  pack_columns({{ceil_div(end - first, panel), ceil_div(sizes_.inner, at_once), 1}, {1, 1, 1}},
               *b(slot), *packed_b_[slot], u32(first), u32(count), stream);
}

void ProductProgram::launch(const Part& part, unsigned slot, Stream& stream) {
  if (part.count() == 0) return;
  const unsigned slot_a = layout_.slot_rows ? slot : 0, slot_b = layout_.slot_columns ? slot : 0,
                 slot_c = std::max(slot_a, slot_b);
  Buffers buffers{};
  buffers.a = kernel_.panel_rows > 0 ? packed_a_[slot_a].get() : a(slot_a);
  buffers.b = kernel_.panel_columns > 0 ? packed_b_[slot_b].get() : b(slot_b);
  buffers.c = c_[slot_c].get();
  buffers.c_in = sizes_.reads_c ? c_in_[slot_c].get() : buffers.c;
  buffers.paths = paths_[slot_c].get();
  multiply(part, buffers, stream);
}

void ProductProgram::download_c(const Rect& rect, unsigned slot, Stream& stream) {
  if (rect.rows == 0 || rect.columns == 0) return;
  const auto bring = [&](Buffer& from, std::span<std::byte> to, Bytes element) {
    stream.download_rows(from, to.data() + place_of_c(rect) * element,
                         rows_of_c(rect, slot, element));
  };
  bring(*c_[slot], workload_.memory().c(), sizes_.element);
  if (paths_[slot]) bring(*paths_[slot], workload_.memory().paths(), sizes_.path_element);
}

void ProductProgram::finished(const Slice& slice) { workload_.arrived({&slice, 1}); }

Completion ProductProgram::publish(Stream& stream) {
  if (mode_ == Mode::end_to_end || sample_ != workload_.sample()) return {};
  for (const Slice& slice : done_) {
    for (const Rect& rect : geometry_.cover(slice.begin, slice.end)) download_c(rect, 0, stream);
  }
  return [this] { workload_.arrived(done_); };
}

}  // namespace mgpu::product
