// Surrogates one by one, for any device, length and number of them: each work-item takes shifts,
// and adds up for each the amplitudes of every bin's samples. That takes a read and an addition for
// each sample, band pair and shift. Predicted: an H200 reads 7.4e12 words of local memory per
// second if lanes have no bank conflicts; at random shifts three of 32 do. So 3.4e12 of them (256 x
// 64 series, 100 pairs, 1001 shifts of 2048 samples) take a second or more; pac_transform.cl is for
// such cases.
#include "pac_index.cl"

// Sorts the samples of each series by bin; the order within a bin does not matter to exact sums.
__kernel void sort_by_bin(__global const uchar* bins, __global const uint* counts, __global ushort* order, __local uint* next) {
  const ulong piece = get_group_id(0);
  if (get_local_id(0) == 0) {
    uint begin = 0;
    for (uint j = 0; j < BINS; ++j) {
      next[j] = begin;
      begin += counts[piece * BINS + j];
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint t = get_local_id(0); t < SAMPLES; t += get_local_size(0))
    order[piece * SAMPLES + atomic_inc(next + bins[piece * SAMPLES + t])] = (ushort)t;
}

// Computes the moments of `pairs` band pairs of each series, over entries `first_shift` to
// `first_shift` + `shift_count` - 1 of the list. One work-group per pair.
__kernel void shift_directly(__global const ushort* order, __global const uint* counts, __global const float* weights,
                             __global const ushort* sizes, __global const uint* totals, uint phase_bands, uint amplitude_bands,
                             __global const uint2* shifts, uint first_shift, uint shift_count, uint accumulate, uint width,
                             uint stride, uint offset, ulong first, __global ulong2* moments, __local ulong2* sums
#ifdef IN_LOCAL
                             ,
                             __local ushort* size
#endif
) {
  const uint g = get_group_id(0) % amplitude_bands, f = get_group_id(0) / amplitude_bands % phase_bands,
             s = get_group_id(0) / amplitude_bands / phase_bands;
  const uint phase = s * phase_bands + f, amplitude = s * amplitude_bands + g, me = get_local_id(0);
  __global const ushort* const order_here = order + (ulong)phase * SAMPLES;
  __global const ushort* const sizes_here = sizes + (ulong)amplitude * SAMPLES;
#ifdef IN_LOCAL
  for (uint t = me; t < SAMPLES; t += get_local_size(0)) size[t] = size[t + SAMPLES] = sizes_here[t];
  barrier(CLK_LOCAL_MEM_FENCE);
#define SIZE(t) size[t]
#else
#define SIZE(t) sizes_here[(t) < SAMPLES ? (t) : (t)-SAMPLES]
#endif
  const float norm = norm_of(totals[amplitude]);
  ulong2 mine = 0;
  for (uint n = me; n < shift_count; n += get_local_size(0)) {
    const uint2 entry = shifts[first_shift + n];
    float mean_sum = 0.0f, entropy_sum = 0.0f;
    uint at = 0;
    for (uint j = 0; j < BINS; ++j) {
      uint sum = 0;
      for (const uint end = at + counts[phase * BINS + j]; at < end; ++at) sum += SIZE(order_here[at] + entry.x);
      add_bin(sum, weights[phase * BINS + j] * norm, &mean_sum, &entropy_sum);
    }
    mine += moments_of(index_of(mean_sum, entropy_sum), entry);
  }
  sums[me] = mine;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint apart = get_local_size(0) / 2; apart > 0; apart /= 2) {
    if (me < apart) sums[me] += sums[me + apart];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (me == 0) {
    __global ulong2* const to = moments + (row_of(first + s, width, stride, offset) * phase_bands + f) * amplitude_bands + g;
    *to = accumulate ? *to + sums[0] : sums[0];
  }
}

__kernel void clear_moments(__global ulong2* moments, ulong count) {
  const ulong i = get_global_id(0);
  if (i < count) moments[i] = 0;
}
