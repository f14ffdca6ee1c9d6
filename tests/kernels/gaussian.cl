// After Rodinia's gaussian: two kernels per pivot t. The first computes the factors of the rows
// below it, the second subtracts multiples of the pivot's row. Index 0 is row t + 1.
__kernel void factors(__global float* m, __global const float* a, const int n, const int t) {
  const int row = get_global_id(0) + t + 1;
  m[row * n + t] = a[row * n + t] / a[t * n + t];
}

__kernel void subtract(__global const float* m, __global float* a, __global float* b, const int n,
                       const int t) {
  const int row = get_global_id(1) + t + 1, column = get_global_id(0) + t;
  a[row * n + column] -= m[row * n + t] * a[t * n + column];
  if (column == t) b[row] -= m[row * n + t] * b[t];
}
