// Computes count, mean and sum of squared deviations of every column, row by row (Welford, 1962).
// Each work-item has one column, so that no atomic additions are needed.
#pragma OPENCL FP_CONTRACT OFF

__kernel void moments(__global const float* rows, __global float4* sums, const uint columns,
                      const uint count) {
  const size_t column = get_global_id(0);
  float4 sum = sums[column];
  for (uint row = 0; row < count; ++row) {
    const float x = rows[(size_t)row * columns + column], before = x - sum.y;
    sum.x += 1.0f;
    sum.y += before / sum.x;
    sum.z += before * (x - sum.y);
  }
  sums[column] = sum;
}

// Combines the moments of two sets of rows (Chan, Golub and LeVeque, 1979).
__kernel void chan(__global float4* into, __global const float4* from) {
  const size_t column = get_global_id(0);
  const float4 a = into[column], b = from[column];
  const float count = a.x + b.x, apart = b.y - a.y;
  into[column] = (float4)(count, a.y + apart * (b.x / count),
                          a.z + b.z + apart * apart * (a.x * b.x / count), 0.0f);
}
