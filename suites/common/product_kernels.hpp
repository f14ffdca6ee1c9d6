// Kernel variants of products: what distinguishes them, and which of them a device can have.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "suites/common/product_sizes.hpp"

namespace mgpu::product {

// File and definitions of a kernel.
struct Variant : TileKernel {
  std::string kind;  // "portable", "packed", "cpu", ...
  std::string tile;  // what distinguishes those of a kind: "128x128x16"
  std::string file, options;
  Bytes local = 0;  // local memory of a work-group, for GPUs
  bool to_be_tried =
      false;  // must show first that it builds, and that its bits are those of the chain of fma
  bool exact = true;  // false: of a precision whose bits are its own, within a bound

  std::string name() const { return kind + ' ' + tile; }
};

struct Kernels {
  Variant variant;
  std::unique_ptr<Kernel> multiply;
  std::unique_ptr<Kernel> pack_rows, pack_columns;  // of variants that pack
};
// The first of `candidates` that builds on this device, kernel `multiply` of its file, and, where
// it is to be tried, of which `works` says that it computes what it should. Throws
// Error(unsupported) when none does, Error(device).
Kernels choose_kernels(DeviceResources& device, const std::vector<Variant>& candidates,
                       const char* multiply, const std::function<bool(const Kernels&)>& works);

// A tile of register tiles on GPUs (kernels/gpu_tiles.cl).
struct RegisterTile {
  unsigned rows, columns, mine_rows, mine_columns, warps_m, warps_n, stages, inner = 8;
  unsigned threads() const { return warps_m * warps_n * 32; }
};
// All but what depends on the file.
Variant variant_of(const RegisterTile& tile, const char* kind);

// Tiles of a CPU's work-groups (kernels/cpu_panels.cl): `register_rows` x 2 `lanes` elements are in
// vector registers.
struct CpuTile {
  unsigned register_rows, lanes, rows, columns;
};
Variant variant_of(const CpuTile& tile, const Geometry& geometry);

// Whether a kernel's tile fits whole into items of this geometry.
bool divides(unsigned rows, unsigned columns, const Geometry& geometry);
// Elements moved at once along rows of `length`: rows must be aligned to it.
unsigned vector_of(std::uint64_t length, unsigned widest);

// Those that `named` and the device allow, in the same order, but `preferred`, a name, first if it
// is among them.
std::vector<Variant> usable(std::vector<Variant> all, const DeviceTraits& device,
                            const std::function<bool(const Variant&)>& named,
                            const std::string& preferred);

}  // namespace mgpu::product
