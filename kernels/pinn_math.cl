// Functions that all kernels of suite pinn compute with: jets through tanh and back, sines. The
// results depend only on the rounding of sums, products and fma, so that all devices compute the
// same bits.
//
// The jet of a number v as a function of the two inputs is (v, v_0, v_1, D v): its value, its first
// derivatives and D = d^2/d0^2, plus d^2/d1^2 if LAPLACIAN is 1 (forward Taylor mode; for the sum
// of second derivatives: Dangel et al., "Collapsing Taylor mode automatic differentiation", 2025).
//
// Given by -D: LAPLACIAN.
#pragma OPENCL FP_CONTRACT OFF
#include "unroll.cl"

#define BLOCK 32  // points whose terms are summed separately: see kernels/pinn_edges.cl
#define CHAINS 8  // chains of the sum that is the network's output
// Layer by layer, jets lie in panels of BLOCK points: a panel has the jets of its points for one
// neuron after the other. So the jets that a tile of a product reads are contiguous, a page or two.
#define JET(n, p) ((ulong)((p) / BLOCK) * (BLOCK * WIDTH) + (n) * BLOCK + (p) % BLOCK)

// Returns 2^x for x in [-126, 0]: a polynomial over [-1/2, 1/2] (interpolated at Chebyshev points,
// error 2e-8) and the exponent.
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

// Returns tanh x within 2e-7: x + x^3 q(x^2) if that does not cancel, else 1 - 2 e / (1 + e) with e
// = exp(-2 |x|).
inline float tanh_of(float x) {
  const float a = fabs(x), z = x * x;
  float q = fma(z, -0.00609671418f, 0.0209971797f);
  q = fma(z, q, -0.0538509078f);
  q = fma(z, q, 0.133327693f);
  q = fma(z, q, -0.333333284f);
  const float small = fma(x * z, q, x);
  const float e = power_of_two(fmax(-2.88539008f * a, -60.0f));
  const float d = 1.0f + e;  // up to 1.29 when it is used
  float r = fma(-0.768927634f, d, 1.76084423f);
  r = fma(r, fma(-d, r, 1.0f), r);
  r = fma(r, fma(-d, r, 1.0f), r);
  const float large = copysign(fma(-2.0f * e, r, 1.0f), x);
  return a < 0.625f ? small : large;
}

// Returns sin(pi x): an odd polynomial over [-1/2, 1/2] (interpolated at Chebyshev points, error
// 1e-7).
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

// Returns the adjoint of z from the adjoint of y = tanh_jet(z). It needs y alone: with s = 1 - y^2,
// z_0 = y_0 / s and so on, every quotient cancels, which matters when tanh is saturated and s is 0.
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

// Returns the jet of a neuron of the first layer before its tanh, at (in.x, in.y), whose own jets
// are trivial.
inline float4 first_jet(float2 in, float w0, float w1, float bias) {
  return (float4)(fma(in.y, w1, fma(in.x, w0, 0.0f)) + bias, w0, w1, 0.0f);
}

inline float add_chains(const float* of) {
  return ((of[0] + of[4]) + (of[2] + of[6])) + ((of[1] + of[5]) + (of[3] + of[7]));
}
