// The gradients of hidden layers' weights and biases, for each shard separately: products of jets
// with the adjoints of the layer above, summed over a shard's points and the 4 numbers of their
// jets, in order, by register tiles.
//
// Both matrices lie along the index of the sum, so that a vector in local memory is the jet of a
// point: 4 terms of a sum. Vectors are placed such that 8 work-items which read from 8 rows next to
// each other, or from every fourth, read from all banks.
//
// On an H200 the three layers of 4 x 256 at 65,536 points are 103 GFLOP: predicted 2.1 ms, as the
// ratio of 24 reads of 16 bytes to 512 fma of a work-item is that of kernels/matrix_packed.cl.
// Measured 2.85 ms (36 TFLOP/s); 4.70 with a branch around the sums of biases, which kept reads of
// the next points from being issued before it. Tiles of 64 x 128 by 8 x 8 use 168 registers, so
// that a multiprocessor holds three; they are twice as many: half of 128 shards, the share of each
// of two devices, fill an H200 3.9 times.
//
// Given by -D: BM, BN: the tile of a work-group, weights by input and by output; TM, TN, WM, WN,
// STAGES, ASYNC of gpu_tiles.cl; WIDTH.
#pragma OPENCL FP_CONTRACT OFF
#define REAL64 0
#define BK 16  // k of a stage: 4 points
#include "gpu_tiles.cl"

#define STAGE (BK * (BM + BN))
#define QUADS (BK / 4)
#define POINTS 32  // points of a panel: BLOCK of pinn_math.cl
#define PANEL (4 * POINTS)
#define IN_PANEL(p) ((ulong)((p) / POINTS) * (PANEL * WIDTH) + (p) % POINTS * 4)
#define ROWS_AT_ONCE (THREADS / QUADS)
#define LOADS_A (BM / ROWS_AT_ONCE)
#define LOADS_B (BN / ROWS_AT_ONCE)
#define PLACE_A(row, quad) ((row) * BK + (((quad) ^ ((row) >> 1)) & 3) * 4)
#define PLACE_B(row, quad) ((row) * BK + (((quad) ^ ((row) >> 2)) & 3) * 4)

// Among groups, dimension 0 is the tiles of a layer, 1 the layers above the first, 2 the shards, of
// `places` points. Layers of `jets` and `bars`, in panels (JET in pinn_math.cl), are `layer`
// numbers long. A shard's gradient begins `stride` numbers after that of the one before.
__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void weight_gradients(__global const float* restrict jets,
                                                                                    __global const float* restrict bars,
                                                                                    __global float* restrict gradients,
                                                                                    const ulong layer, const uint places,
                                                                                    const uint stride) {
  __local float memory[STAGES * STAGE] __attribute__((aligned(16)));
  const uint k0 = (uint)get_group_id(0) / (WIDTH / BN) * BM, n0 = (uint)get_group_id(0) % (WIDTH / BN) * BN;
  const uint above = (uint)get_group_id(1), shard = (uint)get_group_id(2), inner = places * 4;
  const uint id = (uint)get_local_id(0), lane = id & 31, warp = id >> 5;
  const uint my_k = warp / WN * (LM * TM) + DOWN(lane), my_n = warp % WN * (LN * TN) + ACROSS(lane) * 4;
  const uint quad = id % QUADS, first_row = id / QUADS;
  __global const float* const pa = jets + above * layer + (k0 + first_row) * PANEL;
  __global const float* const pb = bars + (above + 1) * layer + (n0 + first_row) * PANEL;
  // One column per 8 work-items.
  const uint my_bias = my_n + DOWN(lane) % TN / 4 * 16 + DOWN(lane) % 4;

  float sum[TM][TN], bias = 0.0f;
  CLEAR(sum)

#define A_TO(stage, i) (memory + (stage) * STAGE + PLACE_A(first_row + (i) * ROWS_AT_ONCE, quad))
#define B_TO(stage, i) (memory + (stage) * STAGE + BK * BM + PLACE_B(first_row + (i) * ROWS_AT_ONCE, quad))
// A work-item copies points of its own for a stage. After the last point of this shard zeros
// replace those of the next shard.
#if ASYNC
#define LOAD(stage, m)                                                                                                   \
  if ((m) < inner) {                                                                                                     \
    const uint p = (m) / 4 + quad;                                                                                       \
    const ulong at = IN_PANEL(shard * places + p);                                                                       \
    UNROLL for (uint i = 0; i < LOADS_A; ++i) COPY("cg", A_TO(stage, i), pa + at + i * ROWS_AT_ONCE * PANEL, 16, p < places); \
    UNROLL for (uint i = 0; i < LOADS_B; ++i) COPY("cg", B_TO(stage, i), pb + at + i * ROWS_AT_ONCE * PANEL, 16, p < places); \
  }
#else
  float4 next_a[LOADS_A], next_b[LOADS_B];
#define VALUE(from) (p < places ? *(__global const float4*)(from) : (float4)(0.0f))
#define FETCH(m)                                                                                          \
  {                                                                                                       \
    const uint p = (m) / 4 + quad;                                                                        \
    const ulong at = IN_PANEL(shard * places + p);                                                        \
    UNROLL for (uint i = 0; i < LOADS_A; ++i) next_a[i] = VALUE(pa + at + i * ROWS_AT_ONCE * PANEL);      \
    UNROLL for (uint i = 0; i < LOADS_B; ++i) next_b[i] = VALUE(pb + at + i * ROWS_AT_ONCE * PANEL);      \
  }
#define STORE(stage)                                                                                              \
  {                                                                                                               \
    UNROLL for (uint i = 0; i < LOADS_A; ++i) *(__local float4*)A_TO(stage, i) = next_a[i];                       \
    UNROLL for (uint i = 0; i < LOADS_B; ++i) *(__local float4*)B_TO(stage, i) = next_b[i];                       \
  }
#endif

#define ADD(c) UNROLL for (uint j = 0; j < TN; ++j) sum[i][j] = fma(x.s##c, y[c][j], sum[i][j]);
#define WORK(stage)                                                                                                     \
  UNROLL for (uint q = 0; q < QUADS; ++q) {                                                                             \
    __local const float* const of_a = memory + (stage) * STAGE + ((q ^ (my_k >> 1)) & 3) * 4;                           \
    __local const float* const of_b = memory + (stage) * STAGE + BK * BM + ((q ^ (my_n >> 2)) & 3) * 4;                  \
    float y[4][TN];                                                                                                     \
    UNROLL for (uint j = 0; j < TN; ++j) UNROLL for (uint c = 0; c < 4; ++c) y[c][j] = of_b[(my_n + j / 4 * 16 + j % 4) * BK + c]; \
    bias += of_b[my_bias * BK];                                                                                         \
    UNROLL for (uint i = 0; i < TM; ++i) {                                                                              \
      const float4 x = *(__local const float4*)(of_a + (my_k + i * LM) * BK);                                           \
      ADD(0) ADD(1) ADD(2) ADD(3)                                                                                       \
    }                                                                                                                   \
  }
  SUM_OVER(inner)

  __global float* const g = gradients + (ulong)shard * stride + 3 * WIDTH + above * (WIDTH * WIDTH + WIDTH);
  UNROLL for (uint i = 0; i < TM; ++i) UNROLL for (uint j = 0; j < TN; j += 4)
    *(__global float4*)(g + (k0 + my_k + i * LM) * WIDTH + n0 + my_n + j / 4 * 16) =
        (float4)(sum[i][j], sum[i][j + 1], sum[i][j + 2], sum[i][j + 3]);
  if (k0 == 0 && warp / WN == 0 && DOWN(lane) < TN) g[WIDTH * WIDTH + n0 + my_bias] = bias;
}
