// Points of y^2 = x^3 + b (a = 0) over the field of msm_field.cl. Included by the kernels that add
// points; has no kernel.
//
// A sum is stored as X, Y, ZZ, ZZZ with x = X / ZZ, y = Y / ZZZ, ZZ^3 = ZZZ^2 ("XYZZ": formulas
// madd-2008-s, add-2008-s, mdbl-2008-s-1, dbl-2008-s-1 of the Explicit-Formulas Database,
// hyperelliptic.org/EFD). Infinity is ZZ = 0, always written as blank limbs. An affine point in
// memory is x, y; infinity is both blank, which is not a point of a curve with b != 0.
//
// All special cases are handled here: either operand infinity, equal points (doubled), opposite
// points (infinity).
#include "msm_field.cl"

typedef struct {
  Fp x, y, zz, zzz;
} Sum;

typedef struct {
  Fp x, y;
} Affine;

#define FP_QUADS (LIMBS / 4)  // uint4 in a field element
#define SUM_QUADS (4 * FP_QUADS)
#define AFFINE_QUADS (2 * FP_QUADS)

PART bool is_infinity(Sum a) { return fp_is_blank(a.zz); }

PART Sum infinity(void) {
  Sum r;
  r.x = r.y = r.zz = r.zzz = fp_zero();
  return r;
}

PART Sum load_sum(__global const uint4* sums, ulong i) {
  __global const uint4* at = sums + i * SUM_QUADS;
  Sum r;
  r.x = fp_load(at);
  r.y = fp_load(at + FP_QUADS);
  r.zz = fp_load(at + 2 * FP_QUADS);
  r.zzz = fp_load(at + 3 * FP_QUADS);
  return r;
}

PART void store_sum(__global uint4* sums, ulong i, Sum a) {
  __global uint4* at = sums + i * SUM_QUADS;
  fp_store(at, a.x);
  fp_store(at + FP_QUADS, a.y);
  fp_store(at + 2 * FP_QUADS, a.zz);
  fp_store(at + 3 * FP_QUADS, a.zzz);
}

PART void store_local(__local uint4* sums, uint i, Sum a) {
  __local uint* at = (__local uint*)(sums + i * SUM_QUADS);
  UNROLL for (int k = 0; k < LIMBS; ++k) {
    at[k] = a.x.v[k];
    at[LIMBS + k] = a.y.v[k];
    at[2 * LIMBS + k] = a.zz.v[k];
    at[3 * LIMBS + k] = a.zzz.v[k];
  }
}

PART Sum load_local(__local const uint4* sums, uint i) {
  __local const uint* at = (__local const uint*)(sums + i * SUM_QUADS);
  Sum r;
  UNROLL for (int k = 0; k < LIMBS; ++k) {
    r.x.v[k] = at[k];
    r.y.v[k] = at[LIMBS + k];
    r.zz.v[k] = at[2 * LIMBS + k];
    r.zzz.v[k] = at[3 * LIMBS + k];
  }
  return r;
}

PART Affine load_affine(__global const uint4* points, ulong i) {
  __global const uint4* at = points + i * AFFINE_QUADS;
  Affine r;
  r.x = fp_load(at);
  r.y = fp_load(at + FP_QUADS);
  return r;
}

// Doubles (x, y) scaled by zz, zzz, which is neither infinity nor of order two (there is no such
// point: b is not a cube's negative on these curves). 6M + 3S; with zz = zzz = 1 it would be 4M +
// 3S: too rare to matter.
CALLED Sum doubled(Sum a) {
  const Fp u = fp_add(a.y, a.y);
  const Fp v = fp_sqr(u);
  const Fp w = fp_mul(u, v);
  const Fp s = fp_mul(a.x, v);
  const Fp xx = fp_sqr(a.x);
  const Fp m = fp_add(fp_add(xx, xx), xx);
  Sum r;
  r.x = fp_sub(fp_sqr(m), fp_add(s, s));
  r.y = fp_mul_add(m, fp_sub(s, r.x), fp_negated(w), a.y);
  r.zz = fp_mul(v, a.zz);
  r.zzz = fp_mul(w, a.zzz);
  return r;
}

// The part that madd and add share. u, s are the second point's x and y over the common
// denominators; the denominators of the result are the common ones times the difference's square
// and cube.
CALLED Sum chord(Sum a, Fp u, Fp s, Fp zz, Fp zzz) {
  const Fp p = fp_sub(u, a.x);
  const Fp r = fp_sub(s, a.y);
  Sum sum;
  if (fp_is_zero(p)) {
    if (!fp_is_zero(r)) return infinity();
    sum.x = u;
    sum.y = s;
    sum.zz = zz;
    sum.zzz = zzz;
    return doubled(sum);
  }
  // y comes last: then the fewest values are alive during its two products.
  const Fp pp = fp_sqr(p);
  const Fp q = fp_mul(a.x, pp);
  sum.zz = fp_mul(zz, pp);
  const Fp ppp = fp_mul(p, pp);
  sum.zzz = fp_mul(zzz, ppp);
  sum.x = fp_sub(fp_sub(fp_sqr(r), ppp), fp_add(q, q));
  sum.y = fp_mul_add(r, fp_sub(q, sum.x), fp_negated(a.y), ppp);
  return sum;
}

// a + b: 8M + 2S, 9 reductions.
PART Sum madd(Sum a, Affine b) {
  if (fp_is_blank(b.x) && fp_is_blank(b.y)) return a;
  if (is_infinity(a)) {
    a.x = b.x;
    a.y = b.y;
    a.zz = a.zzz = fp_one();
    return a;
  }
  return chord(a, fp_mul(b.x, a.zz), fp_mul(b.y, a.zzz), a.zz, a.zzz);
}

// a + b: 12M + 2S, 13 reductions.
PART Sum add(Sum a, Sum b) {
  if (is_infinity(b)) return a;
  if (is_infinity(a)) return b;
  const Fp u = fp_mul(b.x, a.zz);
  const Fp s = fp_mul(b.y, a.zzz);
  const Fp zz = fp_mul(a.zz, b.zz), zzz = fp_mul(a.zzz, b.zzz);
  a.x = fp_mul(a.x, b.zz);
  a.y = fp_mul(a.y, b.zzz);
  return chord(a, u, s, zz, zzz);
}
