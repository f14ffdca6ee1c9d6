// Kernel of products on NVIDIA tensor cores; shared by kernels/matrix_dmma.cl and matrix_tf32.cl,
// which define the products. The arguments, and what they mean, are those of matrix_multiply in
// kernels/matrix.cl.
//
// Given by -D: BM, BN (the work-group's tile), WM, WN (groups of 32 work-items along rows and
// columns), STAGES (in local memory), VA, VB (elements that may be moved at once along rows of A,
// and of B and C).
//
// Defined by the file that includes this one: real, BK (k of a stage), STAGE (elements of a stage),
// AT_A(stage, m, k) and AT_B(stage, k, n) (where an element lies in `memory`), and SUM_PRODUCTS,
// which adds the products of all k to `sum`.
//
// In its first fragments a work-item has row my_m of A and column my_n of B at k = my_k, and others
// as the layout of the instruction says. In C, lane l has rows l / 4 and l / 4 + 8 at columns l % 4
// * 2 and + 1, as the PTX manual says for both instructions.
#define ASYNC 1
#include "stages.cl"
#include "matrix_place.cl"

#define THREADS (WM * WN * 32)
#define FM (BM / WM / 16)  // fragments of a group of 32: 16 rows, 8 columns each
#define FN (BN / WN / 8)

#define LOAD(stage, k0)                                                                                                 \
  if ((k0) < inner) {                                                                                                   \
    UNROLL for (uint i = 0; i < BM / a_rows; ++i) {                                                                     \
      const uint m = ma + i * a_rows;                                                                                   \
      COPY("ca", AT_A(stage, m, ka), pa + (ulong)(i * a_rows) * lda + (k0), VA * sizeof(real),                         \
           m0 + m < rows && (k0) + ka < inner);                                                                         \
    }                                                                                                                   \
    UNROLL for (uint i = 0; i < BK / b_rows; ++i) {                                                                     \
      const uint k = kb + i * b_rows;                                                                                   \
      COPY("ca", AT_B(stage, k, nb), pb + (ulong)((k0) + i * b_rows) * ldb, VB * sizeof(real),                         \
           nb_valid && (k0) + k < inner);                                                                               \
    }                                                                                                                   \
  }

__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void matrix_multiply(
    __global const real* restrict a, __global const real* restrict b, __global const real* restrict c_in,
    __global real* restrict c, __global const uint* restrict tiles, const uint first, const uint items, const uint each,
    const uint rows, const uint columns, const uint inner, const uint row0, const uint column0, const uint lda, const uint ldb,
    const uint ldc, const real alpha, const real beta) {
  __local real memory[STAGES * STAGE] __attribute__((aligned(16)));
  const uint tile = tiles[first + place_of_tile((uint)get_group_id(0), items, each)];
  const uint m0 = (tile >> 16) * BM, n0 = (tile & 0xffff) * BN;
  const uint id = (uint)get_local_id(0), lane = id & 31, warp = id >> 5;
  const uint my_m = warp / WN * (FM * 16) + lane / 4, my_n = warp % WN * (FN * 8) + lane / 4, my_k = lane & 3;

  const uint ka = id % (BK / VA) * VA, ma = id / (BK / VA), a_rows = THREADS / (BK / VA);
  const uint nb = id % (BN / VB) * VB, kb = id / (BN / VB), b_rows = THREADS / (BN / VB);
  __global const real* pa = a + (ulong)(m0 - row0 + ma) * lda + ka;
  __global const real* pb = b + (ulong)kb * ldb + (n0 - column0 + nb);
  const bool nb_valid = n0 + nb < columns;

  real sum[FM][FN][4];
  UNROLL for (uint i = 0; i < FM; ++i) UNROLL for (uint j = 0; j < FN; ++j) UNROLL for (uint e = 0; e < 4; ++e) sum[i][j][e] = 0;
  SUM_PRODUCTS

  UNROLL for (uint i = 0; i < FM; ++i) UNROLL for (uint h = 0; h < 2; ++h) {
    const uint m = m0 + my_m + i * 16 + h * 8;
    if (m >= rows) continue;
    UNROLL for (uint j = 0; j < FN; ++j) {
      const uint n = n0 + my_n - lane / 4 + j * 8 + my_k * 2;
      const ulong at = (ulong)(m - row0) * ldc + (n - column0);
      UNROLL for (uint e = 0; e < 2; ++e) {
        if (n + e >= columns) continue;
        const real s = sum[i][j][h * 2 + e];
        c[at + e] = beta != 0 ? fma(alpha, s, beta * c_in[at + e]) : alpha * s;
      }
    }
  }
}
