// The OpenCL headers, configured once, and how OpenCL failures become Error. Only lib/exec/cl_* may
// include this.
#pragma once

// Debian 12's opencl.hpp does not compile with a minimum of 120 and a target of 300.
#define CL_HPP_TARGET_OPENCL_VERSION 300
#define CL_HPP_MINIMUM_OPENCL_VERSION 110
#define CL_HPP_ENABLE_EXCEPTIONS
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/opencl.hpp>
#include <string>

#include "lib/base/error.hpp"
#include "lib/base/units.hpp"

namespace mgpu {

Nanos host_now();  // the steady clock

// "CL_OUT_OF_RESOURCES (-5)"; the number alone when it has no name we know.
std::string cl_status_name(cl_int status);

// An allocation that failed is out_of_memory, everything else device. `what` says what was being
// done and to which device.
Error cl_failure(const std::string& what, cl_int status);

// Of an allocation: NVIDIA reports a full device as out of resources when the memory is used for
// the first time.
Error allocation_failure(const std::string& what, cl_int status);

}  // namespace mgpu
