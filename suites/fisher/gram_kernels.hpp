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
  unsigned tile = 0;     // edge
  unsigned threads = 1;  // a work-group's
  bool to_be_tried =
      false;  // must show first that it builds, and that its bits are those of the chain of fma
};

// Those that may be asked of a device, best first; the last is plain OpenCL C.
std::vector<GramVariant> gram_variants(const DeviceTraits& device, const Problem& problem);

struct GramKernels {
  GramVariant variant;
  std::unique_ptr<Kernel> gram, combine_blocks, combine_nodes, divide;
  unsigned combine_lanes = 1;  // elements that a work-item of combine_blocks takes
  std::unique_ptr<Kernel> probabilities, make_scores;  // of design matrices
};

// The first of the variants that works on this device. Throws Error(device) when none does.
GramKernels make_gram_kernels(DeviceResources& device, const Problem& problem);

// Elements from one row of score vectors to the next on a device: whole vectors of 16 bytes, which
// is what kernels copy at once.
std::uint64_t stride_of(const Problem& problem, std::uint64_t columns);

// A kernel whose functions give the same bits everywhere: with correctly rounded division where the
// device can be asked for it.
std::unique_ptr<Kernel> exact_kernel(DeviceResources& device, const char* file, const char* entry,
                                     const std::string& options);

}  // namespace mgpu::fisher
