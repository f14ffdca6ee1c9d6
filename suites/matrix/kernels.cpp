// The table of kernels and tiles. Order is preference where nothing was tuned; `calibrate --tune` measures all of them.
#include "suites/matrix/kernels.hpp"

#include <algorithm>

namespace mgpu::matrix {
namespace {

struct Tile {  // of kernels/matrix.cl and matrix_packed.cl
  unsigned rows, columns, mine_rows, mine_columns, warps_m, warps_n, stages, inner = 8;
  unsigned threads() const { return warps_m * warps_n * 32; }
};

std::string define(const char* name, std::uint64_t value) { return std::string(" -D") + name + "=" + std::to_string(value); }

// Whether a kernel's tile fits whole into items of this geometry.
bool divides(unsigned rows, unsigned columns, const Geometry& geometry) {
  return (geometry.axis() == Axis::cols || geometry.edge() % rows == 0) &&
         (geometry.axis() == Axis::rows || geometry.edge() % columns == 0);
}

// Elements moved at once along rows of `length`: rows must be aligned to it.
unsigned vector_of(std::uint64_t length, unsigned widest) { return length % widest == 0 ? widest : 1; }

std::string name_of(const Tile& tile) {
  return std::to_string(tile.rows) + 'x' + std::to_string(tile.columns) + 'x' + std::to_string(tile.inner) + " by " +
         std::to_string(tile.mine_rows) + 'x' + std::to_string(tile.mine_columns);
}

// All but what depends on the file.
Variant of_tile(const Tile& tile, const char* kind) {
  Variant made;
  made.kind = kind;
  made.tile = name_of(tile);
  made.tile_rows = tile.rows;
  made.tile_columns = tile.columns;
  made.threads = tile.threads();
  made.options = define("BM", tile.rows) + define("BN", tile.columns) + define("BK", tile.inner) + define("TM", tile.mine_rows) +
                 define("TN", tile.mine_columns) + define("WM", tile.warps_m) + define("WN", tile.warps_n) +
                 define("STAGES", tile.stages);
  return made;
}

// kernels/matrix.cl. What was tried for fp32 on an H200 (driver 580.159.04; 8192^3; medians of 5, in TFLOP/s; cuBLAS 51.2, the
// arithmetic limit 66.9), all with 8 k a stage:
// - 8 x 8 sums a work-item 44.9; 16 x 8 as 1 x 4 groups of 32 over 128 x 128 49.4; 8 x 16 over 2 x 2 47.6. That was put down to
//   local memory, which hands out 128 bytes a clock and SM: 16 values for 64 fma would be all of that. It is half of
//   that: each of the 2 + 2 reads of 16 bytes takes two clocks, not four, as work-items share addresses (seen in fp64, which reads
//   the same addresses: add_packed). The operand reuse cache matters here too; its part of the difference was not measured.
// - Two work-groups an SM hide each other's barriers: 256 x 128 and 128 x 256, one an SM, reach 46.5 at best.
// - cp.async against loads through registers: 47.6 to 41.6 for the same tile. 3, 4 or 5 stages: all the same.
// - Reading the next k ahead by hand, across the barrier too, was expected to hide 30 clocks a stage and lost 5 % (47.0): with 8
//   addresses of A to keep, registers run out. kernels/matrix_packed.cl has them.
// - Rows of B that cannot be copied 16 bytes at a time: 44.8.
// Small products: 64 x 64 as 8 x 8 sums of two groups 31.0 at 1024^3, as 4 x 8 of four 29.1, one 128 x 128 tile an SM 17.8.
// fp64: 22.4 of 33.4 with 128 x 128, 24.1 with 64 x 64; 12 x 8 would not divide the items. What limits it: add_packed.
void add_tiles(const Problem& problem, const Geometry& geometry, bool async, std::vector<Variant>& all) {
  const bool wide = problem.precision == Precision::fp64;
  std::vector<Tile> tiles;
  if (async && !wide) tiles.push_back({128, 128, 16, 8, 1, 4, 4});
  tiles.push_back({128, 128, 8, 8, 2, 4, async && !wide ? 4u : 2u});
  tiles.push_back({64, 64, 8, 8, 1, 2, async ? 4u : 2u});
  tiles.push_back({32, 32, 4, 8, 1, 1, async ? 3u : 2u});
  for (const Tile& tile : tiles) {
    if (!divides(tile.rows, tile.columns, geometry)) continue;
    Variant made = of_tile(tile, async ? "vector" : "portable");
    made.file = "matrix.cl";
    made.to_be_tried = async;
    made.local = Bytes{tile.stages} * tile.inner * (tile.rows + 4 + tile.columns) * problem.element();
    made.options += define("REAL64", wide) + define("VB", vector_of(problem.columns, wide ? 2 : 4)) + define("ASYNC", async);
    all.push_back(std::move(made));
  }
}

// kernels/matrix_packed.cl. fp32 on an H200 as above; TFLOP/s at 8192 and 16384, packing included; cuBLAS in the same session (its
// kernel has 256 x 128 x 8 tiles, 3 stages) 50.9 and 53.7. The main loop of kernels/matrix.cl is 1169 instructions for 1024 fma
// (the SASS of nvcc 13.0), so issue alone allows 58.6; it gives 49.7 and 49.5 to 50.3.
// - Guards out of the loop (1118 instructions) and pointers that move on were expected to give 4 % and lost 4 % (47.8): all
//   copies of a stage then stand together, before the first read. Spread over the first half of the stage's k: 48.5.
// - Fma to and fro (FRO), so that one operand is that of the fma before: 2 % each time it was tried (48.5 to 49.4; 51.1 to 52.5);
//   of 1024, 920 to 950 then find an operand in the reuse cache, 820 before.
// - A packed, 16 bytes a copy (4 copies a work-item and stage, not 10): alone nothing (47.5), with both of the above 51.6 and
//   52.9. It costs 0.17 of 21 ms at 8192.
// - The next k read ahead: 52.1 and 53.7; unpacked it spills (47.7). Why the last barrier is before the last k.
// - 16 k and 2 stages 52.4 and 53.7; 256 x 128 tiles 52.4 and 53.6; 128 x 256 51.4 and 52.6; 8 x 16 sums 50.4 and 52.0; 3 stages
//   of 8 k 52.2 and 53.3. So 0.79 and 0.80 of the arithmetic limit, at 690 W of the device's 700.
//
// fp64 (for --kernel vector: tensor cores are faster), by a CUDA copy of the kernel on an H200, driver 580.159.04, at 8192, TFLOP/s
// (no file kept): 25.5 with 128 x 128 tiles and 4 stages of 8 k. Expected were 28: more than kernels/matrix.cl's 22.6, and less
// than what registers allow. This kernel itself, packing included: 24.9 (128 x 64: 24.7), 25.1 at 16384, three quarters of the
// arithmetic limit.
// - Local memory was expected to be the limit (16 values of 8 bytes for 64 fma) and is not: its data pipe is 38 to 41 % busy (ncu),
//   as a read of 16 bytes in which neighbouring work-items share addresses takes two wavefronts, not four. Reads of 8 bytes: 22.8.
// - Registers are: 8 x 8 outer products from registers alone, no memory at all, reach 27.6 in plain order and 29.4 to and fro, at
//   1, 2 or more work-groups an SM alike, where a chain of fma on few registers reaches 33.0. Three operands of 64 bits are more
//   than the register file hands out in the two clocks an fma takes, unless one is in the reuse cache.
// - Packed but neither of the next two 23.6; fma to and fro 24.8; the next k read ahead besides 25.5: 0.87 of what registers allow.
// - 3 stages 25.1, and that is what 48 KiB, all the local memory of a work-group in OpenCL on NVIDIA, hold of these tiles. 128 x 64
//   by 2 x 2 groups, two work-groups an SM, fit with 4 stages: 25.2. 64 x 64 24.6; 8 x 4 sums 23.0.
void add_packed(const Problem& problem, const Geometry& geometry, std::vector<Variant>& all) {
  // Packing reads and writes A once, and is a launch more: what 5 % of a product must pay for.
  constexpr double least_products = 8e9;
  constexpr std::uint64_t least_columns = 2048;
  const double products =
      static_cast<double>(problem.rows) * static_cast<double>(problem.columns) * static_cast<double>(problem.inner);
  const bool wide = problem.precision == Precision::fp64;
  // Rows of B and C are moved 16 bytes at a time.
  if (problem.columns % (wide ? 2 : 4) != 0 || problem.columns < least_columns || products < least_products) return;
  const std::vector<Tile> of_fp32{
      {128, 128, 16, 8, 1, 4, 2, 16}, {128, 128, 16, 8, 1, 4, 4, 8}, {256, 128, 16, 8, 2, 4, 4, 8}, {128, 256, 16, 8, 1, 8, 4, 8}};
  const std::vector<Tile> of_fp64{{128, 128, 8, 8, 2, 4, 3, 8}, {128, 64, 8, 8, 2, 2, 4, 8}};
  for (const Tile& tile : wide ? of_fp64 : of_fp32) {
    if (!divides(tile.rows, tile.columns, geometry)) continue;
    Variant made = of_tile(tile, "packed");
    made.file = "matrix_packed.cl";
    made.to_be_tried = made.packs_in_blocks = true;
    made.panel_rows = tile.rows;
    made.local = Bytes{tile.stages} * tile.inner * (tile.rows + tile.columns) * problem.element();
    made.options += define("REAL64", wide);
    all.push_back(std::move(made));
  }
}

struct Fragments {  // tiles of the tensor cores' kernels
  unsigned rows, columns, warps_m, warps_n, stages;
};

Variant of_fragments(const Problem& problem, const Fragments& tile, const char* kind, unsigned widest) {
  Variant made;
  made.kind = kind;
  made.tile = std::to_string(tile.rows) + 'x' + std::to_string(tile.columns) + " by " + std::to_string(tile.warps_m) + 'x' +
              std::to_string(tile.warps_n);
  made.tile_rows = tile.rows;
  made.tile_columns = tile.columns;
  made.threads = tile.warps_m * tile.warps_n * 32;
  made.to_be_tried = true;
  made.options = define("BM", tile.rows) + define("BN", tile.columns) + define("WM", tile.warps_m) + define("WN", tile.warps_n) +
                 define("STAGES", tile.stages) + define("VA", vector_of(problem.inner, widest)) +
                 define("VB", vector_of(problem.columns, widest));
  return made;
}

// fp64 on an H200, 8192^3, TFLOP/s (cuBLAS 56 to 61, as warm as the device is): m16n8k8 gave what two m16n8k4 give (43.1, 43.7), so
// the one whose order of k is plain was kept; reading the next 4 k ahead: 50.3; bands of 8 items, which keep A and B in the second
// cache: 53.1; 4 x 2 instead of 2 x 4 groups: 54.9. 64 x 128 tiles, two work-groups an SM: 51.6.
void add_tensor(const Problem& problem, const Geometry& geometry, std::vector<Variant>& all) {
  for (const Fragments& tile : {Fragments{128, 128, 4, 2, 3}, Fragments{128, 128, 2, 4, 3}, Fragments{64, 128, 2, 2, 3},
                                Fragments{64, 64, 2, 2, 3}, Fragments{32, 32, 1, 1, 3}}) {
    if (!divides(tile.rows, tile.columns, geometry)) continue;
    Variant made = of_fragments(problem, tile, "tensor", 2);
    made.file = "matrix_dmma.cl";
    made.local = Bytes{tile.stages} * 8 * (tile.rows + tile.columns) * sizeof(double);
    all.push_back(std::move(made));
  }
}

// kernels/matrix_tf32.cl on an H200, 8192^3 and 16384^3, TFLOP/s counted as of one product (the three take 495 / 3 = 165 at best,
// and mma.sync reaches about 60 % of that): groups of 64 x 64 take 64.9 and 65.2; 32 x 64 52.5, 128 x 64 tiles 58.7 and 55.5, four
// by four groups 51.3. What limits is splitting: each group splits all it reads again, 3 instructions a value.
void add_emulated(const Problem& problem, const Geometry& geometry, std::vector<Variant>& all) {
  for (const Fragments& tile : {Fragments{128, 128, 2, 2, 2}, Fragments{128, 64, 2, 2, 3}, Fragments{128, 128, 2, 4, 2},
                                Fragments{64, 64, 2, 2, 3}, Fragments{32, 32, 1, 1, 3}}) {
    if (!divides(tile.rows, tile.columns, geometry)) continue;
    Variant made = of_fragments(problem, tile, "emulated", 4);
    made.file = "matrix_tf32.cl";
    made.exact = false;
    made.local = Bytes{tile.stages} * (20 * tile.rows + 16 * (tile.columns + 8)) * sizeof(float);
    all.push_back(std::move(made));
  }
}

void add_for_nvidia(const Problem& problem, const Geometry& geometry, std::vector<Variant>& all) {
  if (problem.precision == Precision::fp64) add_tensor(problem, geometry, all);
  add_packed(problem, geometry, all);
  add_tiles(problem, geometry, true, all);
}

// kernels/matrix_cpu.cl: rows of a register tile, and the tile of a work-group, of which BK x NR of B stay in the first cache.
void add_for_cpus(const DeviceTraits& device, const Problem& problem, const Geometry& geometry, std::vector<Variant>& all) {
  if (problem.precision == Precision::tf32x3) return;
  const bool wide = problem.precision == Precision::fp64;
  const unsigned lanes = std::clamp(device.float_width / (wide ? 2 : 1), 4u, 16u);
  const unsigned rows = device.float_width >= 16 ? 8 : 4;  // 16 sums, 2 of B and 1 of A: of 32 registers, or half of that of 16
  struct Blocks {
    unsigned register_rows, rows, columns, inner;
  };
  for (const Blocks& blocks : {Blocks{rows, 128, 256, 256}, Blocks{rows, 128, 256, 384}, Blocks{rows, 128, 512, 192},
                               Blocks{rows, 64, 256, 512}, Blocks{12 - rows, 128, 256, 256}}) {
    Variant made;
    made.kind = "cpu";
    made.file = "matrix_cpu.cl";
    made.panel_rows = blocks.register_rows;
    made.panel_columns = 2 * lanes;
    made.tile_rows =
        static_cast<unsigned>(geometry.axis() == Axis::cols ? blocks.rows : std::min<std::uint64_t>(geometry.edge(), blocks.rows));
    made.tile_columns = static_cast<unsigned>(
        geometry.axis() == Axis::rows ? blocks.columns : std::min<std::uint64_t>(geometry.edge(), blocks.columns));
    made.tile = std::to_string(blocks.register_rows) + 'x' + std::to_string(2 * lanes) + " in " + std::to_string(blocks.rows) +
                'x' + std::to_string(blocks.columns) + 'x' + std::to_string(blocks.inner);
    made.options = define("REAL64", wide) + define("W", lanes) + define("MR", blocks.register_rows) + define("BM", made.tile_rows) +
                   define("BN", made.tile_columns) + define("BK", blocks.inner);
    all.push_back(std::move(made));
  }
}

}  // namespace

std::vector<Variant> variants(const DeviceTraits& device, const Problem& problem, const Geometry& geometry,
                              const std::string& preferred) {
  std::vector<Variant> all;
  if (problem.precision == Precision::fp64 && !device.fp64) return all;
  if (device.cpu) {
    add_for_cpus(device, problem, geometry, all);
  } else if (problem.precision == Precision::tf32x3) {
    if (device.nvidia) add_emulated(problem, geometry, all);
  } else {
    if (device.nvidia) add_for_nvidia(problem, geometry, all);
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
  std::erase_if(all, [&](const Variant& variant) {
    return !named(variant) || variant.threads > device.max_work_group || (!device.cpu && variant.local > device.local_memory);
  });
  const auto first = std::find_if(all.begin(), all.end(), [&](const Variant& variant) { return variant.name() == preferred; });
  if (first != all.end()) std::rotate(all.begin(), first, first + 1);
  return all;
}

bool is_a_variant(const DeviceTraits& device, Precision precision, const std::string& name) {
  constexpr std::uint64_t sizes[] = {256, 1024, 16384};  // of items of 32, 64, and 128 or 256
  for (const std::uint64_t size : sizes) {
    for (const Axis axis : {Axis::rows, Axis::cols, Axis::tiles}) {
      Problem problem{size, size, size, precision, axis};
      const auto all = variants(device, problem, Geometry::of(size, size, axis));
      if (std::any_of(all.begin(), all.end(), [&](const Variant& variant) { return variant.name() == name; })) return true;
    }
  }
  return false;
}

}  // namespace mgpu::matrix
