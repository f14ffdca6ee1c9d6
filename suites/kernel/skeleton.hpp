// Drafts a descriptor from what the compiler reports of a kernel's parameters.
#pragma once

#include <string>
#include <vector>

#include "lib/workload/workload.hpp"

namespace mgpu::kernel {

// Returns the names of the kernels in a text, in the order in which they appear.
std::vector<std::string> kernels_in(const std::string& text);

// Returns the descriptor's text, with comments on what to fill in. An empty `entry` means the only
// kernel of the file. The text names the kernel's file relative to `descriptor`, or, if that is
// empty, as in the same folder. Throws Error(input) if the file cannot be read, or has no kernel or
// several; Error(unsupported) if it does not build.
std::string skeleton(DeviceResources& device, const SuiteInfo::Descriptors::TemplateRequest& from);

}  // namespace mgpu::kernel
