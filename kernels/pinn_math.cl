// What all kernels of suite pinn compute with: jets through tanh and back, residuals, collocation points. Nothing here depends on
// how a device rounds anything but sums, products and fma, so that all devices compute the same bits.
//
// A jet is what is known of a number v as a function of the two inputs: (v, v_0, v_1, D v), its first derivatives and
// D = d^2/d0^2, plus d^2/d1^2 where LAPLACIAN is 1 (forward Taylor mode; for the sum of second derivatives: Dangel et al.,
// "Collapsing Taylor mode automatic differentiation", 2025).
//
// Given by -D: PROBLEM (0: Burgers, 1: Allen-Cahn, 2: Helmholtz and Poisson), LAPLACIAN, DIFFUSION, WAVE (k^2), all as they are in
// suites/pinn/problem.hpp; HARD: whether the boundary and the initial state are built into what solves the equation.
#pragma OPENCL FP_CONTRACT OFF
#include "unroll.cl"

#define DOMAIN_POINT 1.0f
#define BOUNDARY_POINT 2.0f
#define INITIAL_POINT 3.0f  // 0: no point, a place that is left empty
#define LOSSES 3            // sums of squares of the three kinds, which come after the gradient of a shard
#define BLOCK 32            // points whose terms are summed by themselves: see kernels/pinn_edges.cl
// Layer by layer, jets lie in panels of BLOCK points: a panel has the jets of its points for one neuron after the other. So all that a
// tile of a product reads is in one piece, of a page or two.
#define JET(n, p) ((ulong)((p) / BLOCK) * (BLOCK * WIDTH) + (n) * BLOCK + (p) % BLOCK)
#define CHAINS 8            // of the sum that is the network's output

// 2^x for x in [-126, 0]: a polynomial over [-1/2, 1/2] (interpolated at Chebyshev points, error 2e-8) and the exponent.
inline float power_of_two(float x) {
  const float whole = rint(x), f = x - whole;
  float p = fma(f, 0.000154614449f, 0.0013400428f);
  p = fma(f, p, 0.00961805694f);
  p = fma(f, p, 0.0555032715f);
  p = fma(f, p, 0.240226507f);
  p = fma(f, p, 0.693147182f);
  p = fma(f, p, 1.0f);
  return as_float(as_int(p) + ((int)whole << 23));
}

// To 2e-7: x + x^3 q(x^2) where that does not cancel, else 1 - 2 e / (1 + e) with e = exp(-2 |x|).
inline float tanh_of(float x) {
  const float a = fabs(x), z = x * x;
  float q = fma(z, -0.00609671418f, 0.0209971797f);
  q = fma(z, q, -0.0538509078f);
  q = fma(z, q, 0.133327693f);
  q = fma(z, q, -0.333333284f);
  const float small = fma(x * z, q, x);
  const float e = power_of_two(fmax(-2.88539008f * a, -60.0f));
  const float d = 1.0f + e;  // up to 1.29 where it is used
  float r = fma(-0.768927634f, d, 1.76084423f);
  r = fma(r, fma(-d, r, 1.0f), r);
  r = fma(r, fma(-d, r, 1.0f), r);
  const float large = copysign(fma(-2.0f * e, r, 1.0f), x);
  return a < 0.625f ? small : large;
}

// sin(pi x): an odd polynomial over [-1/2, 1/2] (interpolated at Chebyshev points, error 1e-7).
inline float sin_pi(float x) {
  const float whole = rint(x), r = x - whole, s = r * r;
  float p = fma(s, -0.00702830404f, 0.0820503533f);
  p = fma(s, p, -0.599252164f);
  p = fma(s, p, 2.55016327f);
  p = fma(s, p, -5.16771269f);
  p = fma(s, p, 3.14159274f);
  return ((int)whole & 1) != 0 ? -(r * p) : r * p;
}

inline float4 tanh_jet(float4 z) {
  const float y = tanh_of(z.s0), s = fma(-y, y, 1.0f);
  float squares = z.s1 * z.s1;
#if LAPLACIAN
  squares = fma(z.s2, z.s2, squares);
#endif
  return (float4)(y, s * z.s1, s * z.s2, s * fma(-2.0f * y, squares, z.s3));
}

// From the adjoint of y = tanh_jet(z) to that of z. It needs y alone: with s = 1 - y^2, z_0 = y_0 / s and so on, every quotient
// cancels, which matters where tanh is saturated and s is 0.
inline float4 tanh_adjoint(float4 y, float4 bar) {
  const float s = fma(-y.s0, y.s0, 1.0f), twice = -2.0f * y.s0;
  float squares = y.s1 * y.s1;
#if LAPLACIAN
  squares = fma(y.s2, y.s2, squares);
#endif
  const float along = fma(y.s3, bar.s3, fma(y.s2, bar.s2, y.s1 * bar.s1));
  float4 z;
  z.s0 = fma(-2.0f * squares, bar.s3, fma(twice, along, s * bar.s0));
  z.s1 = fma(2.0f * twice * y.s1, bar.s3, s * bar.s1);
#if LAPLACIAN
  z.s2 = fma(2.0f * twice * y.s2, bar.s3, s * bar.s2);
#else
  z.s2 = s * bar.s2;
#endif
  z.s3 = s * bar.s3;
  return z;
}

// The jet of a neuron of the first layer before its tanh: of (in.x, in.y), whose own jets are trivial.
inline float4 first_jet(float2 in, float w0, float w1, float bias) {
  return (float4)(fma(in.y, w1, fma(in.x, w0, 0.0f)) + bias, w0, w1, 0.0f);
}

inline float add_chains(const float* of) {
  return ((of[0] + of[4]) + (of[2] + of[6])) + ((of[1] + of[5]) + (of[3] + of[7]));
}

#if HARD
// The solution is given + vanishing * network: `given` has the values of the boundary and the initial state, `vanishing` is 0 there
// (Lagaris, Likas, Fotiadis 1998). Jets of both at (x, y).
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

// How far the jet u of the network is from what has to hold at a point (two inputs, what is on the right side, kind), squared and
// weighted with `weights` (by kind), and the adjoint of u in that.
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
