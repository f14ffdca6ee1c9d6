// Blurs by a Gaussian over (2 R + 1)^2 pixels. `in` begins R rows above the slice, `out` with it.
__kernel void blur(__global const float* in, __global float* out, __constant float* weights,
                   const int width) {
  const int x = (int)get_global_id(0);
  const int y = (int)get_global_id(1);
  float sum = 0.0f;
  for (int dy = 0; dy <= 2 * R; ++dy) {
    for (int dx = -R; dx <= R; ++dx) {
      const int column = clamp(x + dx, 0, width - 1);
      sum = fma(weights[dy] * weights[dx + R], in[(y + dy) * width + column], sum);
    }
  }
  out[y * width + x] = sum;
}
