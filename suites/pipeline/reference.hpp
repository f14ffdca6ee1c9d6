// The independent reference on the host. It shares no code with the kernels: SHA-256 is OpenSSL's,
// the transform is recursive with remainders, products and sums follow their definitions.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "suites/pipeline/problem.hpp"

namespace mgpu::pipeline {

// Computes a record after all stages. Throws Error(internal) if OpenSSL fails.
std::vector<std::uint32_t> through_all(const Problem& problem,
                                       std::span<const std::uint32_t> record);

struct Finding {
  std::string method;   // the comparison made
  std::string message;  // the difference; empty: none
};

// Checks results of records: all if `whole` and there are at most 65,536, else 65,536, or 512 if
// not `whole`, evenly spread. The first and the last are among them.
Finding check(const Problem& problem, std::span<const std::uint32_t> records,
              std::span<const std::uint32_t> results, bool whole, std::uint64_t seed,
              unsigned threads);

}  // namespace mgpu::pipeline
