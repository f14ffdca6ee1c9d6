// The modulation index of one band pair and shift from the exact sums of its bins, and how indices
// are added up; included by pac_direct.cl and pac_transform.cl. Every operation has one rounding
// and one order, so that the bits do not depend on the kernel or the device. BINS is the number of
// phase bins, LOG2_BINS its binary logarithm, SAMPLES the length of a series.
#pragma OPENCL FP_CONTRACT OFF
#define PART static inline __attribute__((always_inline))

// Indices are counted in steps of 2^-24: their sums over at most 2^15 surrogates, and those of
// their squares, are then exact.
#define INDEX_STEPS 16777216.0f
// Flag of an entry of the list of shifts: the shift by 0, which gives the observed index.
#define OBSERVED 0x80000000u
// Bit of the moments above which the observed index is stored; below it is the sum of the indices.
#define OBSERVED_BIT 39

// Returns log2(q) within 5e-8 for positive normal numbers, a finite number for 0: 2^e (1 + f), 1 +
// f in [sqrt(1/2), sqrt(2)), and a polynomial of log2(1 + f) / f (least squares, weighted until the
// errors had one size).
PART float log2_of(float q) {
  const int from = as_int(q) - 0x3f3504f3;
  const float e = (float)(from >> 23), f = as_float((from & 0x7fffff) + 0x3f3504f3) - 1.0f;
  float p = 0.12541049718856812f;
  p = fma(p, f, -0.21030278503894806f);
  p = fma(p, f, 0.2173798531293869f);
  p = fma(p, f, -0.23851953446865082f);
  p = fma(p, f, 0.28765663504600525f);
  p = fma(p, f, -0.3607212007045746f);
  p = fma(p, f, 0.48092252016067505f);
  p = fma(p, f, -0.7213471531867981f);
  p = fma(p, f, 1.442694902420044f);
  return fma(p, f, e);
}

// Returns a / b, correctly rounded for the ranges here: the rounding of a division differs between
// devices, that of an fma does not (Markstein, 1990).
PART float quotient(float a, float b) {
  float r = 1.0f / b;
  r = fma(fma(-b, r, 1.0f), r, r);
  r = fma(fma(-b, r, 1.0f), r, r);
  const float q = a * r;
  return fma(fma(-b, q, a), r, q);
}

// Returns the factor that brings sums near 1, where logarithms are most exact: a power of two, the
// reciprocal of the mean amplitude within a factor of two. `total` is the sum of the amplitudes of
// a series.
PART float norm_of(uint total) {
  const int log2_total = 31 - (int)clz(total | 1u);
  return total == 0 ? 0.0f : as_float((uint)(127 - log2_total + LOG2_SAMPLES) << 23);
}

// Adds a bin: `sum` of its amplitudes, times `factor`, which makes it a mean near 1.
PART void add_bin(uint sum, float factor, float* mean_sum, float* entropy_sum) {
  const float mean = (float)sum * factor;
  *entropy_sum = fma(mean, log2_of(mean), *entropy_sum);
  *mean_sum += mean;
}

// Returns (log N - H) / log N in steps, with H = log(M) - L / M, M the sum of the means m, L that
// of m log(m). Without any amplitude: 0.
PART uint index_of(float mean_sum, float entropy_sum) {
  if (!(mean_sum > 0)) return 0;
  const float index = (quotient(entropy_sum, mean_sum) - log2_of(mean_sum * (1.0f / BINS))) * (1.0f / LOG2_BINS);
  return convert_uint_rte(clamp(index, 0.0f, 1.0f) * INDEX_STEPS);
}

// Returns what `index` of list entry `entry` adds to the moments of its pair: x is the observed
// index and the sum of the surrogates', y the sum of their squares.
PART ulong2 moments_of(uint index, uint2 entry) {
  const ulong times = entry.y & ~OBSERVED, observed = entry.y & OBSERVED ? (ulong)index << OBSERVED_BIT : 0;
  return (ulong2)(observed + times * index, times * index * index);
}

// Returns the row of the input and of the results for series number i of a slice.
PART ulong row_of(ulong i, uint width, uint stride, uint offset) { return i / width * stride + offset + i % width; }
