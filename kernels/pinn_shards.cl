// Gradients of small networks: a work-group computes that of a shard, with the jets of all neurons
// in local memory.
//
// Forward: a jet is 4 numbers, and a layer multiplies each with the same weights. Back: the
// adjoints of a layer's jets replace the jets themselves, once the gradient of the weights above
// them is known.
//
// The order of every sum is that of the tiled kernels (pinn_product.cl, pinn_weights.cl,
// pinn_edges.cl), so that bits are the same.
//
// Reads from local memory limit it, 128 bytes per cycle of an H200: for a shard of 3 x 20 with 44
// points, a layer forward, or back, is 20 times 4 for a jet and 1.4 for four weights, by 7 warps,
// 760 cycles (1,700 if weights are read one by one, for two neurons); its weights' gradients are 44
// times 6 by 4 warps, 1,060. Predicted were 11 us for a step of 64 such shards and a launch for
// Adam, measured 22: waiting for memory and for other warps doubles the time. With 128 shards each
// has half of the points, and Adam is no launch of its own.
//
// Given by -D: the options of pinn_residual.cl; LAYERS, WIDTH; LANES: work-items; TILE: points at
// once, a multiple of BLOCK unless it is all of a shard; WEIGHTS_LOCAL: whether the weights fit
// local memory; STEP: whether a launch is a whole step, of all shards.
#include "pinn_residual.cl"
#include "pinn_step.cl"

// Jets from one neuron to the next: odd, so that neighbouring neurons are in different banks.
#define ROW (TILE | 1)
#define LAYER (WIDTH * ROW)
// Start of the second layer's weights: behind two rows of weights and the biases.
#define HIDDEN (3 * WIDTH)
#define OF_LAYER (WIDTH * WIDTH + WIDTH)
#define OUTWARD (HIDDEN + (LAYERS - 1) * OF_LAYER)  // the output's weights
#define COUNT (OUTWARD + WIDTH + 1)

#if WIDTH % 2 == 0
#define PAIR 2
#else
#define PAIR 1
#endif
#define HALF (WIDTH / PAIR)
// Work-items that sum weights, padded so that other warps sum biases.
#define SQUARES ((HALF * HALF + 31) / 32 * 32)

// Sums over points are chains; their reads can be under way together.
#ifdef ROLLED
#define UNROLL_8
#else
#define UNROLL_8 _Pragma("unroll 8")
#endif
#define UNROLL_FEW _Pragma("unroll")

#define FOR_ITEMS(i, count) for (uint i = lane; i < (count); i += LANES)
#define EVERYBODY() barrier(CLK_LOCAL_MEM_FENCE)

#if WEIGHTS_LOCAL
typedef __local const float* weights_at;
#else
typedef __global const float* weights_at;
#endif

// Neighbouring neurons of a work-item at a point, whose weights are read together.
#if WIDTH % 4 == 0
#define SIDE_BY_SIDE 4
typedef float4 few_weights;
#define FEW(v, e) ((e) == 0 ? (v).s0 : (e) == 1 ? (v).s1 : (e) == 2 ? (v).s2 : (v).s3)
#if WEIGHTS_LOCAL
#define READ_FEW(from) (*(__local const float4*)(from))
#else
#define READ_FEW(from) (*(__global const float4*)(from))
#endif
#else
#define SIDE_BY_SIDE 1
typedef float few_weights;
#define FEW(v, e) (v)
#define READ_FEW(from) (*(from))
#endif

inline void forward(weights_at w, __local const float4* from, __local float4* to, uint lane, uint here) {
  FOR_ITEMS(i, WIDTH / SIDE_BY_SIDE * here) {
    const uint p = i % here, n = i / here * SIDE_BY_SIDE;
    float4 sum[SIDE_BY_SIDE];
    for (uint e = 0; e < SIDE_BY_SIDE; ++e) sum[e] = (float4)(0.0f);
    UNROLL for (uint k = 0; k < WIDTH; ++k) {
      const float4 jet = from[k * ROW + p];
      const few_weights few = READ_FEW(w + k * WIDTH + n);
      UNROLL_FEW for (uint e = 0; e < SIDE_BY_SIDE; ++e) sum[e] = fma(jet, (float4)(FEW(few, e)), sum[e]);
    }
    UNROLL_FEW for (uint e = 0; e < SIDE_BY_SIDE; ++e) {
      sum[e].s0 += w[WIDTH * WIDTH + n + e];
      to[(n + e) * ROW + p] = tanh_jet(sum[e]);
    }
  }
}

// Computes the adjoints of this layer from those of the layer above, `from`; they replace the
// layer's jets.
inline void backward(weights_at w, __local const float4* from, __local float4* jets, uint lane, uint here) {
  FOR_ITEMS(i, WIDTH / SIDE_BY_SIDE * here) {
    const uint p = i % here, k = i / here * SIDE_BY_SIDE;
    float4 sum[SIDE_BY_SIDE];
    for (uint e = 0; e < SIDE_BY_SIDE; ++e) sum[e] = (float4)(0.0f);
    UNROLL for (uint n = 0; n < WIDTH; n += SIDE_BY_SIDE) {
      few_weights few[SIDE_BY_SIDE];
      UNROLL_FEW for (uint e = 0; e < SIDE_BY_SIDE; ++e) few[e] = READ_FEW(w + (k + e) * WIDTH + n);
      UNROLL_FEW for (uint c = 0; c < SIDE_BY_SIDE; ++c) {
        const float4 bar = from[(n + c) * ROW + p];
        UNROLL_FEW for (uint e = 0; e < SIDE_BY_SIDE; ++e) sum[e] = fma(bar, (float4)(FEW(few[e], c)), sum[e]);
      }
    }
    UNROLL_FEW for (uint e = 0; e < SIDE_BY_SIDE; ++e) {
      const uint at = (k + e) * ROW + p;
      jets[at] = tanh_adjoint(jets[at], sum[e]);
    }
  }
}

// Adds the products of this tile's points to the gradient of a layer's weights and biases. `first`:
// starts the gradient.
inline void weight_gradient(__global float* g, __local const float4* jets, __local const float4* bars, uint lane, uint here,
                            bool first) {
  FOR_ITEMS(i, SQUARES + WIDTH) {
    if (i >= SQUARES) {
      const uint n = i - SQUARES;
      float sum = first ? 0.0f : g[WIDTH * WIDTH + n];
      UNROLL_8 for (uint p = 0; p < here; ++p) sum += bars[n * ROW + p].s0;
      g[WIDTH * WIDTH + n] = sum;
    }
    if (i >= HALF * HALF) continue;
    const uint k = i / HALF, n = i % HALF;
    float sum[PAIR][PAIR];
    for (uint a = 0; a < PAIR; ++a)
      for (uint b = 0; b < PAIR; ++b) sum[a][b] = first ? 0.0f : g[(k + a * HALF) * WIDTH + n + b * HALF];
    UNROLL_8 for (uint p = 0; p < here; ++p) {
      float4 x[PAIR], y[PAIR];
      UNROLL for (uint e = 0; e < PAIR; ++e) x[e] = jets[(k + e * HALF) * ROW + p];
      UNROLL for (uint e = 0; e < PAIR; ++e) y[e] = bars[(n + e * HALF) * ROW + p];
      UNROLL for (uint a = 0; a < PAIR; ++a) UNROLL for (uint b = 0; b < PAIR; ++b)
        sum[a][b] = fma(x[a].s3, y[b].s3, fma(x[a].s2, y[b].s2, fma(x[a].s1, y[b].s1, fma(x[a].s0, y[b].s0, sum[a][b]))));
    }
    for (uint a = 0; a < PAIR; ++a)
      for (uint b = 0; b < PAIR; ++b) g[(k + a * HALF) * WIDTH + n + b * HALF] = sum[a][b];
  }
}

// Returns the jet of the output at point p.
inline float4 output_jet(weights_at w, __local const float4* jets, uint p) {
  float4 sum[CHAINS];
  for (uint c = 0; c < CHAINS; ++c) sum[c] = (float4)(0.0f);
  UNROLL for (uint n = 0; n < WIDTH; ++n) sum[n % CHAINS] = fma(jets[n * ROW + p], (float4)(w[n]), sum[n % CHAINS]);
  float4 u = ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]));
  u.s0 += w[WIDTH];
  return u;
}

// Adds sums over blocks of points to the gradient. `in`: points; `out`: adjoints of the output;
// `error`: weighted squares.
inline void output_gradient(__global float* g, __local const float4* jets, __local const float4* in, __local const float4* out,
                            __local const float* error, uint lane, uint here, bool first) {
  FOR_ITEMS(n, WIDTH + 1 + LOSSES) {
    float all = first ? 0.0f : g[n];
    for (uint begin = 0; begin < here; begin += BLOCK) {
      const uint end = min(begin + BLOCK, here);
      float sum = 0.0f;
      if (n < WIDTH) {
        UNROLL_8 for (uint p = begin; p < end; ++p) {
          const float4 x = jets[n * ROW + p], y = out[p];
          sum += fma(x.s3, y.s3, fma(x.s2, y.s2, fma(x.s1, y.s1, x.s0 * y.s0)));
        }
      } else {
        UNROLL_8 for (uint p = begin; p < end; ++p) sum += n == WIDTH ? out[p].s0 : in[p].s3 == (float)(n - WIDTH) ? error[p] : 0.0f;
      }
      all += sum;
    }
    g[n] = all;
  }
}

inline void input_gradient(__global float* g, __local const float4* bars, __local const float4* in, uint lane, uint here,
                           bool first) {
  FOR_ITEMS(i, HIDDEN) {
    const uint n = i % WIDTH, what = i / WIDTH;
    float all = first ? 0.0f : g[i];
    for (uint begin = 0; begin < here; begin += BLOCK) {
      float sum = 0.0f;
      const uint end = min(begin + BLOCK, here);
      UNROLL_8 for (uint p = begin; p < end; ++p) {
        const float4 bar = bars[n * ROW + p];
        sum += what == 2 ? bar.s0 : fma(what == 0 ? in[p].s0 : in[p].s1, bar.s0, what == 0 ? bar.s1 : bar.s2);
      }
      all += sum;
    }
    g[i] = all;
  }
}

// Memory of a work-group: the jets of its points, data of these, and the weights if they fit.
#define LOCAL_MEMORY                               \
  __local float4 jets[LAYERS * LAYER], in[TILE], out[TILE]; \
  __local float error[TILE];                       \
  LOCAL_WEIGHTS
#if WEIGHTS_LOCAL
#define LOCAL_WEIGHTS                             \
  __local float w[COUNT] __attribute__((aligned(16))); \
  FOR_ITEMS(i, COUNT) w[i] = parameters[i];
#else
#define LOCAL_WEIGHTS weights_at w = parameters;
#endif

// Computes the gradient, then the losses, of the shard whose `places` points begin with the first
// of `points`, to g.
inline void gradient_of_shard(weights_at w, __global const float4* points, __global float* g, uint places, float4 weights, uint lane,
                              __local float4* jets, __local float4* in, __local float4* out, __local float* error) {
  for (uint begin = 0; begin < places; begin += TILE) {
    const uint here = min(places - begin, (uint)TILE);
    const bool first = begin == 0;
    EVERYBODY();
    FOR_ITEMS(p, here) in[p] = points[begin + p];
    EVERYBODY();
    FOR_ITEMS(i, WIDTH * here) {
      const uint p = i % here, n = i / here;
      jets[n * ROW + p] = tanh_jet(first_jet(in[p].s01, w[n], w[WIDTH + n], w[2 * WIDTH + n]));
    }
    EVERYBODY();
    for (uint l = 1; l < LAYERS; ++l) {
      forward(w + HIDDEN + (l - 1) * OF_LAYER, jets + (l - 1) * LAYER, jets + l * LAYER, lane, here);
      EVERYBODY();
    }
    __local float4* const last = jets + (LAYERS - 1) * LAYER;
    FOR_ITEMS(p, here) {
      float4 bar;
      error[p] = residual(output_jet(w + OUTWARD, last, p), in[p], weights, &bar);
      out[p] = bar;
    }
    EVERYBODY();
    output_gradient(g + OUTWARD, last, in, out, error, lane, here, first);
    EVERYBODY();
    FOR_ITEMS(i, WIDTH * here) {
      const uint p = i % here, n = i / here, at = n * ROW + p;
      last[at] = tanh_adjoint(last[at], w[OUTWARD + n] * out[p]);
    }
    EVERYBODY();
    for (uint l = LAYERS - 1; l > 0; --l) {
      const uint at = HIDDEN + (l - 1) * OF_LAYER;
      weight_gradient(g + at, jets + (l - 1) * LAYER, jets + l * LAYER, lane, here, first);
      EVERYBODY();
      backward(w + at, jets + l * LAYER, jets + (l - 1) * LAYER, lane, here);
      EVERYBODY();
    }
    input_gradient(g, jets, in, lane, here, first);
  }
}

#if !STEP
// One work-group per shard. Its gradient begins `stride` numbers after that of the one before.
__kernel __attribute__((reqd_work_group_size(LANES, 1, 1))) void shard_gradients(__global const float* restrict parameters,
                                                                                 __global const float4* restrict points,
                                                                                 __global float* restrict gradients, uint places,
                                                                                 uint stride, float4 weights) {
  const uint lane = (uint)get_local_id(0), shard = (uint)get_group_id(0);
  LOCAL_MEMORY
  gradient_of_shard(w, points + shard * places, gradients + (ulong)shard * stride, places, weights, lane, jets, in, out, error);
}
#else
// Returns whether this work-group is the last of `of` that come here. None waits: the last one sees
// all that the others wrote before, and restarts the count.
#ifdef NVIDIA
#define FENCE() asm volatile("fence.acq_rel.gpu;" ::: "memory")
#else
#define FENCE() mem_fence(CLK_GLOBAL_MEM_FENCE)
#endif
inline bool is_last(volatile __global uint* arrived, uint of, __local uint* last, uint lane) {
  barrier(CLK_GLOBAL_MEM_FENCE | CLK_LOCAL_MEM_FENCE);
  if (lane == 0) {
    FENCE();
    *last = atomic_inc(arrived) + 1 == of ? 1 : 0;
    if (*last != 0) atomic_xchg(arrived, 0u);
    FENCE();
  }
  barrier(CLK_GLOBAL_MEM_FENCE | CLK_LOCAL_MEM_FENCE);
  return *last != 0;
}

#define BRANCHES 8  // shards that the last of their work-groups adds

// Computes the gradients of all shards, one per work-group, and then a step: the last of every
// BRANCHES work-groups adds their gradients, the last of all adds these sums, which are in `nodes`,
// and makes the step of Adam, as kernels/pinn_adam.cl does. `arrived`: a count for all, then those
// of nodes; 0 before the first step. Buffers of parameters are whole vectors long. Data that other
// work-groups write has no `restrict`.
__kernel __attribute__((reqd_work_group_size(LANES, 1, 1))) void train_step(
    __global const float* restrict parameters, __global const float4* restrict points, __global float* gradients, uint places,
    uint stride, float4 weights, __global float* nodes, volatile __global uint* arrived, __global float* restrict after,
    __global float* restrict mean, __global float* restrict square, __global float* restrict gradient,
    __global float* restrict losses, uint step, float rate, float epsilon) {
  __local uint last;
  const uint lane = (uint)get_local_id(0), shard = (uint)get_group_id(0), shards = (uint)get_num_groups(0);
  LOCAL_MEMORY
  gradient_of_shard(w, points + shard * places, gradients + (ulong)shard * stride, places, weights, lane, jets, in, out, error);
  const uint each = min(shards, (uint)BRANCHES), all = shards / each, node = shard / each, vectors = stride / 4;
  if (!is_last(arrived + 1 + node, each, &last, lane)) return;
  FOR_ITEMS(i, vectors) {
    __global const float4* const of = (__global const float4*)(gradients + (ulong)node * each * stride) + i;
    ((__global float4*)(nodes + (ulong)node * stride))[i] = sum_of_shards_4(of, each, vectors);
  }
  if (!is_last(arrived, all, &last, lane)) return;
  FOR_ITEMS(i, vectors) {
    const float4 g = sum_of_shards_4((__global const float4*)nodes + i, all, vectors);
    UNROLL_FEW for (uint e = 0; e < 4; ++e) {
      const uint at = 4 * i + e;
      if (at >= COUNT && at < COUNT + LOSSES) losses[step * LOSSES + at - COUNT] = e == 0 ? g.s0 : e == 1 ? g.s1 : e == 2 ? g.s2 : g.s3;
    }
    if (4 * i >= COUNT) continue;
    float4 m = vload4(i, mean), v = vload4(i, square);
    MOVE_MOMENTS(float4, g, m, v)
    const float4 scale = (float4)(scale_of(v.s0, epsilon), scale_of(v.s1, epsilon), scale_of(v.s2, epsilon), scale_of(v.s3, epsilon));
    vstore4(fma((float4)(-rate), m * scale, vload4(i, parameters)), i, after);
    vstore4(m, i, mean);
    vstore4(v, i, square);
    vstore4(g, i, gradient);
  }
}
#endif
