// Drafts a descriptor from what the compiler reports of a kernel's parameters.
#pragma once

#include <string>

#include "lib/workload/workload.hpp"

namespace mgpu::kernel {

// Returns the descriptor's text. It asks for what only the user knows, by keys without a value, and
// takes from the source what run can check. An empty `entry` means the only kernel of the file. The
// text names the kernel's file relative to `descriptor`, or, if that is empty, as in the same
// folder. Throws Error(input) if the file cannot be read, or has no kernel or several, or a
// parameter that no descriptor can give; Error(unsupported) if it does not build.
std::string skeleton(DeviceResources& device, const SuiteInfo::Descriptors::TemplateRequest& from);

}  // namespace mgpu::kernel
