// Computes z = a x + y; written for one device.
__kernel void saxpy(__global const float* x, __global const float* y, __global float* z,
                    const float a) {
  const size_t i = get_global_id(0);
  z[i] = a * x[i] + y[i];
}
