// Tropical products on CPUs: C = A B, or with UPDATE the better of C and A B, row-major. Both
// operands are packed into panels that are read front to back, then tiles of C are kept in vector
// registers. Arguments, and what they mean, are those of kernels/tropical_packed.cl, and so is
// every bit of the result. One work-item per work-group.
//
// Given by -D: BM, BN (the tile of a work-group; multiples of MR and 2 W), PATHS, UPDATE (0, 1),
// and the options of cpu_panels.cl and tropical_numbers.cl.
#include "tropical_numbers.cl"

#if UPDATE
#include "tropical_place.cl"
#endif
#include "cpu_panels.cl"
#include "matrix_place.cl"

#ifndef TILE_OF_GROUP
#define TILE_OF_GROUP tiles[first + place_of_tile((uint)get_group_id(0), items, each)]
#endif

typedef JOIN(int, W) places;

// min of fp32 is a function call, as there could be a NaN; here there are none.
#if INT32
#define BETTER_VECTOR(a, b) BETTER(a, b)
#else
#define BETTER_VECTOR(a, b) select(a, b, IS_BETTER(b, a))
#endif

#if PATHS
#define BEGIN(i)                                                      \
  vec l##i = VLOAD(0, best + i * NR), r##i = VLOAD(1, best + i * NR); \
  places pl##i = (places)(NOWHERE), pr##i = (places)(NOWHERE);
#define COMPARE(i)                                                    \
  {                                                                   \
    const vec x = (vec)(a[i]), with_l = x + left, with_r = x + right; \
    pl##i = select(pl##i, number, IS_BETTER(with_l, l##i));           \
    pr##i = select(pr##i, number, IS_BETTER(with_r, r##i));           \
    l##i = BETTER_VECTOR(l##i, with_l);                               \
    r##i = BETTER_VECTOR(r##i, with_r);                               \
  }
#define END(i)                                                    \
  VSTORE(l##i, 0, best + i * NR), VSTORE(r##i, 1, best + i * NR); \
  VSTORE(pl##i, 0, place + i * NR), VSTORE(pr##i, 1, place + i * NR);
#else
#define BEGIN(i) vec l##i = VLOAD(0, best + i * NR), r##i = VLOAD(1, best + i * NR);
#define COMPARE(i)                         \
  {                                        \
    const vec x = (vec)(a[i]);             \
    l##i = BETTER_VECTOR(l##i, x + left);  \
    r##i = BETTER_VECTOR(r##i, x + right); \
  }
#define END(i) VSTORE(l##i, 0, best + i * NR), VSTORE(r##i, 1, best + i * NR);
#endif

// Finds the best of MR x NR elements over all k: `best`, and `place`, NR per row, which begin with
// the current values.
inline void register_tile(__global const real* restrict a, __global const real* restrict b, const uint inner, real* best, int* place) {
  FOR_ROWS(BEGIN)
  __global const real* const last = a + (ulong)inner * MR;
#if PATHS
  places number = (places)(0);
#endif
  for (; a < last; a += MR, b += NR) {
    const vec left = VLOAD(0, b), right = VLOAD(1, b);
    FOR_ROWS(COMPARE)
#if PATHS
    number += 1;
#endif
  }
  FOR_ROWS(END)
}

// One work-group per tile; a and b are packed, and row row0 and column column0 are the first of
// panel 0. With UPDATE, `of_b` is not packed.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void tropical_multiply(
    __global const real* restrict a, __global const real* restrict b, __global real* c, __global int* paths,
#if UPDATE
    __global const int* of_b, const uint gap, const uint gap_size,
#else
    __global const uint* restrict tiles,
#endif
    const uint first, const uint items, const uint each, const uint rows, const uint columns, const uint inner, const uint row0,
    const uint column0, const uint lda, const uint ldb, const uint ldc) {
  const uint tile = TILE_OF_GROUP;
  const uint m0 = (tile >> 16) * BM, n0 = (tile & 0xffff) * BN;
  const uint m1 = min(m0 + BM, rows), n1 = min(n0 + BN, columns);
  real best[MR * NR];
  int place[MR * NR];
  for (uint n = n0; n < n1; n += NR) {
    const uint width = min((uint)NR, n1 - n);
    for (uint m = m0; m < m1; m += MR) {
      const uint height = min((uint)MR, m1 - m);
      const ulong at = (ulong)(m - row0) * ldc + (n - column0);
      for (uint i = 0; i < MR * NR; ++i) best[i] = NOTHING;
#if UPDATE
      for (uint i = 0; i < height; ++i) {
        for (uint j = 0; j < width; ++j) best[i * NR + j] = c[at + i * (ulong)ldc + j];
      }
#endif
      register_tile(a + (ulong)(m - row0) * inner, b + (ulong)(n - column0) * inner, inner, best, place);
      for (uint i = 0; i < height; ++i) {
        for (uint j = 0; j < width; ++j) {
          const ulong to = at + i * (ulong)ldc + j;
          const real found = best[i * NR + j];
          c[to] = SETTLED(found);
#if PATHS
          const int k = IS_NOTHING(found) ? NOWHERE : place[i * NR + j];
#if UPDATE
          if (k != NOWHERE) paths[to] = of_b[(ulong)k * ldb + (n - column0) + j];
#else
          paths[to] = k;
#endif
#endif
        }
      }
    }
  }
}
