// The kernel of kernels/copy_part.cl for devices of the fake backend.
#pragma once

#include <algorithm>

#include "tests/support/fake_backend.hpp"

namespace mgpu::test {

inline FakeKernelCode copy_part_code() {
  FakeKernelCode code;
  code.run = [](const Grid&, std::span<const FakeArg> given) {
    constexpr std::size_t piece = 16;
    const auto from = std::get<std::span<std::byte>>(given[0]),
               to = std::get<std::span<std::byte>>(given[1]);
    const std::size_t first = std::get<std::uint64_t>(given[2]) * piece,
                      size = std::get<std::uint64_t>(given[3]) * piece;
    std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(first), size,
                to.begin() + static_cast<std::ptrdiff_t>(first));
  };
  code.ops = [](const Grid&, std::span<const FakeArg>) { return 1.0; };
  return code;
}

}  // namespace mgpu::test
