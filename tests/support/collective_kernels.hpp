// Kernels of collectives for the fake backend.
#pragma once

#include <cstring>
#include <string>

#include "tests/support/collective_check.hpp"
#include "tests/support/fake_backend.hpp"

namespace mgpu::test {

// Returns the combining kernel of kernels/collectives.cl, which takes the same arguments.
template <class T>
FakeKernelCode combine_kernel(Reduction reduction) {
  const auto run = [reduction](const Grid&, std::span<const FakeArg> args) {
    const auto bytes = [&](std::size_t i) { return std::get<std::span<std::byte>>(args[i]); };
    const auto number = [&](std::size_t i) { return std::get<std::uint64_t>(args[i]); };
    const std::uint64_t out_at = number(9), mine_at = number(11), slot = number(13),
                        count = number(14);
    const auto outs = std::get<std::uint32_t>(args[8]), self = std::get<std::uint32_t>(args[15]);
    const auto devices = std::get<std::uint32_t>(args[16]);
    const auto value = [&](std::uint64_t i, std::uint32_t k) {
      T loaded{};
      const auto from = k == self ? bytes(10).subspan((mine_at + i) * sizeof(T))
                                  : bytes(12).subspan((k * slot + i) * sizeof(T));
      std::memcpy(&loaded, from.data(), sizeof(T));
      return loaded;
    };
    for (std::uint64_t i = 0; i < count; ++i) {
      T sum = value(i, 0);
      for (std::uint32_t k = 1; k < devices; ++k) sum = combined(reduction, sum, value(i, k));
      for (std::uint32_t k = 0; k < outs; ++k)
        std::memcpy(bytes(k).data() + (out_at + i) * sizeof(T), &sum, sizeof(T));
    }
  };
  const auto ops = [](const Grid&, std::span<const FakeArg> args) {
    return static_cast<double>(std::get<std::uint64_t>(args[14]));
  };
  return {run, ops};
}

inline FakeKernels collective_kernels() {
  FakeKernels kernels;
  for (const Element element : all_elements()) {
    for (const Reduction reduction : all_reductions()) {
      const std::string name =
          "combine_" + std::string(to_string(element)) + "_" + std::string(to_string(reduction));
      kernels[name] =
          with_type(element, [&](auto zero) { return combine_kernel<decltype(zero)>(reduction); });
    }
  }
  return kernels;
}

}  // namespace mgpu::test
