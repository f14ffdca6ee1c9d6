// One of the functions of targets.hpp as a libFuzzer program; MGPU_FUZZ_TARGET is its name.
#include <cstdint>

#include "tests/fuzz/targets.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  mgpu::fuzz::MGPU_FUZZ_TARGET({reinterpret_cast<const char*>(data), size});
  return 0;
}
