// Sizes of buffers and of slices.
#include "suites/matrix/layout.hpp"

#include <algorithm>

#include "lib/base/quantity.hpp"

namespace mgpu::matrix {
namespace {

constexpr Bytes largest_slot = Bytes{2} << 30;  // end to end there is nothing to gain from larger slices
constexpr Bytes least = 64;                     // no buffer is empty

std::uint64_t round_up(std::uint64_t n, std::uint64_t to) { return (n + to - 1) / to * to; }

std::string in_words(Bytes bytes) { return format_bytes(static_cast<double>(bytes)); }

}  // namespace

Bytes Layout::largest() const { return std::max({a, b, c, c_in, packed_a, packed_b, tiles}); }

Bytes Layout::total() const {
  return a_buffers() * (a + packed_a) + b_buffers() * (b + packed_b) + c_buffers() * (c + c_in) + tiles;
}

Layout layout(const Problem& problem, const Geometry& geometry, const Variant& variant, Mode mode, Items fits) {
  Layout plan;
  plan.slot_rows = mode == Mode::end_to_end && problem.axis == Axis::rows;
  plan.slot_columns = mode == Mode::end_to_end && problem.axis == Axis::cols;
  const std::uint64_t rows = plan.slot_rows ? std::min(problem.rows, fits * geometry.edge()) : problem.rows;
  const std::uint64_t columns = plan.slot_columns ? std::min(problem.columns, fits * geometry.edge()) : problem.columns;
  const Bytes element = problem.element();
  const std::uint64_t inner = problem.summed();
  plan.a = std::max(least, rows * inner * element);
  plan.b = std::max(least, inner * columns * element);
  plan.c = std::max(least, rows * columns * element);
  plan.c_in = problem.reads_c() ? plan.c : 0;
  if (variant.panel_rows > 0) {
    plan.packed_a = std::max(least, round_up(rows, variant.panel_rows) * inner * element);
    plan.packed_b = std::max(least, round_up(columns, variant.panel_columns) * inner * element);
  }
  const std::uint64_t tile_rows = (problem.rows + variant.tile_rows - 1) / variant.tile_rows;
  const std::uint64_t tile_columns = (problem.columns + variant.tile_columns - 1) / variant.tile_columns;
  plan.tiles = std::max<Bytes>(least, tile_rows * tile_columns * sizeof(std::uint32_t));
  return plan;
}

Capacity capacity(const DeviceTraits& device, const Problem& problem, const Geometry& geometry, Mode mode) {
  Capacity capacity;
  const std::vector<Variant> candidates = variants(device, problem, geometry);
  if (candidates.empty()) {
    capacity.reason = problem.precision == Precision::fp64 && !device.fp64 ? "it has no fp64" : "it has no kernel of that name";
    return capacity;
  }
  const Bytes usable = device.global_memory / 10 * 9;
  const auto plan_for = [&](Items fits) { return layout(problem, geometry, candidates.front(), mode, fits); };
  const auto too_large = [&](const Layout& plan) { return plan.largest() > device.max_allocation || plan.total() > usable; };
  const auto slot = [&](const Layout& plan) { return (plan.slot_rows ? plan.a : plan.b) + plan.c; };
  capacity.fits = geometry.items();
  Layout plan = plan_for(capacity.fits);
  const bool slots = plan.slot_rows || plan.slot_columns;
  while (slots && capacity.fits > 1 && (too_large(plan) || slot(plan) > largest_slot)) {
    capacity.fits = (capacity.fits + 1) / 2;
    plan = plan_for(capacity.fits);
  }
  if (too_large(plan)) {
    capacity.fits = 0;
    const char* what = plan.slot_rows      ? "all of B beside the rows of two slices"
                       : plan.slot_columns ? "all of A beside the columns of two slices"
                                           : "A, B and C";
    capacity.reason = std::string(what) + " (" + in_words(plan.total()) +
                      ") do not fit the device: " + in_words(device.max_allocation) + " at once, " + in_words(usable) + " in all" +
                      (slots || mode == Mode::resident ? "" : "; --axis rows and cols work in waves");
    return capacity;
  }
  capacity.resident = plan.total();
  capacity.pipeline = capacity.fits;
  if (mode == Mode::end_to_end) {
    // Sixteen pieces, so that copies overlap compute; but none of fewer tiles of 128 x 128 than fill a large GPU twice, and not
    // below what a CPU core computes in a millisecond or so.
    const double item =
        static_cast<double>(problem.rows) * static_cast<double>(problem.columns) / static_cast<double>(geometry.items());
    const double least_elements = device.cpu ? 64.0 * 256 : 264.0 * 128 * 128;
    const auto enough = static_cast<Items>(std::max(1.0, least_elements / std::max(item, 1.0)));
    capacity.pipeline = std::clamp<Items>(std::max((geometry.items() + 15) / 16, enough), 1, capacity.fits);
  }
  return capacity;
}

}  // namespace mgpu::matrix
