// Tropical products by register tiles, in plain OpenCL C: C = A B, or with UPDATE the better of C
// and A B, row-major. Arguments, and what they mean, are those of kernels/tropical_packed.cl, and
// so is every bit of the result; but a is not packed. With UPDATE it is copied, as its columns are
// among those of c.
//
// Given by -D: PATHS, UPDATE (0, 1), and the options of row_tiles.cl and tropical_numbers.cl.
#include "tropical_numbers.cl"

#define EMPTY NOTHING
#if UPDATE
#include "tropical_place.cl"
#endif
#include "row_tiles.cl"

#if UPDATE
// Copies `inner` columns of a from `column` on, for `count` rows, side by side: 32 columns of 64
// rows per work-group, which may have any number of work-items.
__kernel void pack_rows(__global const real* restrict a, __global real* restrict packed, const uint first_row, const uint count,
                        const uint inner, const uint lda, const uint column) {
  const uint k0 = (uint)get_group_id(0) * 32, m0 = first_row + (uint)get_group_id(1) * 64;
  for (uint i = (uint)get_local_id(0); i < 64 * 32; i += (uint)get_local_size(0)) {
    const uint m = m0 + i / 32, k = k0 + i % 32;
    if (m < count && k < inner) packed[(ulong)m * inner + k] = a[(ulong)m * lda + k + column];
  }
}
#endif

__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void tropical_multiply(
    __global const real* restrict a, __global const real* restrict b, __global real* restrict c, __global int* restrict paths,
#if UPDATE
    __global const int* restrict of_b, const uint gap, const uint gap_size,
#else
    __global const uint* restrict tiles,
#endif
    const uint first, const uint items, const uint each, const uint rows, const uint columns, const uint inner, const uint row0,
    const uint column0, const uint lda, const uint ldb, const uint ldc) {
  PLACE_TILE
  real sum[TM][TN], x[TM], y[TN];
#if PATHS
  int place[TM][TN];
#endif
  UNROLL for (uint i = 0; i < TM; ++i) UNROLL for (uint j = 0; j < TN; ++j) {
    sum[i][j] = NOTHING;
#if UPDATE
    const uint m = m0 + my_m + i / V * (LM * V) + i % V, n = n0 + my_n + j / V * (LN * V) + j % V;
    if (m < rows && n < columns) sum[i][j] = c[(ulong)(m - row0) * ldc + (n - column0)];
#endif
#if PATHS
    place[i][j] = NOWHERE;
#endif
  }
  uint number = 0;  // number of the current k
#if PATHS
#define COMPARE(i, j)                                            \
  const real with_k = x[i] + y[j];                               \
  if (IS_BETTER(with_k, sum[i][j])) place[i][j] = (int)number;   \
  sum[i][j] = BETTER(sum[i][j], with_k);
#else
#define COMPARE(i, j) sum[i][j] = BETTER(sum[i][j], x[i] + y[j]);
#endif
#define WORK(stage)                                                                                                      \
  UNROLL for (uint k = 0; k < BK; ++k, ++number) {                                                                       \
    __local const real* const from_a = memory + (stage) * STAGE + k * LDA + my_m;                                        \
    __local const real* const from_b = memory + (stage) * STAGE + BK * LDA + k * BN + my_n;                              \
    UNROLL for (uint i = 0; i < TM; i += V) TAKE(x + i, from_a + i * LM)                                                 \
    UNROLL for (uint j = 0; j < TN; j += V) TAKE(y + j, from_b + j * LN)                                                 \
    UNROLL for (uint i = 0; i < TM; ++i) UNROLL for (uint j = 0; j < TN; ++j) { COMPARE(i, j) }                          \
  }
  SUM_OVER(inner)

  UNROLL for (uint i = 0; i < TM; ++i) UNROLL for (uint j = 0; j < TN; ++j) {
    const uint m = m0 + my_m + i / V * (LM * V) + i % V, n = n0 + my_n + j / V * (LN * V) + j % V;
    if (m < rows && n < columns) {
      const ulong at = (ulong)(m - row0) * ldc + (n - column0);
      c[at] = SETTLED(sum[i][j]);
#if PATHS
      const bool found = place[i][j] != NOWHERE && !IS_NOTHING(sum[i][j]);
#if UPDATE
      if (found) paths[at] = of_b[(ulong)place[i][j] * ldb + (n - column0)];
#else
      paths[at] = found ? place[i][j] : NOWHERE;
#endif
#endif
    }
  }
}
