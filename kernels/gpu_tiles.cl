// Register tiles on GPUs; shared by kernels/matrix.cl, matrix_packed.cl and fisher_gram.cl. A
// work-item sums TM x TN elements of its work-group's tile in registers.
//
// 32 work-items form 8 x 4, as in Scott Gray's maxas SGEMM
// (https://github.com/NervanaSystems/maxas/wiki/SGEMM): for one k they read 8 and 4 different
// vectors from local memory, and the rest is broadcast, so that local memory keeps up with the
// arithmetic.
//
// Given by -D: REAL64 (0, 1), or INT32 (1) for 32-bit integers, TM, TN, WM, WN (groups of 32
// work-items along rows and columns), and the options of stages.cl.
#include "stages.cl"

#if REAL64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef double real;
typedef double2 vec;  // 16 bytes: moved at once
#define V 2
#define ZERO 0.0
#define VECTOR(from) (vec)((from)[0], (from)[1])
#define SPLIT(to, v) (to)[0] = v.s0, (to)[1] = v.s1
#else
#if INT32
typedef int real;
typedef int4 vec;
#define ZERO 0
#else
typedef float real;
typedef float4 vec;
#define ZERO 0.0f
#endif
#define V 4
#define VECTOR(from) (vec)((from)[0], (from)[1], (from)[2], (from)[3])
#define SPLIT(to, v) (to)[0] = v.s0, (to)[1] = v.s1, (to)[2] = v.s2, (to)[3] = v.s3
#endif

#define THREADS (WM * WN * 32)
#define LM 8  // work-items of a group of 32 along rows and columns
#define LN 4

// Position of a work-item among the 8 x 4 of its group of 32.
#define DOWN(lane) ((lane) >> 1 & 7)
#define ACROSS(lane) (((lane) & 1) | ((lane) >> 3 & 2))

#define CLEAR(sum) UNROLL for (uint i = 0; i < TM; ++i) UNROLL for (uint j = 0; j < TN; ++j) sum[i][j] = ZERO;

// Load a vector from local memory, and from global memory.
#define TAKE(to, from)                         \
  {                                            \
    const vec v = *(__local const vec*)(from); \
    SPLIT(to, v);                              \
  }

#define TAKE_GLOBAL(to, from)                   \
  {                                             \
    const vec v = *(__global const vec*)(from); \
    SPLIT(to, v);                               \
  }

// Adds the products of one k to sum[TM][TN], through x[TM] and y[TN]: this work-item's rows begin
// at `a` in local memory, its columns at `b`.
#define ADD_PRODUCTS(a, b)                                                                                               \
  {                                                                                                                      \
    UNROLL for (uint i = 0; i < TM; i += V) TAKE(x + i, a + i * LM)                                                      \
    UNROLL for (uint j = 0; j < TN; j += V) TAKE(y + j, b + j * LN)                                                      \
    UNROLL for (uint i = 0; i < TM; ++i) UNROLL for (uint j = 0; j < TN; ++j) sum[i][j] = fma(x[i], y[j], sum[i][j]);    \
  }
