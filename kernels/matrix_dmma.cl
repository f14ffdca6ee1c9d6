// C = alpha A B + beta C in fp64 on NVIDIA tensor cores (mma.sync, compute capability 9.0 and up), with cp.async. The arguments, and
// what they mean, are those of matrix_multiply in kernels/matrix.cl; so is the result, bit for bit, where the
// tensor cores add along k one after the other, which suites/matrix/kernels.cpp tries out before it takes this kernel.
//
// Given by -D: BM, BN (the work-group's tile), WM, WN (sub-groups of 32 along rows and columns), STAGES, VA, VB (elements that may be moved
// at once along rows of A, and of B and C).
//
// Fragments are laid out as the PTX manual says for mma.m16n8k4 with .f64: lane l holds of A rows l / 4 and l / 4 + 8 at k = l % 4, of
// B column l / 4 at the same k, of C rows l / 4 and l / 4 + 8 at columns l % 4 * 2 and + 1.
#pragma OPENCL FP_CONTRACT OFF
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#include "matrix_place.cl"

#define BK 8
#define THREADS (WM * WN * 32)
#define FM (BM / WM / 16)  // fragments of a sub-group: 16 rows, 8 columns each
#define FN (BN / WN / 8)
#define STAGE (BK * (BM + BN))
#define UNROLL _Pragma("unroll")

#define COPY(to, from, bytes, valid)                                                                                  \
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"((uint)(ulong)(to)), "l"(from),                   \
               "n"((uint)(bytes)), "r"((valid) ? (uint)(bytes) : 0u))
#define COMMIT() asm volatile("cp.async.commit_group;" ::: "memory")
#define WAIT_FOR_ALL_BUT(n) asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory")

// Where an element lies in local memory: rows of 8 k, rows of BN columns. Pairs (16 bytes) are exchanged so that the 16 work-items that
// read at once (4 rows or columns at 4 k) meet 16 different pairs of banks.
#define PLACE_A(m, k) ((m) * BK + ((k) ^ (((m) >> 1 & 1) << 2)))
#define PLACE_B(k, n) ((k) * BN + ((n) ^ (((k) & 3) << 2)))

__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void matrix_multiply(
    __global const double* restrict a, __global const double* restrict b, __global const double* restrict c_in,
    __global double* restrict c, __global const uint* restrict tiles, const uint first, const uint items, const uint each,
    const uint rows, const uint columns, const uint inner, const uint row0, const uint column0, const uint lda, const uint ldb,
    const uint ldc, const double alpha, const double beta) {
  __local double memory[STAGES * STAGE] __attribute__((aligned(16)));
  const uint tile = tiles[first + place_of_tile((uint)get_group_id(0), items, each)];
  const uint m0 = (tile >> 16) * BM, n0 = (tile & 0xffff) * BN;
  const uint id = (uint)get_local_id(0), lane = id & 31, warp = id >> 5;
  const uint my_m = warp / WN * (FM * 16) + lane / 4, my_n = warp % WN * (FN * 8) + lane / 4, my_k = lane & 3;

  const uint ka = id % (BK / VA) * VA, ma = id / (BK / VA), a_rows = THREADS / (BK / VA);
  const uint nb = id % (BN / VB) * VB, kb = id / (BN / VB), b_rows = THREADS / (BN / VB);
  __global const double* pa = a + (ulong)(m0 - row0 + ma) * lda + ka;
  __global const double* pb = b + (ulong)kb * ldb + (n0 - column0 + nb);
  const bool nb_valid = n0 + nb < columns;

#define LOAD(stage, k0)                                                                                               \
  {                                                                                                                   \
    __local double* to_a = memory + (stage) * STAGE;                                                                  \
    __local double* to_b = to_a + BK * BM;                                                                            \
    UNROLL for (uint i = 0; i < BM / a_rows; ++i) {                                                                   \
      const uint m = ma + i * a_rows;                                                                                 \
      COPY(to_a + PLACE_A(m, ka), pa + (ulong)(i * a_rows) * lda + (k0), VA * 8, m0 + m < rows && (k0) + ka < inner);   \
    }                                                                                                                 \
    UNROLL for (uint i = 0; i < BK / b_rows; ++i) {                                                                   \
      const uint k = kb + i * b_rows;                                                                                 \
      COPY(to_b + PLACE_B(k, nb), pb + (ulong)((k0) + i * b_rows) * ldb, VB * 8, nb_valid && (k0) + k < inner);         \
    }                                                                                                                 \
  }

  double sum[FM][FN][4];
  UNROLL for (uint i = 0; i < FM; ++i) UNROLL for (uint j = 0; j < FN; ++j) UNROLL for (uint e = 0; e < 4; ++e) sum[i][j][e] = 0.0;

  // k 0 .. 3 and 4 .. 7 of a stage; one half is read from local memory while the other is multiplied.
  double x[2][FM][2], y[2][FN];
#define READ(stage, s)                                                                            \
  {                                                                                               \
    __local const double* at_a = memory + (stage) * STAGE;                                        \
    __local const double* at_b = at_a + BK * BM;                                                  \
    UNROLL for (uint i = 0; i < FM; ++i) {                                                        \
      x[s][i][0] = at_a[PLACE_A(my_m + i * 16, my_k + (s) * 4)];                                  \
      x[s][i][1] = at_a[PLACE_A(my_m + i * 16 + 8, my_k + (s) * 4)];                              \
    }                                                                                             \
    UNROLL for (uint j = 0; j < FN; ++j) y[s][j] = at_b[PLACE_B(my_k + (s) * 4, my_n + j * 8)];   \
  }
#define MULTIPLY(s)                                                                                                    \
  UNROLL for (uint i = 0; i < FM; ++i) UNROLL for (uint j = 0; j < FN; ++j)                                            \
    asm volatile("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"       \
        : "+d"(sum[i][j][0]), "+d"(sum[i][j][1]), "+d"(sum[i][j][2]), "+d"(sum[i][j][3])                               \
        : "d"(x[s][i][0]), "d"(x[s][i][1]), "d"(y[s][j]));

  UNROLL for (uint s = 0; s < STAGES - 1; ++s) {
    if (s * BK < inner) LOAD(s, s * BK);
    COMMIT();
  }
  WAIT_FOR_ALL_BUT(STAGES - 2);
  barrier(CLK_LOCAL_MEM_FENCE);
  uint filled = STAGES - 1, worked = 0;
  if (inner > 0) READ(0, 0);
  for (uint k0 = 0; k0 < inner; k0 += BK) {
    READ(worked, 1);
    if (k0 + (STAGES - 1) * BK < inner) LOAD(filled, k0 + (STAGES - 1) * BK);
    COMMIT();
    MULTIPLY(0);
    filled = filled + 1 == STAGES ? 0 : filled + 1;
    worked = worked + 1 == STAGES ? 0 : worked + 1;
    // The next stage is there for all now, and all are done reading this one, which is filled again after the barrier.
    WAIT_FOR_ALL_BUT(STAGES - 2);
    barrier(CLK_LOCAL_MEM_FENCE);
    READ(worked, 0);
    MULTIPLY(1);
  }

  UNROLL for (uint i = 0; i < FM; ++i) UNROLL for (uint h = 0; h < 2; ++h) {
    const uint m = m0 + my_m + i * 16 + h * 8;
    if (m >= rows) continue;
    UNROLL for (uint j = 0; j < FN; ++j) {
      const uint n = n0 + my_n - lane / 4 + j * 8 + my_k * 2;
      const ulong at = (ulong)(m - row0) * ldc + (n - column0);
      UNROLL for (uint e = 0; e < 2; ++e) {
        if (n + e >= columns) continue;
        const double s = sum[i][j][h * 2 + e];
        c[at + e] = beta != 0.0 ? fma(alpha, s, beta * c_in[at + e]) : alpha * s;
      }
    }
  }
}
