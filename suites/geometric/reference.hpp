// The independent reference: products of blades by bit arithmetic, sums in twice the digits. Shares
// no code with what kernels are generated from.
#pragma once

#include <span>
#include <string>

#include "suites/geometric/problem.hpp"

namespace mgpu::geometric {

struct Finding {
  std::string method;   // what was compared
  std::string message;  // what differs; empty: nothing
};

// All multivectors where that takes a second or so of each thread, in `whole` ten, else as many as
// that, the first and the last among them.
Finding check(const Problem& problem, std::span<const std::byte> a, std::span<const std::byte> b,
              std::span<const std::byte> c, bool whole, std::uint64_t seed, unsigned threads);

}  // namespace mgpu::geometric
