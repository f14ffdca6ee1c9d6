#include "suites/common/product_layout.hpp"

#include <algorithm>
#include <cmath>

#include "lib/base/quantity.hpp"
#include "suites/common/wave.hpp"

namespace mgpu::product {
namespace {

// Larger slices gain nothing end to end.
constexpr Bytes largest_slot = Bytes{2} << 30;
constexpr Bytes least = 64;  // least size of a buffer, so that no buffer is empty
// Number of waves at least. Each wave brings its rows and columns again, so larger ones are better,
// but several are needed so that copies overlap compute.
constexpr Items fewest_waves = 8;

std::string in_words(Bytes bytes) { return format_bytes(static_cast<double>(bytes)); }

// Returns the capacity with this kernel; halves the slices until they fit. `fits` is 0 if none
// does.
Capacity fitted(const DeviceTraits& device, const ProductSizes& sizes, const Geometry& geometry,
                Mode mode, const TileKernel& kernel) {
  Capacity capacity;
  capacity.fits = geometry.items();
  Layout plan = layout(sizes, geometry, kernel, mode, capacity.fits);
  const auto shrink = [&](Items to) {
    capacity.fits = to;
    plan = layout(sizes, geometry, kernel, mode, to);
  };
  if (mode == Mode::end_to_end && sizes.axis == Axis::tiles && !plan.fits(device) &&
      geometry.items() > 1)
    shrink(std::max<Items>(1, geometry.items() / fewest_waves));
  const auto too_large = [&] {
    const Bytes slot = (plan.slot_rows ? plan.a : plan.b) + plan.c + plan.paths;
    return !plan.fits(device) || (!plan.waves() && slot > largest_slot);
  };
  while ((plan.slot_rows || plan.slot_columns) && capacity.fits > 1 && too_large())
    shrink((capacity.fits + 1) / 2);
  capacity.resident = plan.total();
  if (plan.fits(device)) return capacity;
  capacity.fits = 0;
  const char* what = plan.waves()        ? "the rows, the columns and the tiles of two single items"
                     : plan.slot_rows    ? "all of B and the rows of two slices"
                     : plan.slot_columns ? "all of A and the columns of two slices"
                                         : "A, B and C";
  const char* hint = mode == Mode::resident ? "; --mode end-to-end works in waves"
                     : plan.waves()         ? ""
                                            : "; --axis tiles brings parts of A and of B in waves";
  const Bytes usable = device.usable_memory();
  capacity.reason = std::string(what) + " do not fit: they take " + in_words(plan.total()) +
                    ", the largest buffer " + in_words(plan.largest()) + "; the device has " +
                    in_words(usable) + " to give and buffers of at most " +
                    in_words(device.max_allocation) + hint;
  return capacity;
}

// Returns the smallest slice from `least_items` to twice that whose tiles fill the device's turns,
// of two work-groups per compute unit each, to within 1/32 of the best of them.
Items filling_turns(const DeviceTraits& device, const ProductSizes& sizes, const Geometry& geometry,
                    const TileKernel& kernel, Items least_items) {
  const double tiles_of_item = static_cast<double>(ceil_div(sizes.rows, kernel.tile_rows) *
                                                   ceil_div(sizes.columns, kernel.tile_columns)) /
                               static_cast<double>(geometry.items());
  const double at_once = 2.0 * std::max(device.compute_units, 1U);
  const auto filled = [&](Items items) {
    const double turns = static_cast<double>(items) * tiles_of_item / at_once;
    return turns / std::ceil(turns);
  };
  double best = 0;
  for (Items items = least_items; items <= 2 * least_items; ++items)
    best = std::max(best, filled(items));
  Items items = least_items;
  while (filled(items) < best * (1 - 1.0 / 32)) ++items;
  return items;
}

}  // namespace

Bytes Layout::largest() const {
  return std::max({a, b, c, c_in, paths, packed_a, packed_b, tiles});
}

Bytes Layout::total() const {
  return a_buffers() * (a + packed_a) + b_buffers() * (b + packed_b) +
         c_buffers() * (c + c_in + paths) + tile_buffers() * tiles;
}

bool Layout::fits(const DeviceTraits& device) const {
  return largest() <= device.max_allocation && total() <= device.usable_memory();
}

Layout layout(const ProductSizes& sizes, const Geometry& geometry, const TileKernel& kernel,
              Mode mode, Items fits) {
  Layout plan;
  const bool waves =
      mode == Mode::end_to_end && sizes.axis == Axis::tiles && fits < geometry.items();
  plan.slot_rows = waves || (mode == Mode::end_to_end && sizes.axis == Axis::rows);
  plan.slot_columns = waves || (mode == Mode::end_to_end && sizes.axis == Axis::cols);
  const WaveSize size = waves ? largest_wave(geometry, fits) : WaveSize{fits, fits};
  const std::uint64_t rows =
      plan.slot_rows ? std::min(sizes.rows, size.rows * geometry.edge()) : sizes.rows;
  const std::uint64_t columns =
      plan.slot_columns ? std::min(sizes.columns, size.columns * geometry.edge()) : sizes.columns;
  const Bytes element = sizes.element;
  const std::uint64_t inner = sizes.summed();
  plan.a = std::max(least, rows * inner * element);
  plan.b = std::max(least, inner * columns * element);
  plan.c = std::max(least, rows * columns * element);
  plan.c_in = sizes.reads_c ? plan.c : 0;
  plan.paths = sizes.path_element > 0 ? std::max(least, rows * columns * sizes.path_element) : 0;
  if (kernel.panel_rows > 0)
    plan.packed_a =
        std::max(least, round_up(rows, kernel.panel_rows) * kernel.packed_inner(inner) * element);
  if (kernel.panel_columns > 0)
    plan.packed_b = std::max(least, round_up(columns, kernel.panel_columns) * inner * element);
  const std::uint64_t tile_rows = ceil_div(rows, kernel.tile_rows);
  const std::uint64_t tile_columns = ceil_div(columns, kernel.tile_columns);
  const std::uint64_t all_rows = ceil_div(sizes.rows, kernel.tile_rows);
  const std::uint64_t all_columns = ceil_div(sizes.columns, kernel.tile_columns);
  plan.tiles = std::max<Bytes>(
      least, (waves ? tile_rows * tile_columns : all_rows * all_columns) * sizeof(std::uint32_t));
  return plan;
}

Capacity capacity(const DeviceTraits& device, const ProductSizes& sizes, const Geometry& geometry,
                  Mode mode, const std::vector<TileKernel>& candidates) {
  Capacity capacity;
  const TileKernel* fitting = nullptr;
  for (const TileKernel& kernel : candidates) {
    capacity = fitted(device, sizes, geometry, mode, kernel);
    fitting = &kernel;
    if (capacity.fits > 0) break;
  }
  if (capacity.fits == 0) return capacity;
  capacity.pipeline = capacity.fits;
  if (mode == Mode::end_to_end) {
    // Sixteen slices let copies overlap compute. A slice has at least as many tiles of 128 x 128 as
    // fill a large GPU twice, or what a CPU core computes in about a millisecond.
    const double item = static_cast<double>(sizes.rows) * static_cast<double>(sizes.columns) /
                        static_cast<double>(geometry.items());
    const double least_elements = device.cpu ? 64.0 * 256 : 264.0 * 128 * 128;
    const auto enough = static_cast<Items>(std::max(1.0, least_elements / std::max(item, 1.0)));
    Items slice = std::max((geometry.items() + 15) / 16, enough);
    if (!device.cpu) slice = filling_turns(device, sizes, geometry, *fitting, slice);
    capacity.pipeline = std::clamp<Items>(slice, 1, capacity.fits);
  }
  return capacity;
}

}  // namespace mgpu::product
