// One step of a stencil over layers (rows of a plane, planes of a box), from one state to another.
// The order of every sum is written out and nothing is contracted, so that a cell has the same bits
// on every device. Fixed cells are copied.
//
// A work-item takes VECTOR cells along x in a few layers, one after another, and keeps the layers
// above and below in registers. So of the two numbers per cell that a step has to move, each cell
// is read once, except for the first and last layer of a strip. CPUs: long vectors, one work-item
// per work-group. suites/stencil/stencil_program.cpp launches these kernels.
//
// Given by -D: REAL, the type of a cell; VECTOR, 4 on GPUs; STRIP, layers per work-item. RADIUS:
// only the star is compiled. RADIUS_OF_STEP: only kernels that exchange layers with the neighbours
// themselves (kernels/stencil_exchange.cl).
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

#ifdef RADIUS_OF_STEP
#include "stencil_exchange.cl"
#endif

#ifndef RADIUS
// Stores cells of a row; the first and the last of its `n` cells along x keep their values.
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

// Steps rows [begin, stop) of `to`, whose row r is row r + shift of `from`, between `above` and
// `below`: each cell becomes a quarter of its four neighbours' sum. Rows have `n` cells and are
// `stride` numbers apart; all pointers start at cell x.
inline void jacobi2d_rows(__global const real* from, __global real* to, __global const real* above, __global const real* below,
                          uint begin, uint stop, uint shift, uint x, uint n, uint stride) {
  reals north = load(above), centre = load(from + (ulong)(begin + shift) * stride);
  for (uint row = begin; row < stop; ++row) {
    __global const real* const here = from + (ulong)(row + shift) * stride;
    const reals south = load(row + 1 == stop ? below : here + stride);
    const reals left = left_of(centre, here), right = right_of(centre, here);
    store_row((((left + right) + north) + south) * (real)0.25f, centre, to + (ulong)row * stride, x, n);
    north = centre;
    centre = south;
  }
}

// Steps planes of n rows: each cell gains `rate` times the difference between its six neighbours
// and itself. The outermost cells of every plane are fixed, and so are the planes `fixed_first` and
// `fixed_last` of `to`. All pointers start at cell x of row y.
inline void heat3d_planes(__global const real* from, __global real* to, __global const real* over, __global const real* under,
                          uint begin, uint stop, uint shift, uint fixed_first, uint fixed_last, uint x, uint y, uint n, uint stride,
                          real rate) {
  const ulong plane = (ulong)n * stride;
  reals above = load(over), centre = load(from + (ulong)(begin + shift) * plane);
  for (uint z = begin; z < stop; ++z) {
    __global const real* const here = from + (ulong)(z + shift) * plane;
    const reals below = load(z + 1 == stop ? under : here + plane);
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

#ifndef RADIUS_OF_STEP
// Steps layers [first, end) of `to`, whose layer l is layer l + shift of `from`. Layer `above` of
// `from` precedes the first, layer `below` follows the last.
__kernel void jacobi2d(__global const real* from, __global real* to, uint first, uint end, uint shift, uint above, uint below,
                       uint n, uint stride) {
  const uint x = get_global_id(0) * VECTOR;
  const uint begin = first + get_global_id(1) * STRIP, stop = min(begin + STRIP, end);
  if (x >= n || begin >= end) return;
  from += x;
  jacobi2d_rows(from, to + x, from + (ulong)(begin == first ? above : begin + shift - 1) * stride,
                from + (ulong)(stop == end ? below : stop + shift) * stride, begin, stop, shift, x, n, stride);
}

// Steps layers in the same way; all of them have layers above and below in `from`.
__kernel void heat3d(__global const real* from, __global real* to, uint first, uint end, uint shift, uint fixed_first,
                     uint fixed_last, uint n, uint stride, real rate) {
  const uint x = get_global_id(0) * VECTOR, y = get_global_id(1);
  const uint begin = first + get_global_id(2) * STRIP, stop = min(begin + STRIP, end);
  if (x >= n || y >= n || begin >= end) return;
  const ulong plane = (ulong)n * stride, at = (ulong)y * stride + x;
  from += at;
  heat3d_planes(from, to + at, from + (ulong)(begin + shift - 1) * plane, from + (ulong)(stop + shift) * plane, begin, stop, shift,
                fixed_first, fixed_last, x, y, n, stride, rate);
}

#else
// Do the same, and exchange the layers at the ends of [first, end).
__kernel void jacobi2d(__global const real* from, __global real* to, uint first, uint end, uint shift, uint n, uint stride,
                       EXCHANGE_ARGS) {
  const uint x = get_global_id(0) * VECTOR;
  const bool is_first = get_local_id(0) == 0;
  const Strip mine = strip_of(get_global_id(1), first, end, how, top_end, bottom_begin);
  if (mine.sides == 0) {  // most strips, with the registers of the kernel without an exchange
    if (x < n)
      jacobi2d_rows(from + x, to + x, from + (ulong)(mine.begin + shift - 1) * stride + x,
                    from + (ulong)(mine.stop + shift) * stride + x, mine.begin, mine.stop, shift, x, n, stride);
    return;
  }
  await_halos(mine.sides, is_first, EXCHANGE);
  if (x < n) {
    __global const real* const above = mine.begin == first ? layers_before(from, first, shift, EXCHANGE)
                                                           : from + (ulong)(mine.begin + shift - 1) * stride;
    __global const real* const below =
        mine.stop == end ? layers_after(from, end, shift, EXCHANGE) : from + (ulong)(mine.stop + shift) * stride;
    jacobi2d_rows(from + x, to + x, above + x, below + x, mine.begin, mine.stop, shift, x, n, stride);
    send_halos(to, first, end, mine.sides, x, EXCHANGE);
  }
  signal_sent(mine.sides, is_first, get_num_groups(0), EXCHANGE);
}

__kernel void heat3d(__global const real* from, __global real* to, uint first, uint end, uint shift, uint fixed_first,
                     uint fixed_last, uint n, uint stride, real rate, EXCHANGE_ARGS) {
  const uint x = get_global_id(0) * VECTOR, y = get_global_id(1);
  const bool is_first = get_local_id(0) == 0;
  const Strip mine = strip_of(get_global_id(2), first, end, how, top_end, bottom_begin);
  const ulong at = (ulong)y * stride + x;
  if (mine.sides == 0) {
    if (x < n)
      heat3d_planes(from + at, to + at, from + (ulong)(mine.begin + shift - 1) * layer + at,
                    from + (ulong)(mine.stop + shift) * layer + at, mine.begin, mine.stop, shift, fixed_first, fixed_last, x, y, n,
                    stride, rate);
    return;
  }
  await_halos(mine.sides, is_first, EXCHANGE);
  if (x < n) {
    __global const real* const over = mine.begin == first ? layers_before(from, first, shift, EXCHANGE)
                                                          : from + (ulong)(mine.begin + shift - 1) * layer;
    __global const real* const under =
        mine.stop == end ? layers_after(from, end, shift, EXCHANGE) : from + (ulong)(mine.stop + shift) * layer;
    heat3d_planes(from + at, to + at, over + at, under + at, mine.begin, mine.stop, shift, fixed_first, fixed_last, x, y, n, stride,
                  rate);
    send_halos(to, first, end, mine.sides, at, EXCHANGE);
  }
  signal_sent(mine.sides, is_first, get_num_groups(0) * get_num_groups(1), EXCHANGE);
}
#endif

// Computes the change of rows, for its norm: the sum of the squares of `now` - `before` over the
// cells of each row, in an order that is the same on every device. Sum number l of LANES takes the
// cells l, l + LANES and so on, one after another; halves of the sums are then added until one is
// left. Rows are [first, first + get_global_size(1)) of `now`; the corresponding ones of `before`
// are `shift` further on.
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

// Returns the cells `d` further along x.
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

// Rows of `from`: that of row r of `to` is `shift` further on. If kernels exchange, rows of other
// devices lie elsewhere.
#ifdef RADIUS_OF_STEP
#define ROWS_BESIDE __global const real *before, __global const real *after, uint first, uint end,
#define row_at(r) row_among(from, before, after, first, end, r, shift, stride)
inline __global const real* row_among(__global const real* from, __global const real* before, __global const real* after, uint first,
                                      uint end, uint row, uint shift, uint stride) {
  if (row < first) return before + (ulong)(row + RADIUS - first) * stride;
  if (row >= end) return after + (ulong)(row - end) * stride;
  return from + (ulong)(row + shift) * stride;
}
#else
#define ROWS_BESIDE
#define row_at(r) (from + (ulong)((r) + shift) * stride)
#endif

// Applies the star of the Parallel Research Kernels to rows, of which [inner_first, inner_end) of
// `to` are at least RADIUS from the edges: `out` gains the cells at distance d along both axes,
// weighted by weights.s[d - 1] = 1 / (2 d RADIUS), those before with the other sign; at the edges
// it keeps its values. `to` becomes `from` + 1. `begins`: out starts from 0.
inline void star_rows(__global const real* from, __global real* to, __global real* out, ROWS_BESIDE uint begin, uint stop,
                      uint shift, uint inner_first, uint inner_end, uint x, uint n, uint stride, uint begins, real w1, real w2,
                      real w3, real w4) {
  const real weights[4] = {w1, w2, w3, w4};
  from += x;
  to += x;
  out += x;
#ifdef RADIUS_OF_STEP
  before += x;
  after += x;
#endif
  reals column[2 * RADIUS + 1];
  UNROLL
  for (int i = 0; i < 2 * RADIUS; ++i) column[i] = load(row_at(begin + i - RADIUS));
  for (uint row = begin; row < stop; ++row) {
    __global const real* const here = from + (ulong)(row + shift) * stride;
    __global real* const sums = out + (ulong)row * stride;
    column[2 * RADIUS] = load(row_at(row + RADIUS));
    const reals centre = column[RADIUS];
#if VECTOR == 4
    const reals left = load(here - 4), right = load(here + 4);
#define along(d) moved(left, centre, right, d)
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

#ifdef RADIUS_OF_STEP
__kernel void star(__global const real* from, __global real* to, __global real* out, uint first, uint end, uint shift,
                   uint inner_first, uint inner_end, uint n, uint stride, uint begins, real w1, real w2, real w3, real w4,
                   EXCHANGE_ARGS) {
  const uint x = get_global_id(0) * VECTOR;
  const bool is_first = get_local_id(0) == 0;
  const Strip mine = strip_of(get_global_id(1), first, end, how, top_end, bottom_begin);
  await_halos(mine.sides, is_first, EXCHANGE);
  if (x < n) {
    star_rows(from, to, out, layers_before(from, first, shift, EXCHANGE), layers_after(from, end, shift, EXCHANGE), first, end,
              mine.begin, mine.stop, shift, inner_first, inner_end, x, n, stride, begins, w1, w2, w3, w4);
    send_halos(to, first, end, mine.sides, x, EXCHANGE);
  }
  signal_sent(mine.sides, is_first, get_num_groups(0), EXCHANGE);
}
#else
__kernel void star(__global const real* from, __global real* to, __global real* out, uint first, uint end, uint shift,
                   uint inner_first, uint inner_end, uint n, uint stride, uint begins, real w1, real w2, real w3, real w4) {
  const uint x = get_global_id(0) * VECTOR;
  const uint begin = first + get_global_id(1) * STRIP, stop = min(begin + STRIP, end);
  if (x >= n || begin >= end) return;
  star_rows(from, to, out, begin, stop, shift, inner_first, inner_end, x, n, stride, begins, w1, w2, w3, w4);
}
#endif
#endif
