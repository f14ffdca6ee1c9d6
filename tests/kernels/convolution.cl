// After Kernel Tuner's convolution: the input has a border, the filter is in constant memory, and
// the sizes of work-groups and of what a work-item computes are given by the compiler's options.
#ifndef PER_ITEM
#error "give -D PER_ITEM=1, 2, 4 or 8: columns per work-item"
#endif
__kernel __attribute__((reqd_work_group_size(BLOCK_X, BLOCK_Y, 1))) void convolution(
    __global const float* in, __global float* out, __constant float* filter, const int width) {
  const int padded = width + 2 * RADIUS, y = get_global_id(1);
  for (int k = 0; k < PER_ITEM; ++k) {
    const int x = get_global_id(0) * PER_ITEM + k;
    float sum = 0;
    for (int dy = 0; dy <= 2 * RADIUS; ++dy) {
      for (int dx = 0; dx <= 2 * RADIUS; ++dx)
        sum += in[(y + dy) * padded + x + dx] * filter[dy * (2 * RADIUS + 1) + dx];
    }
    out[y * width + x] = sum;
  }
}
