// After SHOC's reduction: each work-group adds its part of the input in local memory.
__kernel void reduce(__global const int* in, __global int* sums, __local int* part,
                     const int each) {
  const int group = get_group_id(0), local_id = get_local_id(0), size = get_local_size(0);
  int sum = 0;
  for (int i = local_id; i < each; i += size) sum += in[group * each + i];
  part[local_id] = sum;
  for (int half_size = size / 2; half_size > 0; half_size /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (local_id < half_size) part[local_id] += part[local_id + half_size];
  }
  if (local_id == 0) sums[group] = part[0];
}
