// Fisher matrices at many points of a model, each from scores drawn there: F = (1/S) sum of s s^T,
// its upper half row after row. Scores are made in local memory a few at a time and never leave it.
// Each element is one chain of fma over the scores: it has the same bits on every device.
//
// A matrix is cut into tiles of 8 x 8; `units` lists them. On CPUs a unit is one or two tiles with
// a block of 8 in common, which fill a vector; from the low byte: the common block, the two others,
// and whether the second counts. On GPUs a unit is one tile: the common block and the other. Two
// tiles per work-item would read less of local memory, but twice the sums leave room for fewer
// work-items, and drawing scores needs many to hide its latency.
//
// Given by -D: LANES (1: GPUs, 8: CPUs), MODEL (1 logistic, 3 Gaussian), DIM, UNITS, and for GPUs
// POINTS (matrices per work-group), CHUNK (scores of each at a time), GROUP (work-items).
#include "fisher_draws.cl"

// Stores the sum at row r, column c of the tile of blocks `a` (down) and `b` (across), if its place
// is on or above the diagonal.
inline void put(__global const float* params, __global float* out, const uint scores, const uint a, const uint b, const float sum,
                const uint r, const uint c) {
  const uint i = a <= b ? 8 * a + r : 8 * b + c, j = a <= b ? 8 * b + c : 8 * a + r;
  if (i > j || j >= DIM) return;
  out[i * DIM - i * (i + 1) / 2 + j] = sum * factor(params, scores, i, j);
}

#if LANES == 1
// A row has the first halves of all blocks of 8, then the second ones: neighbouring blocks then lie
// in neighbouring banks. Matrices of up to 32 use one half of the banks for each half row: the next
// matrix begins in the other half.
#define HALF(b) (4 * (b))
#define SECOND (ROW / 2)
#define MATRIX ((CHUNK * ROW + 31) / 32 * 32 + 16)

// A work-group takes POINTS points, with UNITS work-items each. Its size is not required by an
// attribute: NVIDIA's compiler would then ignore the requested number of registers.
__kernel void matrices(__global const float* restrict params,
                                                                            const ulong first, const ulong count,
                                                                            __global float* restrict out, const ulong first_out,
                                                                            const ulong first_number, __global const uint* restrict units,
                                                                            const uint scores, const uint key0, const uint key1) {
  __local float x[POINTS * MATRIX] __attribute__((aligned(16)));
#if MODEL == LOGISTIC
  __local float theta[POINTS * ROW] __attribute__((aligned(16))), logits[POINTS * CHUNK * CALLS], weights[POINTS * CHUNK];
#endif
  const uint id = (uint)get_local_id(0), matrix = id / UNITS;
  const ulong begin = (ulong)get_group_id(0) * POINTS;
  const uint points = (uint)min((ulong)POINTS, count - begin);
  const uint unit = units[id % UNITS], a = unit & 255, b = unit >> 8 & 255;
  const bool mine = matrix < points;
  params += (first + begin) * DIM;
#if MODEL == LOGISTIC
  for (uint e = id; e < POINTS * ROW; e += GROUP) {
    const uint p = e / ROW, i = e % ROW;
    theta[e] = p < points && i < DIM ? params[p * DIM + i] : 0.0f;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
#endif
  float sum[8][8];
  UNROLL for (uint r = 0; r < 8; ++r) UNROLL for (uint k = 0; k < 8; ++k) sum[r][k] = 0.0f;
  __local const float* const my_x = x + (mine ? matrix : 0) * MATRIX;
  for (uint score = 0; score < scores; score += CHUNK) {
    for (uint e = id; e < POINTS * CHUNK * CALLS; e += GROUP) {
      const uint call = e % CALLS, number = e / CALLS % CHUNK, p = e / (CALLS * CHUNK);
      float made[8];
      make_components(score + number, call, first_number + begin + p, key0, key1, made);
#if MODEL != LOGISTIC
      if (score + number >= scores) UNROLL for (uint k = 0; k < 8; ++k) made[k] = 0.0f;
#endif
#if DIM % 8 != 0
      UNROLL for (uint k = 0; k < 8; ++k) if (8 * call + k >= DIM) made[k] = 0.0f;
#endif
      __local float* to = x + p * MATRIX + number * ROW + HALF(call);
      *(__local float4*)to = (float4)(made[0], made[1], made[2], made[3]);
      *(__local float4*)(to + SECOND) = (float4)(made[4], made[5], made[6], made[7]);
#if MODEL == LOGISTIC
      float logit = 0.0f, weight[8];
      LOAD4(weight, theta + p * ROW + 8 * call)
      LOAD4(weight + 4, theta + p * ROW + 8 * call + 4)
      UNROLL for (uint k = 0; k < 8; ++k) logit = fma(weight[k], made[k], logit);
      logits[e] = logit;
#endif
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#if MODEL == LOGISTIC
    for (uint e = id; e < POINTS * CHUNK; e += GROUP) {
      float logit = logits[e * CALLS];
      for (uint k = 1; k < CALLS; ++k) logit += logits[e * CALLS + k];
      const uint number = score + e % CHUNK;
      const float residual = residual_of(number, first_number + begin + e / CHUNK, key0, key1, logit);
      weights[e] = number < scores ? residual * residual : 0.0f;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
    UNROLL for (uint k = 0; k < CHUNK; ++k) {
      float down[8], across[8];
      LOAD4(down, my_x + k * ROW + HALF(a))
      LOAD4(down + 4, my_x + k * ROW + HALF(a) + SECOND)
      LOAD4(across, my_x + k * ROW + HALF(b))
      LOAD4(across + 4, my_x + k * ROW + HALF(b) + SECOND)
#if MODEL == LOGISTIC
      const float weight = weights[(mine ? matrix : 0) * CHUNK + k];
      UNROLL for (uint r = 0; r < 8; ++r) down[r] *= weight;
#endif
      UNROLL for (uint r = 0; r < 8; ++r) UNROLL for (uint q = 0; q < 8; ++q) sum[r][q] = fma(down[r], across[q], sum[r][q]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (!mine) return;
  params += matrix * DIM;
  out += (first_out + begin + matrix) * TRIANGLE;
  UNROLL for (uint r = 0; r < 8; ++r) {
    UNROLL for (uint q = 0; q < 8; ++q) {
      put(params, out, scores, a, b, sum[r][q], r, q);
    }
  }
}
#else
#define AT_ONCE 64  // scores made at a time; a multiple of LANES

// One work-item per point.
__kernel void matrices(__global const float* restrict params, const ulong first, const ulong count, __global float* restrict out,
                       const ulong first_out, const ulong first_number, __global const uint* restrict units, const uint scores,
                       const uint key0, const uint key1) {
  const ulong point = get_global_id(0), number_of_point = first_number + point;
  if (point >= count) return;
  params += (first + point) * DIM;
  out += (first_out + point) * TRIANGLE;
  float x[AT_ONCE * ROW], weights[AT_ONCE];
  float16 sums[UNITS * 8];
  for (uint e = 0; e < UNITS * 8; ++e) sums[e] = (float16)(0.0f);
  for (uint score = 0; score < scores; score += AT_ONCE) {
    const uint size = min((uint)AT_ONCE, scores - score);
    for (uint s = 0; s < size; s += LANES) {
      uints number = (uints)(score + s);
      for (uint l = 0; l < LANES; ++l) ((uint*)&number)[l] += l;
      reals logit = (reals)(0.0f);
      for (uint call = 0; call < CALLS; ++call) {
        reals made[8], part = (reals)(0.0f);
        make_components(number, call, number_of_point, key0, key1, made);
        for (uint k = 0; k < 8; ++k) {
          const bool inside = 8 * call + k < DIM;
          if (!inside) made[k] = (reals)(0.0f);
          for (uint l = 0; l < LANES; ++l) x[(s + l) * ROW + 8 * call + k] = LANE(made[k], l);
          part = fma((reals)(inside ? params[8 * call + k] : 0.0f), made[k], part);
        }
        logit = call == 0 ? part : logit + part;
      }
#if MODEL == LOGISTIC
      const reals residual = residual_of(number, number_of_point, key0, key1, logit);
      reals weight = residual * residual;
      for (uint l = 0; l < LANES; ++l) weights[s + l] = LANE(weight, l);
#endif
    }
    for (uint u = 0; u < UNITS; ++u) {
      const uint a = units[u] & 255, b = units[u] >> 8 & 255, c = units[u] >> 16 & 255;
      float16 sum[8];
      for (uint r = 0; r < 8; ++r) sum[r] = sums[u * 8 + r];
      for (uint k = 0; k < size; ++k) {
        const float* row = x + k * ROW;
        const float16 across = (float16)(vload8(0, row + 8 * b), vload8(0, row + 8 * c));
        for (uint r = 0; r < 8; ++r) {
#if MODEL == LOGISTIC
          const float down = row[8 * a + r] * weights[k];
#else
          const float down = row[8 * a + r];
#endif
          sum[r] = fma((float16)(down), across, sum[r]);
        }
      }
      for (uint r = 0; r < 8; ++r) sums[u * 8 + r] = sum[r];
    }
  }
  for (uint u = 0; u < UNITS; ++u) {
    const uint a = units[u] & 255, b = units[u] >> 8 & 255, c = units[u] >> 16 & 255;
    for (uint r = 0; r < 8; ++r) {
      for (uint q = 0; q < 8; ++q) {
        put(params, out, scores, a, b, ((float*)&sums[u * 8 + r])[q], r, q);
        if (units[u] >> 24 != 0) put(params, out, scores, a, c, ((float*)&sums[u * 8 + r])[q + 8], r, q);
      }
    }
  }
}
#endif
