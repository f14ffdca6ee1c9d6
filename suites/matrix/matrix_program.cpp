// Copies and launches of one device; the kernels are kernels/matrix*.cl.
#include "suites/matrix/matrix_program.hpp"

#include <algorithm>

namespace mgpu::matrix {
namespace {

std::uint32_t u32(std::uint64_t n) { return static_cast<std::uint32_t>(n); }

Rect whole(const Problem& problem) { return {0, problem.rows, 0, problem.columns}; }

}  // namespace

MatrixProgram::MatrixProgram(MatrixWorkload& workload, DeviceResources& device, Mode mode, Items fits)
    : workload_(workload),
      problem_(workload.problem()),
      geometry_(workload.geometry()),
      mode_(mode),
      kernels_(choose_kernels(device, variants(device.traits(), problem_, geometry_), problem_.precision)),
      layout_(layout(problem_, geometry_, kernels_.variant, mode, fits)),
      table_(tile_table(geometry_, kernels_.variant.tile_rows, kernels_.variant.tile_columns)) {
  const auto allocate = [&](std::unique_ptr<Buffer>(&buffers)[2], unsigned count, Bytes size) {
    for (unsigned i = 0; i < count && size > 0; ++i) buffers[i] = device.allocate(size);
  };
  allocate(a_, layout_.a_buffers(), layout_.a);
  allocate(b_, layout_.b_buffers(), layout_.b);
  allocate(c_, layout_.c_buffers(), layout_.c);
  allocate(c_in_, layout_.c_buffers(), layout_.c_in);
  allocate(packed_a_, layout_.a_buffers(), layout_.packed_a);
  allocate(packed_b_, layout_.b_buffers(), layout_.packed_b);
  tiles_ = device.allocate(layout_.tiles);
}

// Where a rectangle of C lies on the device and on the host.
Rows MatrixProgram::rows_of_c(const Rect& rect) const {
  const Bytes element = problem_.element(), stride = problem_.columns * element;
  const bool slot = layout_.slot_rows || layout_.slot_columns;
  return {rect.columns * element, rect.rows, slot ? 0 : rect.row * stride + rect.column * element,
          layout_.slot_columns ? rect.columns * element : stride, stride};
}

Bytes MatrixProgram::place_of_c(const Rect& rect) const { return (rect.row * problem_.columns + rect.column) * problem_.element(); }

void MatrixProgram::upload_a(std::uint64_t first, std::uint64_t end, unsigned slot, Stream& stream) {
  const Bytes row = problem_.inner * problem_.element();
  if (problem_.summed() == 0 || first >= end) return;
  stream.upload(*a_[slot], layout_.slot_rows ? 0 : first * row, workload_.operands().a().subspan(first * row, (end - first) * row));
}

void MatrixProgram::upload_b(std::uint64_t first, std::uint64_t end, unsigned slot, Stream& stream) {
  const Bytes element = problem_.element(), width = (end - first) * element, stride = problem_.columns * element;
  if (problem_.summed() == 0 || first >= end) return;
  stream.upload_rows(
      *b_[slot], workload_.operands().b().data() + first * element,
      {width, problem_.inner, layout_.slot_columns ? 0 : first * element, layout_.slot_columns ? width : stride, stride});
}

void MatrixProgram::upload_c(const Rect& rect, unsigned slot, Stream& stream) {
  if (!problem_.reads_c()) return;
  stream.upload_rows(*c_in_[slot], workload_.operands().c_in().data() + place_of_c(rect), rows_of_c(rect));
}

void MatrixProgram::load(Stream& stream) {
  upload_a(0, problem_.rows, 0, stream);
  upload_b(0, problem_.columns, 0, stream);
  upload_c(whole(problem_), 0, stream);
}

// What every slice needs. Packing is part of the product, as it is in every library: inside the sample, resident or not.
void MatrixProgram::prepare(Stream& stream) {
  done_.clear();
  sample_ = workload_.sample();
  if (!tiles_there_ && !table_.tiles.empty()) stream.upload(*tiles_, 0, std::as_bytes(std::span(table_.tiles)));
  tiles_there_ = true;
  const Axis axis = problem_.axis;
  if (mode_ == Mode::end_to_end && axis == Axis::tiles) {
    row_panels_.assign(problem_.rows / geometry_.edge() + 1, false);
    column_panels_.assign(problem_.columns / geometry_.edge() + 1, false);
    return;
  }
  if (axis != Axis::rows) {
    if (mode_ == Mode::end_to_end) upload_a(0, problem_.rows, 0, stream);
    pack_rows(0, problem_.rows, 0, stream);
  }
  if (axis != Axis::cols) {
    if (mode_ == Mode::end_to_end) upload_b(0, problem_.columns, 0, stream);
    pack_columns(0, problem_.columns, 0, stream);
  }
}

void MatrixProgram::enqueue(const Slice& slice, unsigned slot, Stream& stream) {
  const std::vector<Rect> rects = geometry_.cover(slice.begin, slice.end);
  const Rect& first = rects.front();
  const bool end_to_end = mode_ == Mode::end_to_end;
  if (end_to_end) {
    for (const Rect& rect : rects) {
      upload_c(rect, layout_.c_buffers() > 1 ? slot : 0, stream);
      if (problem_.axis == Axis::tiles) bring_panels(rect, stream);
    }
    if (layout_.slot_rows) upload_a(first.row, first.row + first.rows, slot, stream);
    if (layout_.slot_columns) upload_b(first.column, first.column + first.columns, slot, stream);
  }
  if (problem_.axis == Axis::rows) pack_rows(first.row, first.row + first.rows, layout_.slot_rows ? slot : 0, stream);
  if (problem_.axis == Axis::cols)
    pack_columns(first.column, first.column + first.columns, layout_.slot_columns ? slot : 0, stream);
  multiply(slice, first, slot, stream);
  if (end_to_end) {
    for (const Rect& rect : rects) download_c(rect, layout_.c_buffers() > 1 ? slot : 0, stream);
  }
  done_.push_back(slice);
}

// The rows of A and columns of B that a block of C needs, unless a slice of this sample has brought them already. They stay where
// they are, so later slices may rely on them: a launch starts after all uploads enqueued before it.
void MatrixProgram::bring_panels(const Rect& rect, Stream& stream) {
  const std::uint64_t edge = geometry_.edge();
  // Neighbours in one copy: rows of B of 256 floats alone are too short for the link.
  const auto missing = [&](std::vector<bool>& there, std::uint64_t first, std::uint64_t end, const auto& bring) {
    for (std::uint64_t at = first; at < end;) {
      std::uint64_t stop = at;
      while (stop < end && !there[stop / edge]) {
        there[stop / edge] = true;
        stop = std::min(end, stop + edge);
      }
      if (stop > at) bring(at, stop);
      at = std::max(stop, at + edge);
    }
  };
  missing(row_panels_, rect.row, rect.row + rect.rows, [&](std::uint64_t first, std::uint64_t end) {
    upload_a(first, end, 0, stream);
    pack_rows(first, end, 0, stream);
  });
  missing(column_panels_, rect.column, rect.column + rect.columns, [&](std::uint64_t first, std::uint64_t end) {
    upload_b(first, end, 0, stream);
    pack_columns(first, end, 0, stream);
  });
}

void MatrixProgram::pack_rows(std::uint64_t first, std::uint64_t end, unsigned slot, Stream& stream) {
  const unsigned panel = kernels_.variant.panel_rows;
  if (panel == 0 || problem_.summed() == 0 || first >= end) return;
  const std::uint64_t origin = layout_.slot_rows ? first : 0, count = layout_.slot_rows ? end - first : problem_.rows;
  stream.launch(*kernels_.pack_rows, {{(end - first + panel - 1) / panel, 1, 1}, {1, 1, 1}},
                {a_[slot].get(), packed_a_[slot].get(), u32(first - origin), u32(count), u32(problem_.inner), u32(problem_.inner)});
}

void MatrixProgram::pack_columns(std::uint64_t first, std::uint64_t end, unsigned slot, Stream& stream) {
  constexpr std::uint64_t at_once = 64;  // k of a work-group of the kernel
  const unsigned panel = kernels_.variant.panel_columns;
  if (panel == 0 || problem_.summed() == 0 || first >= end) return;
  const std::uint64_t origin = layout_.slot_columns ? first : 0, count = layout_.slot_columns ? end - first : problem_.columns;
  stream.launch(*kernels_.pack_columns,
                {{(end - first + panel - 1) / panel, (problem_.inner + at_once - 1) / at_once, 1}, {1, 1, 1}},
                {b_[slot].get(), packed_b_[slot].get(), u32(first - origin), u32(count), u32(problem_.inner), u32(count)});
}

void MatrixProgram::multiply(const Slice& slice, const Rect& rect, unsigned slot, Stream& stream) {
  const std::uint32_t begin = table_.first[slice.begin], tiles = table_.first[slice.end] - begin;
  if (tiles == 0) return;
  const unsigned slot_a = layout_.slot_rows ? slot : 0, slot_b = layout_.slot_columns ? slot : 0, slot_c = std::max(slot_a, slot_b);
  const bool packs = kernels_.variant.panel_rows > 0;
  Buffer* a = (packs ? packed_a_ : a_)[slot_a].get();
  Buffer* b = (packs ? packed_b_ : b_)[slot_b].get();
  Buffer* c = c_[slot_c].get();
  Buffer* c_in = problem_.reads_c() ? c_in_[slot_c].get() : c;
  // Along a Z-curve tiles are near each other as they are numbered; else the kernel goes through a band of items at a time.
  const std::uint32_t items = u32(slice.size()), each = tiles / items;
  const bool alike = problem_.axis != Axis::tiles && each * items == tiles;
  const std::uint32_t items_given = alike ? items : 1, each_given = alike ? each : tiles;
  const std::uint32_t row0 = layout_.slot_rows ? u32(rect.row) : 0, column0 = layout_.slot_columns ? u32(rect.column) : 0;
  const std::uint32_t rows = u32(problem_.rows), columns = u32(problem_.columns), inner = u32(problem_.summed());
  const std::uint32_t lda = u32(problem_.inner), ldc = layout_.slot_columns ? u32(rect.columns) : columns;
  const std::size_t threads = kernels_.variant.threads;
  const Grid grid{{tiles * threads, 1, 1}, {threads, 1, 1}};
  if (problem_.precision == Precision::fp32) {
    stream.launch(*kernels_.multiply, grid,
                  {a, b, c_in, c, tiles_.get(), begin, items_given, each_given, rows, columns, inner, row0, column0, lda, ldc, ldc,
                   static_cast<float>(problem_.alpha), static_cast<float>(problem_.beta)});
  } else {
    stream.launch(*kernels_.multiply, grid,
                  {a, b, c_in, c, tiles_.get(), begin, items_given, each_given, rows, columns, inner, row0, column0, lda, ldc, ldc,
                   problem_.alpha, problem_.beta});
  }
}

void MatrixProgram::download_c(const Rect& rect, unsigned slot, Stream& stream) {
  if (rect.rows == 0 || rect.columns == 0) return;
  stream.download_rows(*c_[slot], workload_.c().data() + place_of_c(rect), rows_of_c(rect));
}

void MatrixProgram::collect(Stream&) {}  // nothing is accumulated: end to end every slice brought its part of C, resident it stays

void MatrixProgram::collected() {
  if (mode_ == Mode::end_to_end) workload_.arrived(done_);
}

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
