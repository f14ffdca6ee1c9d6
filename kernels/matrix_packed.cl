// C = alpha A B + beta C in fp32 or fp64 for large products on NVIDIA GPUs, with cp.async. The
// arguments, and what they mean, are those of matrix_multiply in kernels/matrix.cl, and so is every
// bit of the result; but a is packed by pack_rows, and rows of B and C are multiples of 16 bytes.
//
// Given by -D: BM, BN (the work-group's tile), and the options of gpu_tiles.cl except ASYNC.
#pragma OPENCL FP_CONTRACT OFF
#define EMPTY ZERO
#define PACKED_INNER inner
#define KS 1
// Columns run back and forth, so that one value of x or y is that of the fma before and need not be
// read from its register again.
#define FRO(i, j) ((i) & 1 ? TN - 1 - (j) : (j))
#define MULTIPLY(set)                                                          \
  UNROLL for (uint i = 0; i < TM; ++i) UNROLL for (uint j = 0; j < TN; ++j)    \
    sum[i][FRO(i, j)] = fma(x[set][0][i], y[set][0][FRO(i, j)], sum[i][FRO(i, j)]);
#include "packed_tiles.cl"

__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void matrix_multiply(
    __global const real* restrict a, __global const real* restrict b, __global const real* restrict c_in, __global real* restrict c,
    __global const uint* restrict tiles, const uint first, const uint items, const uint each, const uint rows, const uint columns,
    const uint inner, const uint row0, const uint column0, const uint lda, const uint ldb, const uint ldc, const real alpha,
    const real beta) {
  PLACE_TILE
  real sum[TM][TN];
  CLEAR(sum)
  DECLARE_VALUES
  SUM_STAGES

  UNROLL for (uint i = 0; i < TM; ++i) {
    const uint m = m0 + my_m + i / V * (LM * V) + i % V;
    if (m >= rows) continue;
    UNROLL for (uint j = 0; j < TN; j += V) {
      const uint n = n0 + my_n + j * LN;
      if (n >= columns) continue;
      const ulong at = (ulong)(m - row0) * ldc + (n - column0);
      vec out = alpha * VECTOR(sum[i] + j);
      if (beta != ZERO) {
        const vec added = beta * *(__global const vec*)(c_in + at);
        out = fma((vec)(alpha), VECTOR(sum[i] + j), added);
      }
      *(__global vec*)(c + at) = out;
    }
  }
}
