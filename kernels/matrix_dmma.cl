// C = alpha A B + beta C in fp64 on NVIDIA tensor cores (mma.sync, compute capability 9.0 and up),
// with cp.async. The result is that of kernels/matrix.cl, bit for bit, if the tensor cores add
// along k one after the other, which suites/matrix/trial.cpp tests before this kernel is used. The
// kernel itself, and what is given by -D, are in matrix_fragments.cl.
//
// The layout of fragments is that of mma.m16n8k4 with .f64 in the PTX manual: lane l has rows l / 4
// and l / 4 + 8 of A at k = l % 4, and column l / 4 of B at the same k.
#pragma OPENCL FP_CONTRACT OFF
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef double real;
#define BK 8
#define STAGE (BK * (BM + BN))

// Place of an element in local memory: rows of 8 k, rows of BN columns. Pairs (16 bytes) are
// exchanged so that the 16 work-items that read at once (4 rows or columns at 4 k) use 16 different
// pairs of banks.
#define PLACE_A(m, k) ((m) * BK + ((k) ^ (((m) >> 1 & 1) << 2)))
#define PLACE_B(k, n) ((k) * BN + ((n) ^ (((k) & 3) << 2)))
#define AT_A(stage, m, k) (memory + (stage) * STAGE + PLACE_A(m, k))
#define AT_B(stage, k, n) (memory + (stage) * STAGE + BK * BM + PLACE_B(k, n))

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

// One half of a stage's k is read from local memory while the other is multiplied. After the
// barrier within the loop the next stage has arrived for all work-items, and all have read this
// one, which is filled again.
#define SUM_PRODUCTS                                                   \
  double x[2][FM][2], y[2][FN];                                        \
  UNROLL for (uint s = 0; s < STAGES - 1; ++s) {                       \
    LOAD(s, s * BK)                                                    \
    COMMIT();                                                          \
  }                                                                    \
  WAIT_FOR_ALL_BUT(STAGES - 2);                                        \
  barrier(CLK_LOCAL_MEM_FENCE);                                        \
  uint filled = STAGES - 1, worked = 0;                                \
  if (inner > 0) READ(0, 0)                                            \
  for (uint k0 = 0; k0 < inner; k0 += BK) {                            \
    READ(worked, 1)                                                    \
    LOAD(filled, k0 + (STAGES - 1) * BK)                               \
    COMMIT();                                                          \
    MULTIPLY(0)                                                        \
    filled = NEXT(filled);                                             \
    worked = NEXT(worked);                                             \
    WAIT_FOR_ALL_BUT(STAGES - 2);                                      \
    barrier(CLK_LOCAL_MEM_FENCE);                                      \
    READ(worked, 0)                                                    \
    MULTIPLY(1)                                                        \
  }
#include "matrix_fragments.cl"
