// A step of training a network of tropical layers (suites/tropical/network.hpp). OpenCL C 1.2.
//
// -D options:
//   WIDTH    neurons of every layer
//   LAYERS   number of layers
//   MAXIMUM  1: the first layer takes the largest sum (max-plus), 0: the smallest; layers take turns
//
// Gradients are integers, which atomic additions sum up in any order with the same result. A weight
// changes by a single rounding (fma).
#define COUNT (LAYERS * WIDTH * WIDTH)  // weights; two words of loss follow their gradient

__kernel void clear_sums(__global int* sums, uint from, uint words) {
  const uint i = (uint)get_global_id(0);
  if (i < words) sums[from + i] = 0;
}

// Adds the gradients and losses of samples to `sums`, from word `at` on. A work-group has a sample,
// and a work-item a neuron of each layer.
__kernel __attribute__((reqd_work_group_size(WIDTH, 1, 1))) void train(__global const float* restrict inputs,
                                                                       __global const float* restrict targets,
                                                                       __global const float* restrict weights, __global int* sums,
                                                                       uint at, uint first) {
  __local float values[2][WIDTH];
  __local uint inputs_of[LAYERS][WIDTH];  // the input that a neuron's output comes from
  __local int gradients[WIDTH];
  __local uint loss;
  const uint i = (uint)get_local_id(0);
  const ulong place = ((ulong)first + get_group_id(0)) * WIDTH + i;
  values[0][i] = inputs[place];
  if (i == 0) loss = 0;
  float output = 0.0f;
  for (uint l = 0; l < LAYERS; ++l) {
    barrier(CLK_LOCAL_MEM_FENCE);
    __local const float* const from = values[l % 2];
    __global const float* const of_layer = weights + l * WIDTH * WIDTH + i;
    const bool largest = (l % 2 == 0) == (MAXIMUM != 0);
    uint best = 0;
    output = from[0] + of_layer[0];
    for (uint j = 1; j < WIDTH; ++j) {
      const float sum = from[j] + of_layer[j * WIDTH];
      if (largest ? sum > output : sum < output) {
        output = sum;
        best = j;
      }
    }
    inputs_of[l][i] = best;
    values[(l + 1) % 2][i] = output;
  }
  const float error = output - targets[place];
  int gradient = (error > 0.0f) - (error < 0.0f);
  atomic_add(&loss, convert_uint_rte(fmin(fabs(error), 2048.0f) * 4096.0f));
  for (uint l = LAYERS; l-- > 0;) {
    const uint input = inputs_of[l][i];
    if (gradient != 0) atomic_add(sums + at + (l * WIDTH + input) * WIDTH + i, gradient);
    gradients[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (gradient != 0) atomic_add(&gradients[input], gradient);
    barrier(CLK_LOCAL_MEM_FENCE);
    gradient = gradients[i];
  }
  if (i > 0) return;
  atomic_add(sums + at + COUNT, (int)(loss & 0xffffu));
  atomic_add(sums + at + COUNT + 1, (int)(loss >> 16));
}

// Moves all weights against the sum of the gradients at `places` places, `stride` words apart, and
// keeps the loss.
__kernel void descend(__global const int* restrict sums, uint places, uint stride, __global const float* restrict before,
                      __global float* restrict after, __global int* restrict losses, uint step, float scale) {
  const uint i = (uint)get_global_id(0);
  if (i >= COUNT + 2) return;
  int sum = 0;
  for (uint p = 0; p < places; ++p) sum += sums[(ulong)p * stride + i];
  if (i < COUNT)
    after[i] = fma(-scale, (float)sum, before[i]);
  else
    losses[step * 2 + (i - COUNT)] = sum;
}
