// Functions that give the same bits on every device: fma, +, *, correctly rounded / and sqrt (an option at build time) and integers only,
// in a fixed order. OpenCL's own exp, log, sin and cos differ between vendors by a few units in the last place.
//
// Given by -D: REAL64 (0, 1), LANES (1: GPUs; 8: vectors of as many for CPUs).
#pragma OPENCL FP_CONTRACT OFF
#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
#ifdef FISHER_ROLLED  // some compilers for CPUs take minutes for unrolled sums
#define UNROLL
#else
#define UNROLL _Pragma("unroll")
#endif

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

union bits {  // of as many numbers as a variable holds
  reals number;
  wholes whole;
};

// y 2^n of y around 1 and |n| below 220 (fp64: 1450), rounded once as ldexp does, by two factors whose bits are made: ldexp takes branches.
inline reals scaled_by(const reals y, const reals n) {
  // The last bits of the sum of an integer and 1.5 times the power of two that has as many digits are those of the integer.
  const union bits none = {.number = (reals)(1.5f * (real)((WHOLE)1 << DIGITS))}, sum = {.number = n + none.number};
  const wholes e = sum.whole - none.whole, first = e >> 1;
  const union bits one = {.whole = (first + BIAS) << DIGITS}, other = {.whole = (e - first + BIAS) << DIGITS};
  return y * one.number * other.number;
}

// e^x: x = n ln 2 + r, |r| <= ln 2 / 2, and the Taylor series of e^r, whose first term left out is 5e-9 (fp64: 4e-18) of it. ln 2 in two
// parts, the first short enough that n times it is exact. Beyond +-1000 (+-100) the result is 0 or infinity, as it should be.
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

// The trigamma function for x > 0, the second derivative of ln Gamma: where x is below `shift`, so many steps of psi1(x) = psi1(x + 1) +
// 1 / x^2, then the asymptotic series (Abramowitz, Stegun: Handbook of Mathematical Functions, 6.4.6 and 6.4.12), whose first term left
// out is 2e-8 (fp64: 8e-17) of the sum at worst. The steps are added up as one fraction, whose
// denominator shares a division with 1 / x: one takes as long as ten sums.
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

#if LANES == 1
// Row i of element e of the upper half of a matrix, row after row; from a square root that may be off a little.
inline uint triangle_row(const uint e, const uint width) {
  const float side = (float)(2 * width + 1);
  uint i = (uint)max(0.0f, (side - native_sqrt(fma(side, side, -8.0f * (float)e))) * 0.5f);
  while (i * width - i * (i - 1) / 2 > e) --i;
  while ((i + 1) * width - (i + 1) * i / 2 <= e) ++i;
  return i;
}
#endif
