// C = alpha A B + beta C on GPUs, row-major, fp32 or fp64, by register tiles. Each element of C is
// one chain of fma over k = 0, 1, ... from +0, then alpha and beta: it has the same bits for every
// tile, slice and device. kernels/matrix_cpu.cl does the same on CPUs, kernels/matrix_dmma.cl on
// fp64 tensor cores.
//
// Given by -D, see suites/matrix/kernels.cpp: the options of row_tiles.cl.
#pragma OPENCL FP_CONTRACT OFF
#define EMPTY ZERO
#include "row_tiles.cl"

// A work-group computes a tile: one of `tiles`, (tile row << 16 | tile column) of all of C. Row
// row0 of C is row 0 of the buffers a and c, column column0 is column 0 of b and c; c_in, the C on
// the right, is laid out like c and read only if beta is not 0.
__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void matrix_multiply(
    __global const real* restrict a, __global const real* restrict b, __global const real* restrict c_in, __global real* restrict c,
    __global const uint* restrict tiles, const uint first, const uint items, const uint each, const uint rows,
    const uint columns, const uint inner, const uint row0, const uint column0, const uint lda, const uint ldb, const uint ldc,
    const real alpha, const real beta) {
  PLACE_TILE
  real sum[TM][TN], x[TM], y[TN];
  CLEAR(sum)
#define WORK(stage)                        \
  UNROLL for (uint k = 0; k < BK; ++k)     \
    ADD_PRODUCTS(memory + (stage) * STAGE + k * LDA + my_m, memory + (stage) * STAGE + BK * LDA + k * BN + my_n)
  SUM_OVER(inner)

  UNROLL for (uint i = 0; i < TM; ++i) {
    const uint m = m0 + my_m + i / V * (LM * V) + i % V;
    if (m >= rows) continue;
    UNROLL for (uint j = 0; j < TN; j += V) {
      const uint n = n0 + my_n + j * LN;
      const ulong at = (ulong)(m - row0) * ldc + (n - column0);
      real out[V];
      UNROLL for (uint e = 0; e < V; ++e) {
        out[e] = alpha * sum[i][j + e];
        if (beta != ZERO && n + e < columns) out[e] = fma(alpha, sum[i][j + e], beta * c_in[at + e]);
      }
#if VB == V
      if (n < columns) *(__global vec*)(c + at) = VECTOR(out);
#else
      UNROLL for (uint e = 0; e < V; ++e) if (n + e < columns) c[at + e] = out[e];
#endif
    }
  }
}
