// Data made at set-up: the points of a seeded problem, which are known multiples of the generator,
// and the table of multiples of all points that lets windows share their buckets. OpenCL C 1.2.
#define MSM_CALLS
#include "msm_curve.cl"

// Returns 1 / a by Fermat: a^(p - 2). Every work-item has the same exponent, and so takes the same
// branches.
PART Fp fp_inverse(Fp a) {
  Fp r = fp_one();
  for (int i = LIMBS - 1; i >= 0; --i) {
    // No borrow: neither modulus has a lowest word below 2.
    const uint word = MODULUS[i] - (i == 0 ? 2 : 0);
    for (int bit = 31; bit >= 0; --bit) {
      r = fp_sqr(r);
      if (word >> bit & 1) r = fp_mul(r, a);
    }
  }
  return r;
}

// Work-item b makes points b * block to b * block + block - 1 of `count`: starts[b] + row[j],
// affine, with one inversion for all the differences of x (Montgomery's trick: the product up to
// each is stored where its x will be). Start and row are never equal, opposite or infinity, except
// for row[0], as their logarithms are random: it fails with probability 2^-220, and the sum would
// then not verify.
__kernel void make_points(__global const uint4* starts, __global const uint4* row, uint block, ulong count,
                          __global uint4* points) {
  const ulong first = (ulong)get_global_id(0) * block;
  if (first >= count) return;
  const uint n = count - first < block ? (uint)(count - first) : block;
  const Affine start = load_affine(starts, get_global_id(0));
  points += first * AFFINE_QUADS;
  Fp product = fp_one();
  for (uint j = 1; j < n; ++j) {
    fp_store(points + (ulong)j * AFFINE_QUADS, product);
    product = fp_mul(product, fp_sub(load_affine(row, j).x, start.x));
  }
  Fp inverse = fp_inverse(product);
  for (uint j = n - 1; j > 0; --j) {
    __global uint4* point = points + (ulong)j * AFFINE_QUADS;
    const Affine other = load_affine(row, j);
    const Fp slope = fp_mul(fp_mul(inverse, fp_load(point)), fp_sub(other.y, start.y));
    inverse = fp_mul(inverse, fp_sub(other.x, start.x));
    const Fp x = fp_sub(fp_sub(fp_sqr(slope), start.x), other.x);
    fp_store(point, x);
    fp_store(point + FP_QUADS, fp_sub(fp_mul(slope, fp_sub(start.x, x)), start.y));
  }
  fp_store(points, start.x);
  fp_store(points + FP_QUADS, start.y);
}

// BLOCK of suites/msm/bases.cpp: points that share an inversion; their sums fit private memory.
#define BLOCK 8

// Makes row `row` of a table with `count` points per row: the points of the row before, doubled
// `times` times; affine, by one inversion for all of a block (Montgomery's trick; 1 / ZZ is (ZZ /
// ZZZ)^2, as ZZ^3 = ZZZ^2). No multiple by a power of two of a point is infinity, except that of
// infinity: the orders of these curves are odd.
__kernel void make_multiples(__global uint4* points, ulong count, uint row, uint times) {
  const ulong first = (ulong)get_global_id(0) * BLOCK;
  if (first >= count) return;
  const uint n = count - first < BLOCK ? (uint)(count - first) : BLOCK;
  __global uint4* from = points + ((ulong)(row - 1) * count + first) * AFFINE_QUADS;
  __global uint4* to = from + count * AFFINE_QUADS;
  Fp zz[BLOCK], zzz[BLOCK], before[BLOCK];
  Fp product = fp_one();
  for (uint j = 0; j < n; ++j) {
    Sum sum = madd(infinity(), load_affine(from, j));
    if (!is_infinity(sum)) {
      for (uint i = 0; i < times; ++i) sum = doubled(sum);
    }
    zz[j] = sum.zz;
    zzz[j] = sum.zzz;
    before[j] = product;
    if (!is_infinity(sum)) product = fp_mul(product, sum.zzz);
    fp_store(to + (ulong)j * AFFINE_QUADS, sum.x);
    fp_store(to + (ulong)j * AFFINE_QUADS + FP_QUADS, sum.y);
  }
  Fp inverse = fp_inverse(product);
  for (uint j = n; j-- > 0;) {
    if (fp_is_blank(zz[j])) continue;  // x and y are blank already
    __global uint4* point = to + (ulong)j * AFFINE_QUADS;
    const Fp inverse_zzz = fp_mul(inverse, before[j]);
    inverse = fp_mul(inverse, zzz[j]);
    fp_store(point, fp_mul(fp_load(point), fp_sqr(fp_mul(zz[j], inverse_zzz))));
    fp_store(point + FP_QUADS, fp_mul(fp_load(point + FP_QUADS), inverse_zzz));
  }
}
