// A, B and C in host memory, seeded or from files.
#pragma once

#include <string>
#include <vector>

#include "suites/common/product_memory.hpp"
#include "suites/matrix/problem.hpp"

namespace mgpu::matrix {

class Operands : public ProductMemory {
 public:
  // Makes seeded operands, or reads those of --input. A seeded element i is a function of seed,
  // operand and i alone: uniform in [-1, 1), or an integer in -4 .. 4. Throws Error(input),
  // Error(out_of_memory).
  Operands(const Problem& problem, const SuiteParams& params);
  // Returns a caveat for each file with values that are not finite.
  const std::vector<std::string>& caveats() const { return caveats_; }

 private:
  std::vector<std::string> caveats_;
};

}  // namespace mgpu::matrix
