// Scores of the logistic and the Gaussian model, drawn at a point; shared by
// kernels/fisher_models.cl and fisher_models_dmma.cl. suites/fisher/points_reference.cpp defines
// them.
//
// Given by -D: LANES (1: GPUs, 8: CPUs), MODEL (1 logistic, 3 Gaussian), DIM.
#define REAL64 0
#include "fisher_random.cl"

#define LOGISTIC 1
#define ROW ((DIM + 7) / 8 * 8)  // a score in local memory
#define CALLS (ROW / 8)          // calls of philox per score, 8 components each
#define TRIANGLE ((ulong)DIM * (DIM + 1) / 2)
// Loads four numbers from local memory to registers.
#define LOAD4(to, from)                                                           \
  {                                                                               \
    const float4 v = *(const __local float4*)(from);                              \
    (to)[0] = v.s0, (to)[1] = v.s1, (to)[2] = v.s2, (to)[3] = v.s3;               \
  }

// Makes components 8 * call ... of scores `number`. Logistic: of the design vector; Gaussian: (z,
// z^2 - 1) of each coordinate.
inline void make_components(const uints number, const uint call, const ulong point, const uint key0, const uint key1, reals x[8]) {
  uints c[4] = {number, (uints)(call), (uints)((uint)point), (uints)((uint)(point >> 32))};
  philox(c, key0, key1);
#if MODEL == LOGISTIC
  // Each has 16 bits: (k - 2^15 + 1/2) / 2^15, uniform in (-1, 1), as 2 (1 + k / 2^16) - 3 + 2^-16.
  UNROLL for (uint w = 0; w < 4; ++w) {
    x[2 * w] = fma(one_and((c[w] << 7) & 0x7fff80u), (reals)(2.0f), (reals)(-2.9999847412109375f));
    x[2 * w + 1] = fma(one_and((c[w] >> 9) & 0x7fff80u), (reals)(2.0f), (reals)(-2.9999847412109375f));
  }
#else
  UNROLL for (uint w = 0; w < 4; w += 2) {
    reals z0, z1;
    normals(c[w], c[w + 1], &z0, &z1);
    x[2 * w] = z0;
    x[2 * w + 1] = fma(z0, z0, (reals)(-1.0f));
    x[2 * w + 2] = z1;
    x[2 * w + 3] = fma(z1, z1, (reals)(-1.0f));
  }
#endif
}

// Returns |y - p| for a label y drawn with probability p = 1 / (1 + e^-logit). p and 1 - p are
// computed separately, as the smaller one would lose its digits as 1 minus the larger.
inline reals residual_of(const uints number, const ulong point, const uint key0, const uint key1, const reals logit) {
  uints c[4] = {number, (uints)(0xffffffffu), (uints)((uint)point), (uints)((uint)(point >> 32))};
  philox(c, key0, key1);
  const reals t = exp_of(-fabs(logit)), large = 1.0f / (1.0f + t), small = t * large, u = uniform_of(c[0]);
  const reals p = logit < 0.0f ? small : large;
  return u < p ? (logit < 0.0f ? large : small) : p;
}

// Returns the factor of a sum over all scores; sigma are the parameters at 1, 3, 5 ...
inline float factor(__global const float* params, const uint scores, const uint i, const uint j) {
#if MODEL == LOGISTIC
  return 1.0f / (float)scores;
#else
  return 1.0f / ((float)scores * (params[i | 1] * params[j | 1]));
#endif
}
