// Paths of the source tree and of the libraries that the build made for tests.
#pragma once

#include <filesystem>

namespace mgpu::test {

std::filesystem::path source_folder();

// Return the paths of shared libraries to load: tests/support/fake_nvml.cpp,
// tests/support/fake_cuda.cpp, a variant of the latter that refuses to start, and tests/layer.
const char* fake_nvml_library();
const char* fake_cuda_library();
const char* refusing_cuda_library();
const char* fault_layer_library();

// Return the paths of the profiling layer and of the program that its tests run.
const char* profile_layer_library();
const char* profiled_program();

}  // namespace mgpu::test
