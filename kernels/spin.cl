// Delay kernel: one work-item counts, so that a device is busy for as long as asked
// (lib/opencl/cl_spin.hpp). OpenCL C 1.2. Each step needs the one before it, and no compiler knows
// a closed form of it.
__kernel void spin(__global uint* out, uint loops) {
  uint x = loops;
  for (uint i = 0; i < loops; ++i) x = (x ^ (x >> 7)) * 2654435761u + i;
  *out = x;
}
