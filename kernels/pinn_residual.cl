// Residual of the equation at a point, in suite pinn, and the kinds of points.
//
// Given by -D: PROBLEM (0: Burgers, 1: Allen-Cahn, 2: Helmholtz and Poisson), LAPLACIAN, DIFFUSION,
// WAVE (k^2) and WAVE_IS_0, all as in suites/pinn/problem.hpp; HARD: whether the boundary and the
// initial state are built into the solution.
#include "pinn_math.cl"

#define DOMAIN_POINT 1.0f
#define BOUNDARY_POINT 2.0f
#define INITIAL_POINT 3.0f  // 0: an empty place
#define LOSSES 3  // sums of squares of the three kinds, stored after the gradient of a shard

#if HARD
// Computes the jets of `given` and `vanishing` at (x, y). The solution is given + vanishing *
// network: `given` has the values of the boundary and the initial state, `vanishing` is 0 there
// (Lagaris, Likas, Fotiadis 1998).
inline void constraints(float x, float y, float4* given, float4* vanishing) {
#if PROBLEM == 2
#if WAVE_IS_0
  const float ax = 4.0f * x * (1.0f - x), ay = 4.0f * y * (1.0f - y), sx = 4.0f - 8.0f * x, sy = 4.0f - 8.0f * y, bend = -8.0f;
#else
  const float ax = 1.0f - x * x, ay = 1.0f - y * y, sx = -2.0f * x, sy = -2.0f * y, bend = -2.0f;
#endif
  *given = (float4)(0.0f);
  *vanishing = (float4)(ax * ay, sx * ay, ax * sy, bend * (ax + ay));
#else
  const float pi = 3.14159274f, s = sin_pi(x), c = sin_pi(x + 0.5f), square = x * x;
#if PROBLEM == 0
  *given = (float4)(-s, -pi * c, 0.0f, pi * pi * s);
#else
  *given = (float4)(square * c, 2.0f * x * c - pi * square * s, 0.0f, 2.0f * c - 4.0f * pi * x * s - pi * pi * square * c);
#endif
  *vanishing = (float4)(y * (1.0f - square), -2.0f * x * y, 1.0f - square, -2.0f * y);
#endif
}

inline float4 times_jet(float4 h, float4 n) {
  float bent = h.s3 * n.s0 + 2.0f * h.s1 * n.s1 + h.s0 * n.s3;
#if LAPLACIAN
  bent += 2.0f * h.s2 * n.s2;
#endif
  return (float4)(h.s0 * n.s0, h.s1 * n.s0 + h.s0 * n.s1, h.s2 * n.s0 + h.s0 * n.s2, bent);
}

inline float4 times_adjoint(float4 h, float4 bar) {
  float4 n = (float4)(h.s0 * bar.s0 + h.s1 * bar.s1 + h.s2 * bar.s2 + h.s3 * bar.s3, h.s0 * bar.s1 + 2.0f * h.s1 * bar.s3,
                      h.s0 * bar.s2, h.s0 * bar.s3);
#if LAPLACIAN
  n.s2 += 2.0f * h.s2 * bar.s3;
#endif
  return n;
}
#endif

// Returns the residual of the network's jet u at a point (two inputs, right side, kind), squared
// and weighted with `weights` (by kind); *bar becomes the adjoint of u.
inline float residual(float4 u, float4 point, float4 weights, float4* bar) {
  if (point.s3 == 0.0f) {
    *bar = (float4)(0.0f);
    return 0.0f;
  }
#if HARD
  float4 given, vanishing;
  constraints(point.s0, point.s1, &given, &vanishing);
  u = given + times_jet(vanishing, u);
#endif
  float r;
  float4 slopes = (float4)(1.0f, 0.0f, 0.0f, 0.0f);
  float weight = point.s3 == BOUNDARY_POINT ? weights.s2 : weights.s3;
  if (point.s3 == DOMAIN_POINT) {
    weight = weights.s1;
#if PROBLEM == 0
    r = fma(-DIFFUSION, u.s3, fma(u.s0, u.s1, u.s2));
    slopes = (float4)(u.s1, u.s0, 1.0f, -DIFFUSION);
#elif PROBLEM == 1
    const float square = u.s0 * u.s0;
    r = fma(5.0f * u.s0, square - 1.0f, fma(-DIFFUSION, u.s3, u.s2));
    slopes = (float4)(fma(15.0f, square, -5.0f), 0.0f, 1.0f, -DIFFUSION);
#else
    r = fma(WAVE, u.s0, u.s3) - point.s2;
    slopes = (float4)(WAVE, 0.0f, 0.0f, 1.0f);
#endif
  } else {
    r = u.s0 - point.s2;
  }
  const float weighted = weight * r;
  *bar = 2.0f * weighted * slopes;
#if HARD
  *bar = times_adjoint(vanishing, *bar);
#endif
  return weighted * r;
}
