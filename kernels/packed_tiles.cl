// Products of a packed A and rows of B with cp.async; shared by kernels/matrix_packed.cl and
// tropical_packed.cl.
//
// Given by -D: BM, BN (the work-group's tile), and the options of gpu_tiles.cl except ASYNC.
// Defined by the file that includes this one: EMPTY, which fills panels up; PACKED_INNER, the k up
// to which it does; KS, values of k that are multiplied at once; MULTIPLY(set), which multiplies
// those of x[set] and y[set].
#define ASYNC 1
#include "gpu_tiles.cl"
#include "matrix_place.cl"

#define STAGE (BK * (BM + BN))
#define LOADS_A (BM * BK / V / THREADS)
#define LOADS_B (BN * BK / V / THREADS)
#define COPIES (LOADS_A + LOADS_B)
#define SPREAD (BK / 2)  // k over which the copies of a stage are spread

// COPY of 16 bytes that are known to exist.
#define COPY_ALL(to, from) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((uint)(ulong)(to)), "l"(from) : "memory")

#ifndef TILE_OF_GROUP
#define TILE_OF_GROUP tiles[first + place_of_tile((uint)get_group_id(0), items, each)]
#endif

#ifndef PACK_COLUMN  // column of a at which k begins
#define PACK_COLUMN 0
#define PACK_MORE
#endif
#define PACK_ROWS (BM < 64 ? BM : 64)
#define PACK_K 32

// Packs rows first_row ... of a (`count` rows in all) in panels of BM rows: k after k, the rows of
// a panel side by side, with EMPTY beyond the last row, and up to PACKED_INNER. A work-group takes
// 32 k (dimension 0) of 64 rows (1), or of BM.
__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void pack_rows(__global const real* restrict a, __global real* restrict packed,
                                                                         const uint first_row, const uint count, const uint inner,
                                                                         const uint lda PACK_MORE) {
  __local real block[PACK_ROWS * (PACK_K + 1)];
  const uint id = (uint)get_local_id(0), k0 = (uint)get_group_id(0) * PACK_K;
  const uint m0 = first_row + (uint)get_group_id(1) * PACK_ROWS;
  for (uint i = id; i < PACK_ROWS * PACK_K; i += 256) {
    const uint m = i / PACK_K, k = i % PACK_K;
    block[m * (PACK_K + 1) + k] = m0 + m < count && k0 + k < inner ? a[(ulong)(m0 + m) * lda + k0 + k + PACK_COLUMN] : EMPTY;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  __global real* to = packed + (ulong)(m0 / BM) * BM * PACKED_INNER + m0 % BM;
  for (uint i = id; i < PACK_ROWS * PACK_K; i += 256) {
    const uint m = i % PACK_ROWS, k = i / PACK_ROWS;
    if (k0 + k < PACKED_INNER) to[(ulong)(k0 + k) * BM + m] = block[m * (PACK_K + 1) + k];
  }
}

// Sets the place of a work-group's tile, and what a work-item copies of each stage: vectors of a
// panel of A, and of rows of B.
#define PLACE_TILE                                                                                 \
  __local real memory[STAGES * STAGE] __attribute__((aligned(16)));                                \
  const uint tile = TILE_OF_GROUP;                                                                 \
  const uint m0 = (tile >> 16) * BM, n0 = (tile & 0xffff) * BN;                                    \
  const uint id = (uint)get_local_id(0), lane = id & 31, warp = id >> 5;                           \
  const uint lane_m = DOWN(lane), lane_n = ACROSS(lane);                                           \
  const uint my_m = warp / WN * (LM * TM) + lane_m * V, my_n = warp % WN * (LN * TN) + lane_n * V; \
  const uint ma = id % (BM / V) * V, ka = id / (BM / V), a_rows = THREADS / (BM / V);              \
  const uint nb = id % (BN / V) * V, kb = id / (BN / V), b_rows = THREADS / (BN / V);              \
  __global const real* pa = a + ((ulong)(m0 - row0) * PACKED_INNER + ka * BM + ma);                \
  __global const real* pb = b + ((ulong)kb * ldb + (n0 - column0 + nb));                           \
  const ulong b_step = (ulong)b_rows * ldb, b_on = (ulong)BK * ldb;                                \
  const bool nb_valid = n0 + nb < columns;

// Copy number `i` of a stage.
#define A_TO(stage, i) (memory + (stage) * STAGE + (ka + (i) * a_rows) * BM + ma)
#define B_TO(stage, i) (memory + (stage) * STAGE + BK * BM + (kb + (i) * b_rows) * BN + nb)
#define BRING(stage, k0, i)                                            \
  if ((i) < LOADS_A) COPY_ALL(A_TO(stage, i), pa + (i) * a_rows * BM); \
  else COPY_ALL(B_TO(stage, (i) - LOADS_A), pb + ((i) - LOADS_A) * b_step);
#define BRING_WHAT_IS_THERE(stage, k0, i)                                                                             \
  if ((i) < LOADS_A) COPY("cg", A_TO(stage, i), pa + (i) * a_rows * BM, 16, (k0) + ka + (i) * a_rows < PACKED_INNER); \
  else COPY("cg", B_TO(stage, (i) - LOADS_A), pb + ((i) - LOADS_A) * b_step, 16,                                      \
            nb_valid && (k0) + kb + ((i) - LOADS_A) * b_rows < inner);
#define BROUGHT()  \
  {                \
    pa += BK * BM; \
    pb += b_on;    \
    COMMIT();      \
  }

// The values of KS k are read from local memory while the previous ones are multiplied.
#define DECLARE_VALUES real x[2][KS][TM], y[2][KS][TN];
// Reads KS values of k from `k` on.
#define READ(set, stage, k)                                                                    \
  UNROLL for (uint s = 0; s < KS; ++s) {                                                       \
    UNROLL for (uint i = 0; i < TM; i += V)                                                    \
      TAKE(x[set][s] + i, memory + (stage) * STAGE + ((k) + s) * BM + my_m + i * LM)           \
    UNROLL for (uint j = 0; j < TN; j += V)                                                    \
      TAKE(y[set][s] + j, memory + (stage) * STAGE + BK * BM + ((k) + s) * BN + my_n + j * LN) \
  }

// Multiplies a stage. Before its last k is multiplied, the next stage has arrived for all
// work-items, and all have read this one, which is filled again then.
#define WORK(HOW)                                                                                           \
  UNROLL for (uint k = 0; k < BK; k += KS) {                                                                \
    if (k + KS == BK) {                                                                                     \
      WAIT_FOR_ALL_BUT(STAGES - 2);                                                                         \
      barrier(CLK_LOCAL_MEM_FENCE);                                                                         \
      filled = worked;                                                                                      \
      worked = NEXT(worked);                                                                                \
      READ(0, worked, 0)                                                                                    \
    } else {                                                                                                \
      READ((k / KS + 1) & 1, worked, k + KS)                                                                \
    }                                                                                                       \
    UNROLL for (uint i = 0; i < COPIES; ++i) if (i * SPREAD / COPIES / KS * KS == k) { HOW(filled, k0, i) } \
    if (k + KS == SPREAD) BROUGHT()                                                                         \
    MULTIPLY(k / KS & 1)                                                                                    \
  }

// Sums all stages.
#define SUM_STAGES                                                                        \
  UNROLL for (uint s = 0; s < STAGES - 1; ++s) {                                          \
    UNROLL for (uint i = 0; i < COPIES; ++i) { BRING_WHAT_IS_THERE(s, s * BK, i) }        \
    BROUGHT()                                                                             \
  }                                                                                       \
  WAIT_FOR_ALL_BUT(STAGES - 2);                                                           \
  barrier(CLK_LOCAL_MEM_FENCE);                                                           \
  uint filled = STAGES - 1, worked = 0;                                                   \
  READ(0, 0, 0)                                                                           \
  const uint stages = (inner + BK - 1) / BK, whole = n0 + BN <= columns ? inner / BK : 0; \
  uint k0 = (STAGES - 1) * BK; /* what is brought next */                                 \
  for (; k0 < whole * BK; k0 += BK) { WORK(BRING) }                                       \
  _Pragma("unroll 1") for (; k0 < (stages + STAGES - 1) * BK; k0 += BK) { WORK(BRING_WHAT_IS_THERE) }
