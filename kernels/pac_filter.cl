// Band-pass filter and analytic signal in one: from the spectrum of a series each band takes the
// positive frequencies that it passes and transforms them back. A phase band stores the bin of each
// sample's phase, an amplitude band the amplitude as an integer of SIZE_BITS bits. A series is
// taken as periodic.
// A work-group does one transform after another. SAMPLES may be any number: powers of two by
// Stockham's FFT in radix 4 (radix 2 once if their logarithm is odd), others by direct sums.
// IN_LOCAL: two arrays of SAMPLES are in local memory. Predicted for 16384 series of 2048 samples
// and 20 bands on an H200: 344,000 transforms of 6 passes, each of which reads and writes 2048
// complex numbers in local memory: 1.7e10 words at 7.4e12 per second, 2.3 ms, and twice that with
// the work between them.
#pragma OPENCL FP_CONTRACT OFF
#define PART static inline __attribute__((always_inline))

#ifdef IN_LOCAL
#define SPACE __local
#define FENCE CLK_LOCAL_MEM_FENCE
#define MINE(scratch) (scratch)
#else
#define SPACE __global
#define FENCE (CLK_GLOBAL_MEM_FENCE | CLK_LOCAL_MEM_FENCE)
#define MINE(scratch) ((scratch) + (ulong)get_group_id(0) * 2 * SAMPLES)
#endif
#define HALF (SAMPLES / 2 + 1)

PART float2 product(float2 a, float2 b) { return (float2)(fma(a.x, b.x, -(a.y * b.y)), fma(a.x, b.y, a.y * b.x)); }

// Returns number m of `roots`, e^(-2 pi i m / SAMPLES), or its conjugate for the inverse transform.
PART float2 root(__global const float2* roots, uint m, float direction) {
  const float2 w = roots[m];
  return (float2)(w.x, w.y * direction);
}

#ifdef POWER_OF_TWO
// Transforms `from`, and returns the array that has the result. direction 1: forward, -1: inverse,
// without a factor.
PART SPACE float2* transform(SPACE float2* from, SPACE float2* to, __global const float2* roots, float direction) {
  uint s = 1;
#if LOG2_SAMPLES % 2 == 1
  for (uint p = get_local_id(0); p < SAMPLES / 2; p += get_local_size(0)) {
    const float2 a = from[p], b = from[p + SAMPLES / 2];
    to[2 * p] = a + b;
    to[2 * p + 1] = product(a - b, root(roots, p, direction));
  }
  barrier(FENCE);
  SPACE float2* const first = from;
  from = to;
  to = first;
  s = 2;
#endif
  for (; s < SAMPLES; s *= 4) {
    for (uint i = get_local_id(0); i < SAMPLES / 4; i += get_local_size(0)) {
      const uint q = i & (s - 1), m = i - q;  // m = s p
      const float2 a = from[i], b = from[i + SAMPLES / 4], c = from[i + SAMPLES / 2], d = from[i + 3 * (SAMPLES / 4)];
      const float2 sum = a + c, difference = a - c, other = b + d, turned = direction * (float2)(b.y - d.y, d.x - b.x);
      SPACE float2* const out = to + q + 4 * m;
      out[0] = sum + other;
      out[s] = product(difference + turned, root(roots, m, direction));
      out[2 * s] = product(sum - other, root(roots, 2 * m, direction));
      out[3 * s] = product(difference - turned, root(roots, 3 * m, direction));
    }
    barrier(FENCE);
    SPACE float2* const before = from;
    from = to;
    to = before;
  }
  return from;
}
#endif

// Computes frequencies 0 to SAMPLES / 2 of series `first` to `first` + `count` - 1 of a slice.
__kernel void spectrum(__global const float* input, uint width, uint stride, uint offset, ulong first, uint count,
                       __global const float2* roots, __global float2* spectra, SPACE float2* scratch) {
  SPACE float2* const a = MINE(scratch);
  for (uint s = get_group_id(0); s < count; s += get_num_groups(0)) {
    const ulong i = first + s;
    __global const float* const x = input + (i / width * stride + offset + i % width) * SAMPLES;
    __global float2* const out = spectra + (ulong)s * HALF;
#ifdef POWER_OF_TWO
    for (uint t = get_local_id(0); t < SAMPLES; t += get_local_size(0)) a[t] = (float2)(x[t], 0.0f);
    barrier(FENCE);
    SPACE float2* const result = transform(a, a + SAMPLES, roots, 1.0f);
    for (uint k = get_local_id(0); k < HALF; k += get_local_size(0)) out[k] = result[k];
    barrier(FENCE);
#else
    for (uint k = get_local_id(0); k < HALF; k += get_local_size(0)) {
      float2 sum = 0.0f;
      uint m = 0;
      for (uint t = 0; t < SAMPLES;) {
        float2 part = 0.0f;
        for (const uint end = min(t + 64u, (uint)SAMPLES); t < end; ++t) {
          const float2 w = roots[m];
          part = (float2)(fma(x[t], w.x, part.x), fma(x[t], w.y, part.y));
          m += k;
          m -= m >= SAMPLES ? SAMPLES : 0;
        }
        sum += part;
      }
      out[k] = sum;
    }
#endif
  }
}

// Computes the analytic signal of one band: `response` has a factor per frequency up to SAMPLES /
// 2, which is 0 outside of [range.x, range.y).
PART SPACE float2* analytic(__global const float2* spectrum, __global const float* response, uint2 range,
                            __global const float2* roots, SPACE float2* a) {
#ifdef POWER_OF_TWO
  for (uint k = get_local_id(0); k < SAMPLES; k += get_local_size(0))
    a[k] = k >= range.x && k < range.y ? spectrum[k] * response[k] : (float2)(0.0f, 0.0f);
  barrier(FENCE);
  return transform(a, a + SAMPLES, roots, -1.0f);
#else
  for (uint t = get_local_id(0); t < SAMPLES; t += get_local_size(0)) {
    float2 sum = 0.0f;
    uint m = (uint)((ulong)range.x * t % SAMPLES);
    for (uint k = range.x; k < range.y; ++k) {
      sum += product(spectrum[k] * response[k], root(roots, m, -1.0f));
      m += t;
      m -= m >= SAMPLES ? SAMPLES : 0;
    }
    a[t] = sum;
  }
  barrier(FENCE);
  return a;
#endif
}

// Returns the bin of z's phase: bins have one width, and the first begins at -pi. The bin follows
// from the side of each bin edge, `directions`, on which z lies: an arc tangent would differ
// between makes of device.
PART uint bin_of(float2 z, __global const float2* directions) {
  const bool upper = z.y >= 0;
  uint bin = 0;
  for (uint j = 1; j < BINS; ++j) {
    const float2 d = directions[j];
    const bool beyond = fma(d.x, z.y, -(d.y * z.x)) >= 0;
    bin += upper ? (d.y <= 0 || beyond) : (d.y < 0 && beyond);
  }
  return bin;
}

// Counters per bin: phases are slow, and neighbours that are all in one bin would wait for each
// other at one counter.
#define COUNTERS 8

// Computes the bins of phase bands: a series' work is `bands` pieces. counts: number of samples in
// each bin.
__kernel void phases(__global const float2* spectra, uint count, uint bands, __global const float* responses,
                     __global const uint2* ranges, __global const float2* roots, __global const float2* directions,
                     __global uchar* bins, __global uint* counts, SPACE float2* scratch, __local uint* counted) {
  SPACE float2* const a = MINE(scratch);
  for (uint piece = get_group_id(0); piece < count * bands; piece += get_num_groups(0)) {
    const uint s = piece / bands, band = piece % bands;
    for (uint j = get_local_id(0); j < BINS * COUNTERS; j += get_local_size(0)) counted[j] = 0;
    SPACE float2* const z = analytic(spectra + (ulong)s * HALF, responses + (ulong)band * HALF, ranges[band], roots, a);
    for (uint t = get_local_id(0); t < SAMPLES; t += get_local_size(0)) {
      const uint bin = bin_of(z[t], directions);
      bins[(ulong)piece * SAMPLES + t] = (uchar)bin;
      atomic_inc(counted + bin * COUNTERS + t % COUNTERS);
    }
    barrier(CLK_LOCAL_MEM_FENCE | FENCE);
    for (uint j = get_local_id(0); j < BINS; j += get_local_size(0)) {
      uint sum = 0;
      for (uint k = 0; k < COUNTERS; ++k) sum += counted[j * COUNTERS + k];
      counts[(ulong)piece * BINS + j] = sum;
    }
    barrier(CLK_LOCAL_MEM_FENCE | FENCE);
  }
}

#define LARGEST ((1u << SIZE_BITS) - 1)

// Returns the square root of v < 2^32, rounded, at most LARGEST.
PART uint rounded_root(float v) {
  const uint value = convert_uint(v);
  uint r = min((uint)sqrt(v), LARGEST);
  r -= r * r > value;
  r += (ulong)(r + 1) * (r + 1) <= value;
  return min(r + (value - r * r > r), LARGEST);
}

// Computes the amplitudes of amplitude bands: sizes of z in units of a power of two, chosen so that
// the largest has SIZE_BITS bits; totals: their sums.
__kernel void amplitudes(__global const float2* spectra, uint count, uint bands, __global const float* responses,
                         __global const uint2* ranges, __global const float2* roots, __global ushort* sizes, __global uint* totals,
                         SPACE float2* scratch, __local uint* shared) {
  SPACE float2* const a = MINE(scratch);
  for (uint piece = get_group_id(0); piece < count * bands; piece += get_num_groups(0)) {
    const uint s = piece / bands, band = piece % bands;
    for (uint k = get_local_id(0); k < 2; k += get_local_size(0)) shared[k] = 0;
    SPACE float2* const z = analytic(spectra + (ulong)s * HALF, responses + (ulong)band * HALF, ranges[band], roots, a);
    uint largest = 0;
    for (uint t = get_local_id(0); t < SAMPLES; t += get_local_size(0))
      // Squares: in the order of their bits.
      largest = max(largest, as_uint(fma(z[t].x, z[t].x, z[t].y * z[t].y)));
    atomic_max(shared, largest);
    barrier(CLK_LOCAL_MEM_FENCE);
    const int half_exponent = ((int)(shared[0] >> 23) - 127) >> 1;
    const float factor = shared[0] < 0x00800000u ? 0.0f : as_float((uint)(127 + SIZE_BITS - 1 - half_exponent) << 23);
    uint total = 0;
    for (uint t = get_local_id(0); t < SAMPLES; t += get_local_size(0)) {
      const uint size = rounded_root(fma(z[t].x, z[t].x, z[t].y * z[t].y) * factor * factor);
      sizes[(ulong)piece * SAMPLES + t] = (ushort)size;
      total += size;
    }
    atomic_add(shared + 1, total);
    barrier(CLK_LOCAL_MEM_FENCE | FENCE);
    if (get_local_id(0) == 0) totals[piece] = shared[1];
    barrier(CLK_LOCAL_MEM_FENCE | FENCE);
  }
}

// Returns 1 / n for n > 0 with the same bits everywhere, as 64-bit integers are divided.
PART float reciprocal(ulong n) { return convert_float((1ul << 60) / n) * 0x1p-60f; }

// Computes the weights that make the sums of bins means near the mean amplitude: means over a bin's
// own samples (INDEX 0), over those that all phase bands have in that bin together (1), or over
// neither (2). An empty bin has no mean, and adds nothing.
__kernel void weigh(__global const uint* counts, uint count, uint bands, __global float* weights) {
  const uint i = get_global_id(0);
  if (i >= count * bands * BINS) return;
#if INDEX == 0
  weights[i] = counts[i] > 0 ? reciprocal(counts[i]) : 0.0f;
#elif INDEX == 1
  const uint s = i / (bands * BINS), j = i % BINS;
  ulong pooled = 0;
  for (uint f = 0; f < bands; ++f) pooled += counts[(s * bands + f) * BINS + j];
  weights[i] = pooled > 0 ? reciprocal(pooled) * (float)bands : 0.0f;
#else
  weights[i] = reciprocal(SAMPLES) * (float)BINS;
#endif
}
