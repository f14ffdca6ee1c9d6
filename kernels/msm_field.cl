// Arithmetic in the base field of a curve: 32-bit limbs, least significant first, Montgomery form
// with R = 2^(32 LIMBS). Included by the other msm_*.cl files; has no kernel.
//
// Values are kept below 2p, not below p: both moduli leave spare bits (254 of 256, 381 of 384), so
// that a product of two such values is below 2p again without a final subtraction (4p^2/R + p <
// 2p), and a sum of two fits the limbs. Zero is therefore 0 or p.
//
// -D options: LIMBS; P0.. (the modulus p, one 32-bit word each), D0.. (2p), U0.. (R mod p, which is
// one); P_INVERSE (-1/p mod 2^32); MSM_PTX: NVIDIA's carry chains instead of 64-bit C; MSM_ROLLED:
// loops stay loops and products stay calls (CPUs: compile time). A file whose kernels are not timed
// defines MSM_CALLS: products stay calls, as NVIDIA's compiler takes 50 ms for each that is inlined.

#if LIMBS == 8
#define LIST_P P0, P1, P2, P3, P4, P5, P6, P7
#define LIST_D D0, D1, D2, D3, D4, D5, D6, D7
#define LIST_U U0, U1, U2, U3, U4, U5, U6, U7
#elif LIMBS == 12
#define LIST_P P0, P1, P2, P3, P4, P5, P6, P7, P8, P9, P10, P11
#define LIST_D D0, D1, D2, D3, D4, D5, D6, D7, D8, D9, D10, D11
#define LIST_U U0, U1, U2, U3, U4, U5, U6, U7, U8, U9, U10, U11
#else
#error "LIMBS is 8 or 12"
#endif

#ifdef MSM_ROLLED
#define UNROLL
#else
#define UNROLL _Pragma("unroll")
#endif
#if defined(MSM_ROLLED) || defined(MSM_CALLS)
#define CALLED __attribute__((noinline))
#else
#define CALLED PART
#endif
// Always inlined: a value that is passed in memory instead of registers costs too much.
#define PART static inline __attribute__((always_inline))

typedef struct {
  uint v[LIMBS];
} Fp;

__constant uint MODULUS[LIMBS] = {LIST_P};
__constant uint TWICE_MODULUS[LIMBS] = {LIST_D};
__constant uint ONE[LIMBS] = {LIST_U};

#ifdef MSM_PTX
// Limbs are separate operands; a carry lives only inside one asm statement, since nothing preserves
// it between two.
#define IO2(x) "+r"((x)[0]), "+r"((x)[1])
#define IO4(x) IO2(x), IO2((x) + 2)
#define IO6(x) IO4(x), IO2((x) + 4)
#define IO8(x) IO4(x), IO4((x) + 4)
#define IO10(x) IO8(x), IO2((x) + 8)
#define IO12(x) IO8(x), IO4((x) + 8)
#define IN4(x) "r"((x)[0]), "r"((x)[1]), "r"((x)[2]), "r"((x)[3])
#define EVEN1(y) "r"((y)[0])
#define EVEN2(y) EVEN1(y), "r"((y)[2])
#define EVEN3(y) EVEN2(y), "r"((y)[4])
#define EVEN4(y) EVEN3(y), "r"((y)[6])
#define EVEN5(y) EVEN4(y), "r"((y)[8])
#define EVEN6(y) EVEN5(y), "r"((y)[10])

// Adds y to x over all limbs; the sum fits.
PART void add_limbs(uint* x, const uint* y) {
#if LIMBS == 8
  __asm__("add.cc.u32 %0,%0,%8;addc.cc.u32 %1,%1,%9;addc.cc.u32 %2,%2,%10;addc.cc.u32 %3,%3,%11;"
          "addc.cc.u32 %4,%4,%12;addc.cc.u32 %5,%5,%13;addc.cc.u32 %6,%6,%14;addc.u32 %7,%7,%15;"
          : IO8(x)
          : IN4(y), IN4(y + 4));
#else
  __asm__("add.cc.u32 %0,%0,%12;addc.cc.u32 %1,%1,%13;addc.cc.u32 %2,%2,%14;addc.cc.u32 %3,%3,%15;"
          "addc.cc.u32 %4,%4,%16;addc.cc.u32 %5,%5,%17;addc.cc.u32 %6,%6,%18;addc.cc.u32 %7,%7,%19;"
          "addc.cc.u32 %8,%8,%20;addc.cc.u32 %9,%9,%21;addc.cc.u32 %10,%10,%22;addc.u32 %11,%11,%23;"
          : IO12(x)
          : IN4(y), IN4(y + 4), IN4(y + 8));
#endif
}

// Subtracts y from x; returns all ones if that borrowed, else 0.
PART uint subtract_limbs(uint* x, const uint* y) {
  uint borrow;
#if LIMBS == 8
  __asm__("sub.cc.u32 %0,%0,%9;subc.cc.u32 %1,%1,%10;subc.cc.u32 %2,%2,%11;subc.cc.u32 %3,%3,%12;"
          "subc.cc.u32 %4,%4,%13;subc.cc.u32 %5,%5,%14;subc.cc.u32 %6,%6,%15;subc.cc.u32 %7,%7,%16;subc.u32 %8,0,0;"
          : IO8(x), "=r"(borrow)
          : IN4(y), IN4(y + 4));
#else
  __asm__("sub.cc.u32 %0,%0,%13;subc.cc.u32 %1,%1,%14;subc.cc.u32 %2,%2,%15;subc.cc.u32 %3,%3,%16;"
          "subc.cc.u32 %4,%4,%17;subc.cc.u32 %5,%5,%18;subc.cc.u32 %6,%6,%19;subc.cc.u32 %7,%7,%20;"
          "subc.cc.u32 %8,%8,%21;subc.cc.u32 %9,%9,%22;subc.cc.u32 %10,%10,%23;subc.cc.u32 %11,%11,%24;subc.u32 %12,0,0;"
          : IO12(x), "=r"(borrow)
          : IN4(y), IN4(y + 4), IN4(y + 8));
#endif
  return borrow;
}
#else
PART void add_limbs(uint* x, const uint* y) {
  ulong carry = 0;
  UNROLL for (int i = 0; i < LIMBS; ++i) {
    carry += (ulong)x[i] + y[i];
    x[i] = (uint)carry;
    carry >>= 32;
  }
}

PART uint subtract_limbs(uint* x, const uint* y) {
  ulong borrow = 0;
  UNROLL for (int i = 0; i < LIMBS; ++i) {
    borrow = (ulong)x[i] - y[i] - borrow;
    x[i] = (uint)borrow;
    borrow = borrow >> 63;
  }
  return (uint)-(int)borrow;
}
#endif

// Returns a value below 4p reduced to below 2p.
PART Fp fp_once_reduced(Fp a) {
  const uint twice[LIMBS] = {LIST_D};
  const Fp b = a;
  const uint small = subtract_limbs(a.v, twice);
  UNROLL for (int i = 0; i < LIMBS; ++i) a.v[i] = small ? b.v[i] : a.v[i];
  return a;
}

#ifdef MSM_PTX
// Adds the products of y[0], y[2], .. (`pairs` of them) with m, each 64 bits wide, to pairs of
// limbs of x; the carry goes to *top. The assembler merges a mad.lo.cc and a madc.hi.cc with the
// same factors into one wide multiply-add.
PART void chain(uint* x, const uint* y, uint m, uint* top, int pairs) {
  switch (pairs) {  // known at compile time
    case 1:
      __asm__("mad.lo.cc.u32 %0,%3,%4,%0;madc.hi.cc.u32 %1,%3,%4,%1;addc.u32 %2,%2,0;"
              : IO2(x), "+r"(*top)
              : EVEN1(y), "r"(m));
      break;
    case 2:
      __asm__("mad.lo.cc.u32 %0,%5,%7,%0;madc.hi.cc.u32 %1,%5,%7,%1;madc.lo.cc.u32 %2,%6,%7,%2;madc.hi.cc.u32 %3,%6,%7,%3;"
              "addc.u32 %4,%4,0;"
              : IO4(x), "+r"(*top)
              : EVEN2(y), "r"(m));
      break;
    case 3:
      __asm__("mad.lo.cc.u32 %0,%7,%10,%0;madc.hi.cc.u32 %1,%7,%10,%1;madc.lo.cc.u32 %2,%8,%10,%2;madc.hi.cc.u32 %3,%8,%10,%3;"
              "madc.lo.cc.u32 %4,%9,%10,%4;madc.hi.cc.u32 %5,%9,%10,%5;addc.u32 %6,%6,0;"
              : IO6(x), "+r"(*top)
              : EVEN3(y), "r"(m));
      break;
    case 4:
      __asm__("mad.lo.cc.u32 %0,%9,%13,%0;madc.hi.cc.u32 %1,%9,%13,%1;madc.lo.cc.u32 %2,%10,%13,%2;madc.hi.cc.u32 %3,%10,%13,%3;"
              "madc.lo.cc.u32 %4,%11,%13,%4;madc.hi.cc.u32 %5,%11,%13,%5;madc.lo.cc.u32 %6,%12,%13,%6;madc.hi.cc.u32 %7,%12,%13,%7;"
              "addc.u32 %8,%8,0;"
              : IO8(x), "+r"(*top)
              : EVEN4(y), "r"(m));
      break;
#if LIMBS == 12
    case 5:
      __asm__("mad.lo.cc.u32 %0,%11,%16,%0;madc.hi.cc.u32 %1,%11,%16,%1;madc.lo.cc.u32 %2,%12,%16,%2;madc.hi.cc.u32 %3,%12,%16,%3;"
              "madc.lo.cc.u32 %4,%13,%16,%4;madc.hi.cc.u32 %5,%13,%16,%5;madc.lo.cc.u32 %6,%14,%16,%6;madc.hi.cc.u32 %7,%14,%16,%7;"
              "madc.lo.cc.u32 %8,%15,%16,%8;madc.hi.cc.u32 %9,%15,%16,%9;addc.u32 %10,%10,0;"
              : IO10(x), "+r"(*top)
              : EVEN5(y), "r"(m));
      break;
    case 6:
      __asm__("mad.lo.cc.u32 %0,%13,%19,%0;madc.hi.cc.u32 %1,%13,%19,%1;madc.lo.cc.u32 %2,%14,%19,%2;madc.hi.cc.u32 %3,%14,%19,%3;"
              "madc.lo.cc.u32 %4,%15,%19,%4;madc.hi.cc.u32 %5,%15,%19,%5;madc.lo.cc.u32 %6,%16,%19,%6;madc.hi.cc.u32 %7,%16,%19,%7;"
              "madc.lo.cc.u32 %8,%17,%19,%8;madc.hi.cc.u32 %9,%17,%19,%9;madc.lo.cc.u32 %10,%18,%19,%10;madc.hi.cc.u32 %11,%18,%19,%11;"
              "addc.u32 %12,%12,0;"
              : IO12(x), "+r"(*top)
              : EVEN6(y), "r"(m));
      break;
#endif
  }
}

// Does the same with all pairs, after moving x down by two limbs; the limb that x[1] becomes goes
// to *low, which is one below x.
PART void chain_shifted(uint* x, const uint* y, uint m, uint* low) {
  const uint one_below = x[1];
#if LIMBS == 8
  __asm__("add.cc.u32 %8,%8,%14;"
          "madc.lo.cc.u32 %0,%9,%13,%2;madc.hi.cc.u32 %1,%9,%13,%3;madc.lo.cc.u32 %2,%10,%13,%4;madc.hi.cc.u32 %3,%10,%13,%5;"
          "madc.lo.cc.u32 %4,%11,%13,%6;madc.hi.cc.u32 %5,%11,%13,%7;madc.lo.cc.u32 %6,%12,%13,0;madc.hi.u32 %7,%12,%13,0;"
          : IO8(x), "+r"(*low)
          : EVEN4(y), "r"(m), "r"(one_below));
#else
  __asm__("add.cc.u32 %12,%12,%20;"
          "madc.lo.cc.u32 %0,%13,%19,%2;madc.hi.cc.u32 %1,%13,%19,%3;madc.lo.cc.u32 %2,%14,%19,%4;madc.hi.cc.u32 %3,%14,%19,%5;"
          "madc.lo.cc.u32 %4,%15,%19,%6;madc.hi.cc.u32 %5,%15,%19,%7;madc.lo.cc.u32 %6,%16,%19,%8;madc.hi.cc.u32 %7,%16,%19,%9;"
          "madc.lo.cc.u32 %8,%17,%19,%10;madc.hi.cc.u32 %9,%17,%19,%11;madc.lo.cc.u32 %10,%18,%19,0;madc.hi.u32 %11,%18,%19,0;"
          : IO12(x), "+r"(*low)
          : EVEN6(y), "r"(m), "r"(one_below));
#endif
}

// Sums of products are kept in two rows: those of even limbs of one factor in `low`, those of odd
// limbs in `high`, which is one limb further up. Dividing by 2^32 swaps the two, and the rest of
// the former lower row moves down two limbs.

// Adds y * m.
PART void add_row(uint* low, uint* high, const uint* y, uint m) {
  uint unused = 0;
  chain(high, y + 1, m, &unused, LIMBS / 2);
  chain(low, y, m, high + LIMBS - 1, LIMBS / 2);
}

// Swaps the rows, then adds y * m.
PART void add_row_shifted(uint* low, uint* high, const uint* y, uint m) {
  chain_shifted(high, y + 1, m, low);
  chain(low, y, m, high + LIMBS - 1, LIMBS / 2);
}

// Returns the sum of the rows, divided by 2^32 once more, when low[0] is 0.
PART Fp joined(const uint* low, const uint* high) {
  Fp r;
  UNROLL for (int i = 0; i < LIMBS - 1; ++i) r.v[i] = low[i + 1];
  r.v[LIMBS - 1] = 0;
  add_limbs(r.v, high);
  return r;
}

// Returns the Montgomery product.
CALLED Fp fp_mul(Fp a, Fp b) {
  uint rows[2][LIMBS];
  const uint p[LIMBS] = {LIST_P};
  UNROLL for (int i = 0; i < LIMBS; ++i) rows[0][i] = rows[1][i] = 0;
  UNROLL for (int i = 0; i < LIMBS; ++i) {
    uint* low = rows[i % 2];
    uint* high = rows[(i + 1) % 2];
    if (i == 0) {
      add_row(low, high, a.v, b.v[i]);
    } else {
      add_row_shifted(low, high, a.v, b.v[i]);
    }
    add_row(low, high, p, low[0] * P_INVERSE);
  }
  return joined(rows[1], rows[0]);
}

// Returns a b + c d with one reduction, below 8 p^2 / R + p: below 2p for 381 bits of 384, but 2.6
// p for 254 of 256.
CALLED Fp fp_mul_add(Fp a, Fp b, Fp c, Fp d) {
  uint rows[2][LIMBS];
  const uint p[LIMBS] = {LIST_P};
  UNROLL for (int i = 0; i < LIMBS; ++i) rows[0][i] = rows[1][i] = 0;
  UNROLL for (int i = 0; i < LIMBS; ++i) {
    uint* low = rows[i % 2];
    uint* high = rows[(i + 1) % 2];
    if (i == 0) {
      add_row(low, high, a.v, b.v[i]);
    } else {
      add_row_shifted(low, high, a.v, b.v[i]);
    }
    add_row(low, high, c.v, d.v[i]);
    add_row(low, high, p, low[0] * P_INVERSE);
  }
#if LIMBS == 8
  return fp_once_reduced(joined(rows[1], rows[0]));
#else
  return joined(rows[1], rows[0]);
#endif
}

// Returns the Montgomery square: row i has a_i times a_i and twice the limbs above it; those below
// were counted twice in their own rows. That row adds nothing to limb 0 from i = 1 on, so it can be
// reduced first, and the shift is the reduction's.
CALLED Fp fp_sqr(Fp a) {
  uint rows[2][LIMBS], twice[LIMBS], unused = 0;
  const uint p[LIMBS] = {LIST_P};
  UNROLL for (int i = 0; i < LIMBS; ++i) {
    rows[0][i] = rows[1][i] = 0;
    twice[i] = i == 0 ? a.v[0] << 1 : a.v[i] << 1 | a.v[i - 1] >> 31;
  }
  UNROLL for (int i = 0; i < LIMBS; ++i) {
    uint* low = rows[i % 2];
    uint* high = rows[(i + 1) % 2];
    if (i > 0) add_row_shifted(low, high, p, (low[0] + high[1]) * P_INVERSE);
    uint factor[LIMBS];
    UNROLL for (int j = 0; j < LIMBS; ++j) factor[j] = j == i ? a.v[j] : j == i + 1 ? a.v[j] << 1 : twice[j];
    const int odd = i | 1, even = (i + 1) & ~1;  // first limbs of either kind from i on
    chain(high + odd - 1, factor + odd, a.v[i], &unused, (LIMBS - odd + 1) / 2);
    if (even < LIMBS) chain(low + even, factor + even, a.v[i], high + LIMBS - 1, (LIMBS - even) / 2);
    if (i == 0) add_row(low, high, p, low[0] * P_INVERSE);
  }
  return joined(rows[1], rows[0]);
}
#else
// Returns the Montgomery product: multiplies and reduces a limb at a time (CIOS: Koc, Acar,
// Kaliski, Analyzing and comparing Montgomery multiplication algorithms, 1996). Every x * y + z + w
// below fits 64 bits; the running sum stays below 3p, so it needs no additional limb.
CALLED Fp fp_mul(Fp a, Fp b) {
  Fp r;
  UNROLL for (int i = 0; i < LIMBS; ++i) r.v[i] = 0;
  UNROLL for (int i = 0; i < LIMBS; ++i) {
    ulong product = (ulong)a.v[0] * b.v[i] + r.v[0];
    const uint m = (uint)product * P_INVERSE;
    ulong reduced = (ulong)m * MODULUS[0] + (uint)product;
    UNROLL for (int j = 1; j < LIMBS; ++j) {
      product = (ulong)a.v[j] * b.v[i] + r.v[j] + (product >> 32);
      reduced = (ulong)m * MODULUS[j] + (uint)product + (reduced >> 32);
      r.v[j - 1] = (uint)reduced;
    }
    r.v[LIMBS - 1] = (uint)(product >> 32) + (uint)(reduced >> 32);
  }
  return r;
}

PART Fp fp_sqr(Fp a) { return fp_mul(a, a); }

// Returns a b + c d.
PART Fp fp_mul_add(Fp a, Fp b, Fp c, Fp d) {
  a = fp_mul(a, b);
  c = fp_mul(c, d);
  add_limbs(a.v, c.v);
  return fp_once_reduced(a);
}
#endif

PART Fp fp_zero(void) {
  Fp r;
  UNROLL for (int i = 0; i < LIMBS; ++i) r.v[i] = 0;
  return r;
}

PART Fp fp_one(void) {
  Fp r;
  UNROLL for (int i = 0; i < LIMBS; ++i) r.v[i] = ONE[i];
  return r;
}

PART Fp fp_add(Fp a, Fp b) {
  add_limbs(a.v, b.v);
  return fp_once_reduced(a);
}

// Returns 2p - a: below 2p unless all limbs of a are 0; the multiplication that follows allows for
// that.
PART Fp fp_negated(Fp a) {
  Fp r;
  const uint twice[LIMBS] = {LIST_D};
  UNROLL for (int i = 0; i < LIMBS; ++i) r.v[i] = twice[i];
  subtract_limbs(r.v, a.v);
  return r;
}

PART Fp fp_sub(Fp a, Fp b) {
  const uint twice[LIMBS] = {LIST_D};
  const uint negative = subtract_limbs(a.v, b.v);
  UNROLL for (int i = 0; i < LIMBS; ++i) b.v[i] = twice[i] & negative;
  add_limbs(a.v, b.v);
  return a;
}

// Returns whether all limbs are 0, which suffices if a value is 0 only by assignment.
PART bool fp_is_blank(Fp a) {
  uint any = 0;
  UNROLL for (int i = 0; i < LIMBS; ++i) any |= a.v[i];
  return any == 0;
}

PART bool fp_is_zero(Fp a) {
  uint any = 0, other = 0;
  UNROLL for (int i = 0; i < LIMBS; ++i) {
    any |= a.v[i];
    other |= a.v[i] ^ MODULUS[i];
  }
  return any == 0 || other == 0;
}

// Values lie limb after limb in memory; they are moved as uint4, since LIMBS is a multiple of four
// and buffers are aligned.
PART Fp fp_load(__global const uint4* from) {
  Fp r;
  UNROLL for (int i = 0; i < LIMBS / 4; ++i) {
    const uint4 q = from[i];
    r.v[4 * i] = q.x;
    r.v[4 * i + 1] = q.y;
    r.v[4 * i + 2] = q.z;
    r.v[4 * i + 3] = q.w;
  }
  return r;
}

PART void fp_store(__global uint4* to, Fp a) {
  UNROLL for (int i = 0; i < LIMBS / 4; ++i) to[i] = (uint4)(a.v[4 * i], a.v[4 * i + 1], a.v[4 * i + 2], a.v[4 * i + 3]);
}
