// The kernels of kernels/memory_pattern.cl as host functions for the fake backend.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "tests/support/fake_backend.hpp"

namespace mgpu::test {

inline std::uint32_t pattern_at(std::uint64_t index, std::uint32_t inverse) {
  auto word = static_cast<std::uint32_t>(index * 2654435761u) ^
              static_cast<std::uint32_t>((index >> 32) * 2246822519u);
  word ^= word >> 15;
  word *= 739982445u;
  return word ^ word >> 12 ^ inverse;
}

// `stuck`: this bit of this word always reads as 1; none: memory is good.
inline FakeKernels pattern_kernels(std::optional<std::uint64_t> stuck = std::nullopt) {
  const auto cost = [](const Grid&, std::span<const FakeArg> args) {
    return static_cast<double>(std::get<std::uint64_t>(args[1]));
  };
  const auto each_word = [](std::span<const FakeArg> args, const auto& use) {
    const auto memory = std::get<std::span<std::byte>>(args[0]);
    const auto words = std::get<std::uint64_t>(args[1]), first = std::get<std::uint64_t>(args[2]);
    for (std::uint64_t i = 0; i < words; ++i)
      use(memory.data() + 4 * i, first + i, std::get<std::uint32_t>(args[3]));
  };
  FakeKernelCode write, count;
  write.run = [=](const Grid&, std::span<const FakeArg> args) {
    each_word(args, [&](std::byte* at, std::uint64_t index, std::uint32_t inverse) {
      std::uint32_t word = pattern_at(index, inverse);
      if (stuck == index) word |= 1;
      std::memcpy(at, &word, sizeof word);
    });
  };
  count.run = [=](const Grid&, std::span<const FakeArg> args) {
    std::uint32_t wrong = 0;
    each_word(args, [&](const std::byte* at, std::uint64_t index, std::uint32_t inverse) {
      const std::uint32_t word = pattern_at(index, inverse);
      wrong += std::memcmp(at, &word, sizeof word) != 0 ? 1 : 0;
    });
    std::uint32_t before = 0;
    std::byte* const counter = std::get<std::span<std::byte>>(args[4]).data();
    std::memcpy(&before, counter, sizeof before);
    before += wrong;
    std::memcpy(counter, &before, sizeof before);
  };
  write.ops = count.ops = cost;
  return {{"write_pattern", write}, {"count_wrong_words", count}};
}

}  // namespace mgpu::test
