// Gradients of shards added along a fixed tree over their numbers, and Adam (Kingma, Ba: Adam: a
// method for stochastic optimization, ICLR 2015) with their sum; shared by the kernels that do it
// with all of a device and with one work-group.
//
// A node of the tree is a run of shards: a power of two of them, which begins at a multiple of it.
// Its sum is that of its halves.
#pragma OPENCL FP_CONTRACT OFF
#include "unroll.cl"

#define LEVELS 9  // up to 256 shards

// Adds the sum of node [at, at + 2^level), after all nodes before it, and completes nodes as
// carries do in counting.
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

// Sums numbers or vectors of `shards` shards, a power of two, which are `stride` apart. It takes
// eight at once, so that eight loads are under way.
#define SUM_OF_SHARDS(type, name)                                                                      \
  inline type name(__global const type* from, uint shards, uint stride) {                              \
    if (shards == 1) return from[0];                                                                   \
    if (shards == 2) return from[0] + from[stride];                                                    \
    if (shards == 4) return (from[0] + from[stride]) + (from[2 * stride] + from[3 * stride]);          \
    type held[LEVELS], value = (type)(0.0f);                                                           \
    UNROLL for (uint l = 0; l < LEVELS; ++l) held[l] = (type)(0.0f);                                   \
    for (uint s = 0; s < shards; s += 8) {                                                             \
      type v[8];                                                                                       \
      UNROLL for (uint e = 0; e < 8; ++e) v[e] = from[(ulong)(s + e) * stride];                        \
      value = ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7]));                       \
      ADD_NODE(held, value, s, 3)                                                                      \
    }                                                                                                  \
    return value;                                                                                      \
  }
SUM_OF_SHARDS(float, sum_of_shards)
SUM_OF_SHARDS(float4, sum_of_shards_4)

// Returns 1 / x by Newton's iteration from a first guess by the exponent: the rounding of a
// division differs between devices.
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

// Updates the moments of numbers or vectors of parameters with a gradient g. scale_of returns the
// factor of a step from the second moment.
#define MOVE_MOMENTS(type, g, mean, square)        \
  mean = fma((type)(0.9f), mean, 0.1f * (g));      \
  square = fma((type)(0.999f), square, 0.001f * (g) * (g));
inline float scale_of(float square, float epsilon) { return reciprocal(root(square) + epsilon); }
