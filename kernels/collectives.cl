// Combines what the devices of a group put into this one's landing memory with its own, in the order of the devices. OpenCL C 1.2.
// What it is launched with is in lib/exchange/collectives.cpp.
//
// -D options:
//   COMBINE        the kernel's name
//   ELEMENT        uint, ulong, float or double (with FP64), of which WIDTH make 16 bytes
//   SUM, MIN, MAX  one of them
//   LINEAR         a work-item takes a contiguous range (CPUs), else neighbours take neighbouring elements (GPUs)

#ifdef FP64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

#define JOINED(a, b) a##b
#define JOIN(a, b) JOINED(a, b)
#define WIDE JOIN(ELEMENT, WIDTH)

// Of a NaN and a number the first in the order of the devices is taken by min and max: the same on all of them.
#if defined(SUM)
#define WITH(a, b) ((a) + (b))
#elif defined(MIN)
#define WITH(a, b) ((b) < (a) ? (b) : (a))
#else
#define WITH(a, b) ((b) > (a) ? (b) : (a))
#endif

// out[i] = x[0][i] op x[1][i] op ... for i < count, from the left, where x[self] is `mine` and x[k] slot k of `landing`, which has
// `slot` elements. `aligned`: 16 bytes at a time may be loaded and stored; slots begin so anyway.
__kernel void COMBINE(__global ELEMENT* out, ulong out_at, __global const ELEMENT* mine, ulong mine_at,
                      __global const ELEMENT* landing, ulong slot, ulong count, uint self, uint devices, uint aligned) {
  out += out_at;
  mine += mine_at;
  const ulong wide = aligned ? count / WIDTH : 0;
#ifdef LINEAR
  const ulong share = (wide + get_global_size(0) - 1) / get_global_size(0), from = get_global_id(0) * share;
  const ulong to = min(wide, from + share), step = 1;
#else
  const ulong from = get_global_id(0), to = wide, step = get_global_size(0);
#endif
  for (ulong i = from; i < to; i += step) {
    WIDE sum = self == 0 ? ((__global const WIDE*)mine)[i] : ((__global const WIDE*)landing)[i];
    for (uint k = 1; k < devices; ++k) {
      const WIDE next = k == self ? ((__global const WIDE*)mine)[i] : ((__global const WIDE*)(landing + k * slot))[i];
      sum = WITH(sum, next);
    }
    ((__global WIDE*)out)[i] = sum;
  }
  for (ulong i = wide * WIDTH + get_global_id(0); i < count; i += get_global_size(0)) {
    ELEMENT sum = self == 0 ? mine[i] : landing[i];
    for (uint k = 1; k < devices; ++k) {
      const ELEMENT next = k == self ? mine[i] : landing[k * slot + i];
      sum = WITH(sum, next);
    }
    out[i] = sum;
  }
}
