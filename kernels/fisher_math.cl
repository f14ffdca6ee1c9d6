// Functions that give the same bits on every device: they use only fma, +, *, correctly rounded /
// and sqrt (an option at build time) and integers, in a fixed order. OpenCL's own exp, log, sin and
// cos differ between vendors by a few units in the last place.
//
// Given by -D: REAL64 (0, 1), LANES (1: GPUs; 8: vectors of 8 for CPUs).
#pragma OPENCL FP_CONTRACT OFF
#include "unroll.cl"

#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)

#if REAL64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef double real;
#define R(x) x
#define WHOLE long
#define BIAS 1023
#define DIGITS 52
#else
typedef float real;
#define R(x) x##f
#define WHOLE int
#define BIAS 127
#define DIGITS 23
#endif

#if LANES == 1
typedef real reals;
typedef uint uints;
typedef int ints;
typedef WHOLE wholes;
#define LANE(x, l) (x)
#else
#if REAL64
typedef JOIN(double, LANES) reals;
#else
typedef JOIN(float, LANES) reals;
#endif
typedef JOIN(uint, LANES) uints;
typedef JOIN(int, LANES) ints;
typedef JOIN(WHOLE, LANES) wholes;
#define LANE(x, l) (((real*)&(x))[l])
#endif

union bits {  // numbers of a variable as bits
  reals number;
  wholes whole;
};

// Returns y 2^n for y around 1 and |n| below 220 (fp64: 1450), rounded once as ldexp does, by two
// factors made from their bits: ldexp takes branches.
inline reals scaled_by(const reals y, const reals n) {
  // The last bits of the sum of an integer and 1.5 times 2^DIGITS are those of the integer.
  const union bits none = {.number = (reals)(1.5f * (real)((WHOLE)1 << DIGITS))}, sum = {.number = n + none.number};
  const wholes e = sum.whole - none.whole, first = e >> 1;
  const union bits one = {.whole = (first + BIAS) << DIGITS}, other = {.whole = (e - first + BIAS) << DIGITS};
  return y * one.number * other.number;
}

// Returns e^x: x = n ln 2 + r, |r| <= ln 2 / 2, and the Taylor series of e^r, whose first omitted
// term is 5e-9 (fp64: 4e-18) of it. ln 2 is split into two parts, the first short enough that n
// times it is exact. Beyond +-150 (fp64: +-1000) the result is 0 or infinity, as it should be.
inline reals exp_of(const reals given) {
#if REAL64
  const real most = 1000.0, high = 6.93147180369123816490e-01, low = 1.90821492927058770002e-10;
  const reals x = fmin(fmax(given, (reals)(-most)), (reals)(most));
  const reals n = rint(x * 1.44269504088896340736), r = fma(-n, (reals)(low), fma(-n, (reals)(high), x));
  reals y = (reals)(1.0 / 6227020800.0);
  y = fma(y, r, (reals)(1.0 / 479001600.0));
  y = fma(y, r, (reals)(1.0 / 39916800.0));
  y = fma(y, r, (reals)(1.0 / 3628800.0));
  y = fma(y, r, (reals)(1.0 / 362880.0));
  y = fma(y, r, (reals)(1.0 / 40320.0));
  y = fma(y, r, (reals)(1.0 / 5040.0));
  y = fma(y, r, (reals)(1.0 / 720.0));
#else
  const real most = 150.0f, high = 0.693145752f, low = 1.42860677e-6f;
  const reals x = fmin(fmax(given, (reals)(-most)), (reals)(most));
  const reals n = rint(x * 1.44269504f), r = fma(-n, (reals)(low), fma(-n, (reals)(high), x));
  reals y = (reals)(1.0f / 5040.0f);
  y = fma(y, r, (reals)(1.0f / 720.0f));
#endif
  y = fma(y, r, (reals)(R(1.0) / R(120.0)));
  y = fma(y, r, (reals)(R(1.0) / R(24.0)));
  y = fma(y, r, (reals)(R(1.0) / R(6.0)));
  y = fma(y, r, (reals)(R(0.5)));
  y = fma(y, r, (reals)(R(1.0)));
  y = fma(y, r, (reals)(R(1.0)));
  const reals scaled = scaled_by(y, n);
  return given != given ? given : scaled;
}

// Returns the trigamma function for x > 0, the second derivative of ln Gamma. If x is below
// `shift`, it takes `shift` steps of psi1(x) = psi1(x + 1) + 1 / x^2, then the asymptotic series
// (Abramowitz, Stegun: Handbook of Mathematical Functions, 6.4.6 and 6.4.12), whose first omitted
// term is at most 2e-8 (fp64: 8e-17) of the sum. The steps are added up as one fraction, whose
// denominator shares a division with 1 / x: a division takes as long as ten sums.
inline reals trigamma(const reals x) {
#if REAL64
  const real shift = 8.0;
#else
  const real shift = 4.0f;
#endif
  const reals near = fmin(x, (reals)(shift));
  reals numerator = (reals)(R(1.0)), denominator = near * near;
  UNROLL for (int i = 1; i < (int)(shift); ++i) {
    const reals y = near + (real)(i), square = y * y;
    numerator = fma(numerator, square, denominator);
    denominator = denominator * square;
  }
  const reals y = x < shift ? x + shift : x, other = x < shift ? denominator : (reals)(R(1.0));
  const reals both = R(1.0) / (other * y), z = both * other;
  const reals stepped = numerator * (both * y);
  const reals square = z * z;
#if REAL64
  reals series = (reals)(-174611.0 / 330.0);
  series = fma(series, square, (reals)(43867.0 / 798.0));
  series = fma(series, square, (reals)(-3617.0 / 510.0));
  series = fma(series, square, (reals)(7.0 / 6.0));
  series = fma(series, square, (reals)(-691.0 / 2730.0));
  series = fma(series, square, (reals)(5.0 / 66.0));
  series = fma(series, square, (reals)(-1.0 / 30.0));
#else
  reals series = (reals)(5.0f / 66.0f);
  series = fma(series, square, (reals)(-1.0f / 30.0f));
#endif
  series = fma(series, square, (reals)(R(1.0) / R(42.0)));
  series = fma(series, square, (reals)(R(-1.0) / R(30.0)));
  series = fma(series, square, (reals)(R(1.0) / R(6.0)));
  const reals tail = fma(series, square * z, square * R(0.5)) + z;
  return x < shift ? stepped + tail : tail;
}

// The functions below use the same recurrence and series, B_2k z^(2k+1): FURTHEST is the last
// coefficient, and FURTHER_IN(next) gives those before it to the macro `next`, the first one last.
#if REAL64
#define FURTHEST (854513.0 / 138.0)
#define FURTHER_IN(next)                                                                                                           \
  next(-174611.0 / 330.0) next(43867.0 / 798.0) next(-3617.0 / 510.0) next(7.0 / 6.0) next(-691.0 / 2730.0) next(5.0 / 66.0)      \
      next(-1.0 / 30.0) next(1.0 / 42.0) next(-1.0 / 30.0) next(1.0 / 6.0)
#define STEPS 8
#else
#define FURTHEST (5.0f / 66.0f)
#define FURTHER_IN(next) next(-1.0f / 30.0f) next(1.0f / 42.0f) next(-1.0f / 30.0f) next(1.0f / 6.0f)
#define STEPS 4
#endif

// Returns psi1(x) - 1 / x for x > 0, which for large x is a small part of both. 1 / x satisfies 1 /
// x = 1 / (x + 1) + 1 / (x (x + 1)), so that the difference has the recurrence d(x) = d(x + 1) + 1
// / (x^2 (x + 1)): nothing cancels. The steps are added up as one fraction, as above.
inline reals trigamma_less_reciprocal(const reals x) {
  const real shift = (real)(STEPS);
  const reals near = fmin(x, (reals)(shift));
  reals numerator = (reals)(R(1.0)), denominator = near * near;
  UNROLL for (int i = 1; i < STEPS; ++i) {
    const reals y = near + (real)(i), square = y * y;
    numerator = fma(numerator, square + y, denominator);
    denominator = denominator * square;
  }
  const wholes low = x < shift;
  const reals y = low ? x + shift : x, other = low ? denominator : (reals)(R(1.0));
  const reals both = R(1.0) / (other * y), z = both * other, square = z * z;
  reals series = (reals)(FURTHEST);
#define NEXT(c) series = fma(series, square, (reals)(c));
  FURTHER_IN(NEXT)
#undef NEXT
  const reals tail = fma(series, square * z, square * R(0.5));
  return low ? fma(numerator, both, tail) : tail;
}

// Computes psi1(x) - psi1(x + d) to *less and psi1(x + d) to *last, for 0 <= d <= x and sum = x +
// d, rounded, and x from 2^-63 (fp64: 2^-511) on. The difference loses no digits when d is small:
// all differences are divided by d beforehand, which leaves sums of positive terms.
// - The first step of the recurrence: 1 / x^2 - 1 / (x + d)^2 = d (x + x + d) / (x (x + d))^2.
// - The other steps in pairs, i and n - i of n = STEPS: with
//   v = (x + i) (x + n - i) = x (x + n) + c, c = i (n - i), m = n / 2 and k = m^2 - c,
//   1 / (x + i)^2 + 1 / (x + n - i)^2 is 2 (v + 2 k) / v^2; minus the same for x + d, with w for v,
//   it is 2 d (x + x + d + n) (v w + 2 k (v + w)) / (v w)^2. The middle one is 1 / (x (x + n) +
//   m^2).
// - The series, with p and q the reciprocals of both ends: p - q = d p q, and
//   (f(p) - f(q)) / (p - q) of a polynomial f is a sum by Horner's scheme.
inline void trigammas(const reals x, const reals d, const reals sum, reals* less, reals* last) {
  const real n = (real)(STEPS), middle = n * n * R(0.25);
  const wholes low = x < n;
  // All steps but the first, as fractions; without steps, of harmless numbers. `squares`: of all x
  // + i and x + d + i.
  const reals near = low ? x : (reals)(n), near_sum = low ? sum : (reals)(n), v0 = near * (near + n), w0 = near_sum * (near_sum + n);
  reals differences = (reals)(R(0.5)), sums = (reals)(R(0.5)), x_squares = v0 + middle, sum_squares = w0 + middle,
        squares = x_squares * sum_squares;
  UNROLL for (int i = 1; i < STEPS / 2; ++i) {
    const real c = (real)(i * (STEPS - i)), twice = R(2.0) * (middle - c);
    const reals v = v0 + c, w = w0 + c, vv = v * v, ww = w * w, both = vv * ww;
    differences = fma(differences, both, fma((reals)(twice), v + w, v * w) * squares);
    sums = fma(sums, ww, (w + twice) * sum_squares);
    squares = squares * both;
    sum_squares = sum_squares * ww;
    x_squares = x_squares * vv;
  }
  // Two divisions: by both ends (if there are steps, by both times all squares), and by x times
  // sum.
  const reals a = low ? x + n : x, b = low ? sum + n : sum, ends = a * b;
  const reals one = R(1.0) / (low ? ends * squares : a), other = R(1.0) / (low ? x * sum : b);
  const reals p = low ? one * (b * squares) : one, q = low ? one * (a * squares) : other, pp = p * p, qq = q * q;
  reals at_p = (reals)(FURTHEST), at_q = (reals)(FURTHEST), quotient = (reals)(R(0.0));
#define NEXT(c)                       \
  quotient = fma(quotient, qq, at_p); \
  at_p = fma(at_p, pp, (reals)(c));   \
  at_q = fma(at_q, qq, (reals)(c));
  FURTHER_IN(NEXT)
#undef NEXT
  // With the series f in p^2:
  // p^3 f(p^2) - q^3 f(q^2) = (p - q) (p^3 (p + q) (f(p^2) - f(q^2)) / (p^2 - q^2) + (p^2 + p q +
  // q^2) f(q^2)).
  const reals pq = p + q;
  const reals inner = fma(pp * p * pq, quotient, fma(fma(p, pq, qq), at_q, R(0.5) * pq)), outer = d * p * q;
  const reals tail = fma(outer, inner, outer), tail_of_sum = fma(at_q, qq * q, qq * R(0.5)) + q;
  const reals by_squares = R(2.0) * (one * ends), by_sum = x * other, two = x + sum;
  const reals first = (d * other) * (two * other);
  *less = low ? fma(d * (two + n) * by_squares, differences, first) + tail : tail;
  *last = low ? fma(sums, by_squares * x_squares, by_sum * by_sum) + tail_of_sum : tail_of_sum;
}

#if LANES == 1
// Returns the row of element e of the upper half of a matrix, stored row after row. The square root
// may be slightly off; the loops correct it.
inline uint triangle_row(const uint e, const uint width) {
  const float side = (float)(2 * width + 1);
  uint i = (uint)max(0.0f, (side - native_sqrt(fma(side, side, -8.0f * (float)e))) * 0.5f);
  while (i * width - i * (i - 1) / 2 > e) --i;
  while ((i + 1) * width - (i + 1) * i / 2 <= e) ++i;
  return i;
}
#endif
