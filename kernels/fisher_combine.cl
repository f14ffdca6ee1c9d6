// Adds partial Fisher matrices up along the fixed tree, in fp64: up to 16 blocks or nodes at a
// time, which is four levels. A node is the upper half of a matrix, row after row. If the right
// half is absent, the left one stays as it is.
//
// Given by -D: REAL64 (0, 1: the blocks' type), B (edge of the blocks' tiles), LANES (1: GPUs; 8:
// CPUs, whose compilers do not vectorise combine_blocks themselves: 32 blocks of 256 columns took
// one core 3.7 ms, as long as their products). SOFT_FP64, with REAL64 0 and LANES 1: the device has
// no fp64, so the same bits are computed in integers.
#pragma OPENCL FP_CONTRACT OFF
#ifndef SOFT_FP64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#include "fisher_tiles.cl"
#include "unroll.cl"

#if REAL64
typedef double real;
#else
typedef float real;
#endif
#ifdef SOFT_FP64
#include "soft_fp64.cl"
typedef ulong number;
typedef ulong doubles;
#define TAKE(p) soft_from_float(*(p))
#define ADD(a, b) soft_add(a, b)
#define DIVIDE(a, b) soft_divide(a, b)
#elif LANES == 1
typedef double number;
typedef double doubles;
#define TAKE(p) ((double)*(p))
#else
#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
typedef double number;
typedef JOIN(double, LANES) doubles;
#define TAKE(p) JOIN(convert_double, LANES)(JOIN(vload, LANES)(0, p))
#endif
#ifndef SOFT_FP64
#define ADD(a, b) ((a) + (b))
#define DIVIDE(a, b) ((a) / as_double(b))
#endif

// Adds the first `count` of v up along the tree, to v[0].
#define ADD_UP(v, count)                                \
  UNROLL for (uint step = 1; step < 16; step *= 2) {    \
    UNROLL for (uint k = 0; k < 16; k += 2 * step) {    \
      if (k + step < (count)) (v)[k] = ADD((v)[k], (v)[k + step]); \
    }                                                   \
  }

// Adds up the `blocks` blocks from number first_block on, which kernels/fisher_gram*.cl left in
// partials: each 2^levels of them into slot first_slot + g * slots of nodes. Work-item (e, g) takes
// LANES elements of a block's tiles from number LANES * e on, all in one row. levels is at most 4.
__kernel void combine_blocks(__global const real* restrict partials, const uint tiles, const uint first_block, const uint blocks,
                             const uint levels, const ulong columns, __global number* restrict nodes, const ulong first_slot,
                             const ulong slots) {
  const ulong size = (ulong)tiles * (B * B), e = get_global_id(0) * LANES;
  const uint first = (uint)get_global_id(1) << levels, count = min(1u << levels, blocks - first);
  const uint tile = (uint)(e / (B * B)), in_tile = (uint)(e % (B * B));
  const uint tile_j = column_of_tile(tile);
  const ulong i = (ulong)row_of_tile(tile, tile_j) * B + in_tile / B, j = (ulong)tile_j * B + in_tile % B;
  if (e >= size || i >= j + LANES || j >= columns) return;
  __global const real* from = partials + (first_block + first) * size + e;
  doubles v[16];
  UNROLL for (uint k = 0; k < 16; ++k) v[k] = k < count ? TAKE(from + k * size) : (doubles)(0);
  ADD_UP(v, count)
  const ulong triangle = columns * (columns + 1) / 2;
  __global number* to = nodes + (first_slot + get_global_id(1) * slots) * triangle + i * columns - i * (i + 1) / 2 + j;
#if LANES == 1
  *to = v[0];
#else
  if (i <= j && j + LANES <= columns) {
    JOIN(vstore, LANES)(v[0], 0, to);
  } else {
    for (uint l = 0; l < LANES; ++l) if (i <= j + l && j + l < columns) to[l] = ((const number*)v)[l];
  }
#endif
}

// Adds the `count` (at most 16) nodes in slots first_slot + g * slots + k * child_slots into the
// first of them, elements `begin` to `end`. Work-item (e, g) takes element begin + e.
__kernel void combine_nodes(__global number* restrict nodes, const ulong triangle, const ulong begin, const ulong end,
                            const ulong first_slot, const ulong slots, const ulong child_slots, const uint count) {
  const ulong e = begin + get_global_id(0);
  if (e >= end) return;
  __global number* from = nodes + (first_slot + get_global_id(1) * slots) * triangle + e;
  number v[16];
  UNROLL for (uint k = 0; k < 16; ++k) v[k] = k < count ? from[k * child_slots * triangle] : 0;
  ADD_UP(v, count)
  from[0] = v[0];
}

// Divides the root's elements `begin` to `end` by the number of points, given by its bits in fp64.
__kernel void divide(__global number* nodes, const ulong begin, const ulong end, const ulong points) {
  const ulong e = begin + get_global_id(0);
  if (e < end) nodes[e] = DIVIDE(nodes[e], points);
}
