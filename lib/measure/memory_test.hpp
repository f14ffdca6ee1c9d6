// Tests the memory of a device: fills most of what is free with patterns and reads it back.
#pragma once

#include "lib/exec/backend.hpp"

namespace mgpu {

struct MemoryTest {
  Bytes bytes = 0;           // tested; fewer than asked for if that would take too long
  std::uint64_t passes = 0;  // 2, with inverse patterns; 0: there was no memory to test
  std::uint64_t wrong = 0;   // 32-bit words, over both passes
};

// Tests `most` bytes, or what the device still allocates and what takes about `budget`. Throws
// Error(device), Error(timeout), Error(interrupted); see wait_for.
MemoryTest test_memory(Backend& backend, OpenDevice& device, Bytes most, Nanos budget);

}  // namespace mgpu
