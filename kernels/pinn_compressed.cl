// Gradients in bf16 with error feedback: each node of the tree of shards rounds its sum to bf16, and
// adds what the rounding lost to its sum of the next step (Seide et al., 1-bit SGD, Interspeech
// 2014; Karimireddy et al., Error feedback fixes SignSGD, ICML 2019). A node does so whether its sum
// is sent or not, so that the bits do not depend on the owners of shards.
//
// Leaves of this tree are blocks of shards. Node `at` of level l covers blocks [at 2^l, (at + 1) 2^l)
// and has number (blocks >> l) + at; the root, which is never sent, is not rounded. A sum takes
// `wire` numbers of 16 bits: the gradient, then three losses in fp32, exact.
#include "pinn_step.cl"

inline ushort bf16_of(float value) {
  const uint bits = as_uint(value);
  if ((bits & 0x7f800000u) == 0x7f800000u) return (ushort)(bits >> 16 | ((bits & 0x7fffffu) != 0 ? 0x40u : 0u));
  return (ushort)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}
inline float of_bf16(ushort bits) { return as_float((uint)bits << 16); }

// Rounds the sum of a node and keeps what is lost. In the first step nothing was lost before.
inline float with_feedback(float sum, __global const float* before, __global float* after, uint first_step) {
  const float value = first_step ? sum : sum + *before;
  const float rounded = of_bf16(bf16_of(value));
  *after = value - rounded;
  return rounded;
}

inline void write_sum(__global ushort* to, uint count, uint i, float value) {
  if (i < count) to[i] = bf16_of(value);
  else ((__global float*)(to + (count + 1u) / 2u * 2u))[i - count] = value;
}
inline float read_sum(__global const ushort* from, uint count, uint i) {
  if (i < count) return of_bf16(from[i]);
  return ((__global const float*)(from + (count + 1u) / 2u * 2u))[i - count];
}

// Sums the nodes of blocks [first, end), each of `each` shards, up to the largest below the root,
// which are written to their places among `sums`. `gradients` begins with block `first`.
__kernel void compress_nodes(__global const float* restrict gradients, __global const float* restrict before,
                             __global float* restrict after, __global ushort* restrict sums, uint first, uint end, uint blocks,
                             uint each, uint count, uint stride, uint wire, uint first_step) {
  const uint i = (uint)get_global_id(0);
  if (i >= count + 3) return;
  float held[LEVELS];
  for (uint block = first; block < end; ++block) {
    float value = sum_of_shards(gradients + (ulong)(block - first) * each * stride + i, each, stride);
    uint level = 0, at = block;
    while (true) {
      const ulong node = (ulong)((blocks >> level) + at) * stride + i;
      if (i < count) value = with_feedback(value, before + node, after + node, first_step);
      const uint sibling = at ^ 1u;
      const bool joins = 2u << level < blocks && sibling << level >= first && (sibling + 1) << level <= end;
      if (!joins) {
        write_sum(sums + (ulong)(at << level) * wire, count, i, value);
        break;
      }
      if ((at & 1u) == 0) {
        held[level] = value;
        break;
      }
      value = held[level] + value;
      at >>= 1;
      ++level;
    }
  }
}

// Sums the listed nodes, first block and level each, of all owners up to the root, which becomes
// `gradient`.
__kernel void combine_nodes(__global const ushort* restrict sums, __global const uint2* restrict list, uint nodes,
                            __global const float* restrict before, __global float* restrict after, __global float* restrict gradient,
                            uint blocks, uint count, uint stride, uint wire, uint first_step) {
  const uint i = (uint)get_global_id(0);
  if (i >= count + 3) return;
  float held[LEVELS], value = 0.0f;
  for (uint n = 0; n < nodes; ++n) {
    // A damaged one stays within the buffer: it makes a wrong result.
    const uint2 listed = min(list[n], (uint2)(blocks - 1, LEVELS - 1));
    uint level = listed.s1, at = listed.s0 >> level;
    value = read_sum(sums + (ulong)listed.s0 * wire, count, i);
    while ((at & 1u) != 0 && 2u << level <= blocks) {
      value = held[level] + value;
      at >>= 1;
      ++level;
      const ulong node = (ulong)((blocks >> level) + at) * stride + i;
      if (i < count && 1u << level < blocks) value = with_feedback(value, before + node, after + node, first_step);
    }
    held[min(level, LEVELS - 1u)] = value;
  }
  gradient[i] = value;
}
