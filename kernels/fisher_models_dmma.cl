// The matrices of kernels/fisher_models.cl, up to 32 wide, on NVIDIA's fp64 tensor cores (mma.sync,
// compute capability 9.0). fp32 scores are multiplied and summed in fp64, so that results are more
// exact and differ from that kernel's in their last bits. An instruction of 512 products leaves the
// issue slots of others to the drawing of scores, which takes as many as the products did.
//
// Limit on an H100: drawing takes as many slots as the products, and no pipe is full; 716 us for
// logistic models, where the goal was 560 (results/limits.md).
//
// A work-group of 32 work-items computes a matrix, in bands of 16 rows, in tiles of 8 columns.
// Fragments are those of kernels/matrix_dmma.cl: lane l has row (or column) l / 4 of a block of 8,
// of score l % 4. Rows and columns of a block are the same numbers: s = |y - p| x.
//
// Given by -D: MODEL, DIM, as in fisher_draws.cl.
#define LANES 1
#include "fisher_draws.cl"

#define GROUP 32
#define CHUNK 32  // scores at a time: one per work-item, which then draws its label
#define BANDS ((CALLS + 1) / 2)
// Distance of scores: one read, 4 scores of 8 components, then takes 32 banks.
#define PITCH ((CALLS | 1) * 8)

// Draws 8 components of a score to local memory, with one call of philox. Returns their part of the
// logit if the model has one.
inline float draw(__local float* to, __local const float* theta, const uint number, const uint call, const ulong point, const uint scores,
                  const uint key0, const uint key1) {
  float made[8], logit = 0.0f;
  make_components(number, call, point, key0, key1, made);
#if DIM % 8 != 0
  UNROLL for (uint k = 0; k < 8; ++k) if (8 * call + k >= DIM) made[k] = 0.0f;
#endif
#if MODEL == LOGISTIC
  float weight[8];
  LOAD4(weight, theta + 8 * call)
  LOAD4(weight + 4, theta + 8 * call + 4)
  UNROLL for (uint k = 0; k < 8; ++k) logit = fma(weight[k], made[k], logit);
#else
  if (number >= scores) UNROLL for (uint k = 0; k < 8; ++k) made[k] = 0.0f;
#endif
  *(__local float4*)to = (float4)(made[0], made[1], made[2], made[3]);
  *(__local float4*)(to + 4) = (float4)(made[4], made[5], made[6], made[7]);
  return logit;
}

// The arguments are those of fisher_models.cl; `units` is not read.
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void matrices(__global const float* restrict params,
                                                                            const ulong first, const ulong count,
                                                                            __global float* restrict out, const ulong first_out,
                                                                            const ulong first_number, __global const uint* restrict units,
                                                                            const uint scores, const uint key0, const uint key1) {
  __local float x[CHUNK * PITCH] __attribute__((aligned(16)));
  __local float theta[ROW] __attribute__((aligned(16))), logits[CHUNK * CALLS], residuals[CHUNK];
  const uint lane = (uint)get_local_id(0);
  const ulong point = get_group_id(0), number_of_point = first_number + point;
  params += (first + point) * DIM;
  if (lane < ROW) theta[lane] = lane < DIM ? params[lane] : 0.0f;
  barrier(CLK_LOCAL_MEM_FENCE);
  double sum[BANDS][CALLS][4];
  UNROLL for (uint i = 0; i < BANDS; ++i) UNROLL for (uint j = 0; j < CALLS; ++j) UNROLL for (uint e = 0; e < 4; ++e) sum[i][j][e] = 0.0;
  for (uint score = 0; score < scores; score += CHUNK) {
    _Pragma("unroll 2") for (uint round = 0; round < CALLS; ++round) {
      const uint e = round * GROUP + lane, number = e / CALLS, call = e % CALLS;
      logits[e] = draw(x + number * PITCH + 8 * call, theta, score + number, call, number_of_point, scores, key0, key1);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#if MODEL == LOGISTIC
    float logit = logits[lane * CALLS];
    UNROLL for (uint k = 1; k < CALLS; ++k) logit += logits[lane * CALLS + k];
    residuals[lane] = score + lane < scores ? residual_of(score + lane, number_of_point, key0, key1, logit) : 0.0f;
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
    _Pragma("unroll 2") for (uint k = 0; k < CHUNK; k += 4) {
      const uint mine = k + (lane & 3);
      __local const float* const row = x + mine * PITCH + (lane >> 2);
#if MODEL == LOGISTIC
      const float residual = residuals[mine];
#else
      const float residual = 1.0f;
#endif
      double s[2 * BANDS];
      UNROLL for (uint b = 0; b < 2 * BANDS; ++b) s[b] = b < CALLS ? (double)(residual * row[8 * min(b, CALLS - 1u)]) : 0.0;
      UNROLL for (uint i = 0; i < BANDS; ++i) {
        UNROLL for (uint j = 2 * i; j < CALLS; ++j) {
          asm volatile("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                       : "+d"(sum[i][j][0]), "+d"(sum[i][j][1]), "+d"(sum[i][j][2]), "+d"(sum[i][j][3])
                       : "d"(s[2 * i]), "d"(s[2 * i + 1]), "d"(s[j]));
        }
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  out += (first_out + point) * TRIANGLE;
  UNROLL for (uint band = 0; band < BANDS; ++band) {
    UNROLL for (uint block = 2 * band; block < CALLS; ++block) {
      UNROLL for (uint e = 0; e < 4; ++e) {
        const uint i = 16 * band + lane / 4 + e / 2 * 8, j = 8 * block + lane % 4 * 2 + e % 2;
        if (i <= j && j < DIM) out[i * DIM - i * (i + 1) / 2 + j] = (float)sum[band][block][e] * factor(params, scores, i, j);
      }
    }
  }
}
