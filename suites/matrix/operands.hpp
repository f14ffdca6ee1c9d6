// A, B and C in host memory, seeded or from files.
#pragma once

#include <string>
#include <vector>

#include "suites/common/product_memory.hpp"
#include "suites/matrix/problem.hpp"

namespace mgpu::matrix {

class Operands : public ProductMemory {
 public:
  // Seeded: element i of each operand is a function of seed, operand and i alone, uniform in (-1,
  // 1), or an integer in -4 .. 4; or from the files of --input. Throws Error(input),
  // Error(out_of_memory).
  Operands(const Problem& problem, const SuiteParams& params);
  // Names files of values that are no finite numbers.
  const std::vector<std::string>& caveats() const { return caveats_; }

 private:
  std::vector<std::string> caveats_;
};

}  // namespace mgpu::matrix
