// One step of a stencil over a part of the grid that ends along two axes (--split blocks); cells
// have their places of the whole grid. A part is columns [left, right) of rows [first, end) of a
// plane, or rows [left, right) of planes [first, end) of a box. The result of each cell, and the
// order of its sum, are those of kernels/stencil.cl. One work-item per cell.
//
// Given by -D: REAL, the type of a cell. RADIUS: of the star.
#pragma OPENCL FP_CONTRACT OFF

typedef REAL real;

#ifndef RADIUS
__kernel void jacobi2d_block(__global const real* from, __global real* to, uint first, uint left, uint right, uint n, uint stride) {
  const uint x = left + get_global_id(0), row = first + get_global_id(1);
  if (x >= right) return;
  __global const real* const here = from + (ulong)row * stride + x;
  real now = *here;
  if (x > 0 && x + 1 < n) {
    const real north = from[(ulong)(row == 0 ? n - 1 : row - 1) * stride + x];
    const real south = from[(ulong)(row + 1 == n ? 0 : row + 1) * stride + x];
    now = (((here[-1] + here[1]) + north) + south) * (real)0.25f;
  }
  to[(ulong)row * stride + x] = now;
}

__kernel void heat3d_block(__global const real* from, __global real* to, uint first, uint left, uint n, uint stride, real rate) {
  const uint x = get_global_id(0), y = left + get_global_id(1), z = first + get_global_id(2);
  if (x >= n) return;
  const ulong plane = (ulong)n * stride, at = z * plane + (ulong)y * stride + x;
  __global const real* const here = from + at;
  real now = *here;
  if (x > 0 && x + 1 < n && y > 0 && y + 1 < n && z > 0 && z + 1 < n) {
    const real around = ((((here[-1] + here[1]) + *(here - stride)) + here[stride]) + *(here - plane)) + here[plane];
    now = rate * (around - (real)6.0f * now) + now;
  }
  to[at] = now;
}

#else

#include "unroll.cl"

__kernel void star_block(__global const real* from, __global real* to, __global real* out, uint first, uint left, uint right, uint n,
                         uint stride, uint begins, real w1, real w2, real w3, real w4) {
  const uint x = left + get_global_id(0), row = first + get_global_id(1);
  if (x >= right) return;
  const real weights[4] = {w1, w2, w3, w4};
  const ulong at = (ulong)row * stride + x;
  __global const real* const here = from + at;
  real now = begins ? (real)0 : out[at];
  if (x >= RADIUS && x + RADIUS < n && row >= RADIUS && row + RADIUS < n) {
    real gain = 0;
    UNROLL
    for (int d = RADIUS; d > 0; --d) gain -= weights[d - 1] * *(here - d);
    UNROLL
    for (int d = 1; d <= RADIUS; ++d) gain += weights[d - 1] * here[d];
    UNROLL
    for (int d = RADIUS; d > 0; --d) gain -= weights[d - 1] * *(here - (ulong)d * stride);
    UNROLL
    for (int d = 1; d <= RADIUS; ++d) gain += weights[d - 1] * here[(ulong)d * stride];
    now += gain;
  }
  out[at] = now;
  to[at] = *here + (real)1;
}
#endif

// Copies rows of `length` cells, from rows `from_pitch` cells apart to rows `to_pitch` apart: into
// one piece, or out of it.
__kernel void copy_rows(__global const real* from, __global real* to, ulong from_first, ulong from_pitch, ulong to_first,
                        ulong to_pitch, uint length) {
  const uint x = get_global_id(0), row = get_global_id(1);
  if (x < length) to[to_first + row * to_pitch + x] = from[from_first + row * from_pitch + x];
}
