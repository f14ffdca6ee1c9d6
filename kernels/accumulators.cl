// Combines the accumulators of `count` devices, `size` numbers each, which begin `stride` numbers
// apart. Writes them to `to` from `first` on. A NaN persists, whichever device has it, as on the
// host (suites/kernel/layout.cpp).
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

#define COMBINE_ADD(a, b) ((a) + (b))
#define COMBINE_MIN(a, b) ((b) < (a) || (b) != (b) ? (b) : (a))
#define COMBINE_MAX(a, b) ((a) < (b) || (b) != (b) ? (b) : (a))
#define COMBINE_XOR(a, b) ((a) ^ (b))
#define COMBINE_OR(a, b) ((a) | (b))
#define COMBINE_AND(a, b) ((a) & (b))

__kernel void combine_accumulators(__global const NUMBER* from, __global NUMBER* to, ulong first,
                                   ulong size, ulong stride, uint count) {
  const ulong i = get_global_id(0);
  if (i >= size) return;
  NUMBER made = from[i];
  for (uint device = 1; device < count; ++device) {
    const NUMBER other = from[device * stride + i];
    made = COMBINE(made, other);
  }
  to[first + i] = made;
}
