// After SHOC's spmv_csr_scalar: a row of a sparse matrix per work-item.
__kernel void spmv(__global const float* values, __global const float* vector,
                   __global const int* columns, __global const int* rows, const int n,
                   __global float* out) {
  const int row = get_global_id(0);
  if (row >= n) return;
  float sum = 0;
  for (int e = rows[row]; e < rows[row + 1]; ++e) sum += values[e] * vector[columns[e]];
  out[row] = sum;
}
