// Which kernel computes a problem on a device: file, definitions and tile, from best to most portable; the choice is made by trial.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "suites/matrix/problem.hpp"

namespace mgpu::matrix {

// One way to compute. `tile_rows` and `tile_columns` suit the items of the geometry it was made for.
struct Variant {
  std::string name;  // "portable", "vector", "tensor", "cpu"
  std::string file, options;
  unsigned tile_rows = 0, tile_columns = 0;
  unsigned threads = 1;                        // a work-group's
  unsigned panel_rows = 0, panel_columns = 0;  // packed before it is computed with; 0: never
  bool to_be_tried = false;                    // must show first that it builds, and that its bits are those of the chain of fma
};

// Those that may be asked of a device, best first; the last is plain OpenCL C. With a --kernel named, only that. Empty: the device
// cannot.
std::vector<Variant> variants(const DeviceTraits& device, const Problem& problem, const Geometry& geometry);

struct Kernels {
  Variant variant;
  std::unique_ptr<Kernel> multiply;
  std::unique_ptr<Kernel> pack_rows, pack_columns;  // of variants that pack
};

// The first of `candidates` that works on this device. Throws Error(device) when none does.
Kernels choose_kernels(DeviceResources& device, const std::vector<Variant>& candidates, Precision precision);

}  // namespace mgpu::matrix
