// Products of rows of A and rows of B in stages of local memory; shared by kernels/matrix.cl and
// tropical.cl.
//
// Given by -D: BM, BN (the work-group's tile), VB (elements of a row of B and C that may be moved
// at once: their rows are aligned to it), and the options of gpu_tiles.cl. Defined by the file that
// includes this one: EMPTY, the value of A beyond its rows and its k; with ASYNC 1 that is 0.
#include "gpu_tiles.cl"
#include "matrix_place.cl"

#ifndef TILE_OF_GROUP
#define TILE_OF_GROUP tiles[first + place_of_tile((uint)get_group_id(0), items, each)]
#endif

// Padding of rows of A in local memory, which are written with a stride: 8 k and 4 rows then use 32
// banks.
#define PAD 4
#define LDA (BM + PAD)
#define LOADS_A (BM * BK / THREADS)
#define LOADS_B (BK * BN / VB / THREADS)
#define STAGE (BK * (LDA + BN))

#if VB == V
#define COPY_ROW(to, from, valid) COPY("cg", to, from, 16, valid)
#else
#define COPY_ROW(to, from, valid) COPY("ca", to, from, sizeof(real), valid)
#endif

#if ASYNC
#define NEXT_VALUES
#else
#define NEXT_VALUES real next_a[LOADS_A], next_b[LOADS_B * VB];
#endif

// Sets the place of a work-group's tile, and what each work-item loads: 32 work-items take 8 k of 4
// rows of A (a sector of 32 bytes each), or a stretch of a row of B.
#define PLACE_TILE                                                                                 \
  __local real memory[STAGES * STAGE] __attribute__((aligned(16)));                                \
  const uint tile = TILE_OF_GROUP;                                                                 \
  const uint m0 = (tile >> 16) * BM, n0 = (tile & 0xffff) * BN;                                    \
  const uint id = (uint)get_local_id(0), lane = id & 31, warp = id >> 5;                           \
  const uint lane_m = DOWN(lane), lane_n = ACROSS(lane);                                           \
  const uint my_m = warp / WN * (LM * TM) + lane_m * V, my_n = warp % WN * (LN * TN) + lane_n * V; \
  const uint ka = id % 8, ma = id / 8, nb = id % (BN / VB) * VB, kb = id / (BN / VB);              \
  __global const real* pa = a + (ulong)(m0 - row0 + ma) * lda + ka;                                \
  __global const real* pb = b + (ulong)kb * ldb + (n0 - column0 + nb);                             \
  const uint b_rows = THREADS / (BN / VB);                                                         \
  const bool nb_valid = n0 + nb < columns;                                                         \
  const uint a_rows = THREADS / 8;                                                                 \
  NEXT_VALUES

#if ASYNC
// Copy number `i` of a work-item in a stage.
#define LOAD_A(stage, k0, i)                                                                            \
  COPY("ca", memory + (stage) * STAGE + (ka + (i) % (BK / 8) * 8) * LDA + ma + (i) / (BK / 8) * a_rows, \
       pa + (ulong)((i) / (BK / 8) * a_rows) * lda + (k0) + (i) % (BK / 8) * 8, sizeof(real),           \
       m0 + ma + (i) / (BK / 8) * a_rows < rows && (k0) + ka + (i) % (BK / 8) * 8 < inner)
#define LOAD_B(stage, k0, i)                                                    \
  COPY_ROW(memory + (stage) * STAGE + BK * LDA + (kb + (i) * b_rows) * BN + nb, \
           pb + (ulong)((k0) + (i) * b_rows) * ldb, nb_valid && (k0) + kb + (i) * b_rows < inner)
#define LOAD(stage, k0)                                             \
  if ((k0) < inner) {                                               \
    UNROLL for (uint i = 0; i < LOADS_A; ++i) LOAD_A(stage, k0, i); \
    UNROLL for (uint i = 0; i < LOADS_B; ++i) LOAD_B(stage, k0, i); \
  }
#else
#define FETCH(k0)                                                                                                                 \
  {                                                                                                                               \
    UNROLL for (uint i = 0; i < LOADS_A; ++i) {                                                                                   \
      const uint m = ma + i / (BK / 8) * a_rows, k = ka + i % (BK / 8) * 8;                                                       \
      next_a[i] = m0 + m < rows && (k0) + k < inner ? pa[(ulong)(i / (BK / 8) * a_rows) * lda + (k0) + i % (BK / 8) * 8] : EMPTY; \
    }                                                                                                                             \
    UNROLL for (uint i = 0; i < LOADS_B; ++i) {                                                                                   \
      const bool valid = nb_valid && (k0) + kb + i * b_rows < inner;                                                              \
      UNROLL for (uint e = 0; e < VB; ++e) next_b[i * VB + e] = valid ? pb[(ulong)((k0) + i * b_rows) * ldb + e] : ZERO;          \
    }                                                                                                                             \
  }
#define STORE(stage)                                                                                                        \
  {                                                                                                                         \
    __local real* to_a = memory + (stage) * STAGE;                                                                          \
    __local real* to_b = to_a + BK * LDA;                                                                                   \
    UNROLL for (uint i = 0; i < LOADS_A; ++i) to_a[(ka + i % (BK / 8) * 8) * LDA + ma + i / (BK / 8) * a_rows] = next_a[i]; \
    UNROLL for (uint i = 0; i < LOADS_B; ++i)                                                                               \
      UNROLL for (uint e = 0; e < VB; ++e) to_b[(kb + i * b_rows) * BN + nb + e] = next_b[i * VB + e];                      \
  }
#endif
