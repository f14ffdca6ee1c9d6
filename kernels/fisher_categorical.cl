// Fisher matrices of the categorical (softmax) model at many points, each from outcomes drawn
// there. The score of outcome y is e_y - p, so the sum of s s^T over S of them is diag(n) - n p^T -
// p n^T + S p p^T, where n is the number of each outcome. So counts are all that the scores say,
// and a matrix costs S drawings and DIM^2 / 2 elements instead of S DIM^2 / 2 products.
//
// Given by -D: LANES (1: GPUs, 8: CPUs), DIM, and for GPUs POINTS (points of a work-group), GROUP
// (work-items of a work-group), ACROSS (how many of them work side by side at one point, a power of
// two).
#define REAL64 0
#include "fisher_random.cl"

#define TRIANGLE (DIM * (DIM + 1) / 2)

// Returns (1/S) of the sum above at (i, j); q = n / S.
inline float element(const float qi, const float qj, const float pi, const float pj, const bool diagonal) {
  const float v = fma(pi, pj, -fma(qi, pj, qj * pi));
  return diagonal ? v + qi : v;
}

#if LANES == 1
typedef __local const float* bounds_t;
#else
typedef const float* bounds_t;
#endif

// Returns where the outcome of a number below the last bound is: the first whose upper bound is
// above it. The search halves compile-time lengths with a read, a comparison and an addition each.
// When the upper half is the shorter one, the last of the lower half is tested twice.
inline bounds_t outcome(const bounds_t bounds, const float t) {
  bounds_t at = bounds;
  UNROLL for (uint length = DIM - 1; length > 0; length /= 2) {
    const uint half_length = (length + 1) / 2;
    at = t >= at[half_length - 1] ? at + half_length : at;
  }
  return at;
}

// Draws four numbers with one call of philox: number 4 * call and the next three.
inline void draw(const uints call, const ulong point, const uint key0, const uint key1, uints c[4]) {
  c[0] = call;
  c[1] = (uints)(0);
  c[2] = (uints)((uint)point);
  c[3] = (uints)((uint)(point >> 32));
  philox(c, key0, key1);
}

#if LANES == 1
// Distance of points: elements at the same place of different points lie in different banks.
#define PITCH (DIM | 1)
#define AT_A_TIME (GROUP / ACROSS)
// Has the places of elements; larger matrices keep work-items busy with a row.
#define TABLE (DIM <= 64)

// Counts the outcome of `t`. The difference of addresses is taken from their low halves, which
// takes half the instructions.
inline void count(__local uint* counts, const bounds_t bounds, const float t) {
  const uint distance = (uint)(ulong)outcome(bounds, t) - (uint)(ulong)bounds;
  atomic_inc((__local uint*)((__local char*)counts + distance));
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void matrices(__global const float* restrict params,
                                                                            const ulong first, const ulong count_of_points,
                                                                            __global float* restrict out, const ulong first_out,
                                                                            const ulong first_number, __global const uint* restrict units,
                                                                            const uint scores, const uint key0, const uint key1) {
  __local float2 pq[POINTS * PITCH];  // p, and finally q: read together
  __local float bounds[POINTS * PITCH];
  __local uint counts[POINTS * PITCH];
  const uint id = (uint)get_local_id(0), across = id % ACROSS, down = id / ACROSS;
  const ulong begin = (ulong)get_group_id(0) * POINTS;
  const uint points = (uint)min((ulong)POINTS, count_of_points - begin);
#if TABLE
  // Offsets of an element's row and, << 16, of its column in a point's pq.
  __local uint places[TRIANGLE];
  for (uint i = id; i < DIM; i += GROUP) {
    for (uint j = i; j < DIM; ++j) places[i * DIM - i * (i + 1) / 2 + j] = (i | j << 16) * sizeof(float2);
  }
#endif
  params += (first + begin) * DIM;
  for (uint m = down; m < points; m += AT_A_TIME) {
    for (uint k = across; k < DIM; k += ACROSS) {
      pq[m * PITCH + k].x = params[m * DIM + k];
      counts[m * PITCH + k] = 0;
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  // The largest parameter of each point goes where the point's last bound will be.
  for (uint m = id; m < points; m += GROUP) {
    float largest = pq[m * PITCH].x;
    _Pragma("unroll 8") for (uint k = 1; k < DIM; ++k) largest = fmax(largest, pq[m * PITCH + k].x);
    bounds[m * PITCH + DIM - 1] = largest;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint m = down; m < points; m += AT_A_TIME) {
    const float largest = bounds[m * PITCH + DIM - 1];
    for (uint k = across; k < DIM; k += ACROSS) pq[m * PITCH + k].x = exp_of(pq[m * PITCH + k].x - largest);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint m = id; m < points; m += GROUP) {
    float sum = 0.0f;
    _Pragma("unroll 8") for (uint k = 0; k < DIM; ++k) bounds[m * PITCH + k] = sum += pq[m * PITCH + k].x;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint m = down; m < points; m += AT_A_TIME) {
    const bounds_t of_point = bounds + m * PITCH;
    __local uint* const counted = counts + m * PITCH;
    const float sum = of_point[DIM - 1];
    for (uint call = across; 4 * call < scores; call += ACROSS) {
      uint c[4];
      draw(call, first_number + begin + m, key0, key1, c);
      const uint left = scores - 4 * call;
      if (left >= 4) {
        UNROLL for (uint w = 0; w < 4; ++w) count(counted, of_point, uniform_of(c[w]) * sum);
      } else {
        UNROLL for (uint w = 0; w < 3; ++w) if (w < left) count(counted, of_point, uniform_of(c[w]) * sum);
      }
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint m = down; m < points; m += AT_A_TIME) {
    const float sum = bounds[m * PITCH + DIM - 1];
    for (uint k = across; k < DIM; k += ACROSS) {
      const uint e = m * PITCH + k;
      pq[e] = (float2)(pq[e].x / sum, (float)counts[e] / (float)scores);
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  out += (first_out + begin) * TRIANGLE;
  for (uint m = down; m < points; m += AT_A_TIME) {
    __local const float2* const of_point = pq + m * PITCH;
    __global float* const to = out + m * TRIANGLE;
#if TABLE
    _Pragma("unroll 4") for (uint e = across; e < TRIANGLE; e += ACROSS) {
      const uint place = places[e], i = place & 0xffff, j = place >> 16;
      const float2 mine = *(__local const float2*)((__local const char*)of_point + i);
      const float2 other = *(__local const float2*)((__local const char*)of_point + j);
      to[e] = element(mine.y, other.y, mine.x, other.x, i == j);
    }
#else
    for (uint i = 0; i < DIM; ++i) {
      const float2 mine = of_point[i];
      __global float* const row = to + (i * DIM - i * (i + 1) / 2);
      for (uint j = i + across; j < DIM; j += ACROSS) row[j] = element(mine.y, of_point[j].y, mine.x, of_point[j].x, i == j);
    }
#endif
  }
}
#else
#define VLOAD JOIN(vload, LANES)
#define VSTORE JOIN(vstore, LANES)

// One work-item per point.
__kernel void matrices(__global const float* restrict params, const ulong first, const ulong count, __global float* restrict out,
                       const ulong first_out, const ulong first_number, __global const uint* restrict units, const uint scores,
                       const uint key0, const uint key1) {
  const ulong point = get_global_id(0);
  if (point >= count) return;
  params += (first + point) * DIM;
  out += (first_out + point) * TRIANGLE;
  float p[DIM + LANES], q[DIM + LANES];
  uint counts[DIM];
  float largest = params[0];
  for (uint k = 1; k < DIM; ++k) largest = fmax(largest, params[k]);
  for (uint k = 0; k < DIM + LANES; ++k) {
    p[k] = k < DIM ? params[k] : largest;
    q[k] = 0.0f;
  }
  for (uint k = 0; k < DIM; k += LANES) VSTORE(exp_of(VLOAD(0, p + k) - largest), 0, p + k);
  float sum = 0.0f;
  for (uint k = 0; k < DIM; ++k) {
    q[k] = sum += p[k];  // the bounds
    counts[k] = 0;
  }
  for (uint k = 0; k < DIM; k += LANES) VSTORE(VLOAD(0, p + k) / sum, 0, p + k);
  for (uint call = 0; 4 * call < scores; call += LANES) {
    uints number = (uints)(call), c[4];
    for (uint l = 0; l < LANES; ++l) ((uint*)&number)[l] += l;
    draw(number, first_number + point, key0, key1, c);
    for (uint w = 0; w < 4; ++w) {
      const reals u = uniform_of(c[w]);
      for (uint l = 0; l < LANES; ++l) {
        if (4 * (call + l) + w < scores) ++counts[outcome(q, ((const float*)&u)[l] * sum) - q];
      }
    }
  }
  for (uint k = 0; k < DIM; ++k) q[k] = (float)counts[k] / (float)scores;
  for (uint i = 0; i < DIM; ++i) {
    *out++ = element(q[i], q[i], p[i], p[i], true);
    uint j = i + 1;
    for (; j + LANES <= DIM; j += LANES, out += LANES) {
      const reals qj = VLOAD(0, q + j), pj = VLOAD(0, p + j);
      VSTORE(fma((reals)(p[i]), pj, -fma((reals)(q[i]), pj, qj * p[i])), 0, out);
    }
    for (; j < DIM; ++j) *out++ = element(q[i], q[j], p[i], p[j], false);
  }
}
#endif
