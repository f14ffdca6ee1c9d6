// The requested problem: an operation of an algebra, and the number of multivectors.
#pragma once

#include "lib/workload/workload.hpp"
#include "suites/geometric/algebra.hpp"

namespace mgpu::geometric {

struct Problem {
  Signature signature;
  Operation operation = Operation::geometric;
  bool wide = false;      // fp64
  bool integers = false;  // seeded components are small integers, whose products are exact
  std::uint64_t count = 0;
  std::uint64_t seed = 0;

  Bytes element() const { return wide ? 8 : 4; }
  Bytes multivector() const { return signature.components() * element(); }
  Bytes operand_bytes() const { return count * multivector(); }
  // Number of multivectors per item, large enough to make a slice worth a launch.
  std::uint64_t of_item() const { return 256; }
  Items items() const { return count == 0 ? 1 : ceil_div(count, of_item()); }
  std::uint64_t first(Items item) const { return std::min(item * of_item(), count); }
};

// Returns the problem of these parameters. Throws Error(usage), Error(input).
Problem problem_of(const SuiteParams& params);
Shape shape_of(const Problem& problem);
Bytes host_bytes(const Problem& problem);

inline constexpr std::uint64_t most_multivectors = std::uint64_t{1} << 31;

}  // namespace mgpu::geometric
