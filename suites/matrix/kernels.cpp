// Tiles per device, and the trial of vendor kernels.
#include "suites/matrix/kernels.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "lib/base/error.hpp"

namespace mgpu::matrix {
namespace {

struct Tile {  // of kernels/matrix.cl
  unsigned rows, columns, mine_rows, mine_columns, warps_m, warps_n, stages;
  unsigned threads() const { return warps_m * warps_n * 32; }
};

std::string define(const char* name, std::uint64_t value) { return std::string(" -D") + name + "=" + std::to_string(value); }

// Whether a kernel's tile fits whole into items of this geometry.
bool divides(const Tile& tile, const Geometry& geometry) {
  const bool rows = geometry.axis() == Axis::cols || geometry.edge() % tile.rows == 0;
  const bool columns = geometry.axis() == Axis::rows || geometry.edge() % tile.columns == 0;
  return rows && columns;
}

// Elements moved at once along rows of `length`: rows must be aligned to it.
unsigned vector_of(std::uint64_t length, unsigned widest) { return length % widest == 0 ? widest : 1; }

// The largest tile first. What was tried for fp32 on an H200 (driver 580.159.04; 8192^3; medians of 5, in TFLOP/s; cuBLAS 51.2, the
// arithmetic limit 66.9), all with 8 k a stage:
// - Local memory hands out 128 bytes a clock and SM. A work-item's 8 x 8 sums take 16 values for 64 fma, which is all of
// that: 44.9.
//   16 x 8 take three quarters: 49.4 as 1 x 4 groups of 32 over 128 x 128; 47.6 as 8 x 16 over 2 x 2.
// - Two work-groups an SM hide each other's barriers: 256 x 128 and 128 x 256, one an SM, reach 46.5 at best.
// - cp.async against loads through registers: 47.6 to 41.6 for the same tile. 3, 4 or 5 stages: all the same.
// - Reading the next k ahead by hand, across the barrier too, was expected to hide 30 clocks a stage and lost 5 % (47.0): the
// compiler orders
//   the plain loop better. The tensor cores' kernel gained 15 % by it.
// - Rows of B that cannot be copied 16 bytes at a time: 44.8.
// Small products: 64 x 64 as 8 x 8 sums of two groups 31.0 at 1024^3, as 4 x 8 of four 29.1, one 128 x 128 tile an SM 17.8.
// fp64: 8 x 8 sums take all that local memory hands out again: 22.4 of 33.4, whatever the tile; 12 x 8 would not divide the items.
std::vector<Tile> tiles(const Problem& problem, const Geometry& geometry, bool async) {
  std::vector<Tile> all;
  if (problem.precision == Precision::fp32 && async) {
    all.push_back({128, 128, 16, 8, 1, 4, 4});
  } else {
    all.push_back({128, 128, 8, 8, 2, 4, 2});
  }
  all.push_back({64, 64, 8, 8, 1, 2, async ? 4u : 2u});
  all.push_back({32, 32, 4, 8, 1, 1, async ? 3u : 2u});
  std::erase_if(all, [&](const Tile& tile) { return !divides(tile, geometry); });
  return all;
}

Variant simt(const Problem& problem, const Tile& tile, bool async) {
  constexpr unsigned inner = 8;
  const bool wide = problem.precision == Precision::fp64;
  Variant made;
  made.name = async ? "vector" : "portable";
  made.file = "matrix.cl";
  made.tile_rows = tile.rows;
  made.tile_columns = tile.columns;
  made.threads = tile.threads();
  made.to_be_tried = async;
  made.options = define("REAL64", wide) + define("BM", tile.rows) + define("BN", tile.columns) + define("BK", inner) +
                 define("TM", tile.mine_rows) + define("TN", tile.mine_columns) + define("WM", tile.warps_m) +
                 define("WN", tile.warps_n) + define("STAGES", tile.stages) +
                 define("VB", vector_of(problem.columns, wide ? 2 : 4)) + define("ASYNC", async);
  return made;
}

// Local memory of a stage, the padding included.
Bytes local_bytes(const Problem& problem, const Tile& tile) {
  return tile.stages * 8 * (tile.rows + 4 + tile.columns) * problem.element();
}

// fp64 on an H200, 8192^3, TFLOP/s (cuBLAS 56 to 61, as warm as the device is): m16n8k8 gave what two m16n8k4 give (43.1, 43.7), so
// the one whose order of k is plain was kept; reading the next 4 k ahead: 50.3; bands of 8 items, which keep A and B in the second
// cache: 53.1; 4 x 2 instead of 2 x 4 groups: 54.9. 64 x 128 tiles, two work-groups an SM: 51.6.
Variant tensor(const Problem& problem, const Geometry& geometry) {
  const unsigned edge = geometry.edge() % 128 == 0 ? 128 : geometry.edge() % 64 == 0 ? 64 : 32;
  const unsigned warps_m = edge / 32, warps_n = edge == 32 ? 1 : 2;
  Variant made;
  made.name = "tensor";
  made.file = "matrix_dmma.cl";
  made.tile_rows = made.tile_columns = edge;
  made.threads = warps_m * warps_n * 32;
  made.to_be_tried = true;
  made.options = define("BM", edge) + define("BN", edge) + define("WM", warps_m) + define("WN", warps_n) + define("STAGES", 3) +
                 define("VA", vector_of(problem.inner, 2)) + define("VB", vector_of(problem.columns, 2));
  return made;
}

Variant cpu(const DeviceTraits& device, const Problem& problem, const Geometry& geometry) {
  const bool wide = problem.precision == Precision::fp64;
  const unsigned lanes = std::clamp(device.float_width / (wide ? 2 : 1), 4u, 16u);
  const unsigned rows = device.float_width >= 16 ? 8 : 4;  // 16 sums, 2 of B and 1 of A: of 32 registers, or half of that of 16
  Variant made;
  made.name = "cpu";
  made.file = "matrix_cpu.cl";
  made.panel_rows = rows;
  made.panel_columns = 2 * lanes;
  made.tile_rows = static_cast<unsigned>(geometry.axis() == Axis::cols ? 128 : std::min<std::uint64_t>(geometry.edge(), 128));
  made.tile_columns = static_cast<unsigned>(geometry.axis() == Axis::rows ? 256 : std::min<std::uint64_t>(geometry.edge(), 256));
  made.options = define("REAL64", wide) + define("W", lanes) + define("MR", rows) + define("BM", made.tile_rows) +
                 define("BN", made.tile_columns) + define("BK", 256);
  return made;
}

// A product small enough to be known on the host, ragged on every side, larger than one tile each way.
template <class Real>
bool shows_the_right_bits(DeviceResources& device, const Variant& variant, Kernel& kernel) {
  const std::uint32_t rows = variant.tile_rows + 3, columns = (variant.tile_columns + 5) / 4 * 4, inner = 42;
  std::vector<Real> a(rows * inner), b(inner * columns), c(rows * columns, Real{-1});
  std::uint32_t state = 12345;
  const auto next = [&] {
    state = state * 1664525u + 1013904223u;  // Numerical Recipes' quick generator: any mixed signs and exponents will do
    return static_cast<Real>(static_cast<std::int32_t>(state)) *
           static_cast<Real>(std::ldexp(1.0, -20 - static_cast<int>(state >> 20 & 31)));
  };
  for (Real& x : a) x = next();
  for (Real& x : b) x = next();
  const std::vector<std::uint32_t> tiles{0, 1, 1 << 16, 1 << 16 | 1};
  const auto made = [&](std::size_t bytes) { return device.allocate(bytes); };
  const auto da = made(a.size() * sizeof(Real)), db = made(b.size() * sizeof(Real)), dc = made(c.size() * sizeof(Real));
  const auto dt = made(tiles.size() * sizeof(std::uint32_t));
  const std::uint32_t zero = 0, two = 2;
  const auto ran = device.try_out([&](Stream& stream) {
    stream.upload(*da, 0, std::as_bytes(std::span(a)));
    stream.upload(*db, 0, std::as_bytes(std::span(b)));
    stream.upload(*dt, 0, std::as_bytes(std::span(tiles)));
    stream.launch(kernel, {{4 * std::size_t{variant.threads}, 1, 1}, {variant.threads, 1, 1}},
                  {da.get(), db.get(), dc.get(), dc.get(), dt.get(), zero, two, two, rows, columns, inner, zero, zero, inner,
                   columns, columns, Real{1}, Real{0}});
    stream.download(*dc, 0, std::as_writable_bytes(std::span(c)));
  });
  if (!ran) return false;
  for (std::uint32_t i = 0; i < rows; ++i) {
    for (std::uint32_t j = 0; j < columns; ++j) {
      Real sum = 0;
      for (std::uint32_t k = 0; k < inner; ++k) sum = std::fma(a[i * inner + k], b[k * columns + j], sum);
      if (std::memcmp(&sum, &c[i * columns + j], sizeof sum) != 0) return false;
    }
  }
  return true;
}

bool works(DeviceResources& device, const Variant& variant, Kernel& kernel, Precision precision) {
  return precision == Precision::fp32 ? shows_the_right_bits<float>(device, variant, kernel)
                                      : shows_the_right_bits<double>(device, variant, kernel);
}

}  // namespace

std::vector<Variant> variants(const DeviceTraits& device, const Problem& problem, const Geometry& geometry) {
  const KernelChoice choice = problem.kernel;
  const bool any = choice == KernelChoice::automatic;
  std::vector<Variant> all;
  if (problem.precision == Precision::fp64 && !device.fp64) return all;
  if (device.cpu) {
    if (any || choice == KernelChoice::portable) all.push_back(cpu(device, problem, geometry));
    return all;
  }
  const auto room = [&](unsigned threads, Bytes local) { return threads <= device.max_work_group && local <= device.local_memory; };
  if (device.nvidia && problem.precision == Precision::fp64 && (any || choice == KernelChoice::tensor))
    all.push_back(tensor(problem, geometry));
  for (const bool async : {true, false}) {
    if (!any && choice != (async ? KernelChoice::vector : KernelChoice::portable)) continue;
    if (async && !device.nvidia) continue;
    for (const Tile& tile : tiles(problem, geometry, async)) {
      if (!room(tile.threads(), local_bytes(problem, tile))) continue;
      all.push_back(simt(problem, tile, async));
      break;
    }
  }
  return all;
}

Kernels choose_kernels(DeviceResources& device, const std::vector<Variant>& candidates, Precision precision) {
  std::string why = "no kernel is made for it";
  for (const Variant& variant : candidates) {
    Kernels made;
    made.variant = variant;
    try {
      made.multiply = device.kernel(variant.file, "matrix_multiply", variant.options);
      if (variant.panel_rows > 0) {
        made.pack_rows = device.kernel(variant.file, "pack_rows", variant.options);
        made.pack_columns = device.kernel(variant.file, "pack_columns", variant.options);
      }
      if (!variant.to_be_tried || works(device, variant, *made.multiply, precision)) return made;
      why = "kernel " + variant.name + " gives wrong bits on this device";
    } catch (const Error& error) {
      if (!variant.to_be_tried || error.kind() != ErrorKind::device) throw;
      why = error.what();
    }
  }
  throw Error(ErrorKind::device, why);
}

}  // namespace mgpu::matrix
