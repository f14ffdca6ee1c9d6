// Operations that the other msm_*.cl files rely on. The host compares them with its own results
// before anything is measured: compilers have miscompiled such integer code. OpenCL C 1.2.
#define MSM_CALLS
#include "msm_curve.cl"

// Work-item i takes values 2 i and 2 i + 1 of `in` (below 2p), and stores their product, the first
// one's square, their sum and difference.
__kernel void test_field(__global const uint4* in, __global uint4* out) {
  const ulong i = get_global_id(0);
  const Fp a = fp_load(in + 2 * i * FP_QUADS), b = fp_load(in + (2 * i + 1) * FP_QUADS);
  out += 4 * i * FP_QUADS;
  fp_store(out, fp_mul(a, b));
  fp_store(out + FP_QUADS, fp_sqr(a));
  fp_store(out + 2 * FP_QUADS, fp_add(a, b));
  fp_store(out + 3 * FP_QUADS, fp_sub(a, b));
}

// Work-item i takes affine points 4 i to 4 i + 3, and stores (first + second) + (third + fourth).
__kernel void test_points(__global const uint4* in, __global uint4* out) {
  const ulong i = get_global_id(0);
  Sum sums[2];
  for (uint half_of = 0; half_of < 2; ++half_of) {
    Sum sum = infinity();
    for (uint k = 0; k < 2; ++k) sum = madd(sum, load_affine(in, 4 * i + 2 * half_of + k));
    sums[half_of] = sum;
  }
  store_sum(out, i, add(sums[0], sums[1]));
}
