// One step of a stencil over layers (rows of a plane, planes of a box), from one state to another. The order of every sum is
// written out and nothing is contracted, so that a cell has the same bits whoever computes it. Fixed cells are copied.
//
// A work-item takes VECTOR cells along x in a few layers, one after another, and keeps the layers above and below in registers: of
// what a step has to move, two numbers a cell, it reads each cell once but for the first and last layer of its strip. CPUs: long
// vectors, a work-item a work-group. The launches are in suites/stencil/stencil_program.cpp.
//
// Given by -D: REAL, the type of a cell; VECTOR, 4 on GPUs; STRIP, layers of a work-item. RADIUS: star and nothing else.
#pragma OPENCL FP_CONTRACT OFF

#define JOINED(a, b) a##b
#define TOGETHER(a, b) JOINED(a, b)
typedef REAL real;
typedef TOGETHER(REAL, VECTOR) reals;
#define load_any(p) TOGETHER(vload, VECTOR)(0, p)
#define store_any(v, p) TOGETHER(vstore, VECTOR)(v, 0, p)
#if VECTOR == 4
#define load(p) (*(__global const reals*)(p))
#define store(v, p) (*(__global reals*)(p) = (v))
#define left_of(v, p) ((reals)((p)[-1], (v).xyz))
#define right_of(v, p) ((reals)((v).yzw, (p)[4]))
#else
#define load(p) load_any(p)
#define store(v, p) store_any(v, p)
#define left_of(v, p) load_any((p) - 1)
#define right_of(v, p) load_any((p) + 1)
#endif

#ifndef RADIUS
// The first and the last of `n` cells along x stay as they were.
inline void store_row(reals now, reals before, __global real* to, uint x, uint n) {
  if (x == 0) now.s0 = before.s0;
  if (x + VECTOR < n) {
    store(now, to);
    return;
  }
  const uint last = n - 1 - x;
  real cells[VECTOR], old[VECTOR];
  store_any(now, cells);
  store_any(before, old);
  for (uint i = 0; i <= last; ++i) to[i] = i == last ? old[i] : cells[i];
}

// Layers [first, end) of `to`, whose layer l is layer l + shift of `from`. Above the first lies layer `above` of `from`, below the
// last one `below`. Rows of `n` cells, `stride` numbers from one to the next. Each cell becomes a quarter of its four neighbours'
// sum.
__kernel void jacobi2d(__global const real* from, __global real* to, uint first, uint end, uint shift, uint above, uint below,
                       uint n, uint stride) {
  const uint x = get_global_id(0) * VECTOR;
  const uint begin = first + get_global_id(1) * STRIP, stop = min(begin + STRIP, end);
  if (x >= n || begin >= end) return;
  from += x;
  to += x;
  reals north = load(from + (ulong)(begin == first ? above : begin + shift - 1) * stride);
  reals centre = load(from + (ulong)(begin + shift) * stride);
  for (uint row = begin; row < stop; ++row) {
    __global const real* const here = from + (ulong)(row + shift) * stride;
    const reals south = load(from + (ulong)(row + 1 == end ? below : row + shift + 1) * stride);
    const reals left = left_of(centre, here), right = right_of(centre, here);
    store_row((((left + right) + north) + south) * (real)0.25f, centre, to + (ulong)row * stride, x, n);
    north = centre;
    centre = south;
  }
}

// Likewise with planes of n rows for layers: each cell gains `rate` times the difference between its six neighbours and itself. The
// outermost cells of every plane are fixed, and so are the planes `fixed_first` and `fixed_last` of `to`.
__kernel void heat3d(__global const real* from, __global real* to, uint first, uint end, uint shift, uint fixed_first,
                     uint fixed_last, uint n, uint stride, real rate) {
  const uint x = get_global_id(0) * VECTOR, y = get_global_id(1);
  const uint begin = first + get_global_id(2) * STRIP, stop = min(begin + STRIP, end);
  if (x >= n || y >= n || begin >= end) return;
  const ulong plane = (ulong)n * stride;
  from += (ulong)y * stride + x;
  to += (ulong)y * stride + x;
  reals above = load(from + (ulong)(begin + shift - 1) * plane), centre = load(from + (ulong)(begin + shift) * plane);
  for (uint z = begin; z < stop; ++z) {
    __global const real* const here = from + (ulong)(z + shift) * plane;
    const reals below = load(here + plane);
    reals now = centre;
    if (y > 0 && y + 1 < n && z != fixed_first && z != fixed_last) {
      const reals north = load(here - stride), south = load(here + stride);
      const reals left = left_of(centre, here), right = right_of(centre, here);
      const reals around = ((((left + right) + north) + south) + above) + below;
      now = rate * (around - (real)6.0f * centre) + centre;
    }
    store_row(now, centre, to + (ulong)z * plane, x, n);
    above = centre;
    centre = below;
  }
}

// How much rows changed, for their norm: the sum of the squares of `now` - `before` over the cells of each row, in an order that no
// device chooses. Of LANES sums, number l is of the cells l, l + LANES and so on, one after another; halves of them are then added
// until one is left. Rows [first, first + get_global_size(1)) of `now`, in whose place `before` has those `shift` further on.
#define LANES 64
__kernel void change(__global const real* before, __global const real* now, __global real* sums, uint first, uint shift, ulong place,
                     uint n, uint stride) {
  const uint row = get_global_id(1);
  before += (ulong)(first + row + shift) * stride;
  now += (ulong)(first + row) * stride;
#if GROUPED
  __local real lanes[LANES];
  const uint lane = get_local_id(0);
  real sum = 0;
  for (uint x = lane; x < n; x += LANES) sum += (now[x] - before[x]) * (now[x] - before[x]);
  lanes[lane] = sum;
  for (uint half_of = LANES / 2; half_of > 0; half_of /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < half_of) lanes[lane] += lanes[lane + half_of];
  }
  if (lane == 0) sums[place + row] = lanes[0];
#else
  real lanes[LANES];
  for (uint lane = 0; lane < LANES; ++lane) lanes[lane] = 0;
  for (uint x = 0; x < n; x += LANES) {
    for (uint lane = 0; lane < LANES && lane < n - x; ++lane)
      lanes[lane] += (now[x + lane] - before[x + lane]) * (now[x + lane] - before[x + lane]);
  }
  for (uint half_of = LANES / 2; half_of > 0; half_of /= 2) {
    for (uint lane = 0; lane < half_of; ++lane) lanes[lane] += lanes[lane + half_of];
  }
  sums[place + row] = lanes[0];
#endif
}

#else

#include "unroll.cl"

// Cells `d` further along x.
#if VECTOR == 4
inline reals moved(reals before, reals here, reals after, int d) {
  switch (d) {
    case -4: return before;
    case -3: return (reals)(before.yzw, here.x);
    case -2: return (reals)(before.zw, here.xy);
    case -1: return (reals)(before.w, here.xyz);
    case 1: return (reals)(here.yzw, after.x);
    case 2: return (reals)(here.zw, after.xy);
    case 3: return (reals)(here.w, after.xyz);
    default: return after;
  }
}
#endif

// The star of the Parallel Research Kernels over rows, of which [inner_first, inner_end) of `to` are as far from the edges as it
// reaches: `out` gains the cells at distance d along both axes, weighted by weights.s[d - 1] = 1 / (2 d RADIUS), those before with
// the other sign; at the edges it stays. `to` becomes `from` + 1. `begins`: out was nothing.
__kernel void star(__global const real* from, __global real* to, __global real* out, uint first, uint end, uint shift,
                   uint inner_first, uint inner_end, uint n, uint stride, uint begins, real w1, real w2, real w3, real w4) {
  const uint x = get_global_id(0) * VECTOR;
  const uint begin = first + get_global_id(1) * STRIP, stop = min(begin + STRIP, end);
  if (x >= n || begin >= end) return;
  const real weights[4] = {w1, w2, w3, w4};
  from += x;
  to += x;
  out += x;
  reals column[2 * RADIUS + 1];
  UNROLL
  for (int i = 0; i < 2 * RADIUS; ++i) column[i] = load(from + (ulong)(begin + shift + i - RADIUS) * stride);
  for (uint row = begin; row < stop; ++row) {
    __global const real* const here = from + (ulong)(row + shift) * stride;
    __global real* const sums = out + (ulong)row * stride;
    column[2 * RADIUS] = load(here + (ulong)RADIUS * stride);
    const reals centre = column[RADIUS];
#if VECTOR == 4
    const reals before = load(here - 4), after = load(here + 4);
#define along(d) moved(before, centre, after, d)
#else
#define along(d) load_any(here + (d))
#endif
    reals gain = 0;
    UNROLL
    for (int d = RADIUS; d > 0; --d) gain -= weights[d - 1] * along(-d);
    UNROLL
    for (int d = 1; d <= RADIUS; ++d) gain += weights[d - 1] * along(d);
    UNROLL
    for (int d = RADIUS; d > 0; --d) gain -= weights[d - 1] * column[RADIUS - d];
    UNROLL
    for (int d = 1; d <= RADIUS; ++d) gain += weights[d - 1] * column[RADIUS + d];
    const reals was = begins ? (reals)0 : load(sums);
    reals now = row >= inner_first && row < inner_end ? was + gain : was;
    if (x < RADIUS || x + VECTOR > n - RADIUS) {
      real cells[VECTOR], old[VECTOR];
      store_any(now, cells);
      store_any(was, old);
      for (uint i = 0; i < VECTOR; ++i) cells[i] = x + i < RADIUS || x + i + RADIUS >= n ? old[i] : cells[i];
      now = load_any(cells);
    }
    store(now, sums);
    store(centre + (real)1, to + (ulong)row * stride);
    UNROLL
    for (int i = 0; i < 2 * RADIUS; ++i) column[i] = column[i + 1];
  }
}
#endif
