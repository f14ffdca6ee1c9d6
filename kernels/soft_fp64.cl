// Sums and quotients of fp64 numbers in integer arithmetic, for devices without fp64: the bits of
// IEEE 754 with rounding to nearest even, in a ulong each.
#define SOFT_SIGN 0x8000000000000000ul
#define SOFT_INF 0x7ff0000000000000ul
#define SOFT_NAN 0x7ff8000000000000ul
#define SOFT_HIDDEN 0x0010000000000000ul  // the leading bit of a normal number

// Returns the bits of a number in fp64.
inline ulong soft_from_float(const float number) {
  const uint bits = as_uint(number);
  const ulong sign = (ulong)(bits >> 31) << 63;
  uint exponent = bits >> 23 & 255u, rest = bits & 0x7fffffu;
  if (exponent == 255u) return sign | (rest != 0 ? SOFT_NAN : SOFT_INF);
  if (exponent == 0) {
    if (rest == 0) return sign;
    const uint shift = clz(rest) - 8;
    rest = rest << shift & 0x7fffffu;
    exponent = 1u - shift;  // modulo 2^32; the sum below is positive
  }
  return sign | (ulong)(exponent + 896u) << 52 | (ulong)rest << 29;
}

// Returns a number with `digits` x 2^(exponent - 1078), where digits has three bits more than are
// kept, of which the last stands for all that were dropped, and its leading bit is bit 55 unless
// exponent is 1.
inline ulong soft_round(const ulong sign, const int exponent, const ulong digits) {
  const ulong rest = digits & 7ul, whole = digits >> 3;
  const ulong rounded = whole + (rest > 4ul || (rest == 4ul && (whole & 1ul)) ? 1 : 0);
  const ulong bits = rounded < SOFT_HIDDEN ? rounded : ((ulong)exponent << 52) + (rounded - SOFT_HIDDEN);
  return sign | min(bits, SOFT_INF);
}

inline ulong soft_add(ulong a, ulong b) {
  if ((a & ~SOFT_SIGN) < (b & ~SOFT_SIGN)) {
    const ulong smaller = a;
    a = b;
    b = smaller;
  }
  const ulong sign = a & SOFT_SIGN;
  const bool differ = ((a ^ b) & SOFT_SIGN) != 0;
  int exponent = (int)(a >> 52 & 0x7fful), other = (int)(b >> 52 & 0x7fful);
  if (exponent == 0x7ff) {
    const bool is_nan = (a & ~SOFT_SIGN) > SOFT_INF || (differ && other == 0x7ff);
    return is_nan ? SOFT_NAN : a;
  }
  ulong x = a & (SOFT_HIDDEN - 1), y = b & (SOFT_HIDDEN - 1);
  if (exponent > 0) x |= SOFT_HIDDEN; else exponent = 1;
  if (other > 0) y |= SOFT_HIDDEN; else other = 1;
  const int apart = exponent - other;
  x <<= 3;
  y <<= 3;
  y = apart > 60 ? (ulong)(y != 0) : y >> apart | (ulong)((y & ((1ul << apart) - 1)) != 0);
  ulong sum = differ ? x - y : x + y;
  if (sum == 0) return differ ? 0 : sign;
  const int shift = (int)clz(sum) - 8;
  if (shift < 0) {
    sum = sum >> 1 | (sum & 1);
    ++exponent;
  } else {
    const int left = min(shift, exponent - 1);
    sum <<= left;
    exponent -= left;
  }
  return soft_round(sign, exponent, sum);
}

// Divides by a positive, finite, normal number.
inline ulong soft_divide(const ulong a, const ulong b) {
  const ulong sign = a & SOFT_SIGN;
  int exponent = (int)(a >> 52 & 0x7fful);
  ulong x = a & (SOFT_HIDDEN - 1);
  if (exponent == 0x7ff) return x != 0 ? SOFT_NAN : a;
  if (exponent == 0) {
    if (x == 0) return sign;
    const int shift = (int)clz(x) - 11;
    x <<= shift;
    exponent = 1 - shift;
  } else {
    x |= SOFT_HIDDEN;
  }
  const ulong y = (b & (SOFT_HIDDEN - 1)) | SOFT_HIDDEN;
  exponent += 1023 - (int)(b >> 52 & 0x7fful);
  if (x < y) {
    x <<= 1;
    --exponent;
  }
  ulong digits = 0;
  for (int bit = 0; bit < 55; ++bit) {
    digits <<= 1;
    if (x >= y) {
      x -= y;
      digits |= 1ul;
    }
    x <<= 1;
  }
  digits = digits << 1 | (ulong)(x != 0);
  if (exponent >= 0x7ff) return sign | SOFT_INF;
  if (exponent < 1) {  // below the smallest normal number
    const int right = min(1 - exponent, 60);
    digits = digits >> right | (ulong)((digits & ((1ul << right) - 1)) != 0);
    exponent = 1;
  }
  return soft_round(sign, exponent, digits);
}
