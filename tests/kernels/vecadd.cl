// After the vector addition of every introduction.
__kernel void vecadd(__global const float* a, __global const float* b, __global float* c,
                     const int n) {
  const int i = get_global_id(0);
  if (i < n) c[i] = a[i] + b[i];
}
