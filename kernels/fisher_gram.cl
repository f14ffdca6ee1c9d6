// Partial Fisher matrices on GPUs: for each block of rows of s, the tiles of s^T s on and above the diagonal, fp32 or fp64. Each element
// is one chain of fma over the block's rows from +0: the same bits whatever the tile, the slice or the device. kernels/fisher_gram_cpu.cl
// is the same for CPUs, kernels/fisher_combine.cl adds the blocks up.
//
// Given by -D, see suites/fisher/gram_kernels.cpp, where what was tried is noted: REAL64 (0, 1), B (edge of a tile), BK (rows at a time),
// TM, TN (a work-item's sums), WM, WN (groups of 32 work-items along rows and columns), STAGES (in local memory), ASYNC (1: cp.async,
// NVIDIA only).
//
// 32 work-items form 8 x 4, as in kernels/matrix.cl: local memory then keeps up with the arithmetic. Both operands are rows of s, so both
// are copied in whole vectors: rows of s are aligned to 16 bytes, and what lies between their end and the next row is read but never kept.
#pragma OPENCL FP_CONTRACT OFF

#if REAL64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef double real;
typedef double2 vec;
#define V 2
#define ZERO 0.0
#else
typedef float real;
typedef float4 vec;
#define V 4
#define ZERO 0.0f
#endif

#define THREADS (WM * WN * 32)
#define LM 8
#define LN 4
#define LOADS (BK * B / V / THREADS)  // vectors of an operand that a work-item brings of a stage
#define PANEL (BK * B)
#define STAGE (2 * PANEL)
#ifdef FISHER_ROLLED  // some compilers for CPUs take minutes for unrolled sums
#define UNROLL
#else
#define UNROLL _Pragma("unroll")
#endif

#if ASYNC
// Copies 16 bytes to local memory in the background, past the first cache; where `valid` is 0 nothing is read and zeros are written.
#define COPY(to, from, valid)                                                                                           \
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"((uint)(ulong)(to)), "l"(from), "r"((valid) ? 16u : 0u) : "memory")
#define COMMIT() asm volatile("cp.async.commit_group;" ::: "memory")
#define WAIT_FOR_ALL_BUT(n) asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory")
#endif

// Tile number t is (i, j), i <= j, column after column: t = j (j + 1) / 2 + i.
inline uint column_of_tile(const uint t) {
  uint j = (uint)((sqrt(8.0f * t + 1.0f) - 1.0f) * 0.5f);
  while (j * (j + 1) / 2 > t) --j;
  while ((j + 1) * (j + 2) / 2 <= t) ++j;
  return j;
}

// A work-group takes tile get_group_id(0) of block get_group_id(1), which has rows first_row + block * block_rows ... of s, but none from
// end_row on. `stride` elements from row to row; tile t of block b is the t-th of the b-th `tiles` of partials, row-major.
__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void gram(__global const real* restrict s, const uint stride,
                                                                        const ulong first_row, const ulong end_row,
                                                                        const uint block_rows, const uint columns,
                                                                        __global real* restrict partials) {
  __local real memory[STAGES * STAGE] __attribute__((aligned(16)));
  const uint tile = (uint)get_group_id(0), block = (uint)get_group_id(1);
  const uint tile_j = column_of_tile(tile), tile_i = tile - tile_j * (tile_j + 1) / 2;
  const bool diagonal = tile_i == tile_j;
  const uint m0 = tile_i * B, n0 = tile_j * B;
  const uint id = (uint)get_local_id(0), lane = id & 31, warp = id >> 5;
  const uint lane_m = lane >> 1 & 7, lane_n = (lane & 1) | (lane >> 3 & 2);
  const uint my_m = warp / WN * (LM * TM) + lane_m * V, my_n = warp % WN * (LN * TN) + lane_n * V;
  const ulong row0 = first_row + (ulong)block * block_rows;
  const uint inner = row0 < end_row ? (uint)min((ulong)block_rows, end_row - row0) : 0;

  const uint at = id % (B / V) * V, kb = id / (B / V), rows_at_once = THREADS / (B / V);
  __global const real* pa = s + (row0 + kb) * stride + (m0 + at);  // what is brought next
  __global const real* pb = s + (row0 + kb) * stride + (n0 + at);
  const ulong between = (ulong)rows_at_once * stride, onward = (ulong)BK * stride;
  const bool a_valid = m0 + at < columns, b_valid = n0 + at < columns;
  const uint second = diagonal ? 0 : PANEL;  // the operands of a diagonal tile are one

#if ASYNC
#define LOAD(stage, k0)                                                                                                 \
  {                                                                                                                     \
    UNROLL for (uint i = 0; i < LOADS; ++i) {                                                                           \
      const uint k = kb + i * rows_at_once;                                                                             \
      COPY(memory + (stage) * STAGE + k * B + at, pa + i * between, a_valid && (k0) + k < inner);                       \
    }                                                                                                                   \
    if (!diagonal) {                                                                                                    \
      UNROLL for (uint i = 0; i < LOADS; ++i) {                                                                         \
        const uint k = kb + i * rows_at_once;                                                                           \
        COPY(memory + (stage) * STAGE + PANEL + k * B + at, pb + i * between, b_valid && (k0) + k < inner);             \
      }                                                                                                                 \
    }                                                                                                                   \
    pa += onward;                                                                                                       \
    pb += onward;                                                                                                       \
  }
#else
  // The next stage waits in registers while this one is worked on.
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

  real sum[TM][TN];
  UNROLL for (uint i = 0; i < TM; ++i) UNROLL for (uint j = 0; j < TN; ++j) sum[i][j] = ZERO;

  real x[TM], y[TN];
#if V == 4
#define TAKE(to, p)                                                 \
  {                                                                 \
    const vec v = *(const __local vec*)(p);                         \
    (to)[0] = v.s0, (to)[1] = v.s1, (to)[2] = v.s2, (to)[3] = v.s3; \
  }
#else
#define TAKE(to, p)                         \
  {                                         \
    const vec v = *(const __local vec*)(p); \
    (to)[0] = v.s0, (to)[1] = v.s1;         \
  }
#endif
#define WORK(stage)                                                                                                     \
  UNROLL for (uint k = 0; k < BK; ++k) {                                                                                \
    UNROLL for (uint i = 0; i < TM; i += V) TAKE(x + i, memory + (stage) * STAGE + k * B + my_m + i * LM)               \
    UNROLL for (uint j = 0; j < TN; j += V) TAKE(y + j, memory + (stage) * STAGE + second + k * B + my_n + j * LN)      \
    UNROLL for (uint i = 0; i < TM; ++i) UNROLL for (uint j = 0; j < TN; ++j) sum[i][j] = fma(x[i], y[j], sum[i][j]);   \
  }

#if ASYNC
  UNROLL for (uint t = 0; t < STAGES - 1; ++t) {
    LOAD(t, t * BK);
    COMMIT();
  }
  uint filled = STAGES - 1, worked = 0;
#else
  uint worked = 0;
  if (inner > 0) {
    FETCH(0);
    STORE(0);
  }
#endif
  for (uint k0 = 0; k0 < inner; k0 += BK) {
    // After the barrier this stage is there for all, and all are done with the one before, which is filled next.
#if ASYNC
    WAIT_FOR_ALL_BUT(STAGES - 2);
    barrier(CLK_LOCAL_MEM_FENCE);
    LOAD(filled, k0 + (STAGES - 1) * BK);  // past the end it copies nothing: dearer to ask than to do
    COMMIT();
#else
    barrier(CLK_LOCAL_MEM_FENCE);
    if (k0 + BK < inner) FETCH(k0 + BK);
#endif
    WORK(worked)
#if ASYNC
    filled = filled + 1 == STAGES ? 0 : filled + 1;
    worked = worked + 1 == STAGES ? 0 : worked + 1;
#else
    worked ^= 1;
    if (k0 + BK < inner) STORE(worked);
#endif
  }

  __global real* out = partials + ((ulong)block * get_num_groups(0) + tile) * (B * B);
  UNROLL for (uint i = 0; i < TM; ++i) {
    const uint m = my_m + i / V * (LM * V) + i % V;
    UNROLL for (uint j = 0; j < TN; j += V) {
#if V == 4
      *(__global vec*)(out + m * B + my_n + j * LN) = (vec)(sum[i][j], sum[i][j + 1], sum[i][j + 2], sum[i][j + 3]);
#else
      *(__global vec*)(out + m * B + my_n + j * LN) = (vec)(sum[i][j], sum[i][j + 1]);
#endif
    }
  }
}
