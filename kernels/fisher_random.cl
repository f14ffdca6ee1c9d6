// Random numbers keyed by place: Philox4x32 (Salmon, Moraes, Dror, Shaw: Parallel random numbers:
// as easy as 1, 2, 3, SC 2011) with seven rounds, the fewest that pass BigCrush there, and standard
// normals made from them. The numbers are the same on every device.
#include "fisher_math.cl"

// Makes four words for each counter and key.
inline void philox(uints c[4], uint key0, uint key1) {
  UNROLL for (uint round = 0; round < 7; ++round) {
#if LANES == 1  // one instruction for both halves
    const ulong product0 = (ulong)c[0] * 0xd2511f53u, product1 = (ulong)c[2] * 0xcd9e8d57u;
    const uint high0 = (uint)(product0 >> 32), low0 = (uint)product0, high1 = (uint)(product1 >> 32), low1 = (uint)product1;
#else
    const uints high0 = mul_hi(c[0], (uints)(0xd2511f53u)), low0 = c[0] * 0xd2511f53u;
    const uints high1 = mul_hi(c[2], (uints)(0xcd9e8d57u)), low1 = c[2] * 0xcd9e8d57u;
#endif
    c[0] = high1 ^ c[1] ^ key0;
    c[1] = low1;
    c[2] = high0 ^ c[3] ^ key1;
    c[3] = low0;
    key0 += 0x9e3779b9u;
    key1 += 0xbb67ae85u;
  }
}

#if LANES == 1
#define AS_FLOATS(x) as_float(x)
#define AS_INTS(x) as_int(x)
#define TO_FLOATS(x) convert_float(x)
#else
#define AS_FLOATS(x) JOIN(as_float, LANES)(x)
#define AS_INTS(x) JOIN(as_int, LANES)(x)
#define TO_FLOATS(x) JOIN(convert_float, LANES)(x)
#endif

// Returns 1 + k / 2^23 for k < 2^23, by its bits: converting integers takes a GPU four times as
// long as arithmetic.
inline reals one_and(const uints k) { return AS_FLOATS(k | 0x3f800000u); }

// Returns a number uniform in [0, 1), a multiple of 2^-23, from a word.
inline reals uniform_of(const uints word) { return one_and(word >> 9) - 1.0f; }

// Returns ln u for u in (0, 1]: u = 2^e m with m around 1, and the polynomial of Cephes' logf
// (Moshier, netlib.org/cephes), accurate to 1e-7.
inline reals log_of(const reals u) {
  const ints bits = AS_INTS(u) - 0x3f3504f3;  // sqrt(1/2)
  const ints e = bits >> 23;
  const reals f = AS_FLOATS((bits & 0x7fffff) + 0x3f3504f3) - 1.0f;
  reals y = (reals)(7.0376836292e-2f);
  y = fma(y, f, (reals)(-1.1514610310e-1f));
  y = fma(y, f, (reals)(1.1676998740e-1f));
  y = fma(y, f, (reals)(-1.2420140846e-1f));
  y = fma(y, f, (reals)(1.4249322787e-1f));
  y = fma(y, f, (reals)(-1.6668057665e-1f));
  y = fma(y, f, (reals)(2.0000714765e-1f));
  y = fma(y, f, (reals)(-2.4999993993e-1f));
  y = fma(y, f, (reals)(3.3333331174e-1f));
  const reals square = f * f;
  y = fma(y * f, square, square * -0.5f);
  return fma(TO_FLOATS(e), (reals)(0.693147181f), f + y);
}

// Makes two standard normals (Box, Muller: A note on the generation of random normal deviates,
// 1958): the radius from one word, the angle from another. The angle is a multiple of a quarter
// turn, its two highest bits, plus one in (-1/8, 1/8) turn, the 23 bits after them; sine and cosine
// there are Cephes' polynomials.
inline void normals(const uints radius, const uints angle, reals* z0, reals* z1) {
  // (k + 1/2) / 2^23: exact, as near 1 the logarithm is as small as a rounding error would be.
  const reals u = one_and(radius >> 9) - 0.999999940395355f;
  const reals r = sqrt(-2.0f * log_of(u));
  const reals t = (one_and((angle << 2) >> 9) - 1.49999994039536f) * 1.57079633f, square = t * t;
  reals s = (reals)(-1.9515295891e-4f);
  s = fma(s, square, (reals)(8.3321608736e-3f));
  s = fma(s, square, (reals)(-1.6666654611e-1f));
  s = fma(s * square, t, t);
  reals c = (reals)(2.443315711809948e-5f);
  c = fma(c, square, (reals)(-1.388731625493765e-3f));
  c = fma(c, square, (reals)(4.166664568298827e-2f));
  c = fma(c * square, square, fma(square, (reals)(-0.5f), (reals)(1.0f)));
  const ints quarter = AS_INTS(angle >> 30);
  const reals one = (quarter & 1) != 0 ? c : s, other = (quarter & 1) != 0 ? s : c;
  *z0 = r * ((quarter & 2) != 0 ? -one : one);                            // sine: s, c, -s, -c
  *z1 = r * (((quarter + 1) & 2) != 0 ? -other : other);                  // cosine: c, -s, -c, s
}
