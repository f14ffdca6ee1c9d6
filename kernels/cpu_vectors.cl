// Register tiles of MR rows and two vectors on CPUs; shared by kernels/matrix_cpu.cl and
// fisher_gram_cpu.cl.
//
// Given by -D: REAL64 (0, 1), or INT32 (1) for 32-bit integers, W (elements of a vector: 4, 8, 16),
// MR (rows of a register tile: 4, 8).
#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
#if REAL64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef double real;
typedef JOIN(double, W) vec;
#elif INT32
typedef int real;
typedef JOIN(int, W) vec;
#else
typedef float real;
typedef JOIN(float, W) vec;
#endif
#define VLOAD JOIN(vload, W)
#define VSTORE JOIN(vstore, W)
#define NR (2 * W)

#if MR == 8
#define FOR_ROWS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#else
#define FOR_ROWS(X) X(0) X(1) X(2) X(3)
#endif

// Row i of a register tile has the sums l<i> and r<i>, two vectors. ADD adds the products of a[i]
// with the vectors `left` and `right`.
#define DECLARE(i) vec l##i = (vec)(0), r##i = (vec)(0);
#define ADD(i)                  \
  {                             \
    const vec x = (vec)(a[i]);  \
    l##i = fma(x, left, l##i);  \
    r##i = fma(x, right, r##i); \
  }
