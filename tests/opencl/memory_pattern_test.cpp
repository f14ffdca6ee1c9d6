// The kernels of the memory test on any devices: each bit that differs is seen.
#include <doctest/doctest.h>

#include "lib/measure/memory_test.hpp"
#include "tests/support/machine.hpp"
#include "tests/support/pattern_kernels.hpp"

namespace mgpu::testing {

TEST_CASE(
    "memory pattern: it is as the host computes it, beyond 2^32 words, and a bit is missed "
    "nowhere") {
  OpenDevice& device = *machine().open.front();
  constexpr std::size_t kWords = 1000;
  constexpr std::uint64_t kFirst = (std::uint64_t{5} << 32) - 300;
  const auto memory = device.resources().allocate(kWords * 4),
             wrong = device.resources().allocate(4);
  for (const char* options : {"-DLINEAR", ""}) {
    for (const std::uint32_t inverse : {0u, 0xffffffffu}) {
      const auto write = device.resources().kernel("memory_pattern.cl", "write_pattern", options);
      const auto count =
          device.resources().kernel("memory_pattern.cl", "count_wrong_words", options);
      const Grid grid = grid_of(16, 1);
      device.stream().launch(*write, grid, {memory.get(), std::uint64_t{kWords}, kFirst, inverse});
      std::vector<std::uint32_t> words(kWords);
      const auto bytes = std::as_writable_bytes(std::span(words));
      device.stream().download(*memory, 0, bytes);
      wait_for(device);
      for (std::size_t i = 0; i < kWords; ++i)
        CHECK(words[i] == test::pattern_at(kFirst + i, inverse));
      words[0] ^= 1;
      words[500] ^= 1u << 31;
      words[999] ^= 1u << 7;
      std::uint32_t found = 0;
      const auto counter = std::as_writable_bytes(std::span(&found, 1));
      device.stream().upload(*memory, 0, bytes);
      device.stream().upload(*wrong, 0, counter);
      device.stream().launch(*count, grid,
                             {memory.get(), std::uint64_t{kWords}, kFirst, inverse, wrong.get()});
      device.stream().download(*wrong, 0, counter);
      wait_for(device);
      CHECK(found == 3);
    }
  }
}

TEST_CASE("memory test: the memory of each device is good") {
  constexpr Bytes kSize = Bytes{4} << 20;
  for (const auto& device : machine().open) {
    const MemoryTest tested =
        test_memory(*machine().backend, *device, kSize, std::chrono::minutes(1));
    CHECK(tested.bytes == kSize);
    CHECK(tested.passes == 2);
    CHECK(tested.wrong == 0);
  }
}

}  // namespace mgpu::testing
