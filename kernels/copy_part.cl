// Copies a part of a state for a checkpoint: `count` pieces of 16 bytes from piece `first` on, one
// piece per work-item.
__kernel void copy_part(__global const uint4* from, __global uint4* to, ulong first, ulong count) {
  const ulong i = get_global_id(0);
  if (i < count) to[first + i] = from[first + i];
}
