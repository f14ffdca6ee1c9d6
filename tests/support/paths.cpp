#include "tests/support/paths.hpp"

// The macros come from tests/CMakeLists.txt.
namespace mgpu::test {

std::filesystem::path source_folder() { return SOURCE_FOLDER; }
const char* fake_nvml_library() { return FAKE_NVML; }
const char* fake_cuda_library() { return FAKE_CUDA; }
const char* refusing_cuda_library() { return FAKE_CUDA_THAT_REFUSES; }
const char* fault_layer_library() { return FAULT_LAYER; }
const char* profile_layer_library() { return PROFILE_LAYER; }
const char* profiled_program() { return PROFILED_PROGRAM; }

}  // namespace mgpu::test
