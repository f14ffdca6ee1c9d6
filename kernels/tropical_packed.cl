// Tropical products for large sizes on NVIDIA GPUs, with cp.async: C = A B, or with UPDATE the
// better of C and A B. A is packed by pack_rows; rows of B and C are multiples of 16 bytes. With
// PATHS 1 each element has a number in `paths` too: for a product, the first k whose sum it is;
// with UPDATE, the number in `of_b`, laid out as b, for that k, if it makes C better.
//
// A min of fp32 runs on the ALU pipe, at 64 per clock and multiprocessor, an add next to it on the
// multiply pipe; both need a slot of the four schedulers, which have 128. So either limits the
// plain product: 64 pairs per clock, on an H200 33.4 Tera-operations/s. With ORDERED, two pairs are
// two adds and one VIMNMX3: the schedulers then allow 85 pairs, 44.6. In int32 a pair is one
// VIADDMNMX. These are limits by instructions, and ptxas makes no more of them for sm_90; no rate
// has been measured yet.
// With PATHS a compare and a select would be two more ALU instructions per pair. So an element
// stores in which BK of k it became better last, two instructions for BK pairs; which k of these it
// was is found at the end.
//
// Given by -D: PATHS, UPDATE (0, 1), and the options of packed_tiles.cl and tropical_numbers.cl.
#include "tropical_numbers.cl"

#define EMPTY NOTHING
#define PACKED_INNER ((inner + BK - 1) / BK * BK)
#if ORDERED && !INT32
#define KS 2
#define MULTIPLY(set)                                                        \
  UNROLL for (uint i = 0; i < TM; ++i) UNROLL for (uint j = 0; j < TN; ++j)  \
    sum[i][j] = BEST(sum[i][j], x[set][0][i] + y[set][0][j], x[set][1][i] + y[set][1][j]);
#else
#define KS 1
#define MULTIPLY(set)                                                        \
  UNROLL for (uint i = 0; i < TM; ++i) UNROLL for (uint j = 0; j < TN; ++j)  \
    sum[i][j] = BETTER(sum[i][j], x[set][0][i] + y[set][0][j]);
#endif

#if UPDATE
#include "tropical_place.cl"
#endif
#include "packed_tiles.cl"

#if PATHS
// Reads the values of BK k of four rows and four columns at a time.
#define FIND_BETTER(stage, number)                                                                                      \
  UNROLL for (uint jj = 0; jj < TN; jj += V) {                                                                          \
    real y[BK][V];                                                                                                      \
    UNROLL for (uint k = 0; k < BK; ++k) TAKE(y[k], memory + (stage) * STAGE + BK * BM + k * BN + my_n + jj * LN)       \
    UNROLL for (uint ii = 0; ii < TM; ii += V) {                                                                        \
      real x[BK][V];                                                                                                    \
      UNROLL for (uint k = 0; k < BK; ++k) TAKE(x[k], memory + (stage) * STAGE + k * BM + my_m + ii * LM)               \
      UNROLL for (uint i = 0; i < V; ++i) UNROLL for (uint j = 0; j < V; ++j) {                                         \
        real best = sum[ii + i][jj + j];                                                                                \
        UNROLL for (uint k = 0; k < BK; k += 2) best = BEST(best, x[k][i] + y[k][j], x[k + 1][i] + y[k + 1][j]);        \
        if (IS_BETTER(best, sum[ii + i][jj + j])) place[ii + i][jj + j] = (int)(number);                                \
        sum[ii + i][jj + j] = best;                                                                                     \
      }                                                                                                                 \
    }                                                                                                                   \
  }

// Returns the first k of a stage at which an element got its value. `a` is that element's row of a
// panel at k = 0, `b` its column.
int first_k(__global const real* a, __global const real* b, const uint ldb, const real sum, const int stage, const uint inner) {
  uint k = (uint)stage * BK;
  const uint last = min(k + BK, inner) - 1;
  while (k < last && a[(ulong)k * BM] + b[(ulong)k * ldb] != sum) ++k;
  return (int)k;
}
#endif

// `tiles`, and the meaning of the numbers after it, are as in kernels/matrix.cl; with UPDATE tiles
// are not listed.
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
  real sum[TM][TN];
  UNROLL for (uint i = 0; i < TM; ++i) UNROLL for (uint j = 0; j < TN; ++j) sum[i][j] = NOTHING;

#if PATHS
  int place[TM][TN];
  UNROLL for (uint i = 0; i < TM; ++i) UNROLL for (uint j = 0; j < TN; ++j) place[i][j] = NOWHERE;
  UNROLL for (uint s = 0; s < STAGES - 1; ++s) {
    UNROLL for (uint i = 0; i < COPIES; ++i) { BRING_WHAT_IS_THERE(s, s * BK, i) }
    BROUGHT()
  }
  uint filled = STAGES - 1, worked = 0;
  _Pragma("unroll 1") for (uint k0 = 0; k0 < inner; k0 += BK) {
    WAIT_FOR_ALL_BUT(STAGES - 2);
    barrier(CLK_LOCAL_MEM_FENCE);
    UNROLL for (uint i = 0; i < COPIES; ++i) { BRING_WHAT_IS_THERE(filled, k0 + (STAGES - 1) * BK, i) }
    BROUGHT()
    FIND_BETTER(worked, k0 / BK)
    filled = NEXT(filled);
    worked = NEXT(worked);
  }
  __global const real* const panel = a + (ulong)(m0 - row0) * PACKED_INNER;
#else
  DECLARE_VALUES
  SUM_STAGES
#endif

  UNROLL for (uint i = 0; i < TM; ++i) {
    const uint m = m0 + my_m + i / V * (LM * V) + i % V;
    if (m >= rows) continue;
    UNROLL for (uint j = 0; j < TN; j += V) {
      const uint n = n0 + my_n + j * LN;
      if (n >= columns) continue;
      const ulong at = (ulong)(m - row0) * ldc + (n - column0);
      // Read only after all k: otherwise their addresses would stay in registers for as long.
#if UPDATE
      real before[V];
      TAKE_GLOBAL(before, c + at)
#endif
#if PATHS
      UNROLL for (uint e = 0; e < V; ++e) {
        bool found = place[i][j + e] != NOWHERE && !IS_NOTHING(sum[i][j + e]);
#if UPDATE
        found = found && IS_BETTER(sum[i][j + e], before[e]);
#endif
        int k = NOWHERE;
        if (found) k = first_k(panel + (m - m0), b + (n + e - column0), ldb, sum[i][j + e], place[i][j + e], inner);
#if UPDATE
        if (found) paths[at + e] = of_b[(ulong)k * ldb + (n + e - column0)];
#else
        paths[at + e] = k;
#endif
      }
#endif
#if UPDATE
      UNROLL for (uint e = 0; e < V; ++e) sum[i][j + e] = BETTER(before[e], sum[i][j + e]);
#endif
      UNROLL for (uint e = 0; e < V; ++e) sum[i][j + e] = SETTLED(sum[i][j + e]);
      *(__global vec*)(c + at) = VECTOR(sum[i] + j);
    }
  }
}
