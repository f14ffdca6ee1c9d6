// After Parboil's stencil: seven points in three dimensions. It is launched for the inner cells
// only, and adds 1 to each index.
__kernel void stencil3d(const float c0, const float c1, __global const float* in,
                        __global float* out, const int nx, const int ny) {
  const int x = get_global_id(0) + 1, y = get_global_id(1) + 1, z = get_global_id(2) + 1;
  const int plane = nx * ny, i = z * plane + y * nx + x;
  out[i] = (in[i - 1] + in[i + 1] + in[i - nx] + in[i + nx] + in[i - plane] + in[i + plane]) * c1 -
           in[i] * c0;
}
