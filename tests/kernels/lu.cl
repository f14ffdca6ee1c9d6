// After PolyBench lu: per pivot k one kernel scales the row of the pivot, the other subtracts
// multiples of it from the rows below.
__kernel void scale(__global float* a, const int n, const int k) {
  const int j = get_global_id(0) + k + 1;
  a[k * n + j] /= a[k * n + k];
}

__kernel void subtract(__global float* a, const int n, const int k) {
  const int i = get_global_id(1) + k + 1, j = get_global_id(0) + k + 1;
  a[i * n + j] -= a[i * n + k] * a[k * n + j];
}
