// Appends the values above a threshold, each with its index, in any order.
__kernel void above(__global const float* values, __global uint* found, __global float2* records,
                    const uint room, const uint first, const float threshold) {
  const uint i = (uint)get_global_id(0);
  if (values[i] <= threshold) return;
  const uint place = atomic_inc(found);
  if (place < room) records[place] = (float2)(values[i], (float)(first + i));
}
