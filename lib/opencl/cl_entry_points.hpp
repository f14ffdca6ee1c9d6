// The OpenCL ICD loader, found at run time.
#pragma once

#include <string>

namespace mgpu {

// Returns why no library with OpenCL's functions can be loaded; empty: there is one.
std::string why_no_opencl_loader();

}  // namespace mgpu
