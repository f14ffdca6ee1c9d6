// The independent reference of products: plain loops on the host.
#pragma once

#include <cstdint>
#include <string>

#include "suites/common/product_memory.hpp"
#include "suites/tropical/problem.hpp"

namespace mgpu::tropical {

struct Finding {
  std::string method;   // what was compared
  std::string message;  // what differs; empty: nothing
};

// Rows of C, and of what goes with it, bit for bit: all where that takes each thread half a second,
// in `whole` 3, else as many as that, the first and the last among them.
Finding check_product(const Problem& problem, const ProductMemory& memory, bool whole,
                      std::uint64_t seed, unsigned threads);

}  // namespace mgpu::tropical
