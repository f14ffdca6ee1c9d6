// The parts of large networks outside the products of kernels/pinn_product.cl and pinn_weights.cl:
// the first layer, the output, and the gradients of both. All of it is bound by memory: at 65,536
// points and width 256 each pass over a layer is 0.28 GB, 0.07 ms on an H200.
//
// Sums over points go by blocks of BLOCK, each a chain, then a chain over blocks.
//
// Given by -D: the options of pinn_residual.cl; WIDTH.
#include "pinn_residual.cl"

// Computes jets of the first layer. Dimension 0: points, 1: neurons.
__kernel void first_layer(__global const float* restrict parameters, __global const float4* restrict points,
                          __global float4* restrict jets) {
  const uint p = (uint)get_global_id(0), n = (uint)get_global_id(1);
  jets[JET(n, p)] = tanh_jet(
      first_jet(points[p].s01, parameters[n], parameters[WIDTH + n], parameters[2 * WIDTH + n]));
}

// Computes the output at BLOCK points per work-group, its error, and the adjoints of the last
// layer. Dimension 1 of a group: the chains of the sum over neurons. `output`: start of the weights
// of the output and its bias.
__kernel __attribute__((reqd_work_group_size(BLOCK, CHAINS, 1))) void output_layer(
    __global const float* restrict parameters, const uint output, __global const float4* restrict points,
    __global const float4* restrict jets, const ulong jets_at, __global float4* restrict bars, const ulong bars_at,
    __global float4* restrict outward, __global float* restrict error, const float4 weights) {
  __local float4 sums[CHAINS][BLOCK], out[BLOCK];
  const uint lane = (uint)get_local_id(0), chain = (uint)get_local_id(1), p = (uint)get_group_id(0) * BLOCK + lane;
  __global const float4* const of = jets + jets_at + JET(0, p);
  __global const float* const w = parameters + output;
  float4 sum = (float4)(0.0f);
  UNROLL for (uint n = 0; n < WIDTH; n += CHAINS) sum = fma(of[(n + chain) * BLOCK], (float4)(w[n + chain]), sum);
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
    const ulong at = JET(n, p);
    bars[bars_at + at] = tanh_adjoint(jets[jets_at + at], w[n] * bar);
  }
}

#define SUMS 8  // neurons of a work-group

// Returns the terms of a point in the gradients of a neuron: of its weights in the first layer, of
// its bias, and of its weight in the output.
inline float4 terms_of(float4 point, float4 bar, float4 jet, float4 out) {
  return (float4)(fma(point.s0, bar.s0, bar.s1), fma(point.s1, bar.s0, bar.s2), bar.s0,
                  fma(jet.s3, out.s3, fma(jet.s2, out.s2, fma(jet.s1, out.s1, jet.s0 * out.s0))));
}

// Computes gradients of the first layer and of the output, for each shard. Within a group,
// dimension 0 is the points of a block and 1 the neurons; among groups, 1 is the neurons, where
// those after the last stand for the bias of the output and the losses, and 2 is the shards.
// Work-items read points side by side; then 32 of them sum over a block, each one of the 4 terms of
// one neuron.
__kernel __attribute__((reqd_work_group_size(BLOCK, SUMS, 1))) void edge_gradients(
    __global const float4* restrict points, __global const float4* restrict bars, __global const float4* restrict jets,
    const ulong jets_at, __global const float4* restrict outward, __global const float* restrict error,
    __global float* restrict gradients, const uint output, const uint places, const uint stride) {
  __local float terms[4][SUMS][BLOCK + 1];
  const uint lane = (uint)get_local_id(0), mine = (uint)get_local_id(1), shard = (uint)get_group_id(2);
  const uint first_neuron = (uint)get_group_id(1) * SUMS, n = first_neuron + mine, begin = shard * places, end = begin + places;
  const uint of = mine * BLOCK + lane, term = of / SUMS, neuron = of % SUMS;
  float all = 0.0f;
  for (uint first = begin; first < end; first += BLOCK) {
    const uint p = first + lane;
    float4 found = (float4)(0.0f);
    if (p < end && n < WIDTH)
      found = terms_of(points[p], bars[JET(n, p)], jets[jets_at + JET(n, p)], outward[p]);
    else if (p < end)
      found.s0 = n == WIDTH ? outward[p].s0 : points[p].s3 == (float)(n - WIDTH) ? error[p] : 0.0f;
    barrier(CLK_LOCAL_MEM_FENCE);
    terms[0][mine][lane] = found.s0;
    terms[1][mine][lane] = found.s1;
    terms[2][mine][lane] = found.s2;
    terms[3][mine][lane] = found.s3;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (of < 4 * SUMS) {
      float sum = 0.0f;
      UNROLL for (uint q = 0; q < BLOCK; ++q) sum += terms[term][neuron][q];
      all += sum;
    }
  }
  if (of >= 4 * SUMS) return;
  const uint at = first_neuron + neuron;
  __global float* const g = gradients + (ulong)shard * stride;
  if (at < WIDTH) g[term < 3 ? term * WIDTH + at : output + at] = all;
  else if (term == 0 && at <= WIDTH + LOSSES) g[output + at] = all;
}
