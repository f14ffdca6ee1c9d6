// C = alpha A B + beta C of fp32 operands on NVIDIA tensor cores (mma.sync, compute capability 8.0 and up), with cp.async: an
// emulation. Each operand is the sum of two TF32 numbers of 11 bits, and of the four products the three larger ones are
// added: about 21 bits of each product are kept, where fp32 keeps 24. The arguments, and what they mean, are those of
// matrix_multiply in kernels/matrix.cl; the bits are not: suites/matrix calls this a precision of its own, 3xtf32.
//
// Given by -D: BM, BN (the work-group's tile), WM, WN (groups of 32 along rows and columns), STAGES, VA, VB (elements that may be moved at
// once along rows of A, and of B and C).
//
// Tensor cores cut off what does not fit their sums, always towards zero, so that errors would add up with k (Ootomo, Yokota:
// Recovering single precision accuracy from Tensor Cores while surpassing the FP32 theoretical peak performance, 2022). So only
// BK of k are summed by them, from 0, and added to the sum so far in fp32, rounded.
//
// Fragments are laid out as the PTX manual says for mma.m16n8k8 with .tf32: lane l holds of A rows l / 4 and l / 4 + 8 at
// k = l % 4 and + 4, of B column l / 4 at the same k, of C rows l / 4 and l / 4 + 8 at columns l % 4 * 2 and + 1.
#pragma OPENCL FP_CONTRACT OFF
#include "matrix_place.cl"

#define BK 16
#define THREADS (WM * WN * 32)
#define FM (BM / WM / 16)  // fragments of a group of 32: 16 rows, 8 columns each
#define FN (BN / WN / 8)
// Rows in local memory are longer than they hold, so that the 32 that read at once (8 rows or columns at 4 k) meet 32 banks.
#define LDA (BK + 4)
#define LDB (BN + 8)
#define STAGE (BM * LDA + BK * LDB)
#define UNROLL _Pragma("unroll")

#define COPY(to, from, bytes, valid)                                                                                  \
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"((uint)(ulong)(to)), "l"(from),                   \
               "n"((uint)(bytes)), "r"((valid) ? (uint)(bytes) : 0u))
#define COMMIT() asm volatile("cp.async.commit_group;" ::: "memory")
#define WAIT_FOR_ALL_BUT(n) asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory")

// x as a TF32 number, rounded to nearest, and what that leaves, of which tensor cores read the upper 19 bits.
// cvt.rna.tf32 does the same and knows infinities, in 4 instructions each; with this one they become NaN.
#define SPLIT(x, large, small)                                 \
  {                                                            \
    const float whole = (x);                                   \
    large = (as_uint(whole) + 0x1000u) & 0xffffe000u;          \
    small = as_uint(whole - as_float(large));                  \
  }
#define MULTIPLY(d, a, b, c)                                                                                            \
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%11,%12,%13};" \
      : "=f"((d)[0]), "=f"((d)[1]), "=f"((d)[2]), "=f"((d)[3])                                                          \
      : "r"((a)[0]), "r"((a)[1]), "r"((a)[2]), "r"((a)[3]), "r"((b)[0]), "r"((b)[1]), "f"((c)[0]), "f"((c)[1]),         \
        "f"((c)[2]), "f"((c)[3]))

__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void matrix_multiply(
    __global const float* restrict a, __global const float* restrict b, __global const float* restrict c_in,
    __global float* restrict c, __global const uint* restrict tiles, const uint first, const uint items, const uint each,
    const uint rows, const uint columns, const uint inner, const uint row0, const uint column0, const uint lda, const uint ldb,
    const uint ldc, const float alpha, const float beta) {
  typedef float real;
  __local real memory[STAGES * STAGE] __attribute__((aligned(16)));
  const uint tile = tiles[first + place_of_tile((uint)get_group_id(0), items, each)];
  const uint m0 = (tile >> 16) * BM, n0 = (tile & 0xffff) * BN;
  const uint id = (uint)get_local_id(0), lane = id & 31, warp = id >> 5;
  const uint my_m = warp / WN * (FM * 16) + lane / 4, my_n = warp % WN * (FN * 8) + lane / 4, my_k = lane & 3;

  const uint ka = id % (BK / VA) * VA, ma = id / (BK / VA), a_rows = THREADS / (BK / VA);
  const uint nb = id % (BN / VB) * VB, kb = id / (BN / VB), b_rows = THREADS / (BN / VB);
  __global const float* pa = a + (ulong)(m0 - row0 + ma) * lda + ka;
  __global const float* pb = b + (ulong)kb * ldb + (n0 - column0 + nb);
  const bool nb_valid = n0 + nb < columns;

#define LOAD(stage, k0)                                                                                               \
  {                                                                                                                   \
    UNROLL for (uint i = 0; i < BM / a_rows; ++i) {                                                                   \
      const uint m = ma + i * a_rows;                                                                                 \
      COPY(memory + (stage) * STAGE + m * LDA + ka, pa + (ulong)(i * a_rows) * lda + (k0), VA * 4,                      \
           m0 + m < rows && (k0) + ka < inner);                                                                       \
    }                                                                                                                 \
    UNROLL for (uint i = 0; i < BK / b_rows; ++i) {                                                                   \
      const uint k = kb + i * b_rows;                                                                                 \
      COPY(memory + (stage) * STAGE + BM * LDA + k * LDB + nb, pb + (ulong)((k0) + i * b_rows) * ldb, VB * 4,           \
           nb_valid && (k0) + k < inner);                                                                             \
    }                                                                                                                 \
  }

  float sum[FM][FN][4];
  UNROLL for (uint i = 0; i < FM; ++i) UNROLL for (uint j = 0; j < FN; ++j) UNROLL for (uint e = 0; e < 4; ++e) sum[i][j][e] = 0.0f;
  const float nothing[4] = {0.0f, 0.0f, 0.0f, 0.0f};

  UNROLL for (uint s = 0; s < STAGES - 1; ++s) {
    if (s * BK < inner) LOAD(s, s * BK);
    COMMIT();
  }
  uint filled = STAGES - 1, worked = 0;
  for (uint k0 = 0; k0 < inner; k0 += BK) {
    WAIT_FOR_ALL_BUT(STAGES - 2);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (k0 + (STAGES - 1) * BK < inner) LOAD(filled, k0 + (STAGES - 1) * BK);
    COMMIT();
    uint y[BK / 8][FN][2], y_rest[BK / 8][FN][2];
    UNROLL for (uint s = 0; s < BK / 8; ++s) UNROLL for (uint j = 0; j < FN; ++j) UNROLL for (uint e = 0; e < 2; ++e)
      SPLIT(memory[worked * STAGE + BM * LDA + (s * 8 + my_k + e * 4) * LDB + my_n + j * 8], y[s][j][e], y_rest[s][j][e])
    UNROLL for (uint i = 0; i < FM; ++i) {
      uint x[BK / 8][4], x_rest[BK / 8][4];
      UNROLL for (uint s = 0; s < BK / 8; ++s) UNROLL for (uint e = 0; e < 4; ++e)
        SPLIT(memory[worked * STAGE + (my_m + i * 16 + (e & 1) * 8) * LDA + s * 8 + my_k + (e >> 1) * 4], x[s][e], x_rest[s][e])
      float part[FN][4];
      UNROLL for (uint s = 0; s < BK / 8; ++s) {
        UNROLL for (uint j = 0; j < FN; ++j) MULTIPLY(part[j], x_rest[s], y[s][j], (s == 0 ? nothing : part[j]));
        UNROLL for (uint j = 0; j < FN; ++j) MULTIPLY(part[j], x[s], y_rest[s][j], part[j]);
        UNROLL for (uint j = 0; j < FN; ++j) MULTIPLY(part[j], x[s], y[s][j], part[j]);
      }
      UNROLL for (uint j = 0; j < FN; ++j) UNROLL for (uint e = 0; e < 4; ++e) sum[i][j][e] += part[j][e];
    }
    filled = filled + 1 == STAGES ? 0 : filled + 1;
    worked = worked + 1 == STAGES ? 0 : worked + 1;
  }

  UNROLL for (uint i = 0; i < FM; ++i) UNROLL for (uint h = 0; h < 2; ++h) {
    const uint m = m0 + my_m + i * 16 + h * 8;
    if (m >= rows) continue;
    UNROLL for (uint j = 0; j < FN; ++j) {
      const uint n = n0 + my_n - lane / 4 + j * 8 + my_k * 2;
      const ulong at = (ulong)(m - row0) * ldc + (n - column0);
      UNROLL for (uint e = 0; e < 2; ++e) {
        if (n + e >= columns) continue;
        const float s = sum[i][j][h * 2 + e];
        c[at + e] = beta != 0.0f ? fma(alpha, s, beta * c_in[at + e]) : alpha * s;
      }
    }
  }
}
