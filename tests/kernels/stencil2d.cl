// After PolyBench jacobi-2d and Kernel Tuner's stencil: the mean of a cell and its four neighbours.
// Cells of the border keep their values.
__kernel void stencil2d(__global const float* now, __global float* next, const int n) {
  const int x = get_global_id(0), y = get_global_id(1);
  if (x < 1 || y < 1 || x >= n - 1 || y >= n - 1) return;
  const int i = y * n + x;
  next[i] = 0.2f * (now[i] + now[i - 1] + now[i + 1] + now[i - n] + now[i + n]);
}
