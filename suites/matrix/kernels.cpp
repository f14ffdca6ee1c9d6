// The table of kernels and tiles, in order of preference for devices that were not tuned;
// `calibrate --tune` measures all of them.
#include "suites/matrix/kernels.hpp"

#include <algorithm>
#include <utility>

#include "suites/common/build_option.hpp"

namespace mgpu::matrix {
namespace {

// Adds kernels/matrix.cl, best first on an H200. In fp32, 16 x 8 sums per work-item reach 49.4
// TFLOP/s at 8192^3 and 8 x 8 sums 44.9, because each value that is read serves more multiply-adds.
// In fp64, 16 x 8 sums would take 256 registers, more than a work-item can have, and 12 x 8 would
// not divide the items.
void add_tiles(const Problem& problem, const Geometry& geometry, bool async,
               std::vector<Variant>& all) {
  const bool wide = problem.precision == Precision::fp64;
  std::vector<RegisterTile> tiles;
  if (async && !wide) tiles.push_back({128, 128, 16, 8, 1, 4, 4});
  tiles.push_back({128, 128, 8, 8, 2, 4, async && !wide ? 4u : 2u});
  tiles.push_back({64, 64, 8, 8, 1, 2, async ? 4u : 2u});
  tiles.push_back({32, 32, 4, 8, 1, 1, async ? 3u : 2u});
  for (const RegisterTile& tile : tiles) {
    if (!divides(tile.rows, tile.columns, geometry)) continue;
    Variant made = variant_of(tile, async ? "vector" : "portable");
    made.file = "matrix.cl";
    made.to_be_tried = async;
    made.local =
        Bytes{tile.stages} * tile.inner * (tile.rows + 4 + tile.columns) * problem.element();
    made.options += define("REAL64", wide) +
                    define("VB", vector_of(problem.columns, wide ? 2 : 4)) + define("ASYNC", async);
    all.push_back(std::move(made));
  }
}

// Adds kernels/matrix_packed.cl, best first on an H200. Packing included, fp32 reaches 52.4 TFLOP/s
// at 8192^3 and kernels/matrix.cl 49.7: packed A needs few addresses, which leaves registers for
// reading the next k ahead. The fp64 tiles are for --kernel vector, since tensor cores are faster;
// 3 stages of 128 x 128 are all that fits into 48 KiB, the local memory of an OpenCL work-group on
// NVIDIA.
void add_packed(const DeviceTraits& device, const Problem& problem, const Geometry& geometry,
                std::vector<Variant>& all) {
  // Packing adds a launch, and reads and writes A once. Its gain of 5 % on an H200 must make up for
  // that; with 8e9 products the gain is 16 us.
  constexpr double least_products = 8e9;
  constexpr std::uint64_t least_columns = 2048;
  const double products = static_cast<double>(problem.rows) * static_cast<double>(problem.columns) *
                          static_cast<double>(problem.inner);
  const bool wide = problem.precision == Precision::fp64;
  // The kernel moves rows of B and C 16 bytes at a time.
  if (problem.columns % (wide ? 2 : 4) != 0 || problem.columns < least_columns ||
      products < least_products)
    return;
  std::vector<RegisterTile> of_fp32{{128, 128, 16, 8, 1, 4, 2, 16},
                                    {128, 128, 16, 8, 1, 4, 4, 8},
                                    {256, 128, 16, 8, 2, 4, 4, 8},
                                    {128, 256, 16, 8, 1, 8, 4, 8}};
  // If all tiles fit on the device at once, two per compute unit, then half of the product has one
  // tile per compute unit, and no other tile hides its latency; 4 stages do. 2048^3 on two H100
  // takes 338 us with 2 stages and 230 us with 4; on one it takes 377 and 381 us.
  const std::uint64_t tiles = (problem.rows + 127) / 128 * ((problem.columns + 127) / 128);
  if (tiles <= std::uint64_t{2} * device.compute_units) std::swap(of_fp32[0], of_fp32[1]);
  const std::vector<RegisterTile> of_fp64{{128, 128, 8, 8, 2, 4, 3, 8},
                                          {128, 64, 8, 8, 2, 2, 4, 8}};
  for (const RegisterTile& tile : wide ? of_fp64 : of_fp32) {
    if (!divides(tile.rows, tile.columns, geometry)) continue;
    Variant made = variant_of(tile, "packed");
    made.file = "matrix_packed.cl";
    made.to_be_tried = made.packs_in_blocks = true;
    made.panel_rows = tile.rows;
    made.local = Bytes{tile.stages} * tile.inner * (tile.rows + tile.columns) * problem.element();
    made.options += define("REAL64", wide);
    all.push_back(std::move(made));
  }
}

struct Fragments {  // tiles of kernels for tensor cores
  unsigned rows, columns, warps_m, warps_n, stages;
};

Variant of_fragments(const Problem& problem, const Fragments& tile, const char* kind,
                     unsigned widest) {
  Variant made;
  made.kind = kind;
  made.tile = std::to_string(tile.rows) + 'x' + std::to_string(tile.columns) + " by " +
              std::to_string(tile.warps_m) + 'x' + std::to_string(tile.warps_n);
  made.tile_rows = tile.rows;
  made.tile_columns = tile.columns;
  made.threads = tile.warps_m * tile.warps_n * 32;
  made.to_be_tried = true;
  made.options = define("BM", tile.rows) + define("BN", tile.columns) + define("WM", tile.warps_m) +
                 define("WN", tile.warps_n) + define("STAGES", tile.stages) +
                 define("VA", vector_of(problem.inner, widest)) +
                 define("VB", vector_of(problem.columns, widest));
  return made;
}

// Adds kernels/matrix_dmma.cl, best first on an H200: 4 x 2 groups of 32 reach 54.9 TFLOP/s at
// 8192^3, 2 x 4 groups 53.1. It multiplies by m16n8k4, because m16n8k8 is no faster and its order
// of k is more complicated.
void add_tensor(const Problem& problem, const Geometry& geometry, std::vector<Variant>& all) {
  for (const Fragments& tile :
       {Fragments{128, 128, 4, 2, 3}, Fragments{128, 128, 2, 4, 3}, Fragments{64, 128, 2, 2, 3},
        Fragments{64, 64, 2, 2, 3}, Fragments{32, 32, 1, 1, 3}}) {
    if (!divides(tile.rows, tile.columns, geometry)) continue;
    Variant made = of_fragments(problem, tile, "tensor", 2);
    made.file = "matrix_dmma.cl";
    made.local = Bytes{tile.stages} * 8 * (tile.rows + tile.columns) * sizeof(double);
    all.push_back(std::move(made));
  }
}

// Adds kernels/matrix_tf32.cl, best first on an H200: groups of 64 x 64 reach 64.9 TFLOP/s at
// 8192^3, counted as one product. Splitting is the bottleneck: each group splits all that it reads,
// so smaller groups split more.
void add_emulated(const Problem& problem, const Geometry& geometry, std::vector<Variant>& all) {
  for (const Fragments& tile :
       {Fragments{128, 128, 2, 2, 2}, Fragments{128, 64, 2, 2, 3}, Fragments{128, 128, 2, 4, 2},
        Fragments{64, 64, 2, 2, 3}, Fragments{32, 32, 1, 1, 3}}) {
    if (!divides(tile.rows, tile.columns, geometry)) continue;
    Variant made = of_fragments(problem, tile, "emulated", 4);
    made.file = "matrix_tf32.cl";
    made.exact = false;
    made.local = Bytes{tile.stages} * (20 * tile.rows + 16 * (tile.columns + 8)) * sizeof(float);
    all.push_back(std::move(made));
  }
}

void add_for_nvidia(const DeviceTraits& device, const Problem& problem, const Geometry& geometry,
                    std::vector<Variant>& all) {
  if (problem.precision == Precision::fp64) add_tensor(problem, geometry, all);
  add_packed(device, problem, geometry, all);
  add_tiles(problem, geometry, true, all);
}

// Adds kernels/matrix_cpu.cl: rows of a register tile, and the tile of a work-group. BK x NR
// elements of B stay in the first-level cache.
void add_for_cpus(const DeviceTraits& device, const Problem& problem, const Geometry& geometry,
                  std::vector<Variant>& all) {
  if (problem.precision == Precision::tf32x3) return;
  const bool wide = problem.precision == Precision::fp64;
  const unsigned lanes = std::clamp(device.float_width / (wide ? 2 : 1), 4u, 16u);
  // Of 32 vector registers, 16 are sums, 2 hold B and 1 holds A; of 16, 8 are sums.
  const unsigned rows = device.float_width >= 16 ? 8 : 4;
  struct Blocks {
    unsigned register_rows, rows, columns, inner;
  };
  for (const Blocks& blocks :
       {Blocks{rows, 128, 256, 256}, Blocks{rows, 128, 256, 384}, Blocks{rows, 128, 512, 192},
        Blocks{rows, 64, 256, 512}, Blocks{12 - rows, 128, 256, 256}}) {
    Variant made =
        variant_of(CpuTile{blocks.register_rows, lanes, blocks.rows, blocks.columns}, geometry);
    made.file = "matrix_cpu.cl";
    made.tile += 'x' + std::to_string(blocks.inner);
    made.options += define("REAL64", wide) + define("BK", blocks.inner);
    all.push_back(std::move(made));
  }
}

}  // namespace

std::vector<Variant> variants(const DeviceTraits& device, const Problem& problem,
                              const Geometry& geometry, const std::string& preferred) {
  std::vector<Variant> all;
  if (problem.precision == Precision::fp64 && !device.fp64) return all;
  if (device.cpu) {
    add_for_cpus(device, problem, geometry, all);
  } else if (problem.precision == Precision::tf32x3) {
    if (device.nvidia) add_emulated(problem, geometry, all);
  } else {
    if (device.nvidia) add_for_nvidia(device, problem, geometry, all);
    add_tiles(problem, geometry, false, all);
  }
  const auto named = [&](const Variant& variant) {
    switch (problem.kernel) {
      case KernelChoice::automatic:
        return true;
      case KernelChoice::portable:
        return variant.kind == "portable" || variant.kind == "cpu";
      case KernelChoice::vector:
        return variant.kind == "vector" || variant.kind == "packed";
      case KernelChoice::tensor:
        return variant.kind == "tensor" || variant.kind == "emulated";
    }
    return false;
  };
  return usable(std::move(all), device, named, preferred);
}

bool is_a_variant(const DeviceTraits& device, Precision precision, const std::string& name) {
  // The edges of items are 32, 64, and 128 or 256.
  constexpr std::uint64_t sizes[] = {256, 1024, 16384};
  for (const std::uint64_t size : sizes) {
    for (const Axis axis : {Axis::rows, Axis::cols, Axis::tiles}) {
      Problem problem{size, size, size, precision, axis};
      const auto all = variants(device, problem, Geometry::of(size, size, axis));
      if (std::any_of(all.begin(), all.end(),
                      [&](const Variant& variant) { return variant.name() == name; }))
        return true;
    }
  }
  return false;
}

}  // namespace mgpu::matrix
