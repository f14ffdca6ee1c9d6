// Arithmetic in the base field of a curve: 32-bit limbs, least significant first, Montgomery form with R = 2^(32 LIMBS). Included
// by the other msm_*.cl files; holds no kernel.
//
// Values are kept below 2p, not below p: both moduli leave spare bits (254 of 256, 381 of 384), so that a product of two such values
// is below 2p again without a final subtraction (4p^2/R + p < 2p), and a sum of two fits the limbs. Zero is therefore 0 or p.
//
// -D options: LIMBS; P0.. (the modulus p, one 32-bit word each), D0.. (2p), U0.. (R mod p, which is one); P_INVERSE (-1/p mod 2^32);
// MSM_PTX: NVIDIA's carry chains instead of 64-bit C; MSM_ROLLED: loops stay loops and
// products calls (CPUs: compile time).

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
#define CALLED __attribute__((noinline))
#else
#define UNROLL _Pragma("unroll")
#define CALLED PART
#endif
// Part of its caller: where a value is passed in memory instead of registers, all is lost.
#define PART static inline __attribute__((always_inline))

typedef struct {
  uint v[LIMBS];
} Fp;

__constant uint MODULUS[LIMBS] = {LIST_P};
__constant uint TWICE_MODULUS[LIMBS] = {LIST_D};
__constant uint ONE[LIMBS] = {LIST_U};

#ifdef MSM_PTX
// Limbs as separate operands; a carry lives only inside one asm statement, since nothing keeps it between two.
#if LIMBS == 8
#define IN_OUT(x) "+r"(x[0]), "+r"(x[1]), "+r"(x[2]), "+r"(x[3]), "+r"(x[4]), "+r"(x[5]), "+r"(x[6]), "+r"(x[7])
#define EVERY_SECOND(x) "r"((x)[0]), "r"((x)[2]), "r"((x)[4]), "r"((x)[6])
#define IN(x) "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(x[4]), "r"(x[5]), "r"(x[6]), "r"(x[7])
#else
#define IN_OUT(x)                                                                                                              \
  "+r"(x[0]), "+r"(x[1]), "+r"(x[2]), "+r"(x[3]), "+r"(x[4]), "+r"(x[5]), "+r"(x[6]), "+r"(x[7]), "+r"(x[8]), "+r"(x[9]), \
      "+r"(x[10]), "+r"(x[11])
#define EVERY_SECOND(x) "r"((x)[0]), "r"((x)[2]), "r"((x)[4]), "r"((x)[6]), "r"((x)[8]), "r"((x)[10])
#define IN(x)                                                                                                              \
  "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(x[4]), "r"(x[5]), "r"(x[6]), "r"(x[7]), "r"(x[8]), "r"(x[9]), "r"(x[10]), \
      "r"(x[11])
#endif

// x += y over all limbs; the sum fits.
PART void add_limbs(uint* x, const uint* y) {
#if LIMBS == 8
  __asm__("add.cc.u32 %0,%0,%8;addc.cc.u32 %1,%1,%9;addc.cc.u32 %2,%2,%10;addc.cc.u32 %3,%3,%11;"
      "addc.cc.u32 %4,%4,%12;addc.cc.u32 %5,%5,%13;addc.cc.u32 %6,%6,%14;addc.u32 %7,%7,%15;"
      : IN_OUT(x)
      : IN(y));
#else
  __asm__("add.cc.u32 %0,%0,%12;addc.cc.u32 %1,%1,%13;addc.cc.u32 %2,%2,%14;addc.cc.u32 %3,%3,%15;"
      "addc.cc.u32 %4,%4,%16;addc.cc.u32 %5,%5,%17;addc.cc.u32 %6,%6,%18;addc.cc.u32 %7,%7,%19;"
      "addc.cc.u32 %8,%8,%20;addc.cc.u32 %9,%9,%21;addc.cc.u32 %10,%10,%22;addc.u32 %11,%11,%23;"
      : IN_OUT(x)
      : IN(y));
#endif
}

// x -= y; returns all ones if that borrowed, else 0.
PART uint subtract_limbs(uint* x, const uint* y) {
  uint borrow;
#if LIMBS == 8
  __asm__("sub.cc.u32 %0,%0,%9;subc.cc.u32 %1,%1,%10;subc.cc.u32 %2,%2,%11;subc.cc.u32 %3,%3,%12;"
      "subc.cc.u32 %4,%4,%13;subc.cc.u32 %5,%5,%14;subc.cc.u32 %6,%6,%15;subc.cc.u32 %7,%7,%16;subc.u32 %8,0,0;"
      : IN_OUT(x), "=r"(borrow)
      : IN(y));
#else
  __asm__("sub.cc.u32 %0,%0,%13;subc.cc.u32 %1,%1,%14;subc.cc.u32 %2,%2,%15;subc.cc.u32 %3,%3,%16;"
      "subc.cc.u32 %4,%4,%17;subc.cc.u32 %5,%5,%18;subc.cc.u32 %6,%6,%19;subc.cc.u32 %7,%7,%20;"
      "subc.cc.u32 %8,%8,%21;subc.cc.u32 %9,%9,%22;subc.cc.u32 %10,%10,%23;subc.cc.u32 %11,%11,%24;subc.u32 %12,0,0;"
      : IN_OUT(x), "=r"(borrow)
      : IN(y));
#endif
  return borrow;
}

// The products of every second limb of y with m, each 64 bits wide on a pair of limbs of x: x += that, the carry goes to *top.
// Of a mad.lo.cc and a madc.hi.cc with the same factors the assembler makes one wide multiply-add.
PART void chain(uint* x, const uint* y, uint m, uint* top) {
#if LIMBS == 8
  __asm__("mad.lo.cc.u32 %0,%9,%13,%0;madc.hi.cc.u32 %1,%9,%13,%1;madc.lo.cc.u32 %2,%10,%13,%2;madc.hi.cc.u32 %3,%10,%13,%3;"
      "madc.lo.cc.u32 %4,%11,%13,%4;madc.hi.cc.u32 %5,%11,%13,%5;madc.lo.cc.u32 %6,%12,%13,%6;madc.hi.cc.u32 %7,%12,%13,%7;"
      "addc.u32 %8,%8,0;"
      : IN_OUT(x), "+r"(*top)
      : EVERY_SECOND(y), "r"(m));
#else
  __asm__("mad.lo.cc.u32 %0,%13,%19,%0;madc.hi.cc.u32 %1,%13,%19,%1;madc.lo.cc.u32 %2,%14,%19,%2;madc.hi.cc.u32 %3,%14,%19,%3;"
      "madc.lo.cc.u32 %4,%15,%19,%4;madc.hi.cc.u32 %5,%15,%19,%5;madc.lo.cc.u32 %6,%16,%19,%6;madc.hi.cc.u32 %7,%16,%19,%7;"
      "madc.lo.cc.u32 %8,%17,%19,%8;madc.hi.cc.u32 %9,%17,%19,%9;madc.lo.cc.u32 %10,%18,%19,%10;madc.hi.cc.u32 %11,%18,%19,%11;"
      "addc.u32 %12,%12,0;"
      : IN_OUT(x), "+r"(*top)
      : EVERY_SECOND(y), "r"(m));
#endif
}

// The same after moving x down by two limbs; the limb that x[1] becomes goes to *low, which is one below x.
PART void chain_shifted(uint* x, const uint* y, uint m, uint* low) {
  uint one_below = x[1];
#if LIMBS == 8
  __asm__("add.cc.u32 %8,%8,%14;"
      "madc.lo.cc.u32 %0,%9,%13,%2;madc.hi.cc.u32 %1,%9,%13,%3;madc.lo.cc.u32 %2,%10,%13,%4;madc.hi.cc.u32 %3,%10,%13,%5;"
      "madc.lo.cc.u32 %4,%11,%13,%6;madc.hi.cc.u32 %5,%11,%13,%7;madc.lo.cc.u32 %6,%12,%13,0;madc.hi.u32 %7,%12,%13,0;"
      : IN_OUT(x), "+r"(*low)
      : EVERY_SECOND(y), "r"(m), "r"(one_below));
#else
  __asm__("add.cc.u32 %12,%12,%20;"
      "madc.lo.cc.u32 %0,%13,%19,%2;madc.hi.cc.u32 %1,%13,%19,%3;madc.lo.cc.u32 %2,%14,%19,%4;madc.hi.cc.u32 %3,%14,%19,%5;"
      "madc.lo.cc.u32 %4,%15,%19,%6;madc.hi.cc.u32 %5,%15,%19,%7;madc.lo.cc.u32 %6,%16,%19,%8;madc.hi.cc.u32 %7,%16,%19,%9;"
      "madc.lo.cc.u32 %8,%17,%19,%10;madc.hi.cc.u32 %9,%17,%19,%11;madc.lo.cc.u32 %10,%18,%19,0;madc.hi.u32 %11,%18,%19,0;"
      : IN_OUT(x), "+r"(*low)
      : EVERY_SECOND(y), "r"(m), "r"(one_below));
#endif
}

// Montgomery product. Products with even limbs of a (and p) are summed in one row of limbs, those with odd limbs in another that
// is one limb higher; dividing by 2^32 swaps the two, and what is left of the former lower row moves down two limbs.
PART Fp fp_mul(Fp a, Fp b) {
  uint even[LIMBS], odd[LIMBS];
  const uint p[LIMBS] = {LIST_P};
  uint unused = 0;
  UNROLL for (int i = 0; i < LIMBS; ++i) even[i] = odd[i] = 0;
  UNROLL for (int i = 0; i < LIMBS; i += 2) {
    if (i == 0) {
      chain(odd, a.v + 1, b.v[0], &unused);
    } else {
      chain_shifted(odd, a.v + 1, b.v[i], even);
    }
    chain(even, a.v, b.v[i], odd + LIMBS - 1);
    uint m = even[0] * P_INVERSE;
    chain(odd, p + 1, m, &unused);
    chain(even, p, m, odd + LIMBS - 1);
    chain_shifted(even, a.v + 1, b.v[i + 1], odd);
    chain(odd, a.v, b.v[i + 1], even + LIMBS - 1);
    m = odd[0] * P_INVERSE;
    chain(even, p + 1, m, &unused);
    chain(odd, p, m, even + LIMBS - 1);
  }
  Fp r;
  UNROLL for (int i = 0; i < LIMBS - 1; ++i) r.v[i] = odd[i + 1];
  r.v[LIMBS - 1] = 0;
  add_limbs(r.v, even);
  return r;
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

// Montgomery product: multiply and reduce a limb at a time (CIOS: Koc, Acar, Kaliski, Analyzing and comparing Montgomery
// multiplication algorithms, 1996). Every x * y + z + w below fits 64 bits; the running sum stays below 3p, so it needs no limb more.
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
#endif

PART Fp fp_sqr(Fp a) { return fp_mul(a, a); }

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
  const uint twice[LIMBS] = {LIST_D};
  add_limbs(a.v, b.v);
  b = a;
  const uint small = subtract_limbs(a.v, twice);
  UNROLL for (int i = 0; i < LIMBS; ++i) a.v[i] = small ? b.v[i] : a.v[i];
  return a;
}

PART Fp fp_sub(Fp a, Fp b) {
  const uint twice[LIMBS] = {LIST_D};
  const uint negative = subtract_limbs(a.v, b.v);
  UNROLL for (int i = 0; i < LIMBS; ++i) b.v[i] = twice[i] & negative;
  add_limbs(a.v, b.v);
  return a;
}

// Are all limbs 0? Enough where a value is 0 by assignment or not at all.
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

// Memory holds values limb after limb; moved as uint4, since LIMBS is a multiple of four and buffers are aligned.
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
