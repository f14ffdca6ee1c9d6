// Collocation points of suite pinn, drawn by their numbers: the same ones whoever draws them.
//
// Given by -D: those of pinn_residual.cl; LOW0, HIGH0, LOW1, HIGH1: the two inputs' ranges.
#include "pinn_residual.cl"

// Number n of the SplitMix64 sequence that starts at `seed` (Steele, Lea, Flood: Fast splittable pseudorandom number generators,
// OOPSLA 2014), as a number in [0, 1) of 24 bits.
inline float uniform(ulong seed, ulong n) {
  ulong z = seed + (n + 1) * 0x9e3779b97f4a7c15UL;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9UL;
  z = (z ^ z >> 27) * 0x94d049bb133111ebUL;
  return (float)((z ^ z >> 31) >> 40) * 0x1p-24f;
}

inline float between(float low, float high, float u) { return fma(high - low, u, low); }

inline float right_side(float x, float y) {
#if PROBLEM == 2
  // Helmholtz: u = sin(pi x) sin(4 pi y); Poisson, where k is 0: sin(pi x) sin(pi y).
  return SOURCE * sin_pi(x) * sin_pi((WAVE == 0.0f ? 1.0f : 4.0f) * y);
#else
  return 0.0f;
#endif
}

// Number n of the points on the boundary: for problems in time both ends of the first input, else all four sides.
inline float4 boundary_point(ulong seed, ulong n) {
  const uint side = (uint)(n % (PROBLEM == 2 ? 4 : 2));
  const float u = uniform(seed, 2 * n);
  const bool first = side < 2;
  const float x = first ? (side == 0 ? LOW0 : HIGH0) : between(LOW0, HIGH0, u);
  const float y = first ? between(LOW1, HIGH1, u) : (side == 2 ? LOW1 : HIGH1);
  return (float4)(x, y, PROBLEM == 1 ? -1.0f : 0.0f, BOUNDARY_POINT);
}

inline float4 initial_point(ulong seed, ulong n) {
  const float x = between(LOW0, HIGH0, uniform(seed, 2 * n));
  return (float4)(x, LOW1, PROBLEM == 1 ? x * x * sin_pi(x + 0.5f) : -sin_pi(x), INITIAL_POINT);
}

// Of shards [first_shard, ...), `places` for each: its domain points, then those of the boundary and the initial ones; `shards`
// share `domain`, `boundary` and `initial` points of each kind, as evenly as goes. A work-item a place.
__kernel void draw_points(__global float4* points, uint first_shard, uint places, uint shards, uint domain, uint boundary,
                          uint initial, ulong seed, uint end) {
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
      const float x = between(LOW0, HIGH0, uniform(seed, 2 * n)), y = between(LOW1, HIGH1, uniform(seed, 2 * n + 1));
      point = (float4)(x, y, right_side(x, y), DOMAIN_POINT);
    } else if (place < ds + bs) {
      point = boundary_point(seed ^ 0x5bd1e995a7c15b73UL, b + place - ds);
    } else if (place < ds + bs + is) {
      point = initial_point(seed ^ 0x2545f4914f6cdd1dUL, i + place - ds - bs);
    }
  }
  points[at] = point;
}
