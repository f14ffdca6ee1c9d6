// The kernels of one empirical Fisher matrix on a device: tiles, definitions, and the trial of
// those that use more than OpenCL C.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "suites/fisher/problem.hpp"

namespace mgpu::fisher {

struct GramVariant {
  std::string file, options;
  unsigned tile = 0;     // edge of a tile
  unsigned threads = 1;  // per work-group
  Bytes local = 0;       // GPUs: local memory of a work-group
  // Must first be shown to build and to give the bits of the chain of fma.
  bool to_be_tried = false;
};

// Returns the variants that a device may use, best first; the last is plain OpenCL C. Empty if the
// device cannot compute the problem.
std::vector<GramVariant> gram_variants(const DeviceTraits& device, const Problem& problem);

struct GramKernels {
  GramVariant variant;
  std::unique_ptr<Kernel> gram, combine_blocks, combine_nodes, divide;
  bool soft = false;           // the device has no fp64: partials are added up in integers
  unsigned combine_lanes = 1;  // elements per work-item of combine_blocks
  std::unique_ptr<Kernel> probabilities, make_scores;  // only for design matrices
};

// Makes the first of the variants that works on this device. Throws Error(unsupported) if none
// does, Error(device).
GramKernels make_gram_kernels(DeviceResources& device, const Problem& problem);

// Returns the elements from one row of score vectors to the next on a device: whole vectors of 16
// bytes, which kernels copy at once.
std::uint64_t stride_of(const Problem& problem, std::uint64_t columns);

// Returns a kernel whose functions give the same bits on all devices: its division is correctly
// rounded if the device has such an option.
std::unique_ptr<Kernel> exact_kernel(DeviceResources& device, const char* file, const char* entry,
                                     const std::string& options);

}  // namespace mgpu::fisher
