// A step of training, after the gradients of all shards: they are added (kernels/pinn_step.cl), and
// Adam uses the sum.
#include "pinn_step.cl"

// Adds the shards of a node, which begin with number `first` of `gradients`, to its place among
// `nodes`.
__kernel void add_shards(__global const float* restrict gradients, __global float* restrict nodes, uint first, uint shards, uint place,
                         uint stride) {
  const uint i = (uint)get_global_id(0);
  if (i < stride) nodes[(ulong)place * stride + i] = sum_of_shards(gradients + (ulong)first * stride + i, shards, stride);
}

#ifndef SIDE
#define SIDE 32   // parameters of a work-group
#endif
#define PARTS 8   // parts of the shards, read at the same time by work-items of a parameter

// Nodes, their first shards and levels in `list`, cover all shards; without any, `gradients` has
// all shards themselves. The layout of parameters is that of suites/pinn/network.hpp; if hidden >
// 0, `transposed` gets a transposed copy of the hidden layers' weights.
__kernel __attribute__((reqd_work_group_size(SIDE, PARTS, 1))) void adam(
    __global const float* restrict gradients, __global const uint2* restrict list, uint nodes, uint shards,
    __global const float* restrict before, __global float* restrict after, __global float* restrict mean,
    __global float* restrict square, __global float* restrict gradient, __global float* restrict losses,
    __global float* restrict transposed, uint hidden, uint width, uint count, uint stride, uint step, float rate, float epsilon) {
  __local float sums[PARTS][SIDE];
  const uint i = (uint)get_global_id(0), lane = (uint)get_local_id(0), part = (uint)get_local_id(1);
  const bool there = i < count + 3, in_parts = nodes == 0 && shards >= PARTS;
  float g = 0.0f;
  if (there && in_parts) {
    const uint each = shards / PARTS;
    sums[part][lane] = sum_of_shards(gradients + (ulong)part * each * stride + i, each, stride);
  } else if (there && part == 0 && nodes == 0) {
    g = sum_of_shards(gradients + i, shards, stride);
  } else if (there && part == 0) {
    float held[LEVELS];
    UNROLL for (uint l = 0; l < LEVELS; ++l) held[l] = 0.0f;
    for (uint n = 0; n < nodes; ++n) {
      // A damaged one stays within the buffer: it makes a wrong result.
      const uint2 node = min(list[n], (uint2)(shards - 1, LEVELS - 1));
      g = gradients[(ulong)node.s0 * stride + i];
      ADD_NODE(held, g, node.s0, node.s1)
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (!there || part > 0) return;
  if (in_parts) {
    g = ((sums[0][lane] + sums[1][lane]) + (sums[2][lane] + sums[3][lane])) +
        ((sums[4][lane] + sums[5][lane]) + (sums[6][lane] + sums[7][lane]));
  }
  if (i >= count) {
    losses[step * 3 + (i - count)] = g;
    return;
  }
  gradient[i] = g;
  float m = mean[i], v = square[i];
  MOVE_MOMENTS(float, g, m, v)
  const float next = fma(-rate, m * scale_of(v, epsilon), before[i]);
  mean[i] = m;
  square[i] = v;
  after[i] = next;
  if (i < 3 * width || hidden == 0) return;
  const uint at = i - 3 * width, layer = at / (width * width + width), inside = at % (width * width + width);
  if (layer >= hidden || inside >= width * width) return;
  transposed[(ulong)layer * width * width + inside % width * width + inside / width] = next;
}

// Starts a training from the state at offset `at_state` of `states`: copies it, as the state itself
// must stay unchanged.
__kernel void begin_training(__global const float* restrict states, ulong at_state, __global float* restrict parameters,
                             __global float* restrict mean, __global float* restrict square, __global float* restrict transposed,
                             uint hidden, uint width, uint count, __global uint* restrict arrived, uint arrivals) {
  __global const float* const state = states + at_state;
  const uint i = (uint)get_global_id(0);
  if (i == 0)
    for (uint a = 0; a < arrivals; ++a) arrived[a] = 0;  // counters of kernels/pinn_shards.cl
  if (i >= count) return;
  const float w = state[i];
  parameters[i] = w;
  mean[i] = state[count + i];
  square[i] = state[2 * count + i];
  if (i < 3 * width || hidden == 0) return;
  const uint at = i - 3 * width, layer = at / (width * width + width), inside = at % (width * width + width);
  if (layer >= hidden || inside >= width * width) return;
  transposed[(ulong)layer * width * width + inside % width * width + inside / width] = w;
}

__kernel void keep(__global const float* restrict from, __global float* restrict to, ulong at, uint count) {
  const uint i = (uint)get_global_id(0);
  if (i < count) to[at + i] = from[i];
}
