// Geometric (Clifford) algebras by their signature, and which products of basis blades make up an
// operation: what kernels are generated from. A blade is numbered by its vectors: bit i set says
// that e(i+1) is in it, in ascending order. So components of a multivector are 1, e1, e2, e12, e3,
// e13, e23, e123, ...
#pragma once

#include <string>
#include <vector>

#include "lib/base/units.hpp"

namespace mgpu::geometric {

struct Signature {
  unsigned positive = 3, negative = 0,
           null = 0;  // vectors whose squares are 1, -1 and 0, in this order
  unsigned vectors() const { return positive + negative + null; }
  unsigned components() const { return 1u << vectors(); }
  std::string text() const;  // "3,0,0"
  bool operator==(const Signature&) const = default;
};
inline constexpr unsigned most_vectors = 5;  // 32 components

// Throws Error(usage) that says what --algebra accepts.
Signature signature_of(const std::string& text);

enum class Operation {
  geometric,  // a b
  outer,      // what of a b has the sum of the grades
  inner,      // what of a b has their difference, scalars included (Hestenes' inner product, with
              // scalars)
  sandwich    // a b ~a, where ~ reverses the order of vectors
};

struct Term {  // + or - component `left` of a times `right` of b
  unsigned left = 0, right = 0;
  bool negative = false;
};
// For each component of a product the terms that add up to it, by `left`. `operation`: of two
// operands.
std::vector<std::vector<Term>> terms_of(const Signature& signature, Operation operation);

// Multiply-adds of one operation.
std::uint64_t multiply_adds(const Signature& signature, Operation operation);

}  // namespace mgpu::geometric
