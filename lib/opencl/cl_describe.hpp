// Reads the facts of one OpenCL device.
#pragma once

#include <string>

#include "lib/device/device.hpp"
#include "lib/opencl/cl_common.hpp"
#include "lib/workload/stream.hpp"

namespace mgpu {

// Returns why nothing can run on the device; empty: it can be used. Throws cl::Error.
std::string why_unusable(const cl::Device& device);

// Returns all fields of a Device, score included. Throws cl::Error when the driver does not answer
// the mandatory queries; optional facts (UUID, PCI address, compute capability) are left out if the
// driver does not offer them.
Device describe(const cl::Device& device, const std::string& id);

bool is_pocl(const Device& facts);

// Returns the facts that a suite may know.
DeviceTraits traits_of(const Device& facts);

}  // namespace mgpu
