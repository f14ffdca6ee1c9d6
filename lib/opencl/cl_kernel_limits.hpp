// Work-groups and local memory that a device has for a kernel, and failures of its launches.
#pragma once

#include <memory>
#include <string>

#include "lib/device/device.hpp"
#include "lib/opencl/cl_objects.hpp"

namespace mgpu {

// Returns the kernel with the limits that the device names for it. `file` is where it is from, for
// messages. Throws Error(unsupported) if it was compiled for a work-group size, or for more local
// memory, than the device can run it with.
std::unique_ptr<ClKernel> kernel_with_limits(cl::Kernel object, const std::string& name,
                                             const std::string& file, const cl::Device& device,
                                             const Device& facts);

// Returns the Error of a launch that the driver refused: of kind unsupported if the kernel does not
// suit the device.
Error launch_failure(ClKernel& kernel, const Grid& grid, const cl::Device& device,
                     const Device& facts, cl_int status);

}  // namespace mgpu
