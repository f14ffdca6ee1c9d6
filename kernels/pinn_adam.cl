// Gradients of shards added along a fixed tree over their numbers, and Adam (Kingma, Ba: Adam: a method for stochastic
// optimization, ICLR 2015) by what comes out.
//
// A node of the tree is a run of shards: a power of two of them, which begins at a multiple of it. Its sum is that of its halves.
#pragma OPENCL FP_CONTRACT OFF
#include "unroll.cl"

#define LEVELS 9  // up to 256 shards

// Adds the sum of node [at, at + 2^level), after all nodes before it: completes what it completes, as carries do in counting.
#define ADD_NODE(held, value, at, level)                          \
  {                                                               \
    bool carry = true;                                            \
    UNROLL for (uint l = 0; l < LEVELS; ++l) {                    \
      if (l < (level) || !carry) continue;                        \
      if (((at) >> l & 1u) != 0) {                                \
        value = held[l] + value;                                  \
      } else {                                                    \
        held[l] = value;                                          \
        carry = false;                                            \
      }                                                           \
    }                                                             \
  }

// Of `shards`, a power of two, which are `stride` numbers apart. Eight at once, so that as many loads are under way.
inline float sum_of_shards(__global const float* from, uint shards, uint stride) {
  if (shards == 1) return from[0];
  if (shards == 2) return from[0] + from[stride];
  if (shards == 4) return (from[0] + from[stride]) + (from[2 * stride] + from[3 * stride]);
  float held[LEVELS], value = 0.0f;
  UNROLL for (uint l = 0; l < LEVELS; ++l) held[l] = 0.0f;
  for (uint s = 0; s < shards; s += 8) {
    float v[8];
    UNROLL for (uint e = 0; e < 8; ++e) v[e] = from[(ulong)(s + e) * stride];
    value = ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7]));
    ADD_NODE(held, value, s, 3)
  }
  return value;
}

// The sum of a node, of shards that begin with the first of `gradients`, to its place among `nodes`.
__kernel void add_shards(__global const float* restrict gradients, __global float* restrict nodes, uint first, uint shards, uint place,
                         uint stride) {
  const uint i = (uint)get_global_id(0);
  if (i < stride) nodes[(ulong)place * stride + i] = sum_of_shards(gradients + (ulong)first * stride + i, shards, stride);
}

// Newton's iteration from a first guess by the exponent: what a device's own division rounds to is its own.
inline float reciprocal(float x) {
  float r = as_float(0x7ef311c3u - as_uint(x));
  UNROLL for (uint i = 0; i < 4; ++i) r = fma(r, fma(-x, r, 1.0f), r);
  return r;
}
inline float root(float x) {
  if (x < 1e-36f) return 0.0f;
  float r = as_float(0x5f3759dfu - (as_uint(x) >> 1));
  UNROLL for (uint i = 0; i < 4; ++i) r = r * fma(-0.5f * x * r, r, 1.5f);
  return x * r;
}

#define SIDE 32   // parameters of a work-group
#define PARTS 8   // of the shards, which as many work-items of a parameter read at the same time

// A step: `rate` and `epsilon` have the corrections of the moments' bias in them. Nodes, their first shards and levels in
// `list`, cover all shards; without any, `gradients` has all shards themselves. The layout of parameters is that of
// suites/pinn/network.hpp; `transposed` has the hidden layers' weights once more, where it is asked for (hidden > 0).
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
      const uint2 node = list[n];
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
  const float m = fma(0.9f, mean[i], 0.1f * g), v = fma(0.999f, square[i], 0.001f * g * g);
  mean[i] = m;
  square[i] = v;
  const float next = fma(-rate, m * reciprocal(root(v) + epsilon), before[i]);
  after[i] = next;
  if (i < 3 * width || hidden == 0) return;
  const uint at = i - 3 * width, layer = at / (width * width + width), inside = at % (width * width + width);
  if (layer >= hidden || inside >= width * width) return;
  transposed[(ulong)layer * width * width + inside % width * width + inside / width] = next;
}

// What a training begins with, from number `at_state` of `states` on: copies of what stays as it is.
__kernel void begin_training(__global const float* restrict states, ulong at_state, __global float* restrict parameters,
                             __global float* restrict mean, __global float* restrict square, __global float* restrict transposed,
                             uint hidden, uint width, uint count) {
  __global const float* const state = states + at_state;
  const uint i = (uint)get_global_id(0);
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
