// The independent reference, on the host. Shares no code with the kernels: SHA-256 is OpenSSL's,
// the transform is recursive and takes remainders, products and sums are what their definitions
// say.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "suites/pipeline/problem.hpp"

namespace mgpu::pipeline {

// A record after all stages. Throws Error(internal) where OpenSSL fails.
std::vector<std::uint32_t> through_all(const Problem& problem,
                                       std::span<const std::uint32_t> record);

struct Finding {
  std::string method;   // what was compared
  std::string message;  // what differs; empty: nothing
};

// Of `records` and what became of them: all where `whole` and there are no more than 65,536, else
// so many, of every batch as many, and where not `whole` 512. The first and the last are among
// them.
Finding check(const Problem& problem, std::span<const std::uint32_t> records,
              std::span<const std::uint32_t> results, bool whole, std::uint64_t seed,
              unsigned threads);

}  // namespace mgpu::pipeline
