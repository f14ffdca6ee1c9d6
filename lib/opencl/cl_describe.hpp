// Reads the facts of one OpenCL device.
#pragma once

#include <string>

#include "lib/device/device.hpp"
#include "lib/opencl/cl_common.hpp"
#include "lib/workload/stream.hpp"

namespace mgpu {

// Everything a Device holds, score included. Throws cl::Error when the driver does not answer the
// mandatory queries; what is optional (UUID, PCI address, compute capability) is left out where it
// is not offered.
Device describe(const cl::Device& device, const std::string& id);

bool is_pocl(const Device& facts);

// What of it a suite may know.
DeviceTraits traits_of(const Device& facts);

}  // namespace mgpu
