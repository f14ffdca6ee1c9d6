// Surrogates at all shifts of one residue modulo MODULUS at once: for each phase bin, the sums of
// its samples' amplitudes are the circular correlation of the bin's indicator with the amplitudes,
// a product of transforms. The transforms are number-theoretic, over integers modulo a prime, so
// that the sums are exact: series have at most 2048 samples of amplitudes below 2^16, or 4096 below
// 2^15, and the prime is above 2^27.
//
// A transform of LENGTH = SAMPLES / MODULUS = 2^LOG2_LENGTH is done by ITEMS = LENGTH / 16
// work-items, 16 numbers each, in passes of radix 16 and one for the rest; between passes
// work-items exchange numbers in local memory. Forward transforms decimate in frequency, from
// natural order into the order in which work-items have them at the end; inverse ones decimate in
// time from there, so that bit-reversed order never occurs. Products by constants are Shoup's,
// below 2 PRIME for any 32-bit factor. A butterfly of the inverse so adds 2 PRIME to the bound of
// the numbers, and as 2^32 is 25 PRIME, 12 levels in a row are not reduced (after Harvey, Faster
// arithmetic for number-theoretic transforms, J. Symb. Comp. 60, 2014). With MODULUS > 1 a series
// is split into MODULUS series of every MODULUS-th sample, whose products are added up before the
// inverse: half the shifts are half the work.
//
// Predicted for one H200 (132 SMs, 1.75 GHz) and 256 x 64 series of 2048, 10 x 10 bands, 17 bins:
// 2.8e7 inverse transforms, 211,000 per SM. A work-item's share of one is 74 butterflies with a
// root (four issue slots of the multiplier each, as the upper half of a product takes two), 14
// without, 16 products (five) and reductions of seven sums: 415 slots of two clocks each for 32
// lanes, 830 clocks, next to 540 of the ALU and 400 of local memory: 100 ms. Forward transforms are
// a tenth as many: 8 ms, and 24 GB written and read: 12 ms. Total: 0.12 s if all overlap, 0.18 s if
// a third does not.
#include "pac_index.cl"
#include "unroll.cl"

#define PRIME 167772161u     // 5 2^25 + 1
#define INVERSE 4127195137u  // inverse of PRIME modulo 2^32
#define LENGTH (1u << LOG2_LENGTH)
#define ITEMS (LENGTH / 16)
#define PASSES (LOG2_LENGTH / 4)
#define REST (LOG2_LENGTH % 4)
#define PADDED (LENGTH + LENGTH / 16)
#define PAD(i) ((i) + ((i) >> 4))
#define KNOWN (BINS - 1)  // the sum of the last bin is the total minus those of the others

// Powers of the 16th root of unity and of its inverse, each with floor(w 2^32 / PRIME).
__constant uint2 down_roots[8] = {(uint2)(1u, 25u),
                                  (uint2)(116878283u, 2992084026u),
                                  (uint2)(71493608u, 1830236353u),
                                  (uint2)(131850885u, 3375382635u),
                                  (uint2)(65249968u, 1670399170u),
                                  (uint2)(26998229u, 691154658u),
                                  (uint2)(30406922u, 778417198u),
                                  (uint2)(40136459u, 1027493344u)};
__constant uint2 up_roots[8] = {(uint2)(1u, 25u),
                                (uint2)(127635702u, 3267473951u),
                                (uint2)(137365239u, 3516550097u),
                                (uint2)(140773932u, 3603812637u),
                                (uint2)(102522193u, 2624568125u),
                                (uint2)(35921276u, 919584660u),
                                (uint2)(96278553u, 2464730942u),
                                (uint2)(50893878u, 1302883269u)};

// Returns x < 2 m, minus m unless it is below m: differences below 0 are large.
PART uint below(uint x, uint m) { return min(x, x - m); }

// Returns x w, below 2 PRIME, for any x.
PART uint times(uint x, uint2 w) { return x * w.x - mul_hi(x, w.y) * PRIME; }

// Returns x / 2^32 below 2 PRIME, for x below 2^32 PRIME (Montgomery), as the sum of eight products
// is.
PART uint reduced(ulong x) { return (uint)(x >> 32) - mul_hi((uint)x * INVERSE, PRIME) + PRIME; }

// A forward butterfly: a and b are below 2 PRIME before and after.
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

// An inverse butterfly: numbers below n PRIME are below (n + 2) PRIME afterwards.
PART void up(uint* a, uint* b, uint2 w) {
  const uint x = *a, y = times(*b, w);
  *a = x + y;
  *b = x - y + 2 * PRIME;
}
// Returns x reduced to below 2 PRIME, for any x.
PART uint some(uint x) { return x - mul_hi(x, (uint)(0x100000000ul / PRIME)) * PRIME; }

// In each pass a work-item has every STRIDE-th number of a block of 16 STRIDE: number e is at item
// / STRIDE * 16 STRIDE + e STRIDE + item % STRIDE of all. In local memory a word is left free after
// each 16, so that lanes have no bank conflicts; the place is then BASE + OFFSET, of which BASE
// depends on the work-item and OFFSET is known at compile time.
#define STRIDE(pass) (LENGTH >> (4 * ((pass) + 1)))
#define BASE(item, stride) ((item) / (stride)*17 * (stride) + PAD((item) % (stride)))
#define OFFSET(e, stride) PAD((e) * (stride))
// A table of roots has 15 per pass for each place in a stride, one after another: the roots of
// butterflies between numbers `apart` apart begin at number 16 - 2 apart.

// Does the eight butterflies of a work-item between numbers `apart` apart. `roots`: its 15 of the
// pass; 0: those of a stride of 1.
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
      // Before the first level all are below 2 PRIME.
      const uint x = v[a], y = apart > 1 ? some(v[a + apart]) : v[a + apart];
      v[a] = x + y;
      v[a + apart] = x - y + 2 * PRIME;
    } else {
      up(v + a, v + a + apart, up_roots[j * (8 / apart)]);
    }
  }
}

// Moves numbers from places of one pass to those of another, through `shared`, which is free again
// after the next barrier but one.
PART void exchange(uint* v, __local uint* shared, uint item, uint from, uint to) {
  __local uint* const mine = shared + BASE(item, from);
  UNROLL
  for (uint e = 0; e < 16; ++e) mine[OFFSET(e, from)] = v[e];
  barrier(CLK_LOCAL_MEM_FENCE);
  __local const uint* const others = shared + BASE(item, to);
  UNROLL
  for (uint e = 0; e < 16; ++e) v[e] = others[OFFSET(e, to)];
}

// The next indicator is read while logarithms are computed, when the registers of the previous
// numbers are free.
#if MODULUS <= 2
#define AHEAD
#endif

// Start of the roots of a pass in a table of all.
#define ROOTS_OF(pass) (15 * ((pass) > 0 ? STRIDE(0) : 0) + 15 * ((pass) > 1 ? STRIDE(1) : 0))
#define ALL_ROOTS (15 * (STRIDE(0) + (PASSES > 1 ? STRIDE(1) : 0) + (PASSES > 2 ? STRIDE(2) : 0)))
// The inverse has the first pass's roots in registers, 30 of them, as no two work-items share any;
// or all roots are in local memory.
#ifdef ROOTS_IN_LOCAL
#define LOCAL_FROM 0
#define FIRST_ROOTS 0
#else
#define LOCAL_FROM ROOTS_OF(1)
#define FIRST_ROOTS my_roots
#endif

// Does one forward pass, and the exchange after it.
PART void pass_down(uint* v, uint pass, __global const uint2* roots, __local uint* shared, uint item) {
  const uint stride = STRIDE(pass), next = pass + 1 < PASSES ? STRIDE(pass + 1) : 1;
  uint2 mine[15];
  UNROLL
  for (uint k = 0; k < 15; ++k) mine[k] = roots[ROOTS_OF(pass) + k * stride + item % stride];
  const uint2* const taken = stride > 1 ? mine : 0;
  level_down(v, 8, taken);
  level_down(v, 4, taken);
  level_down(v, 2, taken);
  level_down(v, 1, taken);
  if (next == stride) return;
  exchange(v, shared, item, stride, next);
  barrier(CLK_LOCAL_MEM_FENCE);
}

// Transforms from natural order (work-item i has every ITEMS-th number, from i on) to that of the
// work-items.
PART void transform_down(uint* v, __global const uint2* roots, __local uint* shared, uint item) {
  pass_down(v, 0, roots, shared, item);
#if PASSES > 1
  pass_down(v, 1, roots, shared, item);
#endif
#if PASSES > 2
  pass_down(v, 2, roots, shared, item);
#endif
#if REST > 2
  level_down(v, 4, 0);
#endif
#if REST > 1
  level_down(v, 2, 0);
#endif
#if REST > 0
  level_down(v, 1, 0);
#endif
}

// Does one inverse pass, and the exchange before it, after which `shared` and `other` are swapped.
// `first`: this work-item's roots of pass 0; 0: they are local as well. `local_roots`: those from
// LOCAL_FROM on.
PART void pass_up(uint* v, uint pass, const uint2* first, __local const uint2* local_roots, __local uint** shared,
                  __local uint** other, uint item) {
  const uint stride = STRIDE(pass), before = pass + 1 < PASSES ? STRIDE(pass + 1) : 1;
  if (before != stride) {
    exchange(v, *shared, item, before, stride);
    __local uint* const used = *shared;
    *shared = *other;
    *other = used;
  }
  const bool there = pass == 0 && first != 0;
  uint2 mine[15];
  UNROLL
  for (uint k = 0; k < 15; ++k)
    mine[k] = there ? first[k] : stride > 1 ? local_roots[ROOTS_OF(pass) - LOCAL_FROM + k * stride + item % stride] : (uint2)(0, 0);
  const uint2* const taken = stride > 1 ? mine : 0;
  level_up(v, 1, taken);
  level_up(v, 2, taken);
  level_up(v, 4, taken);
  level_up(v, 8, taken);
}

// Transforms back to natural order, without the factor 1 / LENGTH.
PART void transform_up(uint* v, const uint2* first, __local const uint2* local_roots, __local uint** shared, __local uint** other,
                       uint item) {
#if REST > 0
  level_up(v, 1, 0);
#endif
#if REST > 1
  level_up(v, 2, 0);
#endif
#if REST > 2
  level_up(v, 4, 0);
#endif
#if PASSES > 2
  pass_up(v, 2, first, local_roots, shared, other, item);
#endif
#if PASSES > 1
  pass_up(v, 1, first, local_roots, shared, other, item);
#endif
  pass_up(v, 0, first, local_roots, shared, other, item);
}

// Transforms every MODULUS-th sample from each of the first MODULUS on, for one series after
// another: first the indicators of the first KNOWN bins of each phase band, backwards in time, then
// the amplitudes, from sample `rest` on, times `factor`. A transform is stored as the first four
// numbers of each work-item, one work-item after another, then the next four, and so on.
__kernel __attribute__((reqd_work_group_size(ITEMS * PAIRS, 1, 1))) void transform_series(
    __global const uchar* bins, __global const ushort* sizes, uint count, uint phase_bands, uint amplitude_bands, uint rest,
    uint2 factor, __global const uint2* roots, __global uint4* spectra, __local uint* shared) {
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
    for (uint e = 0; e < 16; ++e) v[e] = times(from[(MODULUS * (e * ITEMS + item) + part + rest) & (SAMPLES - 1)], factor);
  }
  transform_down(v, roots, shared + get_local_id(0) / ITEMS * PADDED, item);
  if (mine < all) {
    __global uint4* const to = spectra + which * (LENGTH / 4) + item;
    UNROLL
    for (uint e = 0; e < 16; e += 4)
      to[e / 4 * ITEMS] = (uint4)(below(v[e], PRIME), below(v[e + 1], PRIME), below(v[e + 2], PRIME), below(v[e + 3], PRIME));
  }
}

// Takes numbers n to n + 3 of a work-item, 16 bytes at a time. With loads of 4 bytes half of the
// shifts took an H200 76.7 ms, not half of 139, as a product of two half-length transforms reads
// twice as many numbers: 32 loads per bin instead of 16. Predicted for 8 instead of 32: 69 to 73.
PART void take_four(uint* to, __global const uint4* from, uint n) {
  const uint4 four = from[n / 4 * ITEMS];
  to[0] = four.x, to[1] = four.y, to[2] = four.z, to[3] = four.w;
}

// Computes the moments of all band pairs of each series, over entries `first_shift` to
// `first_shift` + `shift_count` - 1 of the list, which all have the residue that the transforms of
// the amplitudes are for. A work-group has PAIRS pairs; a work-item takes SLOTS shifts.
__kernel __attribute__((reqd_work_group_size(ITEMS * PAIRS, 1, 1))) void shift_by_transform(
    __global const uint4* spectra, __global const uint2* roots, __global const float* weights, __global const uint* totals,
    uint count, uint phase_bands, uint amplitude_bands, __global const uint2* shifts, uint first_shift, uint shift_count,
    uint accumulate, uint width, uint stride, uint offset, ulong first, __global ulong2* moments, __local uint* shared,
    __local uint2* local_roots, __local ulong2* sums) {
  const uint me = get_local_id(0), item = me % ITEMS, sequences = KNOWN * phase_bands + amplitude_bands;
  const uint mine = get_group_id(0) * PAIRS + me / ITEMS, pair = min(mine, count * phase_bands * amplitude_bands - 1);
  const uint g = pair % amplitude_bands, f = pair / amplitude_bands % phase_bands, s = pair / amplitude_bands / phase_bands;
  __global const uint4* const of_series = spectra + ((ulong)s * sequences * (SAMPLES / 4) + item);
  __global const uint4* indicator = of_series + f * KNOWN * (SAMPLES / 4);
  __global const uint4* const amplitude = of_series + (KNOWN * phase_bands + g) * (SAMPLES / 4);
  __local uint *now = shared + me / ITEMS * 2 * PADDED, *next = now + PADDED;
  for (uint k = me; k < ALL_ROOTS - LOCAL_FROM; k += ITEMS * PAIRS) local_roots[k] = roots[LOCAL_FROM + k];
#ifndef ROOTS_IN_LOCAL
  uint2 my_roots[15];
  UNROLL
  for (uint k = 0; k < 15; ++k) my_roots[k] = roots[k * STRIDE(0) + item % STRIDE(0)];
#endif
#ifdef AHEAD
  uint amplitude_here[16 * MODULUS], indicator_here[16 * MODULUS];
  UNROLL
  for (uint n = 0; n < 16 * MODULUS; n += 4) take_four(amplitude_here + n, amplitude, n);
  UNROLL
  for (uint n = 0; n < 16 * MODULUS; n += 4) take_four(indicator_here + n, indicator, n);
#endif
  const float norm = norm_of(totals[s * amplitude_bands + g]);
  uint at[SLOTS], left[SLOTS];
  float mean_sum[SLOTS], entropy_sum[SLOTS];
  UNROLL
  for (uint k = 0; k < SLOTS; ++k) {
    const uint n = k * ITEMS + item;
    at[k] = n < shift_count ? PAD(shifts[first_shift + n].x / MODULUS) : 0;
    left[k] = totals[s * amplitude_bands + g];
    mean_sum[k] = entropy_sum[k] = 0.0f;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  __global const float* const weight = weights + (s * phase_bands + f) * BINS;
  for (uint j = 0; j < KNOWN; ++j) {
    uint v[16];
    UNROLL
    for (uint e = 0; e < 16; e += 4) {
      ulong sum[4] = {0, 0, 0, 0};
      UNROLL
      for (uint n = e; n < 16 * MODULUS; n += 16) {
#ifdef AHEAD
        const uint* const x = indicator_here + n;
        const uint* const y = amplitude_here + n;
#else
        uint x[4], y[4];
        take_four(x, indicator, n);
        take_four(y, amplitude, n);
#endif
        UNROLL
        for (uint k = 0; k < 4; ++k) sum[k] += (ulong)x[k] * y[k];
      }
      UNROLL
      for (uint k = 0; k < 4; ++k) v[e + k] = reduced(sum[k]);
    }
    indicator += SAMPLES / 4;
    transform_up(v, FIRST_ROOTS, local_roots, &now, &next, item);
    UNROLL
    for (uint e = 0; e < 16; ++e) now[BASE(item, ITEMS) + OFFSET(e, ITEMS)] = v[e];
#ifdef AHEAD
    if (j + 1 < KNOWN) {
      UNROLL
      for (uint n = 0; n < 16 * MODULUS; n += 4) take_four(indicator_here + n, indicator, n);
    }
#endif
    barrier(CLK_LOCAL_MEM_FENCE);
    const float factor = weight[j] * norm;
    UNROLL
    for (uint k = 0; k < SLOTS; ++k) {
      const uint sum = below(some(now[at[k]]), PRIME);
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
    const uint n = k * ITEMS + item;
    if (n < shift_count) all += moments_of(index_of(mean_sum[k], entropy_sum[k]), shifts[first_shift + n]);
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
