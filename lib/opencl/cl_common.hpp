// The OpenCL headers, configured once, and how OpenCL failures become Error. Only lib/opencl/cl_*
// may include this.
#pragma once

// Debian 12's opencl.hpp does not compile with a minimum of 120 and a target of 300.
#define CL_HPP_TARGET_OPENCL_VERSION 300
#define CL_HPP_MINIMUM_OPENCL_VERSION 110
#define CL_HPP_ENABLE_EXCEPTIONS
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

// Wrappers of the two queries that opencl.hpp makes whenever it copies a device handle or makes a
// queue, and whose answer it uses even when the query failed. After a failure they answer "no
// platform" and "OpenCL 3.0".
cl_int CL_API_CALL mgpu_device_info(cl_device_id device, cl_device_info name, std::size_t size,
                                    void* value, std::size_t* size_needed);
cl_int CL_API_CALL mgpu_platform_info(cl_platform_id platform, cl_platform_info name,
                                      std::size_t size, void* value, std::size_t* size_needed);
#define clGetDeviceInfo mgpu_device_info
#define clGetPlatformInfo mgpu_platform_info
#include <CL/opencl.hpp>
#undef clGetDeviceInfo
#undef clGetPlatformInfo

#include <string>

#include "lib/base/error.hpp"
#include "lib/base/units.hpp"

namespace mgpu {

Nanos host_now();  // the steady clock

// Returns for example "CL_OUT_OF_RESOURCES (-5)"; the number alone when the status has no known
// name.
std::string cl_status_name(cl_int status);

// Returns whether the status says that the device, or its compiler, cannot do this with this
// kernel, while it can still do other work. A compiler that has no memory, or no device any more
// (NVIDIA: -9999), fails for all later texts too.
bool does_not_suit(cl_int status);

// Returns an Error of kind out_of_memory for a failed allocation, of kind unsupported for what
// does_not_suit(), of kind device for everything else. `what` says what was being done and to which
// device.
Error cl_failure(const std::string& what, cl_int status);

// Returns the Error of a failed allocation. NVIDIA reports a full device as out of resources when
// the memory is used for the first time.
Error allocation_failure(const std::string& what, cl_int status);

}  // namespace mgpu
