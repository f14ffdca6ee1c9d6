// Surrogates at all shifts of one rest modulo MODULUS at once: for each phase bin, what its samples' amplitudes add up to is the
// circular correlation of the bin's indicator with the amplitudes, a product of transforms. They are number-theoretic ones, over
// integers modulo a prime, so that the sums are exact: a sum is below 2^12 2^16, the prime is above 2^29.
//
// A transform of LENGTH = SAMPLES / MODULUS = 2^LOG2_LENGTH is done by ITEMS = LENGTH / 16 work-items, 16 numbers each, in passes of
// radix 16 and one of what is left; between passes numbers change hands in local memory. Forward by decimation in frequency, from
// natural order into that in which work-items hold them at the end; inverse by decimation in time from there, so that nothing is
// ever put into bit-reversed order. Numbers stay below 4 PRIME between butterflies, products by constants are Shoup's (Harvey,
// Faster arithmetic for number-theoretic transforms, J. Symb. Comp. 60, 2014). Of MODULUS > 1 the series fall into so many of every
// MODULUS-th sample, whose products are added up before the inverse: half the shifts are half the work.
//
// Predicted for one H200 (132 SMs, 1.75 GHz) and 256 x 64 series of 2048, 10 x 10 bands, 17 bins: 2.8e7 inverse transforms of 11264
// butterflies, each three instructions of the multiplier (one of them at half rate) and four of the ALU, eight clocks of either for
// 32 lanes: 85 ms; products 19 ms; logarithms of 800 shifts in 18 bins, 25 instructions each: 20 ms. Local memory: 40 KB written and
// read a transform, 320 clocks beside 700. 0.13 s where all overlap, 0.2 s where half does.
#include "pac_index.cl"
#include "unroll.cl"

#define PRIME 998244353u     // 119 2^23 + 1
#define INVERSE 3296722945u  // of it, modulo 2^32
#define LENGTH (1u << LOG2_LENGTH)
#define ITEMS (LENGTH / 16)
#define PASSES (LOG2_LENGTH / 4)
#define REST (LOG2_LENGTH % 4)
#define PADDED (LENGTH + LENGTH / 16)
#define PAD(i) ((i) + ((i) >> 4))
#define KNOWN (BINS - 1)  // the sum of the last bin is what the others leave of the total

// Powers of the 16th root of unity and of its inverse, each with floor(w 2^32 / PRIME).
__constant uint2 down_roots[8] = {(uint2)(1, 4),
                                  (uint2)(929031873u, 3997179147u),
                                  (uint2)(372528824u, 1602813089u),
                                  (uint2)(628914303u, 2705916998u),
                                  (uint2)(911660635u, 3922439030u),
                                  (uint2)(373294451u, 1606107216u),
                                  (uint2)(488723995u, 2102745253u),
                                  (uint2)(661054123u, 2844199249u)};
__constant uint2 up_roots[8] = {(uint2)(1, 4),
                                (uint2)(337190230u, 1450768046u),
                                (uint2)(509520358u, 2192222042u),
                                (uint2)(624949902u, 2688860079u),
                                (uint2)(86583718u, 372528265u),
                                (uint2)(369330050u, 1589050297u),
                                (uint2)(625715529u, 2692154206u),
                                (uint2)(69212480u, 297788148u)};

// x < 2 m, less m where it is not below: differences below 0 are large.
PART uint below(uint x, uint m) { return min(x, x - m); }

// x w, below 2 PRIME, for any x.
PART uint times(uint x, uint2 w) { return x * w.x - mul_hi(x, w.y) * PRIME; }

// x / 2^32 below 2 PRIME, for x below 4 PRIME^2 (Montgomery).
PART uint reduced(ulong x) { return (uint)(x >> 32) - mul_hi((uint)x * INVERSE, PRIME) + PRIME; }

// A butterfly down: a and b below 2 PRIME before and after.
PART void down(uint* a, uint* b, uint2 w) {
  const uint x = *a, y = *b;
  *a = below(x + y, 2 * PRIME);
  *b = times(x - y + 2 * PRIME, w);
}
PART void down_by_one(uint* a, uint* b) {
  const uint x = *a, y = *b;
  *a = below(x + y, 2 * PRIME);
  *b = below(x - y + 2 * PRIME, 2 * PRIME);
}

// And up: below 4 PRIME before and after.
PART void up(uint* a, uint* b, uint2 w) {
  const uint x = below(*a, 2 * PRIME), y = times(*b, w);
  *a = x + y;
  *b = x - y + 2 * PRIME;
}
PART void up_by_one(uint* a, uint* b) {
  const uint x = below(*a, 2 * PRIME), y = below(*b, 2 * PRIME);
  *a = x + y;
  *b = x - y + 2 * PRIME;
}

// In each pass a work-item has every STRIDE-th number of a block of 16 STRIDE. Where of all is its number e.
#define PLACE(item, stride, e) ((item) / (stride) * (stride) * 16 + (e) * (stride) + (item) % (stride))
#define STRIDE(pass) (LENGTH >> (4 * ((pass) + 1)))
// A pass's 15 roots for each place in a stride: those of butterflies between numbers `apart` apart from 16 - 2 apart on.
#define ROOT(roots, stride, apart, j, item) (roots)[(16 - 2 * (apart) + (j)) * (stride) + (item) % (stride)]

// The butterflies between numbers `apart` apart, of blocks of 2^`bits` among the 16 (4: all). Without `roots`: those of a stride of 1.
PART void level_down(uint* v, uint apart, const uint2* roots) {
  UNROLL
  for (uint i = 0; i < 8; ++i) {
    const uint j = i % apart, a = i / apart * 2 * apart + j;
    if (roots != 0) {
      down(v + a, v + a + apart, roots[16 - 2 * apart + j]);
    } else if (j == 0) {
      down_by_one(v + a, v + a + apart);
    } else {
      down(v + a, v + a + apart, down_roots[j * (8 / apart)]);
    }
  }
}
PART void level_up(uint* v, uint apart, const uint2* roots) {
  UNROLL
  for (uint i = 0; i < 8; ++i) {
    const uint j = i % apart, a = i / apart * 2 * apart + j;
    if (roots != 0) {
      up(v + a, v + a + apart, roots[16 - 2 * apart + j]);
    } else if (j == 0) {
      up_by_one(v + a, v + a + apart);
    } else {
      up(v + a, v + a + apart, up_roots[j * (8 / apart)]);
    }
  }
}

// From places of one pass to those of another, through `shared`, which is free again after the next barrier but one.
PART void exchange(uint* v, __local uint* shared, uint item, uint from, uint to) {
  UNROLL
  for (uint e = 0; e < 16; ++e) {
    const uint at = PLACE(item, from, e);
    shared[PAD(at)] = v[e];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  UNROLL
  for (uint e = 0; e < 16; ++e) {
    const uint at = PLACE(item, to, e);
    v[e] = shared[PAD(at)];
  }
}

// Where the roots of a pass begin in a table of all.
#define ROOTS_OF(pass) (15 * ((pass) > 0 ? STRIDE(0) : 0) + 15 * ((pass) > 1 ? STRIDE(1) : 0))
// In how many passes all work-items need others, which then are in local memory: those after the first.
#define LATER_ROOTS (15 * ((PASSES > 1 ? STRIDE(1) : 0) + (PASSES > 2 ? STRIDE(2) : 0)))

// From natural order (work-item i has every ITEMS-th number, from i on) to that of the work-items.
PART void transform_down(uint* v, __global const uint2* roots, __local uint* shared, uint item) {
  UNROLL
  for (uint pass = 0; pass < PASSES; ++pass) {
    const uint stride = STRIDE(pass);
    if (stride > 1) {
      uint2 mine[15];
      UNROLL
      for (uint k = 0; k < 15; ++k) mine[k] = roots[ROOTS_OF(pass) + k * stride + item % stride];
      UNROLL
      for (uint apart = 8; apart > 0; apart /= 2) level_down(v, apart, mine);
    } else {
      UNROLL
      for (uint apart = 8; apart > 0; apart /= 2) level_down(v, apart, 0);
    }
    const uint next = pass + 1 < PASSES ? STRIDE(pass + 1) : 1;
    if (next != stride) {
      exchange(v, shared, item, stride, next);
      barrier(CLK_LOCAL_MEM_FENCE);
    }
  }
  UNROLL
  for (uint apart = (1u << REST) / 2; apart > 0; apart /= 2) level_down(v, apart, 0);
}

// And back, without the factor 1 / LENGTH. `first`: this work-item's roots of the first pass; `later`: all roots of the others.
PART void transform_up(uint* v, const uint2* first, __local const uint2* later, __local uint** shared, __local uint** other,
                         uint item) {
  UNROLL
  for (uint apart = 1; apart < (1u << REST); apart *= 2) level_up(v, apart, 0);
  UNROLL
  for (int pass = PASSES - 1; pass >= 0; --pass) {
    const uint stride = STRIDE(pass), before = pass + 1 < PASSES ? STRIDE(pass + 1) : 1;
    if (before != stride) {
      exchange(v, *shared, item, before, stride);
      __local uint* const used = *shared;
      *shared = *other;
      *other = used;
    }
    if (pass == 0 && stride > 1) {
      UNROLL
      for (uint apart = 1; apart < 16; apart *= 2) level_up(v, apart, first);
    } else if (stride > 1) {
      uint2 mine[15];
      UNROLL
      for (uint k = 0; k < 15; ++k) mine[k] = later[ROOTS_OF(pass) - ROOTS_OF(1) + k * stride + item % stride];
      UNROLL
      for (uint apart = 1; apart < 16; apart *= 2) level_up(v, apart, mine);
    } else {
      UNROLL
      for (uint apart = 1; apart < 16; apart *= 2) level_up(v, apart, 0);
    }
  }
}

// Transforms of every MODULUS-th sample from each of the first MODULUS on, of one series after another: those of the indicators of
// the first KNOWN bins of each phase band, backwards in time, then those of the amplitudes, from sample `rest` on, times `factor`.
__kernel __attribute__((reqd_work_group_size(ITEMS* PAIRS, 1, 1))) void transform_series(
    __global const uchar* bins, __global const ushort* sizes, uint count, uint phase_bands, uint amplitude_bands, uint rest,
    uint2 factor, __global const uint2* roots, __global uint* spectra, __local uint* shared) {
  const uint item = get_local_id(0) % ITEMS, sequences = KNOWN * phase_bands + amplitude_bands;
  const ulong all = (ulong)count * sequences * MODULUS, mine = (ulong)get_group_id(0) * PAIRS + get_local_id(0) / ITEMS;
  const ulong which = min(mine, all - 1);
  const uint part = which % MODULUS, sequence = which / MODULUS % sequences, s = which / MODULUS / sequences;
  uint v[16];
  if (sequence < KNOWN * phase_bands) {
    __global const uchar* const from = bins + ((ulong)s * phase_bands + sequence / KNOWN) * SAMPLES + part;
    const uint bin = sequence % KNOWN;
    UNROLL
    for (uint e = 0; e < 16; ++e) v[e] = from[MODULUS * ((0u - e * ITEMS - item) & (LENGTH - 1))] == bin;
  } else {
    __global const ushort* const from = sizes + ((ulong)s * amplitude_bands + sequence - KNOWN * phase_bands) * SAMPLES;
    UNROLL
    for (uint e = 0; e < 16; ++e)
      v[e] = times(from[(MODULUS * (e * ITEMS + item) + part + rest) & (SAMPLES - 1)], factor);
  }
  transform_down(v, roots, shared + get_local_id(0) / ITEMS * PADDED, item);
  if (mine < all) {
    UNROLL
    for (uint e = 0; e < 16; ++e) spectra[which * LENGTH + e * ITEMS + item] = below(v[e], PRIME);
  }
}

// The moments of all band pairs of each series, over entries `first_shift` to `first_shift` + `shift_count` - 1 of the list, which
// all leave the rest that the transforms of the amplitudes are for. PAIRS pairs in a work-group; a work-item takes SLOTS shifts.
__kernel __attribute__((reqd_work_group_size(ITEMS* PAIRS, 1, 1))) void shift_by_transform(
    __global const uint* spectra, __global const uint2* roots, __global const float* weights, __global const uint* totals, uint count,
    uint phase_bands, uint amplitude_bands, __global const uint2* shifts, uint first_shift, uint shift_count, uint accumulate,
    uint width, uint stride, uint offset, ulong first, __global ulong2* moments, __local uint* shared, __local uint2* later,
    __local ulong2* sums) {
  const uint me = get_local_id(0), item = me % ITEMS, sequences = KNOWN * phase_bands + amplitude_bands;
  const uint mine = get_group_id(0) * PAIRS + me / ITEMS, pair = min(mine, count * phase_bands * amplitude_bands - 1);
  const uint g = pair % amplitude_bands, f = pair / amplitude_bands % phase_bands, s = pair / amplitude_bands / phase_bands;
  __global const uint* const of_series = spectra + (ulong)s * sequences * SAMPLES + item;
  __global const uint* indicator = of_series + f * KNOWN * SAMPLES;
  __global const uint* const amplitude = of_series + (KNOWN * phase_bands + g) * SAMPLES;
  __local uint *now = shared + me / ITEMS * 2 * PADDED, *next = now + PADDED;
  for (uint k = me; k < LATER_ROOTS; k += ITEMS * PAIRS) later[k] = roots[ROOTS_OF(1) + k];
  uint2 my_roots[15];
  UNROLL
  for (uint k = 0; k < 15; ++k) my_roots[k] = roots[k * STRIDE(0) + item % STRIDE(0)];
#if MODULUS == 1
  uint amplitude_here[16];
  UNROLL
  for (uint e = 0; e < 16; ++e) amplitude_here[e] = amplitude[e * ITEMS];
#endif
  const float norm = norm_of(totals[s * amplitude_bands + g]);
  uint2 entry[SLOTS];
  uint left[SLOTS];
  float mean_sum[SLOTS], entropy_sum[SLOTS];
  UNROLL
  for (uint k = 0; k < SLOTS; ++k) {
    const uint n = k * ITEMS + item;
    entry[k] = n < shift_count ? shifts[first_shift + n] : (uint2)(0, 0);
    left[k] = totals[s * amplitude_bands + g];
    mean_sum[k] = entropy_sum[k] = 0.0f;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  __global const float* const weight = weights + (s * phase_bands + f) * BINS;
  for (uint j = 0; j < KNOWN; ++j) {
    uint v[16];
#if MODULUS == 1
    UNROLL
    for (uint e = 0; e < 16; ++e) v[e] = reduced((ulong)indicator[e * ITEMS] * amplitude_here[e]);
#else
    UNROLL
    for (uint e = 0; e < 16; ++e) v[e] = 0;
    // Four products of numbers below PRIME are below 4 PRIME^2.
    for (uint part = 0; part < MODULUS; part += 4) {
      UNROLL
      for (uint e = 0; e < 16; ++e) {
        ulong sum = 0;
        UNROLL
        for (uint p = 0; p < (MODULUS < 4 ? MODULUS : 4); ++p)
          sum += (ulong)indicator[(part + p) * LENGTH + e * ITEMS] * amplitude[(part + p) * LENGTH + e * ITEMS];
        v[e] = below(v[e] + reduced(sum), 2 * PRIME);
      }
    }
#endif
    indicator += SAMPLES;
    transform_up(v, my_roots, later, &now, &next, item);
    UNROLL
    for (uint e = 0; e < 16; ++e) now[PAD(e * ITEMS + item)] = v[e];
    barrier(CLK_LOCAL_MEM_FENCE);
    const float factor = weight[j] * norm;
    UNROLL
    for (uint k = 0; k < SLOTS; ++k) {
      const uint at = entry[k].x / MODULUS, sum = below(below(now[PAD(at)], 2 * PRIME), PRIME);
      left[k] -= sum;
      add_bin(sum, factor, mean_sum + k, entropy_sum + k);
    }
    __local uint* const used = now;
    now = next;
    next = used;
  }
  ulong2 all = 0;
  UNROLL
  for (uint k = 0; k < SLOTS; ++k) {
    add_bin(left[k], weight[KNOWN] * norm, mean_sum + k, entropy_sum + k);
    if (k * ITEMS + item < shift_count) all += moments_of(index_of(mean_sum[k], entropy_sum[k]), entry[k]);
  }
  sums[me] = all;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint apart = ITEMS / 2; apart > 0; apart /= 2) {
    if (item < apart) sums[me] += sums[me + apart];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (item == 0 && mine == pair) {
    __global ulong2* const to = moments + (row_of(first + s, width, stride, offset) * phase_bands + f) * amplitude_bands + g;
    *to = accumulate ? *to + sums[me] : sums[me];
  }
}
