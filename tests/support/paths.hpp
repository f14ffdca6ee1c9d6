// Where tests find the source tree and the libraries that the build made for them.
#pragma once

#include <filesystem>

namespace mgpu::test {

std::filesystem::path source_folder();

// Paths of shared libraries to load: tests/support/fake_nvml.cpp, fake_cuda.cpp, the latter also
// as one that refuses to start, and tests/layer.
const char* fake_nvml_library();
const char* fake_cuda_library();
const char* refusing_cuda_library();
const char* fault_layer_library();

}  // namespace mgpu::test
