// Collocation points of suite pinn, drawn by their numbers: every device draws the same ones.
//
// Given by -D: the options of pinn_residual.cl; LOW1, HIGH1: the range of the second input. `low`
// and `high` are the range of the first one.
#include "pinn_residual.cl"

// Returns number n of the SplitMix64 sequence that starts at `seed` (Steele, Lea, Flood: Fast
// splittable pseudorandom number generators, OOPSLA 2014), as a number in [0, 1) of 24 bits.
inline float uniform(ulong seed, ulong n) {
  ulong z = seed + (n + 1) * 0x9e3779b97f4a7c15UL;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9UL;
  z = (z ^ z >> 27) * 0x94d049bb133111ebUL;
  return (float)((z ^ z >> 31) >> 40) * 0x1p-24f;
}

#define SIDES (PROBLEM == 2 ? 4 : 2)  // sides of the boundary, on which points lie in turn
#define BOUNDARY_SEED 0x5bd1e995a7c15b73UL

inline float between(float low, float high, float u) { return fma(high - low, u, low); }

inline float right_side(float x, float y) {
#if PROBLEM == 2
  // Helmholtz: u = sin(pi x) sin(4 pi y); Poisson, where k is 0: sin(pi x) sin(pi y).
  return SOURCE * sin_pi(x) * sin_pi((WAVE == 0.0f ? 1.0f : 4.0f) * y);
#else
  return 0.0f;
#endif
}

// Returns number n of the points on the boundary: for problems in time both ends of the first
// input, else all four sides.
inline float4 boundary_point(ulong seed, ulong n, float low, float high) {
  const uint side = (uint)(n % SIDES);
  const float u = uniform(seed, 2 * n);
  const bool first = side < 2;
  const float x = first ? (side == 0 ? low : high) : between(low, high, u);
  const float y = first ? between(LOW1, HIGH1, u) : (side == 2 ? LOW1 : HIGH1);
  return (float4)(x, y, PROBLEM == 1 ? -1.0f : 0.0f, BOUNDARY_POINT);
}

inline float4 initial_point(ulong seed, ulong n, float low, float high) {
  const float x = between(low, high, uniform(seed, 2 * n));
  return (float4)(x, LOW1, PROBLEM == 1 ? x * x * sin_pi(x + 0.5f) : -sin_pi(x), INITIAL_POINT);
}

// Draws the points of shards [first_shard, ...), `places` for each: its domain points, then those
// of the boundary and the initial ones. `shards` share the `domain`, `boundary` and `initial`
// points of each kind as evenly as possible. One work-item per place.
__kernel void draw_points(__global float4* points, uint first_shard, uint places, uint shards, uint domain, uint boundary,
                          uint initial, ulong seed, uint end, float low, float high) {
  const uint at = (uint)get_global_id(0);
  if (at >= end) return;
  const ulong shard = first_shard + at / places;
  uint place = at % places;
  float4 point = (float4)(0.0f);
  if (shard < shards) {
    const ulong d = shard * domain / shards, b = shard * boundary / shards, i = shard * initial / shards;
    const uint ds = (uint)((shard + 1) * domain / shards - d), bs = (uint)((shard + 1) * boundary / shards - b);
    const uint is = (uint)((shard + 1) * initial / shards - i);
    if (place < ds) {
      const ulong n = d + place;
      const float x = between(low, high, uniform(seed, 2 * n)), y = between(LOW1, HIGH1, uniform(seed, 2 * n + 1));
      point = (float4)(x, y, right_side(x, y), DOMAIN_POINT);
    } else if (place < ds + bs) {
      point = boundary_point(seed ^ BOUNDARY_SEED, b + place - ds, low, high);
    } else if (place < ds + bs + is) {
      point = initial_point(seed ^ 0x2545f4914f6cdd1dUL, i + place - ds - bs, low, high);
    }
  }
  points[at] = point;
}

// Sets the target values of this part at the points of its ends, to the values of the part beyond.
// `ends`: 1 for the lower end, 2 for the upper one, or both; their values begin at `below` and
// `above`.
__kernel void take_values(__global float4* points, __global const float* values, uint below, uint above, uint ends, uint places,
                          uint shards, uint domain, uint boundary, uint end) {
  const uint at = (uint)get_global_id(0);
  if (at >= end) return;
  const ulong shard = at / places;
  const uint place = at % places;
  if (shard >= shards) return;
  const uint ds = (uint)((shard + 1) * domain / shards - shard * domain / shards);
  const ulong b = shard * boundary / shards;
  if (place < ds || place - ds >= (uint)((shard + 1) * boundary / shards - b)) return;
  const uint n = (uint)b + place - ds, side = n % SIDES;
  if (side < 2 && (ends >> side & 1u) != 0) points[at].s2 = values[(side == 0 ? below : above) + n / SIDES];
}

// Evaluates the network at the points of an end of another part, which lie inside this one: those
// on side `side` that `seed` draws, at x. One work-group per point; every sum is a chain. Given by
// -D, if this kernel is needed: LANES, LAYERS, WIDTH.
#ifdef LANES
__kernel __attribute__((reqd_work_group_size(LANES, 1, 1))) void values_at_end(__global const float* restrict parameters,
                                                                               __global float* restrict values, uint to, uint side,
                                                                               ulong seed, float x) {
  __local float now[WIDTH], next[WIDTH];
  const uint lane = (uint)get_local_id(0), point = (uint)get_group_id(0);
  const float y = between(LOW1, HIGH1, uniform(seed ^ BOUNDARY_SEED, 2 * (ulong)(point * SIDES + side)));
  for (uint n = lane; n < WIDTH; n += LANES)
    now[n] = tanh_of(fma(y, parameters[WIDTH + n], fma(x, parameters[n], 0.0f)) + parameters[2 * WIDTH + n]);
  barrier(CLK_LOCAL_MEM_FENCE);
  __global const float* w = parameters + 3 * WIDTH;
  for (uint layer = 1; layer < LAYERS; ++layer) {
    for (uint n = lane; n < WIDTH; n += LANES) {
      float sum = 0.0f;
      for (uint k = 0; k < WIDTH; ++k) sum = fma(now[k], w[k * WIDTH + n], sum);
      next[n] = tanh_of(sum + w[WIDTH * WIDTH + n]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint n = lane; n < WIDTH; n += LANES) now[n] = next[n];
    barrier(CLK_LOCAL_MEM_FENCE);
    w += WIDTH * WIDTH + WIDTH;
  }
  if (lane > 0) return;
  float sum = 0.0f;
  for (uint n = 0; n < WIDTH; ++n) sum = fma(now[n], w[n], sum);
  values[to + point] = sum + w[WIDTH];
}
#endif
