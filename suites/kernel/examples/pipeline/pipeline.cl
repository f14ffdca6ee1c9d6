// Scales the values of a slice. The second stage reads them, so they never leave the device.
__kernel void scale(__global const float* in, __global float* scaled, const float factor) {
  const size_t i = get_global_id(0);
  scaled[i] = factor * in[i];
}

__kernel void quantise(__global const float* scaled, __global short* out) {
  const size_t i = get_global_id(0);
  out[i] = convert_short_sat_rte(scaled[i]);
}
