// Parameters of a product C = alpha A B + beta C, row-major, A rows x inner, B inner x columns.
// Pure.
#pragma once

#include "suites/common/product_sizes.hpp"

namespace mgpu::matrix {

using namespace product;

// Precision of a product. tf32x3: operands and result are fp32, and each product is the sum of
// three TF32 products (kernels/matrix_tf32.cl).
enum class Precision { fp32, fp64, tf32x3 };
enum class KernelChoice { automatic, portable, vector, tensor };

struct Problem {
  std::uint64_t rows = 0, columns = 0, inner = 0;
  Precision precision = Precision::fp32;
  Axis axis = Axis::rows;
  KernelChoice kernel = KernelChoice::automatic;
  double alpha = 1, beta = 0;
  bool integers = false;  // seeded operands are small integers

  Bytes element() const { return precision == Precision::fp64 ? 8 : 4; }
  // Number of products per sum. As in BLAS, alpha 0 means that A and B are not read, beta 0 that C
  // is not.
  std::uint64_t summed() const { return alpha == 0 ? 0 : inner; }
  bool reads_c() const { return beta != 0; }
  Bytes a_bytes() const { return rows * inner * element(); }
  Bytes b_bytes() const { return inner * columns * element(); }
  Bytes c_bytes() const { return rows * columns * element(); }
  ProductSizes sizes() const {
    return {rows, columns, inner, element(), axis, reads_c(), summed() > 0, 0};
  }
};

// Returns the problem of these parameters. Throws Error(usage) for an option or size that is not
// possible, Error(input) for files that do not match.
Problem problem_of(const SuiteParams& params);

}  // namespace mgpu::matrix
