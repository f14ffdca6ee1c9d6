// C = alpha A B + beta C of fp32 operands on NVIDIA tensor cores (mma.sync, compute capability 8.0
// and up), with cp.async: an emulation. Each operand is the sum of two TF32 numbers of 11 bits, and
// the three larger of the four products are added: about 21 bits of each product are kept, where
// fp32 keeps 24. So the bits are not those of kernels/matrix.cl, and suites/matrix calls this a
// precision of its own, 3xtf32. The kernel itself, and what is given by -D, are in
// matrix_fragments.cl.
//
// Tensor cores truncate their sums, always towards zero, so that errors would add up with k
// (Ootomo, Yokota: Recovering single precision accuracy from Tensor Cores while surpassing the FP32
// theoretical peak performance, 2022). So they sum only BK of k, from 0, and the result is added to
// the sum so far in fp32, rounded.
//
// The layout of fragments is that of mma.m16n8k8 with .tf32 in the PTX manual: lane l has rows l /
// 4 and l / 4 + 8 of A at k = l % 4 and + 4, and column l / 4 of B at the same k.
#pragma OPENCL FP_CONTRACT OFF
typedef float real;
#define BK 16
// Rows in local memory are padded, so that the 32 work-items that read at once (8 rows or columns
// at 4 k) use 32 banks.
#define LDA (BK + 4)
#define LDB (BN + 8)
#define STAGE (BM * LDA + BK * LDB)
#define AT_A(stage, m, k) (memory + (stage) * STAGE + (m) * LDA + (k))
#define AT_B(stage, k, n) (memory + (stage) * STAGE + BM * LDA + (k) * LDB + (n))

// Splits x into a TF32 number, rounded to nearest, and the remainder, of which tensor cores read
// the upper 19 bits. cvt.rna.tf32 does the same and handles infinities, in 4 instructions each;
// with this one they become NaN.
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

// Sums the products of a stage from 0 and adds them to `sum`.
#define WORK(stage)                                                                                                               \
  {                                                                                                                               \
    uint y[BK / 8][FN][2], y_rest[BK / 8][FN][2];                                                                                 \
    UNROLL for (uint s = 0; s < BK / 8; ++s) UNROLL for (uint j = 0; j < FN; ++j) UNROLL for (uint e = 0; e < 2; ++e)             \
      SPLIT(memory[(stage) * STAGE + BM * LDA + (s * 8 + my_k + e * 4) * LDB + my_n + j * 8], y[s][j][e], y_rest[s][j][e])        \
    UNROLL for (uint i = 0; i < FM; ++i) {                                                                                        \
      uint x[BK / 8][4], x_rest[BK / 8][4];                                                                                       \
      UNROLL for (uint s = 0; s < BK / 8; ++s) UNROLL for (uint e = 0; e < 4; ++e)                                                \
        SPLIT(memory[(stage) * STAGE + (my_m + i * 16 + (e & 1) * 8) * LDA + s * 8 + my_k + (e >> 1) * 4], x[s][e], x_rest[s][e]) \
      float part[FN][4];                                                                                                          \
      UNROLL for (uint s = 0; s < BK / 8; ++s) {                                                                                  \
        UNROLL for (uint j = 0; j < FN; ++j) MULTIPLY(part[j], x_rest[s], y[s][j], (s == 0 ? nothing : part[j]));                 \
        UNROLL for (uint j = 0; j < FN; ++j) MULTIPLY(part[j], x[s], y_rest[s][j], part[j]);                                      \
        UNROLL for (uint j = 0; j < FN; ++j) MULTIPLY(part[j], x[s], y[s][j], part[j]);                                           \
      }                                                                                                                           \
      UNROLL for (uint j = 0; j < FN; ++j) UNROLL for (uint e = 0; e < 4; ++e) sum[i][j][e] += part[j][e];                        \
    }                                                                                                                             \
  }
#define SUM_PRODUCTS                                 \
  const float nothing[4] = {0.0f, 0.0f, 0.0f, 0.0f}; \
  SUM_OVER(inner)
#include "matrix_fragments.cl"
