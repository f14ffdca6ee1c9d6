// After PolyBench fdtd-2d: three kernels per time step update the fields of a wave in place. The
// source, one number per step, enters at the first row.
__kernel void ey_step(__global const float* source, __global float* ey, __global const float* hz,
                      const int step, const int n) {
  const int j = get_global_id(0), i = get_global_id(1);
  ey[i * n + j] = i == 0 ? source[step]
                         : ey[i * n + j] - 0.5f * (hz[i * n + j] - hz[(i - 1) * n + j]);
}

__kernel void ex_step(__global float* ex, __global const float* hz, const int n) {
  const int j = get_global_id(0), i = get_global_id(1);
  if (j > 0) ex[i * (n + 1) + j] -= 0.5f * (hz[i * n + j] - hz[i * n + j - 1]);
}

__kernel void hz_step(__global const float* ex, __global const float* ey, __global float* hz,
                      const int n) {
  const int j = get_global_id(0), i = get_global_id(1);
  hz[i * n + j] -= 0.7f * (ex[i * (n + 1) + j + 1] - ex[i * (n + 1) + j] + ey[(i + 1) * n + j] -
                           ey[i * n + j]);
}
