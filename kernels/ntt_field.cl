// Arithmetic in the fields of the ntt suite. Included by ntt.cl; has no kernel.
//
// Data are canonical words, below the modulus p. Factors (roots of unity) are in Montgomery form,
// so that a product of data with a factor is canonical again, and nothing is converted. Goldilocks
// needs no Montgomery form, since 2^64 = 2^32 - 1 there.
//
// -D options: WORD (bytes of an element: 4, 8, 32); P and INVERSE_P (1/p mod 2^32) for 4; those of
// msm_field.cl for 32, and with ROLLED P_INVERSE_64 (-1/p mod 2^64); LANES (elements of a vector that one work-item
// computes at once, 1 unless WORD is 4); NTT_PTX: sums of WORD 8 use NVIDIA's carries.
#if WORD == 32
#ifdef ROLLED
#define MSM_ROLLED
#endif
#include "msm_field.cl"
#else
#include "unroll.cl"
#define PART static inline __attribute__((always_inline))
#endif
#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)

#if WORD == 4
typedef uint word;
#if LANES > 1
typedef JOIN(uint, LANES) fe;
#define fe_of(x) ((fe)(x))
#else
typedef uint fe;
#define fe_of(x) (x)
#endif
#define WORDS 1

// Returns a w / 2^32, for any a below 2^32 and w below p.
PART fe fe_mul(fe a, fe w) {
#if LANES > 1
  const fe low = a * w * fe_of(INVERSE_P), r = mul_hi(a, w) - mul_hi(low, fe_of(P));
#else  // both halves are one instruction of GPUs
  const ulong product = (ulong)a * w;
  const fe r = (uint)(product >> 32) - mul_hi((uint)product * INVERSE_P, P);
#endif
  return min(r, r + fe_of(P));
}
PART fe fe_add(fe a, fe b) {
  const fe sum = a + b;
  return min(sum, sum - fe_of(P));
}
PART fe fe_sub(fe a, fe b) {
  const fe difference = a - b;
  return min(difference, difference + fe_of(P));
}
// Return a + b and a - b for fe_mul, which takes sums that are not reduced.
PART fe fe_add_for_mul(fe a, fe b) { return a + b; }
PART fe fe_sub_for_mul(fe a, fe b) { return a - b + fe_of(P); }

#elif WORD == 8
typedef ulong word;
typedef ulong fe;
#define fe_of(x) (x)
#define WORDS 1
#define MODULUS_64 0xffffffff00000001ul
#define EPSILON 0xfffffffful  // 2^64 mod p

#ifdef NTT_PTX
// With carries: OpenCL C has none.
PART fe fe_sub(fe a, fe b) {
  fe r;
  asm("{.reg .u32 a0, a1, b0, b1, m;"
          "mov.b64 {a0, a1}, %1; mov.b64 {b0, b1}, %2;"
          "sub.cc.u32 a0, a0, b0; subc.cc.u32 a1, a1, b1; subc.u32 m, 0, 0;"
          "sub.cc.u32 a0, a0, m; subc.u32 a1, a1, 0;"
          "mov.b64 %0, {a0, a1};}"
          : "=l"(r) : "l"(a), "l"(b));
  return r;
}
#else
PART fe fe_sub(fe a, fe b) {
  const ulong difference = a - b;
  return a < b ? difference - EPSILON : difference;
}
#endif
PART fe fe_add(fe a, fe b) { return fe_sub(a, MODULUS_64 - b); }
PART fe fe_add_for_mul(fe a, fe b) { return fe_add(a, b); }
PART fe fe_sub_for_mul(fe a, fe b) { return fe_sub(a, b); }
// Returns a number of 128 bits modulo p: with the 32-bit words h1 h0 in its upper half, it is the
// lower half - h1 + h0 (2^32 - 1).
#ifdef NTT_PTX
// Adds t 2^64 = t (2^32 - 1) to the words l0 - h0 - h1 and l1 + h0, where t is the carry above them.
PART fe fe_folded(ulong low, ulong high) {
  fe r;
  asm("{.reg .u32 h0, h1, l0, l1, s0, s1, t, u0, u1, c; .reg .s32 st; .reg .u64 l; .reg .pred p;"
          "mov.b64 {h0, h1}, %2; mov.b64 {l0, l1}, %1;"
          "add.cc.u32 s0, h0, h1; addc.u32 s1, 0, 0;"
          "sub.cc.u32 l0, l0, s0; subc.cc.u32 l1, l1, s1; subc.u32 t, 0, 0;"
          "add.cc.u32 l1, l1, h0; addc.u32 t, t, 0;"
          "mov.b64 l, {l0, l1}; mad.wide.s32 l, t, -1, l; mov.b64 {l0, l1}, l; add.u32 l1, l1, t;"
          "add.cc.u32 u0, l0, 0xffffffff; addc.cc.u32 u1, l1, 0; addc.u32 c, 0, 0;"
          "setp.ne.u32 p, c, 0; selp.u32 l0, u0, l0, p; selp.u32 l1, u1, l1, p;"
          "mov.b64 %0, {l0, l1};}"
          : "=l"(r) : "l"(low), "l"(high));
  return r;
}
// Takes any 64-bit numbers.
PART fe fe_mul(fe a, fe w) {
  const ulong a0 = a & EPSILON, a1 = a >> 32, w0 = w & EPSILON, w1 = w >> 32;
  const ulong p00 = a0 * w0, p01 = a0 * w1 + (p00 >> 32), p10 = a1 * w0 + (p01 & EPSILON);
  return fe_folded(p10 << 32 | (p00 & EPSILON), a1 * w1 + (p01 >> 32) + (p10 >> 32));
}
#else
PART fe fe_folded(ulong low, ulong high) {
  const ulong h1 = high >> 32, h0 = high & EPSILON;
  const ulong rest = low - h1, kept = low < h1 ? rest - EPSILON : rest;
  const ulong sum = kept + ((h0 << 32) - h0), folded = sum < kept ? sum + EPSILON : sum;
  return min(folded, folded + EPSILON);  // the sum wraps around if `folded` is p or more
}
PART fe fe_mul(fe a, fe w) { return fe_folded(a * w, mul_hi(a, w)); }
#endif
// Returns a 2^shift, for shifts below 96 that are known at compile time: 2^128 = -2^32.
PART fe fe_shifted(fe a, uint shift) {
  const uint by = shift % 32;
  const ulong low = a << by, top = by == 0 ? 0 : a >> (64 - by);  // 96 bits
  if (shift < 32) return fe_folded(low, top);
  if (shift < 64) return fe_folded(low << 32, top << 32 | low >> 32);
  return fe_folded(MODULUS_64 - (top << 32), low);
}

#else
typedef uint4 word;
typedef Fp fe;
#define WORDS 2

// Returns a value below 2p reduced to below p: BLS12-381's p has 255 bits, so that 4p does not fit.
PART fe fe_reduced(fe a) {
  const uint p[LIMBS] = {LIST_P};
  const fe b = a;
  const uint small = subtract_limbs(a.v, p);
  UNROLL for (int i = 0; i < LIMBS; ++i) a.v[i] = small ? b.v[i] : a.v[i];
  return a;
}
PART fe fe_add(fe a, fe b) {
  add_limbs(a.v, b.v);
  return fe_reduced(a);
}
PART fe fe_sub(fe a, fe b) {
  const uint p[LIMBS] = {LIST_P};
  const uint negative = subtract_limbs(a.v, b.v);
  UNROLL for (int i = 0; i < LIMBS; ++i) b.v[i] = p[i] & negative;
  add_limbs(a.v, b.v);
  return a;
}
PART fe fe_add_for_mul(fe a, fe b) { return fe_add(a, b); }
PART fe fe_sub_for_mul(fe a, fe b) { return fe_sub(a, b); }
// The factor comes first: running sums then stay below 2p.
#ifdef ROLLED
// CPUs multiply 64 bits at once. The same method as fp_mul.
CALLED fe fe_mul(fe a, fe w) {
  const uint p[LIMBS] = {LIST_P};
  ulong sum[4] = {0, 0, 0, 0};
  for (int i = 0; i < 4; ++i) {
    const ulong x = (ulong)a.v[2 * i + 1] << 32 | a.v[2 * i];
    ulong carry = 0;
    for (int j = 0; j < 4; ++j) {
      const ulong y = (ulong)w.v[2 * j + 1] << 32 | w.v[2 * j], low = x * y, once = low + sum[j];
      sum[j] = once + carry;
      carry = mul_hi(x, y) + (once < low) + (sum[j] < once);
    }
    const ulong top = carry, m = sum[0] * P_INVERSE_64;
    carry = 0;
    for (int j = 0; j < 4; ++j) {
      const ulong y = (ulong)p[2 * j + 1] << 32 | p[2 * j], low = m * y, once = low + sum[j], twice = once + carry;
      carry = mul_hi(m, y) + (once < low) + (twice < once);
      if (j > 0) sum[j - 1] = twice;
    }
    sum[3] = top + carry;
  }
  fe r;
  for (int i = 0; i < LIMBS; ++i) r.v[i] = (uint)(sum[i / 2] >> (i % 2 * 32));
  return fe_reduced(r);
}
#else
PART fe fe_mul(fe a, fe w) { return fe_reduced(fp_mul(w, a)); }
#endif
#endif
