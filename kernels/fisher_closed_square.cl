// Closed forms of any dimension, included by fisher_closed.cl: Dirichlet and both categorical
// families, F = a diagonal plus a part that all elements share. `square`: a work-group takes
// several points on GPUs, a work-item takes one on CPUs.
// F = diag(value) + common (Dirichlet, free categorical), or diag(value) - value value^T
// (categorical).
inline real element(const real vi, const real vj, const real common, const bool diagonal) {
#if FAMILY == CATEGORICAL
  return diagonal ? fma(-vi, vj, vi) : -(vi * vj);
#else
  return diagonal ? vi + common : common;
#endif
}

// Quantities that depend on all parameters of a point are summed in CHAINS chains, each of every
// CHAINS-th parameter, and the chains are summed along a tree.
#define CHAINS 16
#if FAMILY == CATEGORICAL
#define START (-INFINITY)
#define TOGETHER(a, b) fmax(a, b)
#else
#define START R(0.0)
#define TOGETHER(a, b) ((a) + (b))
#endif
#define ADD(a, b) ((a) + (b))
// Reduces all of c to c[0].
#define ALONG_TREE(c, together)                        \
  UNROLL for (uint step = CHAINS / 2; step > 0; step /= 2) \
    UNROLL for (uint k = 0; k < step; ++k) (c)[k] = together((c)[k], (c)[k + step]);

// 1 minus all probabilities of the free categorical would lose its digits to the roundings of their
// sum. So the parts above the last bit of 1 are summed separately, exactly, and 1 minus that sum is
// exact too; then the rest is subtracted.
#define ABOVE(p) (((p) + R(1.0)) - R(1.0))
#define BELOW(p) ((p) - ABOVE(p))
#define ITSELF(v) (v)

#if FAMILY == DIRICHLET || FAMILY == CATEGORICAL
// A parameter may be more than twice all others together (categorical: the number that its
// probability is proportional to). Then its element on the diagonal is the difference of two nearly
// equal numbers: psi1(a) minus that of the sum, or p minus p^2. It is computed from the sum of the
// others instead, as psi1(a) - psi1(a + others), or p (1 - p). For all other parameters the
// roundings of both numbers are amplified five times at most.
#define DOMINATES(v, all) ((v) * R(1.5) > (all))
inline real of_dominant(const real v, const real others, const real all) {
#if FAMILY == CATEGORICAL
  const real reciprocal = R(1.0) / all;
  return (v * reciprocal) * (others * reciprocal);
#else
  reals less, last;
  trigammas((reals)(v), (reals)(others), (reals)(all), &less, &last);
  return LANE(less, 0);
#endif
}
inline uint place_on_diagonal(const uint i) { return i * WIDTH - i * (i - 1) / 2; }
#endif

#if LANES == 1
#if FAMILY == DIRICHLET || FAMILY == CATEGORICAL
// Returns the place of the parameter that dominates (one does), and writes its element of the
// diagonal to c[0]. c: CHAINS numbers of scratch memory.
inline uint find_dominant(__local const real* v, const real all, __local real* c) {
  uint i = 0;
  while (!DOMINATES(v[i], all) && i + 1 < WIDTH) ++i;
  for (uint chain = 0; chain < CHAINS; ++chain) {
    real sum = R(0.0);
    for (uint k = chain; k < WIDTH; k += CHAINS) sum += k == i ? R(0.0) : v[k];
    c[chain] = sum;
  }
  ALONG_TREE(c, ADD)
  c[0] = of_dominant(v[i], c[0], all);
  return i;
}
#endif

// A work-group takes POINTS points: first it computes their values in local memory, then all
// elements side by side. Finding an element's row and column takes most instructions. fp32: a
// work-item finds the first of four elements, continues from it, and writes all four at once. fp64:
// elements four apart would share their banks eight times over; places are found once for all
// points, and stored if that takes little memory. On an H200, Dirichlet of 64 thus reaches 0.92 of
// the rate of a copy in fp32 (0.87 with stored places) and 0.96 in fp64 (0.87 without).
#if REAL64
#define AT_ONCE 1
#define STORE_ALL(from, to) *(to) = (from)[0]
#else
#define AT_ONCE 4
#define STORE_ALL(from, to) *(__global float4*)(to) = (float4)((from)[0], (from)[1], (from)[2], (from)[3])
#endif
#define KEEP_PLACES (REAL64 && WIDTH <= 96)
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void square(__global const real* restrict params, const ulong first,
                                                                          const ulong count, __global real* restrict out,
                                                                          const ulong first_out) {
  __local real values[(POINTS + 1) * WIDTH], common[POINTS + 1], chains[POINTS * CHAINS];
#if FAMILY == DIRICHLET || FAMILY == CATEGORICAL_FREE
  __local real more_chains[POINTS * CHAINS];  // chains of the largest, or of the sums of BELOW
#endif
#if FAMILY == DIRICHLET || FAMILY == CATEGORICAL
  __local uint dominant[POINTS];  // index of the dominant parameter; WIDTH: there is none
#endif
  const uint id = (uint)get_local_id(0);
  const ulong begin = (ulong)get_group_id(0) * POINTS;
  const uint points = (uint)min((ulong)POINTS, count - begin);
  params += (first + begin) * WIDTH;
#if KEEP_PLACES
  __local ushort places[TRIANGLE];
  for (uint e = id; e < TRIANGLE; e += GROUP) {
    const uint i = triangle_row(e, WIDTH);
    places[e] = (ushort)(i | (e - (i * WIDTH - i * (i - 1) / 2) + i) << 8);
  }
#endif
  for (uint e = id; e < points * WIDTH; e += GROUP) values[e] = params[e];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint e = id; e < points * CHAINS; e += GROUP) {
    real all = START;
#if FAMILY != CATEGORICAL
    real more = R(0.0);
#endif
    for (uint k = e % CHAINS; k < WIDTH; k += CHAINS) {
      const real v = values[e / CHAINS * WIDTH + k];
#if FAMILY == CATEGORICAL_FREE
      all += ABOVE(v);
      more += BELOW(v);
#else
      all = TOGETHER(all, v);
#if FAMILY == DIRICHLET
      more = fmax(more, v);
#endif
#endif
    }
    chains[e] = all;
#if FAMILY != CATEGORICAL
    more_chains[e] = more;
#endif
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint p = id; p < points; p += GROUP) {
    __local real* c = chains + p * CHAINS;
    ALONG_TREE(c, TOGETHER)
#if FAMILY == CATEGORICAL
    common[p] = c[0];
#else
    __local real* more = more_chains + p * CHAINS;
#if FAMILY == DIRICHLET
    ALONG_TREE(more, fmax)
    const real all = c[0];
    dominant[p] = DOMINATES(more[0], all) ? find_dominant(values + p * WIDTH, all, c) : WIDTH;
    common[p] = -trigamma(all);
#else
    ALONG_TREE(more, ADD)
    common[p] = R(1.0) / ((R(1.0) - c[0]) - more[0]);
#endif
#endif
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint e = id; e < points * WIDTH; e += GROUP) {
#if FAMILY == DIRICHLET
    values[e] = trigamma(values[e]);
#elif FAMILY == CATEGORICAL_FREE
    values[e] = R(1.0) / values[e];
#else
    values[e] = exp_of(values[e] - common[e / WIDTH]);
#endif
  }
  barrier(CLK_LOCAL_MEM_FENCE);
#if FAMILY == CATEGORICAL
  for (uint e = id; e < points * CHAINS; e += GROUP) {
    real sum = R(0.0);
    for (uint k = e % CHAINS; k < WIDTH; k += CHAINS) sum += values[e / CHAINS * WIDTH + k];
    chains[e] = sum;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint p = id; p < points; p += GROUP) {
    __local real* c = chains + p * CHAINS;
    ALONG_TREE(c, ADD)
    const real all = c[0];
    // The largest is 1.
    dominant[p] = DOMINATES(R(1.0), all) ? find_dominant(values + p * WIDTH, all, c) : WIDTH;
    common[p] = R(1.0) / all;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint e = id; e < points * WIDTH; e += GROUP) values[e] *= common[e / WIDTH];
  barrier(CLK_LOCAL_MEM_FENCE);
#endif
  const ulong out_at = (first_out + begin) * TRIANGLE;
  out += out_at;
  const uint triangle = WIDTH * (WIDTH + 1) / 2, size = points * triangle;
#if KEEP_PLACES
  for (uint e = id; e < size; e += GROUP) {
    const uint p = e / triangle, place = places[e - p * triangle], i = place & 255, j = place >> 8;
    __local const real* const v = values + p * WIDTH;
    out[e] = element(v[i], v[j], common[p], i == j);
  }
#else
  const bool aligned = out_at % 4 == 0;
  for (uint e = AT_ONCE * id; e < size; e += AT_ONCE * GROUP) {
    const uint p = e / triangle, in = e - p * triangle;
    uint i = triangle_row(in, WIDTH), j = in - (i * WIDTH - i * (i - 1) / 2) + i;
    __local const real *v = values + p * WIDTH, *c = common + p;
    real vi = v[i], some[AT_ONCE];
    UNROLL for (uint l = 0; l < AT_ONCE; ++l) {
      some[l] = element(vi, v[j], *c, i == j);
      if (++j == WIDTH) {
        // The next point; the values past the last point are not stored.
        if (++i == WIDTH) i = 0, v += WIDTH, ++c;
        j = i;
        vi = v[i];
      }
    }
    if (AT_ONCE == 4 && aligned && e + AT_ONCE <= size) {
      STORE_ALL(some, out + e);
    } else {
      for (uint l = 0; l < AT_ONCE && e + l < size; ++l) out[e + l] = some[l];
    }
  }
#endif
#if FAMILY == DIRICHLET || FAMILY == CATEGORICAL
  barrier(CLK_GLOBAL_MEM_FENCE);
  for (uint p = id; p < points; p += GROUP) {
    if (dominant[p] < WIDTH) out[p * triangle + place_on_diagonal(dominant[p])] = chains[p * CHAINS];
  }
#endif
}
#else
// Reduces all of a point's parameters, as above: chains 0 .. 7 in one vector, 8 .. 15 in another.
#define OF_CHAINS(result, start, together, of, values)                           \
  {                                                                              \
    reals lower = (reals)(start), upper = (reals)(start);                        \
    for (uint k = 0; k < WIDTH; k += CHAINS) {                                   \
      lower = together(lower, of(VLOAD(0, (values) + k)));                       \
      upper = together(upper, of(VLOAD(0, (values) + k + LANES)));               \
    }                                                                            \
    lower = together(lower, upper);                                              \
    const halves four = together(lower.lo, lower.hi);                           \
    const quarters two = together(four.lo, four.hi);                         \
    result = together(two.lo, two.hi);                                           \
  }

// Finds the place of the parameter that dominates, and its element of the diagonal.
#define FIND_DOMINANT(place, result, values, all)            \
  {                                                          \
    place = 0;                                               \
    while (!DOMINATES((values)[place], all)) ++place;        \
    const real own = (values)[place];                        \
    real others;                                             \
    (values)[place] = R(0.0);                                \
    OF_CHAINS(others, R(0.0), ADD, ITSELF, values)           \
    (values)[place] = own;                                   \
    result = of_dominant(own, others, all);                  \
  }

// One work-item per point: it computes values in vectors of parameters, then row after row of the
// matrix in vectors of columns.
__kernel void square(__global const real* restrict params, const ulong first, const ulong count, __global real* restrict out,
                     const ulong first_out) {
  const ulong point = get_global_id(0);
  if (point >= count) return;
  params += (first + point) * WIDTH;
  out += (first_out + point) * TRIANGLE;
  real values[WIDTH + CHAINS];
  for (uint k = 0; k < WIDTH + CHAINS; ++k) values[k] = k < WIDTH ? params[k] : START;
#if FAMILY == CATEGORICAL_FREE
  real above, below;
  OF_CHAINS(above, R(0.0), ADD, ABOVE, values)
  OF_CHAINS(below, R(0.0), ADD, BELOW, values)
  const real common = R(1.0) / ((R(1.0) - above) - below);
#else
  __global real* const to = out;
  real all, on_diagonal = R(0.0);
  uint dominant = WIDTH;
  OF_CHAINS(all, START, TOGETHER, ITSELF, values)
#if FAMILY == DIRICHLET
  real most;
  OF_CHAINS(most, R(0.0), fmax, ITSELF, values)
  if (DOMINATES(most, all)) FIND_DOMINANT(dominant, on_diagonal, values, all)
  reals of_all = (reals)(all);
  of_all = -trigamma(of_all);
  const real common = LANE(of_all, 0);
#else
  const real common = all;
#endif
#endif
  for (uint k = 0; k < WIDTH; k += LANES) {
    const reals v = VLOAD(0, values + k);
#if FAMILY == DIRICHLET
    VSTORE(trigamma(v), 0, values + k);
#elif FAMILY == CATEGORICAL_FREE
    VSTORE(R(1.0) / v, 0, values + k);
#else
    VSTORE(exp_of(v - common), 0, values + k);
#endif
  }
#if FAMILY == CATEGORICAL
  for (uint k = WIDTH; k < WIDTH + CHAINS; ++k) values[k] = R(0.0);
  OF_CHAINS(all, R(0.0), ADD, ITSELF, values)
  const real reciprocal = R(1.0) / all;
  if (DOMINATES(R(1.0), all)) FIND_DOMINANT(dominant, on_diagonal, values, all)  // the largest is 1
  for (uint k = 0; k < WIDTH; k += LANES) VSTORE(VLOAD(0, values + k) * reciprocal, 0, values + k);
#endif
  for (uint i = 0; i < WIDTH; ++i) {
    *out++ = element(values[i], values[i], common, true);
    uint j = i + 1;
    for (; j + LANES <= WIDTH; j += LANES, out += LANES) {
#if FAMILY == CATEGORICAL
      VSTORE(-(values[i] * VLOAD(0, values + j)), 0, out);
#else
      VSTORE((reals)(common), 0, out);
#endif
    }
    for (; j < WIDTH; ++j) *out++ = element(values[i], values[j], common, false);
  }
#if FAMILY == DIRICHLET || FAMILY == CATEGORICAL
  if (dominant < WIDTH) to[place_on_diagonal(dominant)] = on_diagonal;
#endif
}
#endif
