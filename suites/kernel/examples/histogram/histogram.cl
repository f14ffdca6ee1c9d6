// Counts values by atomic increments in global memory; the host adds up the counts of all devices.
__kernel void histogram(__global const uchar* values, __global uint* counts, const uint each,
                        const uint n) {
  const uint first = (uint)get_global_id(0) * each, end = min(first + each, n);
  for (uint i = first; i < end; ++i) atomic_inc(&counts[values[i]]);
}
