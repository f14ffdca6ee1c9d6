// Which kernel computes a problem on a device, from best to most portable.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "suites/common/product_kernels.hpp"
#include "suites/tropical/problem.hpp"

namespace mgpu::tropical {

// What else decides what a kernel is compiled for.
struct Purpose {
  bool update = false;   // the better of C and A B, for rounds of shortest paths
  bool ordered = false;  // no number is below zero, so that bits are ordered as integers are
};

// Those that may be asked of a device, best first; the last is plain OpenCL C. `preferred`, a name,
// comes first if it is among them.
std::vector<Variant> variants(const DeviceTraits& device, const Problem& problem,
                              const Geometry& geometry, Purpose purpose,
                              const std::string& preferred = {});

// Of a device without any: why.
Capacity no_kernel(const DeviceTraits& device, const Problem& problem);

// Whether a device has a variant of this name for this problem's numbers, in whatever size and
// axis.
bool is_a_variant(const DeviceTraits& device, const Problem& problem, const std::string& name);

// Of the fp32 roof, in which a multiply-add is two operations and takes as long as an add or a
// compare does alone: how many of its operations one of these takes. `three_at_once`: of two sums
// and the best so far the best is one instruction.
constexpr double fp32_roof_share(bool three_at_once) { return three_at_once ? 1.5 : 2; }

// The first of `candidates` that works on this device. Throws Error(unsupported) when none does,
// Error(device).
Kernels choose_kernels(DeviceResources& device, const std::vector<Variant>& candidates,
                       const Problem& problem, Purpose purpose);

}  // namespace mgpu::tropical
