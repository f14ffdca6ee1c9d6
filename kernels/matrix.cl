// C = alpha A B + beta C on GPUs, row-major, fp32 or fp64, by register tiles. Each element of C is one chain of fma over k = 0, 1,
// ... from +0, then alpha and beta: the same bits whatever the tile, the slice or the device. kernels/matrix_cpu.cl is the same for
// CPUs, kernels/matrix_dmma.cl for fp64 tensor cores.
//
// Given by -D, see suites/matrix/kernels.cpp: BM, BN (the work-group's tile), VB (elements of a row of B and C that may be moved at
// once: their rows are aligned to it), and those of gpu_tiles.cl.
#pragma OPENCL FP_CONTRACT OFF
#include "gpu_tiles.cl"
#include "matrix_place.cl"

#define PAD 4  // of rows of A in local memory, which are written with a stride: 8 k and 4 rows then are 32 banks
#define LDA (BM + PAD)
#define LOADS_A (BM * BK / THREADS)
#define LOADS_B (BK * BN / VB / THREADS)
#define STAGE (BK * (LDA + BN))

#if VB == V
#define COPY_ROW(to, from, valid) COPY("cg", to, from, 16, valid)
#else
#define COPY_ROW(to, from, valid) COPY("ca", to, from, sizeof(real), valid)
#endif

// A work-group a tile: one of `tiles`, (tile row << 16 | tile column) of all of C. Row row0 of C is row 0 of the buffers a
// and c, column column0 is column 0 of b and c; c_in, the C on the right, has the place of c and is read where beta is not 0.
__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void matrix_multiply(
    __global const real* restrict a, __global const real* restrict b, __global const real* restrict c_in, __global real* restrict c,
    __global const uint* restrict tiles, const uint first, const uint items, const uint each, const uint rows,
    const uint columns, const uint inner, const uint row0, const uint column0, const uint lda, const uint ldb, const uint ldc,
    const real alpha, const real beta) {
  __local real memory[STAGES * STAGE] __attribute__((aligned(16)));
  const uint tile = tiles[first + place_of_tile((uint)get_group_id(0), items, each)];
  const uint m0 = (tile >> 16) * BM, n0 = (tile & 0xffff) * BN;
  const uint id = (uint)get_local_id(0), lane = id & 31, warp = id >> 5;
  const uint lane_m = DOWN(lane), lane_n = ACROSS(lane);
  const uint my_m = warp / WN * (LM * TM) + lane_m * V, my_n = warp % WN * (LN * TN) + lane_n * V;

  // Who loads what: 32 work-items take 8 k of 4 rows of A (a sector of 32 bytes each), or a stretch of a row of B.
  const uint ka = id % 8, ma = id / 8, nb = id % (BN / VB) * VB, kb = id / (BN / VB);
  __global const real* pa = a + (ulong)(m0 - row0 + ma) * lda + ka;
  __global const real* pb = b + (ulong)kb * ldb + (n0 - column0 + nb);
  const uint b_rows = THREADS / (BN / VB);  // of a stage, loaded at once
  const bool nb_valid = n0 + nb < columns;
  const uint a_rows = THREADS / 8;

#if ASYNC
// Copy number `i` of what a work-item brings of a stage.
#define LOAD_A(stage, k0, i)                                                                                             \
  COPY("ca", memory + (stage) * STAGE + (ka + (i) % (BK / 8) * 8) * LDA + ma + (i) / (BK / 8) * a_rows,                  \
       pa + (ulong)((i) / (BK / 8) * a_rows) * lda + (k0) + (i) % (BK / 8) * 8, sizeof(real),                            \
       m0 + ma + (i) / (BK / 8) * a_rows < rows && (k0) + ka + (i) % (BK / 8) * 8 < inner)
#define LOAD_B(stage, k0, i)                                                                                           \
  COPY_ROW(memory + (stage) * STAGE + BK * LDA + (kb + (i) * b_rows) * BN + nb,                                          \
           pb + (ulong)((k0) + (i) * b_rows) * ldb, nb_valid && (k0) + kb + (i) * b_rows < inner)
#define LOAD(stage, k0)                                              \
  if ((k0) < inner) {                                                \
    UNROLL for (uint i = 0; i < LOADS_A; ++i) LOAD_A(stage, k0, i);  \
    UNROLL for (uint i = 0; i < LOADS_B; ++i) LOAD_B(stage, k0, i);  \
  }
#else
  real next_a[LOADS_A], next_b[LOADS_B * VB];
#define FETCH(k0)                                                                                                      \
  {                                                                                                                    \
    UNROLL for (uint i = 0; i < LOADS_A; ++i) {                                                                        \
      const uint m = ma + i / (BK / 8) * a_rows, k = ka + i % (BK / 8) * 8;                                            \
      next_a[i] = m0 + m < rows && (k0) + k < inner ? pa[(ulong)(i / (BK / 8) * a_rows) * lda + (k0) + i % (BK / 8) * 8] : ZERO; \
    }                                                                                                                  \
    UNROLL for (uint i = 0; i < LOADS_B; ++i) {                                                                        \
      const bool valid = nb_valid && (k0) + kb + i * b_rows < inner;                                                   \
      UNROLL for (uint e = 0; e < VB; ++e) next_b[i * VB + e] = valid ? pb[(ulong)((k0) + i * b_rows) * ldb + e] : ZERO; \
    }                                                                                                                  \
  }
#define STORE(stage)                                                                                                   \
  {                                                                                                                    \
    __local real* to_a = memory + (stage) * STAGE;                                                                     \
    __local real* to_b = to_a + BK * LDA;                                                                              \
    UNROLL for (uint i = 0; i < LOADS_A; ++i) to_a[(ka + i % (BK / 8) * 8) * LDA + ma + i / (BK / 8) * a_rows] = next_a[i]; \
    UNROLL for (uint i = 0; i < LOADS_B; ++i)                                                                          \
      UNROLL for (uint e = 0; e < VB; ++e) to_b[(kb + i * b_rows) * BN + nb + e] = next_b[i * VB + e];                 \
  }
#endif

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
