// Fisher matrices of the categorical (softmax) model at many points, each from outcomes drawn there. The score of outcome y is e_y - p, so
// the sum of s s^T over S of them is diag(n) - n p^T - p n^T + S p p^T with n the number of each outcome: counts are all that scores say,
// and a matrix costs S drawings and DIM^2 / 2 elements instead of S DIM^2 / 2 products.
//
// Given by -D: LANES (1: GPUs, 8: CPUs), DIM, and for GPUs POINTS (of a work-group), GROUP (work-items).
#define REAL64 0
#include "fisher_random.cl"

#define TRIANGLE ((ulong)DIM * (DIM + 1) / 2)

// (1/S) of the sum above at (i, j); q = n / S.
inline float element(const float qi, const float qj, const float pi, const float pj, const bool diagonal) {
  const float v = fma(pi, pj, -fma(qi, pj, qj * pi));
  return diagonal ? v + qi : v;
}

#if LANES == 1
typedef __local const float* bounds_t;
#else
typedef const float* bounds_t;
#endif

// Outcome of a number in [0, 1): the first whose upper bound is above it; `bounds` grow to the sum of all. Halves of compile-time lengths: a
// read, a comparison and an addition each; where the upper half is the shorter one, the last of the lower is asked twice.
inline uint outcome(const bounds_t bounds, const float u) {
  const float t = u * bounds[DIM - 1];
  bounds_t at = bounds;
  UNROLL for (uint length = DIM - 1; length > 0; length /= 2) {
    const uint half_length = (length + 1) / 2;
    at = t >= at[half_length - 1] ? at + half_length : at;
  }
  return (uint)(at - bounds);
}

// Four outcomes from a call of philox: numbers 4 * call ...
inline void draw(const uints call, const ulong point, const uint key0, const uint key1, uints c[4]) {
  c[0] = call;
  c[1] = (uints)(0);
  c[2] = (uints)((uint)point);
  c[3] = (uints)((uint)(point >> 32));
  philox(c, key0, key1);
}

#if LANES == 1
#define PITCH (DIM | 1)  // of a point: what different ones have at the same place then lies in different banks

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void matrices(__global const float* restrict params,
                                                                            const ulong first, const ulong count,
                                                                            __global float* restrict out, const ulong first_out,
                                                                            const ulong first_number, __global const uint* restrict units,
                                                                            const uint scores, const uint key0, const uint key1) {
  __local float p[(POINTS + 1) * PITCH], bounds[(POINTS + 1) * PITCH];
  __local uint counts[POINTS * PITCH];
  const uint id = (uint)get_local_id(0);
  const ulong begin = (ulong)get_group_id(0) * POINTS;
  const uint points = (uint)min((ulong)POINTS, count - begin), size = points * PITCH;
  params += (first + begin) * DIM;
  for (uint e = id; e < size; e += GROUP) {
    const uint k = e % PITCH;
    p[e] = k < DIM ? params[e / PITCH * DIM + k] : 0.0f;
    counts[e] = 0;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  // The largest of each point goes where its last bound will be.
  for (uint m = id; m < points; m += GROUP) {
    float largest = p[m * PITCH];
    _Pragma("unroll 8") for (uint k = 1; k < DIM; ++k) largest = fmax(largest, p[m * PITCH + k]);
    bounds[m * PITCH + DIM - 1] = largest;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint e = id; e < size; e += GROUP) p[e] = exp_of(p[e] - bounds[e / PITCH * PITCH + DIM - 1]);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint m = id; m < points; m += GROUP) {
    float sum = 0.0f;
    _Pragma("unroll 8") for (uint k = 0; k < DIM; ++k) bounds[m * PITCH + k] = sum += p[m * PITCH + k];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint e = id; e < size; e += GROUP) p[e] /= bounds[e / PITCH * PITCH + DIM - 1];
  const uint calls = (scores + 3) / 4;
  for (uint e = id; e < points * calls; e += GROUP) {
    const uint m = e / calls, call = e - m * calls;
    uint c[4];
    draw(call, first_number + begin + m, key0, key1, c);
    UNROLL for (uint l = 0; l < 4; ++l) {
      if (4 * call + l < scores)
        atomic_add(&counts[m * PITCH + outcome(bounds + m * PITCH, uniform_of(c[l]))], 1u);
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  // q takes the place of the bounds.
  for (uint e = id; e < size; e += GROUP) bounds[e] = (float)counts[e] / (float)scores;
  barrier(CLK_LOCAL_MEM_FENCE);
  out += (first_out + begin) * TRIANGLE;
  const uint triangle = DIM * (DIM + 1) / 2;
  // Work-items go through all elements side by side, four at a time, which are written as one where they lie as that must.
  const bool aligned = (first_out + begin) * TRIANGLE % 4 == 0;
  for (uint e = 4 * id; e < points * triangle; e += 4 * GROUP) {
    const uint m = e / triangle, in = e - m * triangle;
    uint i = triangle_row(in, DIM), j = in - (i * DIM - i * (i - 1) / 2) + i;
    __local const float *pm = p + m * PITCH, *qm = bounds + m * PITCH;
    float pi = pm[i], qi = qm[i], some[4];
    UNROLL for (uint l = 0; l < 4; ++l) {
      some[l] = element(qi, qm[j], pi, pm[j], i == j);
      if (++j == DIM) {
        if (++i == DIM) i = 0, pm += PITCH, qm += PITCH;  // the next point; after the last, one that is not kept
        j = i;
        pi = pm[i], qi = qm[i];
      }
    }
    if (aligned && e + 4 <= points * triangle) {
      *(__global float4*)(out + e) = (float4)(some[0], some[1], some[2], some[3]);
    } else {
      for (uint l = 0; l < 4 && e + l < points * triangle; ++l) out[e + l] = some[l];
    }
  }
}
#else
#define VLOAD JOIN(vload, LANES)
#define VSTORE JOIN(vstore, LANES)

// A work-item a point.
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
        if (4 * (call + l) + w < scores) ++counts[outcome(q, ((const float*)&u)[l])];
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
