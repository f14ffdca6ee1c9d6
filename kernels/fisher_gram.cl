// Partial Fisher matrices on GPUs: for each block of rows of s, the tiles of s^T s on and above the
// diagonal, fp32 or fp64. Each element is one chain of fma over the block's rows from +0: it has
// the same bits for every tile, slice and device. kernels/fisher_gram_cpu.cl does the same on CPUs,
// kernels/fisher_combine.cl adds the blocks up.
//
// Given by -D, see suites/fisher/gram_kernels.cpp: B (edge of a tile), and the options of
// gpu_tiles.cl, where k counts rows of s.
//
// Both operands are rows of s, so both are copied in whole vectors: rows of s are aligned to 16
// bytes, and the bytes between their end and the next row are read but never used.
#pragma OPENCL FP_CONTRACT OFF
#include "fisher_tiles.cl"
#include "gpu_tiles.cl"

#define LOADS (BK * B / V / THREADS)  // vectors of an operand that a work-item copies per stage
#define PANEL (BK * B)
#define STAGE (2 * PANEL)

// A work-group takes tile get_group_id(0) of block get_group_id(1), which has rows first_row +
// block * block_rows ... of s, up to end_row. `stride`: elements from row to row. Tile t of block b
// is the t-th of the b-th `tiles` of partials, row-major.
__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void gram(__global const real* restrict s, const uint stride,
                                                                        const ulong first_row, const ulong end_row,
                                                                        const uint block_rows, const uint columns,
                                                                        __global real* restrict partials) {
  __local real memory[STAGES * STAGE] __attribute__((aligned(16)));
  const uint tile = (uint)get_group_id(0), block = (uint)get_group_id(1);
  const uint tile_j = column_of_tile(tile), tile_i = row_of_tile(tile, tile_j);
  const bool diagonal = tile_i == tile_j;
  const uint m0 = tile_i * B, n0 = tile_j * B;
  const uint id = (uint)get_local_id(0), lane = id & 31, warp = id >> 5;
  const uint lane_m = DOWN(lane), lane_n = ACROSS(lane);
  const uint my_m = warp / WN * (LM * TM) + lane_m * V, my_n = warp % WN * (LN * TN) + lane_n * V;
  const ulong row0 = first_row + (ulong)block * block_rows;
  const uint inner = row0 < end_row ? (uint)min((ulong)block_rows, end_row - row0) : 0;

  const uint at = id % (B / V) * V, kb = id / (B / V), rows_at_once = THREADS / (B / V);
  __global const real* pa = s + (row0 + kb) * stride + (m0 + at);  // what is copied next
  __global const real* pb = s + (row0 + kb) * stride + (n0 + at);
  const ulong between = (ulong)rows_at_once * stride, onward = (ulong)BK * stride;
  const bool a_valid = m0 + at < columns, b_valid = n0 + at < columns;
  const uint second = diagonal ? 0 : PANEL;  // a diagonal tile has one operand

#if ASYNC
// Past the end it copies nothing: testing beforehand takes longer.
#define LOAD(stage, k0)                                                                                                 \
  {                                                                                                                     \
    UNROLL for (uint i = 0; i < LOADS; ++i) {                                                                           \
      const uint k = kb + i * rows_at_once;                                                                             \
      COPY("cg", memory + (stage) * STAGE + k * B + at, pa + i * between, 16, a_valid && (k0) + k < inner);             \
    }                                                                                                                   \
    if (!diagonal) {                                                                                                    \
      UNROLL for (uint i = 0; i < LOADS; ++i) {                                                                         \
        const uint k = kb + i * rows_at_once;                                                                           \
        COPY("cg", memory + (stage) * STAGE + PANEL + k * B + at, pb + i * between, 16, b_valid && (k0) + k < inner);   \
      }                                                                                                                 \
    }                                                                                                                   \
    pa += onward;                                                                                                       \
    pb += onward;                                                                                                       \
  }
#else
  vec next_a[LOADS], next_b[LOADS];
#define FETCH(k0)                                                                                                       \
  {                                                                                                                     \
    UNROLL for (uint i = 0; i < LOADS; ++i) {                                                                           \
      const bool there = (k0) + kb + i * rows_at_once < inner;                                                          \
      next_a[i] = a_valid && there ? *(__global const vec*)(pa + i * between) : (vec)(ZERO);                            \
      next_b[i] = b_valid && there ? *(__global const vec*)(pb + i * between) : (vec)(ZERO);                            \
    }                                                                                                                   \
    pa += onward;                                                                                                       \
    pb += onward;                                                                                                       \
  }
#define STORE(stage)                                                                                                    \
  {                                                                                                                     \
    UNROLL for (uint i = 0; i < LOADS; ++i) {                                                                           \
      __local real* to = memory + (stage) * STAGE + (kb + i * rows_at_once) * B + at;                                   \
      *(__local vec*)to = next_a[i];                                                                                    \
      *(__local vec*)(to + PANEL) = next_b[i];                                                                          \
    }                                                                                                                   \
  }
#endif

  real sum[TM][TN], x[TM], y[TN];
  CLEAR(sum)
#define WORK(stage)                        \
  UNROLL for (uint k = 0; k < BK; ++k)     \
    ADD_PRODUCTS(memory + (stage) * STAGE + k * B + my_m, memory + (stage) * STAGE + second + k * B + my_n)
  SUM_OVER(inner)

  __global real* out = partials + ((ulong)block * get_num_groups(0) + tile) * (B * B);
  UNROLL for (uint i = 0; i < TM; ++i) {
    const uint m = my_m + i / V * (LM * V) + i % V;
    UNROLL for (uint j = 0; j < TN; j += V) *(__global vec*)(out + m * B + my_n + j * LN) = VECTOR(sum[i] + j);
  }
}
