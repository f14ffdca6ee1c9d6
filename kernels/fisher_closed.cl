// Fisher matrices in closed form at many points: the upper half of each, row after row. The reference is
// suites/fisher/reference_points.cpp; the formulas are textbook ones, trigamma is that of kernels/fisher_math.cl. What counts is how fast
// results are written, so work-items write side by side.
//
// Given by -D: REAL64, LANES (see fisher_math.cl), FAMILY (its number in suites/fisher/families.hpp), WIDTH (parameters), GROUP (work-items
// of a work-group), TRIALS (of the binomial), and of `square` POINTS (a work-group's).
#include "fisher_math.cl"

#define NORMAL 0
#define NORMAL_VARIANCE 1
#define GAMMA 2
#define GAMMA_MEAN 3
#define BETA 4
#define DIRICHLET 5
#define CATEGORICAL 6
#define CATEGORICAL_FREE 7
#define POISSON 8
#define GEOMETRIC 9
#define EXPONENTIAL 10
#define LAPLACE 11
#define BINOMIAL 12

#define TRIANGLE ((ulong)WIDTH * (WIDTH + 1) / 2)

#if WIDTH <= 2
// Of parameters a and b: the elements (1, 1), (1, 2) and (2, 2); of one parameter the first.
inline void small_matrix(const reals a, const reals b, reals* f11, reals* f12, reals* f22) {
  *f12 = (reals)(R(0.0));
  *f22 = (reals)(R(0.0));
#if FAMILY == NORMAL
  *f11 = R(1.0) / (b * b);
  *f22 = R(2.0) / (b * b);
#elif FAMILY == NORMAL_VARIANCE
  *f11 = R(1.0) / b;
  *f22 = R(0.5) / (b * b);
#elif FAMILY == GAMMA
  *f11 = trigamma(a);
  *f12 = R(-1.0) / b;
  *f22 = a / (b * b);
#elif FAMILY == GAMMA_MEAN
  *f11 = trigamma(a) - R(1.0) / a;
  *f22 = a / (b * b);
#elif FAMILY == BETA
  const reals both = trigamma(a + b);
  *f11 = trigamma(a) - both;
  *f12 = -both;
  *f22 = trigamma(b) - both;
#elif FAMILY == POISSON
  *f11 = R(1.0) / a;
#elif FAMILY == GEOMETRIC
  *f11 = R(1.0) / ((a * a) * (R(1.0) - a));
#elif FAMILY == EXPONENTIAL
  *f11 = R(1.0) / (a * a);
#elif FAMILY == LAPLACE
  *f11 = R(1.0) / (b * b);
  *f22 = *f11;
#elif FAMILY == BINOMIAL
  *f11 = (real)(TRIALS) / (a * (R(1.0) - a));
#endif
}

// `count` points from params on, to out on. A work-item takes LANES points.
__kernel void small(__global const real* restrict params, const ulong first, const ulong count, __global real* restrict out,
                    const ulong first_out) {
  params += first * WIDTH;
  out += first_out * TRIANGLE;
#if LANES == 1
  const ulong point = get_global_id(0);
  const bool there = point < count;
  const real a = there ? params[point * WIDTH] : R(1.0), b = there && WIDTH == 2 ? params[point * WIDTH + WIDTH - 1] : R(1.0);
  real f11, f12, f22;
  small_matrix(a, b, &f11, &f12, &f22);
#if WIDTH == 1
  if (there) out[point] = f11;
#else
  // Three each would be written with gaps between: through local memory they are written in a row.
  __local real rows[3 * GROUP];
  const uint id = (uint)get_local_id(0);
  rows[3 * id] = f11;
  rows[3 * id + 1] = f12;
  rows[3 * id + 2] = f22;
  barrier(CLK_LOCAL_MEM_FENCE);
  const ulong begin = (ulong)get_group_id(0) * GROUP;
  const uint size = (uint)min((ulong)(3 * GROUP), 3 * (count - min(begin, count)));
  for (uint e = id; e < size; e += GROUP) out[3 * begin + e] = rows[e];
#endif
#else
  const ulong begin = get_global_id(0) * LANES;
  if (begin >= count) return;
  const uint size = (uint)min((ulong)LANES, count - begin);
  reals a = (reals)(R(1.0)), b = (reals)(R(1.0)), f11, f12, f22;
  for (uint l = 0; l < size; ++l) {
    LANE(a, l) = params[(begin + l) * WIDTH];
    LANE(b, l) = params[(begin + l) * WIDTH + WIDTH - 1];
  }
  small_matrix(a, b, &f11, &f12, &f22);
  for (uint l = 0; l < size; ++l) {
    __global real* to = out + (begin + l) * TRIANGLE;
    to[0] = LANE(f11, l);
#if WIDTH == 2
    to[1] = LANE(f12, l);
    to[2] = LANE(f22, l);
#endif
  }
#endif
}
#endif

#if FAMILY == DIRICHLET || FAMILY == CATEGORICAL || FAMILY == CATEGORICAL_FREE
// F = diag(value) + common (Dirichlet, free categorical), or diag(value) - value value^T (categorical).
inline real element(const real vi, const real vj, const real common, const bool diagonal) {
#if FAMILY == CATEGORICAL
  return diagonal ? fma(-vi, vj, vi) : -(vi * vj);
#else
  return diagonal ? vi + common : common;
#endif
}

#if LANES == 1
// Element e of a triangle is (i, j). The square root is off by less than one row for triangles of most_closed_dim = 1024 rows.
inline uint row_of(const uint e) {
  const float side = (float)(2 * WIDTH + 1);
  uint i = (uint)max(0.0f, (side - sqrt(fma(side, side, -8.0f * (float)e))) * 0.5f);
  if (i * WIDTH - i * (i - 1) / 2 > e && i > 0) --i;
  if (i + 1 < WIDTH && (i + 1) * WIDTH - (i + 1) * i / 2 <= e) ++i;
  return i;
}

// A work-group takes POINTS points: first their values, in local memory, then all elements side by side, four at a time.
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void square(__global const real* restrict params, const ulong first,
                                                                          const ulong count, __global real* restrict out,
                                                                          const ulong first_out) {
  __local real values[POINTS * WIDTH], common[POINTS];
  const uint id = (uint)get_local_id(0);
  const ulong begin = (ulong)get_group_id(0) * POINTS;
  const uint points = (uint)min((ulong)POINTS, count - begin);
  params += (first + begin) * WIDTH;
  for (uint e = id; e < points * WIDTH; e += GROUP) values[e] = params[e];
  barrier(CLK_LOCAL_MEM_FENCE);
  // What all parameters of a point decide, one work-item a point, in order.
  for (uint p = id; p < points; p += GROUP) {
    __local const real* v = values + p * WIDTH;
    real all = R(0.0);
#if FAMILY == CATEGORICAL
    all = v[0];
    for (uint k = 1; k < WIDTH; ++k) all = fmax(all, v[k]);
#else
    for (uint k = 0; k < WIDTH; ++k) all += v[k];
#endif
#if FAMILY == DIRICHLET
    all = -trigamma(all);
#elif FAMILY == CATEGORICAL_FREE
    all = R(1.0) / (R(1.0) - all);
#endif
    common[p] = all;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint e = id; e < points * WIDTH; e += GROUP) {
#if FAMILY == DIRICHLET
    values[e] = trigamma(values[e]);
#elif FAMILY == CATEGORICAL_FREE
    values[e] = R(1.0) / values[e];
#else
    values[e] = exp_of(values[e] - common[e / WIDTH]);
#endif
  }
  barrier(CLK_LOCAL_MEM_FENCE);
#if FAMILY == CATEGORICAL
  for (uint p = id; p < points; p += GROUP) {
    real sum = R(0.0);
    for (uint k = 0; k < WIDTH; ++k) sum += values[p * WIDTH + k];
    common[p] = sum;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint e = id; e < points * WIDTH; e += GROUP) values[e] /= common[e / WIDTH];
  barrier(CLK_LOCAL_MEM_FENCE);
#endif
  const ulong out_at = (first_out + begin) * TRIANGLE;
  out += out_at;
  const uint triangle = WIDTH * (WIDTH + 1) / 2, size = points * triangle;
  const bool aligned = out_at % 4 == 0;
  for (uint e = 4 * id; e < size; e += 4 * GROUP) {
    uint p = e / triangle, i = row_of(e - p * triangle), j = e - p * triangle - (i * WIDTH - i * (i - 1) / 2) + i;
    real four[4];
    UNROLL for (uint l = 0; l < 4; ++l) {
      const uint q = min(p, points - 1);
      four[l] = element(values[q * WIDTH + i], values[q * WIDTH + j], common[q], i == j);
      if (++j == WIDTH) {
        j = ++i;
        if (i == WIDTH) i = j = 0, ++p;
      }
    }
    if (aligned && e + 4 <= size) {
      vstore4((reals4)(four[0], four[1], four[2], four[3]), 0, out + e);
    } else {
      for (uint l = 0; l < 4 && e + l < size; ++l) out[e + l] = four[l];
    }
  }
}
#else
#define VLOAD JOIN(vload, LANES)
#define VSTORE JOIN(vstore, LANES)

// A work-item a point: values in vectors of parameters, then row after row of the matrix in vectors of columns.
__kernel void square(__global const real* restrict params, const ulong first, const ulong count, __global real* restrict out,
                     const ulong first_out) {
  const ulong point = get_global_id(0);
  if (point >= count) return;
  params += (first + point) * WIDTH;
  out += (first_out + point) * TRIANGLE;
  real values[WIDTH + LANES];
  real common = R(0.0);
#if FAMILY == CATEGORICAL
  common = params[0];
  for (uint k = 1; k < WIDTH; ++k) common = fmax(common, params[k]);
#else
  for (uint k = 0; k < WIDTH; ++k) common += params[k];
#endif
#if FAMILY == DIRICHLET
  reals at = (reals)(common);
  at = -trigamma(at);
  common = LANE(at, 0);
#elif FAMILY == CATEGORICAL_FREE
  common = R(1.0) / (R(1.0) - common);
#endif
  for (uint k = 0; k < WIDTH; ++k) values[k] = params[k];
  for (uint k = WIDTH; k < WIDTH + LANES; ++k) values[k] = R(1.0);
  for (uint k = 0; k < WIDTH; k += LANES) {
    const reals v = VLOAD(0, values + k);
#if FAMILY == DIRICHLET
    VSTORE(trigamma(v), 0, values + k);
#elif FAMILY == CATEGORICAL_FREE
    VSTORE(R(1.0) / v, 0, values + k);
#else
    VSTORE(exp_of(v - common), 0, values + k);
#endif
  }
#if FAMILY == CATEGORICAL
  real sum = R(0.0);
  for (uint k = 0; k < WIDTH; ++k) sum += values[k];
  for (uint k = 0; k < WIDTH; k += LANES) VSTORE(VLOAD(0, values + k) / sum, 0, values + k);
#endif
  for (uint i = 0; i < WIDTH; ++i) {
    *out++ = element(values[i], values[i], common, true);
    uint j = i + 1;
    for (; j + LANES <= WIDTH; j += LANES, out += LANES) {
#if FAMILY == CATEGORICAL
      VSTORE(-(values[i] * VLOAD(0, values + j)), 0, out);
#else
      VSTORE((reals)(common), 0, out);
#endif
    }
    for (; j < WIDTH; ++j) *out++ = element(values[i], values[j], common, false);
  }
}
#endif
#endif
