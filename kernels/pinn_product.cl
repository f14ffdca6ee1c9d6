// The two products of a hidden layer of a large network with the jets of all points, forward and
// back, by register tiles; the same kernel applies tanh to the jets.
//
// Jets lie in panels (JET in pinn_math.cl), a point's 4 numbers side by side: a vector of 4 rows of
// a tile is one jet, so that the work-item that sums it has all that tanh needs. The other matrix
// is stored by k, then by column, as in kernels/matrix_packed.cl, whose way of reading the next k
// ahead this is; sizes are multiples of the tile here, so that no bounds are checked.
//
// Predicted, not measured: on an H200 a product of width 256 at 65,536 points is 34 GFLOP and moves
// 0.55 GB (read once if the second tile of columns finds the rows in the cache, written once): 0.7
// ms at 48 TFLOP/s, less than the 52 of matrix_packed by the cost of tanh, 5 % of the instructions,
// and, at the same time, 0.13 ms of memory.
//
// Given by -D: the options of pinn_math.cl and gpu_tiles.cl; BM, BN: the tile of a work-group, rows
// (4 of each point) by neurons; WIDTH: neurons of a layer; BACKWARD.
#include "pinn_math.cl"
#define REAL64 0
#include "gpu_tiles.cl"

#define STAGE (BK * (BM + BN))
#define LOADS_A (BM * BK / V / THREADS)
#define LOADS_B (BN * BK / V / THREADS)
#define COPIES (LOADS_A + LOADS_B)
#define SPREAD (BK / 2)  // k over which the copies of a stage are spread
#define PANEL (BLOCK * V)  // numbers of a panel for each neuron: a multiple of BM

// Computes a layer. `weights`, forward: by input and output, followed by the biases; back: by
// output and input. `from`: the jets of the layer below, or the adjoints of the one above. `jets`,
// back: of the layer whose adjoints these are. One work-group per tile, those of the same points
// next to each other.
__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void layer(__global const float* restrict weights,
                                                                         __global const float* restrict from, const ulong from_at,
                                                                         __global const float* restrict jets, const ulong jets_at,
                                                                         __global float* restrict to, const ulong to_at,
                                                                         const uint weights_at) {
  __local float memory[STAGES * STAGE] __attribute__((aligned(16)));
  const uint group = (uint)get_group_id(0), m0 = group / (WIDTH / BN) * BM, n0 = group % (WIDTH / BN) * BN;
  const uint id = (uint)get_local_id(0), lane = id & 31, warp = id >> 5;
  const uint my_m = warp / WN * (LM * TM) + DOWN(lane) * V, my_n = warp % WN * (LN * TN) + ACROSS(lane) * V;

  // Vectors of rows of both operands that a work-item copies of the next stage.
  const uint ma = id % (BM / V) * V, ka = id / (BM / V), a_rows = THREADS / (BM / V);
  const uint nb = id % (BN / V) * V, kb = id / (BN / V), b_rows = THREADS / (BN / V);
  const ulong in_panel = (ulong)(m0 / PANEL) * (PANEL * WIDTH) + m0 % PANEL;
  __global const float* pa = from + from_at + in_panel + (ka * PANEL + ma);
  __global const float* pb = weights + weights_at + (kb * WIDTH + n0 + nb);

  float sum[TM][TN];
  CLEAR(sum)

#define A_TO(stage, i) (memory + (stage) * STAGE + (ka + (i) * a_rows) * BM + ma)
#define B_TO(stage, i) (memory + (stage) * STAGE + BK * BM + (kb + (i) * b_rows) * BN + nb)
#if ASYNC
#define COPY_16(to, from) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((uint)(ulong)(to)), "l"(from) : "memory")
#define BRING(stage, i)                                      \
  if ((i) < LOADS_A) COPY_16(A_TO(stage, i), pa + (i) * a_rows * PANEL); \
  else COPY_16(B_TO(stage, (i) - LOADS_A), pb + ((i) - LOADS_A) * b_rows * WIDTH);
#define BROUGHT()     \
  {                   \
    pa += BK * PANEL; \
    pb += BK * WIDTH; \
    COMMIT();         \
  }
  float x[2][TM], y[2][TN];
#define READ(set, stage, k)                                                                                      \
  {                                                                                                              \
    UNROLL for (uint i = 0; i < TM; i += V) TAKE(x[set] + i, memory + (stage) * STAGE + (k) * BM + my_m + i * LM) \
    UNROLL for (uint j = 0; j < TN; j += V)                                                                      \
      TAKE(y[set] + j, memory + (stage) * STAGE + BK * BM + (k) * BN + my_n + j * LN)                             \
  }
// Columns run back and forth, so that one value is that of the fma before and need not be read from
// its register again.
#define FRO(i, j) ((i) & 1 ? TN - 1 - (j) : (j))
#define MULTIPLY(set)                                                          \
  UNROLL for (uint i = 0; i < TM; ++i) UNROLL for (uint j = 0; j < TN; ++j)    \
    sum[i][FRO(i, j)] = fma(x[set][i], y[set][FRO(i, j)], sum[i][FRO(i, j)]);

  UNROLL for (uint s = 0; s < STAGES - 1; ++s) {
    UNROLL for (uint i = 0; i < COPIES; ++i) { BRING(s, i) }
    BROUGHT()
  }
  WAIT_FOR_ALL_BUT(STAGES - 2);
  barrier(CLK_LOCAL_MEM_FENCE);
  uint filled = STAGES - 1, worked = 0;
  READ(0, 0, 0)
  _Pragma("unroll 1") for (uint k0 = (STAGES - 1) * BK; k0 < WIDTH + (STAGES - 1) * BK; k0 += BK) {
    UNROLL for (uint k = 0; k < BK; ++k) {
      if (k == BK - 1) {
        WAIT_FOR_ALL_BUT(STAGES - 2);
        barrier(CLK_LOCAL_MEM_FENCE);
        filled = worked;
        worked = NEXT(worked);
        READ(0, worked, 0)
      } else {
        READ((k + 1) & 1, worked, k + 1)
      }
      if (k0 < WIDTH) {
        UNROLL for (uint i = 0; i < COPIES; ++i) if (i * SPREAD / COPIES == k) { BRING(filled, i) }
      }
      if (k == SPREAD - 1) BROUGHT()
      MULTIPLY(k & 1)
    }
  }
#else
  float x[TM], y[TN], next_a[LOADS_A * V], next_b[LOADS_B * V];
#define FETCH(k0)                                                                                          \
  {                                                                                                        \
    UNROLL for (uint i = 0; i < LOADS_A; ++i) {                                                            \
      const vec v = *(__global const vec*)(pa + ((k0) + i * a_rows) * PANEL);                              \
      SPLIT(next_a + i * V, v);                                                                            \
    }                                                                                                      \
    UNROLL for (uint i = 0; i < LOADS_B; ++i) {                                                            \
      const vec v = *(__global const vec*)(pb + ((k0) + i * b_rows) * WIDTH);                              \
      SPLIT(next_b + i * V, v);                                                                            \
    }                                                                                                      \
  }
#define STORE(stage)                                                                                       \
  {                                                                                                        \
    UNROLL for (uint i = 0; i < LOADS_A; ++i) *(__local vec*)A_TO(stage, i) = VECTOR(next_a + i * V);      \
    UNROLL for (uint i = 0; i < LOADS_B; ++i) *(__local vec*)B_TO(stage, i) = VECTOR(next_b + i * V);      \
  }
#define WORK(stage)                    \
  UNROLL for (uint k = 0; k < BK; ++k) \
    ADD_PRODUCTS(memory + (stage) * STAGE + k * BM + my_m, memory + (stage) * STAGE + BK * BM + k * BN + my_n)
  SUM_OVER(WIDTH)
#endif

  UNROLL for (uint j = 0; j < TN; ++j) {
    const uint n = n0 + my_n + j / V * (LN * V) + j % V;
    const ulong at = in_panel + (n * PANEL + my_m);
#if !BACKWARD
    const float bias = weights[weights_at + WIDTH * WIDTH + n];
#endif
    UNROLL for (uint i = 0; i < TM; i += V) {
      float4 jet = (float4)(sum[i][j], sum[i + 1][j], sum[i + 2][j], sum[i + 3][j]);
#if BACKWARD
      jet = tanh_adjoint(*(__global const float4*)(jets + jets_at + at + i * LM), jet);
#else
      jet.s0 += bias;
      jet = tanh_jet(jet);
#endif
      *(__global float4*)(to + to_at + at + i * LM) = jet;
    }
  }
}
