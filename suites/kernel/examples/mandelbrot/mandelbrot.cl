// Iterations until a point escapes, in a window above the real axis, so that the first rows take far longer than the last ones.
#pragma OPENCL FP_CONTRACT OFF  // fused or not, points on the border escape at other iterations: all devices do the same
__kernel void mandelbrot(__global uint* iterations, const uint width, const uint height, const uint most, const float left,
                         const float bottom, const float side) {
  const size_t x = get_global_id(0), y = get_global_id(1);
  const float cr = left + side * (float)x / (float)width, ci = bottom + side * (float)y / (float)height;
  float re = 0.0f, im = 0.0f;
  uint k = 0;
  for (; k < most && re * re + im * im <= 4.0f; ++k) {
    const float next = re * re - im * im + cr;
    im = 2.0f * re * im + ci;
    re = next;
  }
  iterations[y * width + x] = k;
}
