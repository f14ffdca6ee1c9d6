// After Parboil's histo: a work-group counts in local memory, then adds to the whole.
__kernel void histogram(__global const uchar* pixels, __global uint* bins, const int n) {
  __local uint part[256];
  for (int bin = get_local_id(0); bin < 256; bin += get_local_size(0)) part[bin] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  const int i = get_global_id(0);
  if (i < n) atomic_inc(&part[pixels[i]]);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int bin = get_local_id(0); bin < 256; bin += get_local_size(0))
    if (part[bin] > 0) atomic_add(&bins[bin], part[bin]);
}
