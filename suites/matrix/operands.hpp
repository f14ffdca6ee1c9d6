// A, B and C in host memory: one page-aligned stretch, so that it is pinned in place as a whole.
#pragma once

#include <cstddef>
#include <span>

#include "lib/workload/pages.hpp"
#include "suites/matrix/problem.hpp"

namespace mgpu::matrix {

class Operands {
 public:
  // Seeded: element i of each operand is a function of seed, operand and i alone, uniform in (-1, 1), or an integer in -4 .. 4; or
  // from the files of --input. Throws Error(input), Error(out_of_memory).
  Operands(const Problem& problem, const SuiteParams& params);

  static Bytes bytes(const Problem& problem);  // what one takes

  std::span<const std::byte> all() const { return {pages_.data(), size_}; }
  std::span<const std::byte> a() const { return all().subspan(0, a_size_); }
  std::span<const std::byte> b() const { return all().subspan(b_at_, b_size_); }
  std::span<const std::byte> c_in() const { return all().subspan(c_in_at_, c_in_size_); }  // empty when beta is 0
  std::span<std::byte> c() { return {pages_.data() + c_at_, c_size_}; }
  std::span<const std::byte> c() const { return all().subspan(c_at_, c_size_); }

 private:
  Bytes a_size_, b_at_, b_size_, c_in_at_, c_in_size_, c_at_, c_size_, size_;
  Pages pages_;
};

}  // namespace mgpu::matrix
