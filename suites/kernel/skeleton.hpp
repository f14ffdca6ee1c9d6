// A first descriptor for a kernel, from what its compiler says of its parameters.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "lib/workload/stream.hpp"

namespace mgpu::kernel {

// The names of the kernels in a text, in their order.
std::vector<std::string> kernels_in(const std::string& text);

// The descriptor's text, with comments on what to fill in. `entry` empty: the only kernel of the
// file. Throws Error(input): a file that cannot be read, or has no or several kernels;
// Error(unsupported): it does not build.
std::string skeleton(DeviceResources& device, const std::filesystem::path& file,
                     const std::string& entry, const std::string& options);

}  // namespace mgpu::kernel
