// Copies and launches of one device; the kernels are kernels/matrix*.cl.
#include "suites/matrix/matrix_program.hpp"

#include <algorithm>

namespace mgpu::matrix {
namespace {

std::uint32_t u32(std::uint64_t n) { return static_cast<std::uint32_t>(n); }

Rect whole(const Problem& problem) { return {0, problem.rows, 0, problem.columns}; }

std::vector<Variant> that_fit(std::vector<Variant> candidates, const DeviceTraits& device, const MatrixWorkload& workload,
                              Mode mode, Items fits) {
  std::erase_if(candidates, [&](const Variant& variant) {
    return !layout(workload.problem(), workload.geometry(), variant, mode, fits).fits(device);
  });
  return candidates;
}

}  // namespace

MatrixProgram::MatrixProgram(MatrixWorkload& workload, DeviceResources& device, Mode mode, Items fits,
                             const std::vector<Variant>& candidates)
    : workload_(workload),
      problem_(workload.problem()),
      geometry_(workload.geometry()),
      mode_(mode),
      kernels_(choose_kernels(device, that_fit(candidates, device.traits(), workload, mode, fits), problem_.precision)),
      layout_(layout(problem_, geometry_, kernels_.variant, mode, fits)),
      table_(layout_.waves() ? TileTable{} : tile_table(geometry_, kernels_.variant.tile_rows, kernels_.variant.tile_columns)) {
  const auto allocate = [&](std::unique_ptr<Buffer>(&buffers)[2], unsigned count, Bytes size) {
    for (unsigned i = 0; i < count && size > 0; ++i) buffers[i] = device.allocate(size);
  };
  // What every device needs whole may be memory that they all put into.
  if (Peer* peer = device.peer(); peer != nullptr && mode_ == Mode::end_to_end && workload_.replicated() != nullptr) {
    place_ = peer->self();
    shared_ = &workload_.replicated()->piece(place_);
  }
  if (!gathers(Axis::cols)) allocate(a_, layout_.a_buffers(), layout_.a);
  if (!gathers(Axis::rows)) allocate(b_, layout_.b_buffers(), layout_.b);
  allocate(c_, layout_.c_buffers(), layout_.c);
  allocate(c_in_, layout_.c_buffers(), layout_.c_in);
  allocate(packed_a_, layout_.a_buffers(), layout_.packed_a);
  allocate(packed_b_, layout_.b_buffers(), layout_.packed_b);
  allocate(tiles_, layout_.tile_buffers(), layout_.tiles);
}

// Where a rectangle of C lies on the device and on the host.
Rows MatrixProgram::rows_of_c(const Rect& rect, unsigned slot) const {
  const Bytes element = problem_.element(), stride = problem_.columns * element;
  if (layout_.waves()) {
    const Wave& wave = waves_[slot];
    const std::uint64_t at = wave.place_of_row(rect.row) * wave.column_count + wave.place_of_column(rect.column);
    return {rect.columns * element, rect.rows, at * element, wave.column_count * element, stride};
  }
  const bool own = layout_.slot_rows || layout_.slot_columns;
  return {rect.columns * element, rect.rows, own ? 0 : rect.row * stride + rect.column * element,
          layout_.slot_columns ? rect.columns * element : stride, stride};
}

Bytes MatrixProgram::place_of_c(const Rect& rect) const { return (rect.row * problem_.columns + rect.column) * problem_.element(); }

void MatrixProgram::upload_a(std::uint64_t first, std::uint64_t end, std::uint64_t to, unsigned slot, Stream& stream) {
  const Bytes row = problem_.inner * problem_.element();
  if (problem_.summed() == 0 || first >= end) return;
  stream.upload(*a(slot), to * row, workload_.operands().a().subspan(first * row, (end - first) * row));
}

// To column `to` of a buffer that is `width` wide.
void MatrixProgram::upload_b(std::uint64_t first, std::uint64_t end, std::uint64_t to, std::uint64_t width, unsigned slot,
                             Stream& stream) {
  const Bytes element = problem_.element();
  if (problem_.summed() == 0 || first >= end) return;
  stream.upload_rows(*b(slot), workload_.operands().b().data() + first * element,
                     {(end - first) * element, problem_.inner, to * element, width * element, problem_.columns * element});
}

void MatrixProgram::upload_c(const Rect& rect, unsigned slot, Stream& stream) {
  if (!problem_.reads_c()) return;
  stream.upload_rows(*c_in_[slot], workload_.operands().c_in().data() + place_of_c(rect), rows_of_c(rect, slot));
}

void MatrixProgram::load(Stream& stream) {
  upload_a(0, problem_.rows, 0, 0, stream);
  upload_b(0, problem_.columns, 0, problem_.columns, 0, stream);
  upload_c(whole(problem_), 0, stream);
}

// What every slice needs. Packing is part of the product, as it is in every library: inside the sample, resident or not.
void MatrixProgram::prepare(Stream& stream) {
  done_.clear();
  sample_ = workload_.sample();
  if (!tiles_there_ && !table_.tiles.empty()) stream.upload(*tiles_[0], 0, std::as_bytes(std::span(table_.tiles)));
  tiles_there_ = true;
  const Axis axis = problem_.axis;
  if (axis == Axis::tiles) {  // as the slices need it
    row_panels_.assign(problem_.rows / geometry_.edge() + 1, false);
    column_panels_.assign(problem_.columns / geometry_.edge() + 1, false);
  } else if (axis == Axis::cols) {
    if (gathers(axis))
      workload_.replicated()->bring(place_, workload_.operands().a(), stream);
    else if (mode_ == Mode::end_to_end)
      upload_a(0, problem_.rows, 0, 0, stream);
    pack_rows(0, problem_.rows, problem_.rows, 0, stream);
  } else {
    if (gathers(axis))
      workload_.replicated()->bring(place_, workload_.operands().b(), stream);
    else if (mode_ == Mode::end_to_end)
      upload_b(0, problem_.columns, 0, problem_.columns, 0, stream);
    pack_columns(0, problem_.columns, problem_.columns, 0, stream);
  }
}

void MatrixProgram::enqueue(const Slice& slice, unsigned slot, Stream& stream) {
  const std::vector<Rect> rects = geometry_.cover(slice.begin, slice.end);
  const unsigned slot_c = layout_.c_buffers() > 1 ? slot : 0;
  const bool end_to_end = mode_ == Mode::end_to_end;
  if (layout_.waves()) {
    waves_[slot] = wave_of(geometry_, slice.begin, slice.end, kernels_.variant.tile_rows, kernels_.variant.tile_columns);
    stream.upload(*tiles_[slot], 0, std::as_bytes(std::span(waves_[slot].tiles)));
  }
  for (const Rect& rect : rects) {
    if (end_to_end) upload_c(rect, slot_c, stream);
    if (problem_.axis == Axis::tiles && !layout_.waves()) bring_panels(rect, stream);
  }
  multiply(layout_.waves() ? bring_wave(slot, stream) : bring_slice(slice, rects.front(), slot, stream), slot, stream);
  if (end_to_end) {
    for (const Rect& rect : rects) download_c(rect, slot_c, stream);
  } else {
    done_.push_back(slice);
  }
}

MatrixProgram::Part MatrixProgram::bring_slice(const Slice& slice, const Rect& rect, unsigned slot, Stream& stream) {
  const std::uint64_t row_end = rect.row + rect.rows, column_end = rect.column + rect.columns;
  if (layout_.slot_rows) {
    upload_a(rect.row, row_end, 0, slot, stream);
    pack_rows(0, rect.rows, rect.rows, slot, stream);
  } else if (problem_.axis == Axis::rows) {
    pack_rows(rect.row, row_end, problem_.rows, 0, stream);
  }
  if (layout_.slot_columns) {
    upload_b(rect.column, column_end, 0, rect.columns, slot, stream);
    pack_columns(0, rect.columns, rect.columns, slot, stream);
  } else if (problem_.axis == Axis::cols) {
    pack_columns(rect.column, column_end, problem_.columns, 0, stream);
  }
  // Along a Z-curve tiles are near each other as they are numbered; else the kernel goes through a band of items at a time.
  const std::uint32_t begin = table_.first[slice.begin], tiles = table_.first[slice.end] - begin;
  const std::uint32_t items = u32(slice.size()), each = tiles / items;
  const bool alike = problem_.axis != Axis::tiles && each * items == tiles;
  return {tiles_[0].get(),
          begin,
          alike ? items : 1,
          alike ? each : tiles,
          problem_.rows,
          problem_.columns,
          layout_.slot_rows ? rect.row : 0,
          layout_.slot_columns ? rect.column : 0,
          layout_.slot_columns ? rect.columns : problem_.columns};
}

// The rows and columns that the wave gathers. Its tiles are numbered along a Z-curve too.
MatrixProgram::Part MatrixProgram::bring_wave(unsigned slot, Stream& stream) {
  const Wave& wave = waves_[slot];
  for (const Stretch& rows : wave.rows) upload_a(rows.from, rows.from + rows.count, rows.to, slot, stream);
  for (const Stretch& columns : wave.columns)
    upload_b(columns.from, columns.from + columns.count, columns.to, wave.column_count, slot, stream);
  pack_rows(0, wave.row_count, wave.row_count, slot, stream);
  pack_columns(0, wave.column_count, wave.column_count, slot, stream);
  return {tiles_[slot].get(), 0, 1, u32(wave.tiles.size()), wave.row_count, wave.column_count, 0, 0, wave.column_count};
}

// The rows of A and columns of B that a block of C needs, unless a slice of this sample has brought (resident: packed) them
// already. They stay where they are, so later slices may rely on them: a launch starts after all uploads enqueued before it.
void MatrixProgram::bring_panels(const Rect& rect, Stream& stream) {
  const std::uint64_t edge = geometry_.edge();
  const bool bring = mode_ == Mode::end_to_end;
  // Neighbours in one copy: rows of B of 256 floats alone are too short for the link.
  const auto missing = [&](std::vector<bool>& there, std::uint64_t first, std::uint64_t end, const auto& take) {
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
    pack_rows(first, end, problem_.rows, 0, stream);
  });
  missing(column_panels_, rect.column, rect.column + rect.columns, [&](std::uint64_t first, std::uint64_t end) {
    if (bring) upload_b(first, end, first, problem_.columns, 0, stream);
    pack_columns(first, end, problem_.columns, 0, stream);
  });
}

// Rows first .. end of the `count` in the buffer.
void MatrixProgram::pack_rows(std::uint64_t first, std::uint64_t end, std::uint64_t count, unsigned slot, Stream& stream) {
  if (kernels_.variant.panel_rows == 0 || problem_.summed() == 0 || first >= end) return;
  stream.launch(*kernels_.pack_rows, pack_rows_grid(kernels_.variant, end - first, problem_.inner),
                {a(slot), packed_a_[slot].get(), u32(first), u32(count), u32(problem_.inner), u32(problem_.inner)});
}

void MatrixProgram::pack_columns(std::uint64_t first, std::uint64_t end, std::uint64_t count, unsigned slot, Stream& stream) {
  constexpr std::uint64_t at_once = 64;  // k of a work-group of the kernel
  const unsigned panel = kernels_.variant.panel_columns;
  if (panel == 0 || problem_.summed() == 0 || first >= end) return;
  stream.launch(*kernels_.pack_columns,
                {{(end - first + panel - 1) / panel, (problem_.inner + at_once - 1) / at_once, 1}, {1, 1, 1}},
                {b(slot), packed_b_[slot].get(), u32(first), u32(count), u32(problem_.inner), u32(count)});
}

void MatrixProgram::multiply(const Part& part, unsigned slot, Stream& stream) {
  const std::uint64_t tiles = std::uint64_t{part.items} * part.each;
  if (tiles == 0) return;
  const unsigned slot_a = layout_.slot_rows ? slot : 0, slot_b = layout_.slot_columns ? slot : 0, slot_c = std::max(slot_a, slot_b);
  Buffer* a = kernels_.variant.panel_rows > 0 ? packed_a_[slot_a].get() : this->a(slot_a);
  Buffer* b = kernels_.variant.panel_columns > 0 ? packed_b_[slot_b].get() : this->b(slot_b);
  Buffer* c = c_[slot_c].get();
  Buffer* c_in = problem_.reads_c() ? c_in_[slot_c].get() : c;
  const std::uint32_t rows = u32(part.rows), columns = u32(part.columns), inner = u32(problem_.summed());
  const std::uint32_t row0 = u32(part.row0), column0 = u32(part.column0), lda = u32(problem_.inner), ldc = u32(part.ldc);
  const std::size_t threads = kernels_.variant.threads;
  const Grid grid{{tiles * threads, 1, 1}, {threads, 1, 1}};
  if (problem_.precision == Precision::fp64) {
    stream.launch(*kernels_.multiply, grid,
                  {a, b, c_in, c, part.tiles, part.first, part.items, part.each, rows, columns, inner, row0, column0, lda, ldc, ldc,
                   problem_.alpha, problem_.beta});
  } else {
    stream.launch(*kernels_.multiply, grid,
                  {a, b, c_in, c, part.tiles, part.first, part.items, part.each, rows, columns, inner, row0, column0, lda, ldc, ldc,
                   static_cast<float>(problem_.alpha), static_cast<float>(problem_.beta)});
  }
}

void MatrixProgram::download_c(const Rect& rect, unsigned slot, Stream& stream) {
  if (rect.rows == 0 || rect.columns == 0) return;
  stream.download_rows(*c_[slot], workload_.c().data() + place_of_c(rect), rows_of_c(rect, slot));
}

void MatrixProgram::finished(const Slice& slice) { workload_.arrived({&slice, 1}); }

void MatrixProgram::publish(Stream& stream) {
  if (mode_ == Mode::end_to_end || sample_ != workload_.sample()) return;
  for (const Slice& slice : done_) {
    for (const Rect& rect : geometry_.cover(slice.begin, slice.end)) download_c(rect, 0, stream);
  }
}

void MatrixProgram::published() {
  if (mode_ == Mode::resident && sample_ == workload_.sample()) workload_.arrived(done_);
}

}  // namespace mgpu::matrix
