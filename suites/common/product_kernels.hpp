// Kernel variants of products: how they differ, and which of them a device can run.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "suites/common/product_sizes.hpp"

namespace mgpu::product {

// A kernel's file and build definitions.
struct Variant : TileKernel {
  std::string kind;  // "portable", "packed", "cpu", ...
  std::string tile;  // distinguishes the variants of a kind: "128x128x16"
  std::string file, options;
  Bytes local = 0;  // GPUs: local memory of a work-group
  // Must first be shown to build and to give the bits of the chain of fma.
  bool to_be_tried = false;
  bool exact = true;  // false: its precision gives other bits, which are checked against a bound

  std::string name() const { return kind + ' ' + tile; }
};

struct Kernels {
  Variant variant;
  std::unique_ptr<Kernel> multiply;
  std::unique_ptr<Kernel> pack_rows, pack_columns;  // only of variants that pack
};
// Builds kernel `multiply` of the first of `candidates` that works on this device. A candidate with
// `to_be_tried` works if it builds and `works` confirms its results. Throws Error(unsupported) if
// no candidate works, Error(device).
Kernels choose_kernels(DeviceResources& device, const std::vector<Variant>& candidates,
                       const char* multiply, const std::function<bool(const Kernels&)>& works);

// Tile of a GPU's work-group, made of register tiles (kernels/gpu_tiles.cl).
struct RegisterTile {
  unsigned rows, columns, mine_rows, mine_columns, warps_m, warps_n, stages, inner = 8;
  unsigned threads() const { return warps_m * warps_n * 32; }
};
// Returns the variant of this tile with everything set except what depends on the file.
Variant variant_of(const RegisterTile& tile, const char* kind);

// Tile of a CPU's work-group (kernels/cpu_panels.cl); `register_rows` x 2 `lanes` elements are in
// vector registers.
struct CpuTile {
  unsigned register_rows, lanes, rows, columns;
};
Variant variant_of(const CpuTile& tile, const Geometry& geometry);

// Returns whether a whole number of kernel tiles fits into the items of this geometry.
bool divides(unsigned rows, unsigned columns, const Geometry& geometry);
// Returns the vector width for rows of `length` elements: `widest` if it divides them, else 1.
unsigned vector_of(std::uint64_t length, unsigned widest);

// Returns the variants that `named` selects and the device can run, in the same order, but with the
// variant called `preferred` first if it is among them.
std::vector<Variant> usable(std::vector<Variant> all, const DeviceTraits& device,
                            const std::function<bool(const Variant&)>& named,
                            const std::string& preferred);

// Returns why the device runs none of `all`, of which there is at least one.
std::string why_none_suits(const DeviceTraits& device, const std::vector<Variant>& all);

}  // namespace mgpu::product
