// The kernels that can compute a problem on a device, from best to most portable.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "suites/common/product_kernels.hpp"
#include "suites/tropical/problem.hpp"

namespace mgpu::tropical {

// Further inputs of a kernel's build.
struct Purpose {
  bool update = false;   // result is the better of C and A B, for rounds of shortest paths
  bool ordered = false;  // no number is negative, so that fp32 bits are ordered as integers
};

// Returns the variants that a device supports, best first; the last is plain OpenCL C. `preferred`,
// a name, comes first if it is among them.
std::vector<Variant> variants(const DeviceTraits& device, const Problem& problem,
                              const Geometry& geometry, Purpose purpose,
                              const std::string& preferred = {});

// Returns an empty capacity with the reason, for a device that supports no variant. `all`: the
// variants for that device without_limits().
Capacity no_kernel(const DeviceTraits& device, const Problem& problem,
                   const std::vector<Variant>& all);

// Tells whether a device has a variant of this name for the problem's numbers, at any size and
// axis.
bool is_a_variant(const DeviceTraits& device, const Problem& problem, const std::string& name);

// Returns the operations of the fp32 ceiling (roofline) that one operation here takes. The ceiling
// counts a multiply-add as two operations, and it takes as long as a single add or compare.
// `three_at_once`: one instruction selects the best of two sums and the best so far.
constexpr double fp32_roof_share(bool three_at_once) { return three_at_once ? 1.5 : 2; }

// Returns the first of `candidates` that works on this device. Throws Error(unsupported) if none
// does, Error(device).
Kernels choose_kernels(DeviceResources& device, const std::vector<Variant>& candidates,
                       const Problem& problem, Purpose purpose);

}  // namespace mgpu::tropical
