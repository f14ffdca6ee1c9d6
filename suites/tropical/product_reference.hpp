// The independent reference of products: plain loops on the host.
#pragma once

#include <cstdint>
#include <string>

#include "suites/common/product_memory.hpp"
#include "suites/tropical/problem.hpp"

namespace mgpu::tropical {

struct Finding {
  std::string method;   // the comparison made
  std::string message;  // the difference; empty: none
};

// Compares rows of C and, with paths, of the indices, bit for bit: all if that takes each thread at
// most half a second (3 seconds if `whole`), else as many as that time allows, including the first
// and the last.
Finding check_product(const Problem& problem, const ProductMemory& memory, bool whole,
                      std::uint64_t seed, unsigned threads);

}  // namespace mgpu::tropical
