// Kernels that measure the limits of a device: arithmetic that never leaves the registers, a copy
// that only moves memory, and an empty launch. OpenCL C 1.2. lib/measure/calibration.cpp has how
// long each runs and what its time means.
//
// -D options:
//   FLOATS, UINTS  float and uint on GPUs; on CPUs vectors of the native width, one work-item per
//                  work-group
//   DOUBLES        double or vectors of it; not defined: the device has no fp64
//   LINEAR         copy: a work-item moves a contiguous range (CPUs), else neighbours move
//                  neighbouring elements (GPUs)

// A loop has 384 multiply-adds in 8 independent chains: enough chains to hide a latency of 4 with
// two pipes, few enough loops to hide their overhead (65.5 of 66.9 TFLOP/s on an H200).
#define TIMES_6(s) s s s s s s
// CPUs predict the branch of a loop of 48 as well, and PoCL takes a second and more to compile 384.
#ifdef LINEAR
#define TIMES_48(s) for (uint k = 0; k < 8; ++k) { TIMES_6(s) }
#else
#define TIMES_48(s) TIMES_6(s) TIMES_6(s) TIMES_6(s) TIMES_6(s) TIMES_6(s) TIMES_6(s) TIMES_6(s) TIMES_6(s)
#endif

// x = x * a + b converges to b / (1 - a): no infinities, no denormals. `a` and `b` are arguments,
// so that the compiler cannot know them.
#define FMA(x) x = fma(x, a, b);
#define FMA_CHAINS FMA(x0) FMA(x1) FMA(x2) FMA(x3) FMA(x4) FMA(x5) FMA(x6) FMA(x7)

__kernel void fp32(__global FLOATS* out, uint loops, float factor, float summand) {
  const FLOATS a = (FLOATS)(factor), b = (FLOATS)(summand), x = (FLOATS)((float)get_global_id(0));
  FLOATS x0 = x, x1 = x + 1, x2 = x + 2, x3 = x + 3, x4 = x + 4, x5 = x + 5, x6 = x + 6, x7 = x + 7;
  for (uint i = 0; i < loops; ++i) {
    TIMES_48(FMA_CHAINS)
  }
  out[get_global_id(0)] = ((x0 + x1) + (x2 + x3)) + ((x4 + x5) + (x6 + x7));
}

#ifdef DOUBLES
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
__kernel void fp64(__global DOUBLES* out, uint loops, double factor, double summand) {
  const DOUBLES a = (DOUBLES)(factor), b = (DOUBLES)(summand), x = (DOUBLES)((double)get_global_id(0));
  DOUBLES x0 = x, x1 = x + 1, x2 = x + 2, x3 = x + 3, x4 = x + 4, x5 = x + 5, x6 = x + 6, x7 = x + 7;
  for (uint i = 0; i < loops; ++i) {
    TIMES_48(FMA_CHAINS)
  }
  out[get_global_id(0)] = ((x0 + x1) + (x2 + x3)) + ((x4 + x5) + (x6 + x7));
}
#endif

// x * x + b, as a compiler could merge two steps of x * a + b with the same a.
#define SQUARE_ADD(x) x = x * x + b;
#define INT_CHAINS \
  SQUARE_ADD(x0) SQUARE_ADD(x1) SQUARE_ADD(x2) SQUARE_ADD(x3) SQUARE_ADD(x4) SQUARE_ADD(x5) SQUARE_ADD(x6) SQUARE_ADD(x7)

__kernel void int32(__global UINTS* out, uint loops, uint summand) {
  const UINTS b = (UINTS)(summand), x = (UINTS)((uint)get_global_id(0));
  UINTS x0 = x, x1 = x + 1, x2 = x + 2, x3 = x + 3, x4 = x + 4, x5 = x + 5, x6 = x + 6, x7 = x + 7;
  for (uint i = 0; i < loops; ++i) {
    TIMES_48(INT_CHAINS)
  }
  out[get_global_id(0)] = (x0 ^ x1) ^ (x2 ^ x3) ^ (x4 ^ x5) ^ (x6 ^ x7);
}

// Copies `each` elements per work-item.
#ifdef LINEAR
__kernel void copy(__global const UINTS* from, __global UINTS* to, uint each) {
  const ulong first = (ulong)get_global_id(0) * each;
  for (ulong i = first; i < first + each; ++i) to[i] = from[i];
}
#else
// Has four loads under way before the first is stored.
__kernel void copy(__global const uint4* from, __global uint4* to, uint each) {
  const ulong stride = get_global_size(0);
  ulong i = get_global_id(0);
  for (uint k = 0; k < each; k += 4, i += 4 * stride) {
    const uint4 a = from[i], b = from[i + stride], c = from[i + 2 * stride], d = from[i + 3 * stride];
    to[i] = a;
    to[i + stride] = b;
    to[i + 2 * stride] = c;
    to[i + 3 * stride] = d;
  }
}
#endif

__kernel void nothing(uint unused) {}

__kernel void least(__global uint* words) { words[get_global_id(0)] += 1; }
