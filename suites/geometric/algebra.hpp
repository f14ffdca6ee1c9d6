// Geometric (Clifford) algebras by their signature, and the products of basis blades that make up
// an operation; kernels are generated from these. Bit i of a blade's number says that e(i+1) is in
// it, in ascending order, so components of a multivector are 1, e1, e2, e12, e3, e13, e23, e123,
// ...
#pragma once

#include <string>
#include <vector>

#include "lib/base/units.hpp"

namespace mgpu::geometric {

struct Signature {
  // Numbers of vectors whose squares are 1, -1 and 0, in this order.
  unsigned positive = 3, negative = 0, null = 0;
  unsigned vectors() const { return positive + negative + null; }
  unsigned components() const { return 1u << vectors(); }
  std::string text() const;  // "3,0,0"
  bool operator==(const Signature&) const = default;
};
inline constexpr unsigned most_vectors = 5;  // 32 components

// Parses the value of --algebra. Throws Error(usage) that says what is expected.
Signature signature_of(const std::string& text);

enum class Operation {
  geometric,  // a b
  outer,      // parts of a b whose grade is the sum of the grades
  // Parts of a b whose grade is their difference, scalars included (Hestenes' inner product
  // extended to scalars).
  inner,
  sandwich,         // a b ~a, where ~ reverses the order of vectors
  left_contraction  // parts of a b whose grade is the grade of b minus that of a
};

struct Term {  // plus or minus component `left` of a times `right` of b
  unsigned left = 0, right = 0;
  bool negative = false;
};
// Returns for each component of a product the terms that add up to it, ordered by `left`.
// `operation` has two operands (not sandwich).
std::vector<std::vector<Term>> terms_of(const Signature& signature, Operation operation);

// Returns the number of multiply-adds of one operation.
std::uint64_t multiply_adds(const Signature& signature, Operation operation);

}  // namespace mgpu::geometric
