// C = alpha A B + beta C on CPUs, row-major, fp32 or fp64: both operands are packed into panels
// that are read front to back, then tiles of C are summed in vector registers. Each element is the
// chain of fma of kernels/matrix.cl, so the bits are those of GPUs. One work-item per work-group.
//
// Given by -D: REAL64 (0, 1), W (elements of a vector: 4, 8, 16), MR (rows of a register tile: 4,
// 8), BM, BN (the tile of a work-group; multiples of MR and 2 W), BK (k summed before the next
// columns are: a panel of B then stays in the first cache).
#pragma OPENCL FP_CONTRACT OFF
#include "cpu_panels.cl"
#include "matrix_place.cl"

// Applies alpha and beta after all k are summed.
inline vec finish(const vec sum, const real alpha, const real beta, __global const real* c_in) {
  if (beta == 0) return alpha * sum;
  return fma((vec)(alpha), sum, (vec)(beta) * VLOAD(0, c_in));
}

// Stores up to MR x NR elements of C at the edge, where whole vectors do not fit. `out` has NR per
// row.
inline void put_edge(const real* out, __global real* c, const ulong ldc, const uint rows, const uint columns) {
  for (uint i = 0; i < rows; ++i) {
    for (uint j = 0; j < columns; ++j) c[i * ldc + j] = out[i * NR + j];
  }
}

// Sums k from begin to end for MR x NR elements of C, whose sums so far lie in c itself unless
// begin is 0.
inline void register_tile(__global const real* restrict a, __global const real* restrict b, __global const real* c_in,
                          __global real* c, const uint begin, const uint end, const uint inner, const ulong ldc, const uint rows,
                          const uint columns, const real alpha, const real beta) {
  FOR_ROWS(DECLARE)
  const bool whole = rows >= MR && columns >= NR;
  real edge[MR * NR];
  if (begin > 0) {
    if (whole) {
#define TAKE(i) l##i = VLOAD(0, c + i * ldc), r##i = VLOAD(1, c + i * ldc);
      FOR_ROWS(TAKE)
    } else {
      for (uint i = 0; i < MR; ++i) {
        for (uint j = 0; j < NR; ++j) edge[i * NR + j] = i < rows && j < columns ? c[i * ldc + j] : 0;
      }
#define TAKE_EDGE(i) l##i = VLOAD(0, edge + i * NR), r##i = VLOAD(1, edge + i * NR);
      FOR_ROWS(TAKE_EDGE)
    }
  }
  // Pointers are used, as indices of 32 bits cost an instruction of address arithmetic for every
  // load (PoCL 3.1, LLVM 15).
  a += (ulong)begin * MR;
  b += (ulong)begin * NR;
  __global const real* const last = a + (ulong)(end - begin) * MR;
  for (; a < last; a += MR, b += NR) {
    const vec left = VLOAD(0, b), right = VLOAD(1, b);
    FOR_ROWS(ADD)
  }
  if (end < inner) {
    if (whole) {
#define KEEP(i) VSTORE(l##i, 0, c + i * ldc), VSTORE(r##i, 1, c + i * ldc);
      FOR_ROWS(KEEP)
      return;
    }
  } else if (whole) {
#define FINISH(i)                                                                    \
  VSTORE(finish(l##i, alpha, beta, c_in + i * ldc), 0, c + i * ldc);                 \
  VSTORE(finish(r##i, alpha, beta, c_in + i * ldc + W), 1, c + i * ldc);
    FOR_ROWS(FINISH)
    return;
  }
#define KEEP_EDGE(i) VSTORE(l##i, 0, edge + i * NR), VSTORE(r##i, 1, edge + i * NR);
  FOR_ROWS(KEEP_EDGE)
  if (end == inner) {
    for (uint i = 0; i < min(rows, (uint)MR); ++i) {
      for (uint j = 0; j < min(columns, (uint)NR); ++j) {
        const real sum = edge[i * NR + j];
        edge[i * NR + j] = beta == 0 ? alpha * sum : fma(alpha, sum, beta * c_in[i * ldc + j]);
      }
    }
  }
  put_edge(edge, c, ldc, min(rows, (uint)MR), min(columns, (uint)NR));
}

// One work-group per tile, as in kernels/matrix.cl; a and b are packed, and row row0 and column
// column0 are the first of panel 0.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void matrix_multiply(
    __global const real* restrict a, __global const real* restrict b, __global const real* c_in, __global real* c,
    __global const uint* restrict tiles, const uint first, const uint items, const uint each,
    const uint rows, const uint columns, const uint inner, const uint row0,
    const uint column0, const uint lda, const uint ldb, const uint ldc, const real alpha, const real beta) {
  const uint tile = tiles[first + place_of_tile((uint)get_group_id(0), items, each)];
  const uint m0 = (tile >> 16) * BM, n0 = (tile & 0xffff) * BN;
  const uint m1 = min(m0 + BM, rows), n1 = min(n0 + BN, columns);
  for (uint begin = 0; begin < max(inner, 1u); begin += BK) {
    const uint end = min(begin + BK, inner);
    for (uint n = n0; n < n1; n += NR) {
      __global const real* panel_b = b + (ulong)(n - column0) * inner;
      for (uint m = m0; m < m1; m += MR) {
        const ulong at = (ulong)(m - row0) * ldc + (n - column0);
        register_tile(a + (ulong)(m - row0) * inner, panel_b, c_in + at, c + at, begin, end, inner, ldc, m1 - m, n1 - n, alpha, beta);
      }
    }
  }
}
