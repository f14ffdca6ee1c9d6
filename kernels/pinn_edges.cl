// What large networks need beside the products of kernels/pinn_product.cl and pinn_weights.cl: the first layer, the output, and the
// gradients of both. All of it is bound by memory: at 65,536 points and width 256 each pass over a layer is 0.28 GB, 0.07 ms on an
// H200.
//
// Sums over points go by blocks of BLOCK, each a chain, then a chain over blocks.
//
// Given by -D: those of pinn_math.cl; WIDTH.
#include "pinn_math.cl"

// Jets of the first layer, of `count` points. Dimension 0: points, 1: neurons.
__kernel void first_layer(__global const float* restrict parameters, __global const float4* restrict points,
                          __global float4* restrict jets, uint count) {
  const uint p = (uint)get_global_id(0), n = (uint)get_global_id(1);
  jets[(ulong)n * count + p] = tanh_jet(
      first_jet(points[p].s01, parameters[n], parameters[WIDTH + n], parameters[2 * WIDTH + n]));
}

// The output at BLOCK points a work-group, what it is wrong by, and the adjoints of the last layer. Dimension 1 of a group: the
// chains of the sum over neurons. `output`: the weights of the output and its bias.
__kernel __attribute__((reqd_work_group_size(BLOCK, CHAINS, 1))) void output_layer(
    __global const float* restrict parameters, const uint output, __global const float4* restrict points,
    __global const float4* restrict jets, const ulong jets_at, __global float4* restrict bars, const ulong bars_at,
    __global float4* restrict outward, __global float* restrict error, const uint count, const float4 weights) {
  __local float4 sums[CHAINS][BLOCK], out[BLOCK];
  const uint lane = (uint)get_local_id(0), chain = (uint)get_local_id(1), p = (uint)get_group_id(0) * BLOCK + lane;
  __global const float4* const of = jets + jets_at + p;
  __global const float* const w = parameters + output;
  float4 sum = (float4)(0.0f);
  UNROLL for (uint n = 0; n < WIDTH; n += CHAINS) sum = fma(of[(ulong)(n + chain) * count], (float4)(w[n + chain]), sum);
  sums[chain][lane] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (chain == 0) {
    float4 u = ((sums[0][lane] + sums[4][lane]) + (sums[2][lane] + sums[6][lane])) +
               ((sums[1][lane] + sums[5][lane]) + (sums[3][lane] + sums[7][lane]));
    u.s0 += w[WIDTH];
    float4 bar;
    error[p] = residual(u, points[p], weights, &bar);
    outward[p] = out[lane] = bar;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  const float4 bar = out[lane];
  for (uint n = chain; n < WIDTH; n += CHAINS) {
    const ulong at = (ulong)n * count + p;
    bars[bars_at + at] = tanh_adjoint(jets[jets_at + at], w[n] * bar);
  }
}

#define ACROSS_BLOCKS 8  // blocks of a shard that are summed at once
#define SUMS 8           // neurons of a work-group

// Gradients of the first layer and of the output, of each shard. Dimension 1 of a group: neurons; of the groups: neurons, where those
// behind the last stand for the bias of the output and the losses. Dimension 2: shards.
__kernel __attribute__((reqd_work_group_size(ACROSS_BLOCKS, SUMS, 1))) void edge_gradients(
    __global const float4* restrict points, __global const float4* restrict bars, __global const float4* restrict jets,
    const ulong jets_at, __global const float4* restrict outward, __global const float* restrict error,
    __global float* restrict gradients, const uint output, const uint count, const uint places, const uint stride) {
  __local float4 partial[SUMS][ACROSS_BLOCKS];
  const uint lane = (uint)get_local_id(0), mine = (uint)get_local_id(1), shard = (uint)get_group_id(2);
  const uint n = (uint)get_group_id(1) * SUMS + mine, begin = shard * places, end = begin + places;
  float4 all = (float4)(0.0f);
  for (uint first = begin; first < end; first += ACROSS_BLOCKS * BLOCK) {
    const uint from = first + lane * BLOCK, to = min(from + BLOCK, end);
    float4 sum = (float4)(0.0f);  // of both inputs' weights, of the bias, of the output's weight
    if (n < WIDTH) {
      for (uint p = from; p < to; ++p) {
        const float4 at = points[p], bar = bars[(ulong)n * count + p], x = jets[jets_at + (ulong)n * count + p], y = outward[p];
        sum.s0 = fma(at.s0, bar.s0, sum.s0) + bar.s1;
        sum.s1 = fma(at.s1, bar.s0, sum.s1) + bar.s2;
        sum.s2 += bar.s0;
        sum.s3 = fma(x.s3, y.s3, fma(x.s2, y.s2, fma(x.s1, y.s1, fma(x.s0, y.s0, sum.s3))));
      }
    } else {
      for (uint p = from; p < to; ++p) sum.s0 += n == WIDTH ? outward[p].s0 : points[p].s3 == (float)(n - WIDTH) ? error[p] : 0.0f;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    partial[mine][lane] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint b = 0; b < ACROSS_BLOCKS; ++b)
      if (first + b * BLOCK < end) all += partial[mine][b];
  }
  if (lane != 0 || n > WIDTH + LOSSES) return;
  __global float* const g = gradients + (ulong)shard * stride;
  if (n < WIDTH) {
    g[n] = all.s0;
    g[WIDTH + n] = all.s1;
    g[2 * WIDTH + n] = all.s2;
    g[output + n] = all.s3;
  } else {
    g[output + n] = all.s0;
  }
}
