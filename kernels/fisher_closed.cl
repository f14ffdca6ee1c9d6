// Fisher matrices in closed form at many points: the upper half of each, row after row. The
// reference is suites/fisher/closed_reference.cpp; the formulas are textbook ones, written so that
// nothing cancels. The speed is that of writing results, so work-items write side by side.
//
// Given by -D: REAL64, LANES (see fisher_math.cl), FAMILY (its number in
// suites/fisher/families.hpp), WIDTH (parameters), GROUP (work-items of a work-group), TRIALS
// (trials of the binomial), EACH (points per work-item of `small`) and POINTS (points per
// work-group of `square`).
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

#if LANES != 1
#define VLOAD JOIN(vload, LANES)
#define VSTORE JOIN(vstore, LANES)
#define TWICE_LANES 16  // 2 * LANES, as LANES is 8
#if REAL64
typedef double16 pairs;
typedef double4 halves;
typedef double2 quarters;
#else
typedef float16 pairs;
typedef float4 halves;
typedef float2 quarters;
#endif
#endif

#if WIDTH <= 2
#if REAL64
typedef double2 pair;
typedef double2 vector;
#define VECTOR 2
#else
typedef float2 pair;
typedef float4 vector;
#define VECTOR 4
#endif

// Computes from parameters a and b the elements (1, 1), (1, 2) and (2, 2); with one parameter only
// the first.
inline void small_matrix(const reals a, const reals b, reals* f11, reals* f12, reals* f22) {
  *f12 = (reals)(R(0.0));
  *f22 = (reals)(R(0.0));
#if FAMILY == NORMAL
  *f11 = R(1.0) / (b * b);
  *f22 = R(2.0) * *f11;
#elif FAMILY == NORMAL_VARIANCE
  *f11 = R(1.0) / b;
  *f22 = R(0.5) * (*f11 * *f11);
#elif FAMILY == GAMMA
  const reals reciprocal = R(1.0) / b;
  *f11 = trigamma(a);
  *f12 = -reciprocal;
  *f22 = (a * reciprocal) * reciprocal;
#elif FAMILY == GAMMA_MEAN
  const reals reciprocal = R(1.0) / b;
  *f11 = trigamma_less_reciprocal(a);
  *f22 = (a * reciprocal) * reciprocal;
#elif FAMILY == BETA
  // The trigamma of the smaller parameter is at least twice that of the sum: their difference keeps
  // its digits.
  reals of_larger, both;
  trigammas(fmax(a, b), fmin(a, b), a + b, &of_larger, &both);
  const reals of_smaller = trigamma(fmin(a, b)) - both;
  *f11 = a < b ? of_smaller : of_larger;
  *f12 = -both;
  *f22 = b < a ? of_smaller : of_larger;
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

// Computes the matrices of `count` points. On GPUs a work-item takes EACH points, GROUP apart, so
// that EACH reads are under way. Three elements per point would leave gaps between writes; local
// memory puts them in a row. On CPUs a work-item takes LANES points.
__kernel void small(__global const real* restrict params, const ulong first, const ulong count, __global real* restrict out,
                    const ulong first_out) {
  params += first * WIDTH;
  out += first_out * TRIANGLE;
#if LANES == 1
  const uint id = (uint)get_local_id(0);
  const ulong begin = (ulong)get_group_id(0) * (EACH * GROUP);
  const uint points = (uint)min((ulong)(EACH * GROUP), count - min(begin, count));
  params += begin * WIDTH;
  out += begin * TRIANGLE;
  real a[EACH], b[EACH];
  UNROLL for (uint k = 0; k < EACH; ++k) {
    const uint point = k * GROUP + id;
    a[k] = b[k] = R(1.0);
    if (point < points) {
#if WIDTH == 2
      const pair both = ((__global const pair*)params)[point];
      a[k] = both.s0, b[k] = both.s1;
#else
      a[k] = params[point];
#endif
    }
  }
#if WIDTH == 1
  UNROLL for (uint k = 0; k < EACH; ++k) {
    real f11, f12, f22;
    small_matrix(a[k], b[k], &f11, &f12, &f22);
    if (k * GROUP + id < points) out[k * GROUP + id] = f11;
  }
#else
  __local real rows[3 * EACH * GROUP] __attribute__((aligned(16)));
  UNROLL for (uint k = 0; k < EACH; ++k) {
    __local real* const row = rows + 3 * (k * GROUP + id);
    real f11, f12, f22;
    small_matrix(a[k], b[k], &f11, &f12, &f22);
    row[0] = f11, row[1] = f12, row[2] = f22;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  // Vectors only if aligned.
  const uint size = 3 * points, whole = first_out % VECTOR == 0 ? size / VECTOR * VECTOR : 0;
  for (uint e = VECTOR * id; e < whole; e += VECTOR * GROUP) *(__global vector*)(out + e) = *(const __local vector*)(rows + e);
  for (uint e = whole + id; e < size; e += GROUP) out[e] = rows[e];
#endif
#else
  const ulong begin = get_global_id(0) * LANES;
  if (begin >= count) return;
  const uint size = (uint)min((ulong)LANES, count - begin);
  params += begin * WIDTH;
  out += begin * TRIANGLE;
  reals a = (reals)(R(1.0)), b = (reals)(R(1.0)), f11, f12, f22;
  if (size == LANES) {
#if WIDTH == 1
    a = b = VLOAD(0, params);
#else
    const pairs all = JOIN(vload, TWICE_LANES)(0, params);
    a = all.even, b = all.odd;
#endif
  } else {
    for (uint l = 0; l < size; ++l) {
      LANE(a, l) = params[l * WIDTH];
      LANE(b, l) = params[l * WIDTH + WIDTH - 1];
    }
  }
  small_matrix(a, b, &f11, &f12, &f22);
  if (size == LANES) {
#if WIDTH == 1
    VSTORE(f11, 0, out);
#else
#define AT(l) f11.s##l, f12.s##l, f22.s##l
    VSTORE((reals)(AT(0), AT(1), f11.s2, f12.s2), 0, out);
    VSTORE((reals)(f22.s2, AT(3), AT(4), f11.s5), 1, out);
    VSTORE((reals)(f12.s5, f22.s5, AT(6), AT(7)), 2, out);
#endif
    return;
  }
  for (uint l = 0; l < size; ++l) {
    out[l * TRIANGLE] = LANE(f11, l);
#if WIDTH == 2
    out[l * TRIANGLE + 1] = LANE(f12, l);
    out[l * TRIANGLE + 2] = LANE(f22, l);
#endif
  }
#endif
}
#endif

#if FAMILY == DIRICHLET || FAMILY == CATEGORICAL || FAMILY == CATEGORICAL_FREE
#include "fisher_closed_square.cl"
#endif
