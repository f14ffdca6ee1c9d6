// Counts iterations until a point escapes. The window lies above the real axis, so the first rows
// take far longer than the last ones. Contraction is off, since fused operations change when points
// on the border escape, and all devices have to agree.
#pragma OPENCL FP_CONTRACT OFF
__kernel void mandelbrot(__global uint* iterations, const uint width, const uint height,
                         const uint most, const float left, const float bottom, const float side) {
  const size_t x = get_global_id(0), y = get_global_id(1);
  const float cr = left + side * (float)x / (float)width,
              ci = bottom + side * (float)y / (float)height;
  float re = 0.0f, im = 0.0f;
  uint k = 0;
  for (; k < most && re * re + im * im <= 4.0f; ++k) {
    const float next = re * re - im * im + cr;
    im = 2.0f * re * im + ci;
    re = next;
  }
  iterations[y * width + x] = k;
}
