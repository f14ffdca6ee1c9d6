// One step of a stencil over layers (rows of a plane, planes of a box), from one state to another. fp32; the order of every sum is
// written out and nothing is contracted, so that a cell has the same bits whoever computes it. Fixed cells are copied.
//
// A work-item takes VECTOR cells along x in a few layers, one after another, and keeps the layers above and below in registers: of
// what a step has to move, 8 bytes a cell, it reads each cell once but for the first and last layer of its strip. CPUs: long
// vectors, a work-item a work-group. The launches are in suites/stencil/stencil_program.cpp.
#pragma OPENCL FP_CONTRACT OFF

#if VECTOR == 16
typedef float16 floats;
#define load(p) vload16(0, p)
#define store(v, p) vstore16(v, 0, p)
#define left_of(v, p) vload16(0, (p) - 1)
#define right_of(v, p) vload16(0, (p) + 1)
#else
typedef float4 floats;
#define load(p) (*(__global const float4*)(p))
#define store(v, p) (*(__global float4*)(p) = (v))
#define left_of(v, p) ((float4)((p)[-1], (v).xyz))
#define right_of(v, p) ((float4)((v).yzw, (p)[4]))
#endif

// Rows of `stride` float4s, from row `first` on.
__kernel void copy(__global const float4* from, __global float4* to, uint stride, ulong first) {
  const uint x = get_global_id(0);
  const ulong at = (first + get_global_id(1)) * stride + x;
  if (x < stride) to[at] = from[at];
}

// The first and the last of `n` cells along x stay as they were.
inline void store_row(floats now, floats before, __global float* to, uint x, uint n) {
  if (x == 0) now.s0 = before.s0;
  if (x + VECTOR < n) {
    store(now, to);
    return;
  }
  const uint last = n - 1 - x;
  float cells[VECTOR], old[VECTOR];
#if VECTOR == 16
  vstore16(now, 0, cells);
  vstore16(before, 0, old);
#else
  vstore4(now, 0, cells);
  vstore4(before, 0, old);
#endif
  for (uint i = 0; i <= last; ++i) to[i] = i == last ? old[i] : cells[i];
}

// Layers [first, end) of `to`, whose layer l is layer l + shift of `from`. Above the first lies layer `above` of `from`, below the
// last one `below`. Rows of `n` cells, `stride` floats from one to the next. Each cell becomes a quarter of its four neighbours'
// sum.
__kernel void jacobi2d(__global const float* from, __global float* to, uint first, uint end, uint shift, uint above, uint below,
                       uint n, uint stride) {
  const uint x = get_global_id(0) * VECTOR;
  const uint begin = first + get_global_id(1) * STRIP, stop = min(begin + STRIP, end);
  if (x >= n || begin >= end) return;
  from += x;
  to += x;
  floats north = load(from + (ulong)(begin == first ? above : begin + shift - 1) * stride);
  floats centre = load(from + (ulong)(begin + shift) * stride);
  for (uint row = begin; row < stop; ++row) {
    __global const float* const here = from + (ulong)(row + shift) * stride;
    const floats south = load(from + (ulong)(row + 1 == end ? below : row + shift + 1) * stride);
    const floats left = left_of(centre, here), right = right_of(centre, here);
    store_row((((left + right) + north) + south) * 0.25f, centre, to + (ulong)row * stride, x, n);
    north = centre;
    centre = south;
  }
}

// Likewise with planes of n rows for layers: each cell gains `rate` times the difference between its six neighbours and itself. The
// outermost cells of every plane are fixed, and so are the planes `fixed_first` and `fixed_last` of `to`.
__kernel void heat3d(__global const float* from, __global float* to, uint first, uint end, uint shift, uint fixed_first,
                     uint fixed_last, uint n, uint stride, float rate) {
  const uint x = get_global_id(0) * VECTOR, y = get_global_id(1);
  const uint begin = first + get_global_id(2) * STRIP, stop = min(begin + STRIP, end);
  if (x >= n || y >= n || begin >= end) return;
  const ulong plane = (ulong)n * stride;
  from += (ulong)y * stride + x;
  to += (ulong)y * stride + x;
  floats above = load(from + (ulong)(begin + shift - 1) * plane), centre = load(from + (ulong)(begin + shift) * plane);
  for (uint z = begin; z < stop; ++z) {
    __global const float* const here = from + (ulong)(z + shift) * plane;
    const floats below = load(here + plane);
    floats now = centre;
    if (y > 0 && y + 1 < n && z != fixed_first && z != fixed_last) {
      const floats north = load(here - stride), south = load(here + stride);
      const floats left = left_of(centre, here), right = right_of(centre, here);
      const floats around = ((((left + right) + north) + south) + above) + below;
      now = rate * (around - 6.0f * centre) + centre;
    }
    store_row(now, centre, to + (ulong)z * plane, x, n);
    above = centre;
    centre = below;
  }
}
