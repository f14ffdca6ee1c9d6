// Features of windows of a signal. `centre` comes first; `energy`, `crossings` and `peak` only read
// what it leaves, so that they can run side by side; `score` needs all three. Each work-item has a
// window. Sums follow the order of the samples.
#pragma OPENCL FP_CONTRACT OFF

__kernel void centre(__global const float* signal, __global float* centred, const uint length) {
  const size_t window = get_global_id(0) * length;
  float sum = 0.0f;
  for (uint i = 0; i < length; ++i) sum += signal[window + i];
  for (uint i = 0; i < length; ++i) centred[window + i] = signal[window + i] - sum / length;
}

__kernel void energy(__global const float* centred, __global float* energies, const uint length) {
  __global const float* const x = centred + get_global_id(0) * length;
  float sum = 0.0f;
  for (uint i = 0; i < length; ++i) sum += x[i] * x[i];
  energies[get_global_id(0)] = sum;
}

__kernel void crossings(__global const float* centred, __global uint* counts, const uint length) {
  __global const float* const x = centred + get_global_id(0) * length;
  uint count = 0;
  for (uint i = 1; i < length; ++i) count += (x[i - 1] < 0.0f) != (x[i] < 0.0f);
  counts[get_global_id(0)] = count;
}

__kernel void peak(__global const float* centred, __global float* peaks, const uint length) {
  __global const float* const x = centred + get_global_id(0) * length;
  float most = 0.0f;
  for (uint i = 0; i < length; ++i) most = fmax(most, fabs(x[i]));
  peaks[get_global_id(0)] = most;
}

__kernel void score(__global const float* energies, __global const uint* counts,
                    __global const float* peaks, __global float* scores) {
  const size_t i = get_global_id(0);
  scores[i] = energies[i] + (float)counts[i] * peaks[i];
}
