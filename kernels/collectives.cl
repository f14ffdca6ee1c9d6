// Combines this device's data with what the other devices of a group have put into its landing
// memory, in the order of the devices. OpenCL C 1.2. lib/exchange/collectives.cpp has the
// arguments.
//
// -D options:
//   COMBINE        the kernel's name
//   ELEMENT        uint, ulong, float or double (with FP64), of which WIDTH make 16 bytes
//   SUM, MIN, MAX  one of them is defined
//   LINEAR         a work-item takes a contiguous range (CPUs), else neighbours take neighbouring
//                  elements (GPUs)
//   AT_ONCE        name of a kernel that exchanges and combines in one launch, between NVIDIA GPUs
//                  on the direct path

#ifdef FP64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

#define JOINED(a, b) a##b
#define JOIN(a, b) JOINED(a, b)
#define WIDE JOIN(ELEMENT, WIDTH)

// MIN and MAX of a NaN and a number return the operand of the first device, so that the result is
// the same on all devices.
#if defined(SUM)
#define WITH(a, b) ((a) + (b))
#elif defined(MIN)
#define WITH(a, b) ((b) < (a) ? (b) : (a))
#else
#define WITH(a, b) ((b) > (a) ? (b) : (a))
#endif

// Returns x[0][i] op x[1][i] op ..., from the left, where x[self] is `mine` and x[k] is slot k of
// `landing`.
inline ELEMENT combined(__global const ELEMENT* mine, __global const ELEMENT* landing, ulong slot, ulong i, uint self,
                        uint devices) {
  ELEMENT sum = self == 0 ? mine[i] : landing[i];
  for (uint k = 1; k < devices; ++k) {
    const ELEMENT next = k == self ? mine[i] : landing[k * slot + i];
    sum = WITH(sum, next);
  }
  return sum;
}

// Does the same for vector i.
inline WIDE combined_wide(__global const ELEMENT* mine, __global const ELEMENT* landing, ulong slot, ulong i, uint self,
                          uint devices) {
  WIDE sum = self == 0 ? ((__global const WIDE*)mine)[i] : ((__global const WIDE*)landing)[i];
  for (uint k = 1; k < devices; ++k) {
    const WIDE next = k == self ? ((__global const WIDE*)mine)[i] : ((__global const WIDE*)(landing + k * slot))[i];
    sum = WITH(sum, next);
  }
  return sum;
}

// Combines elements i < count; slots have `slot` elements. `aligned`: `mine` and the outputs allow
// loads and stores of 16 bytes, as slots always do. The result goes to the first `outs` of o0 to
// o7, the memory of that many devices.
__kernel void COMBINE(__global ELEMENT* o0, __global ELEMENT* o1, __global ELEMENT* o2, __global ELEMENT* o3, __global ELEMENT* o4,
                      __global ELEMENT* o5, __global ELEMENT* o6, __global ELEMENT* o7, uint outs, ulong out_at,
                      __global const ELEMENT* mine, ulong mine_at, __global const ELEMENT* landing, ulong slot, ulong count,
                      uint self, uint devices, uint aligned) {
  __global ELEMENT* const all[8] = {o0, o1, o2, o3, o4, o5, o6, o7};
  mine += mine_at;
  const ulong wide = aligned ? count / WIDTH : 0;
#ifdef LINEAR
  const ulong share = (wide + get_global_size(0) - 1) / get_global_size(0), from = get_global_id(0) * share;
  const ulong to = min(wide, from + share), step = 1;
#else
  const ulong from = get_global_id(0), to = wide, step = get_global_size(0);
#endif
  for (ulong i = from; i < to; i += step) {
    const WIDE sum = combined_wide(mine, landing, slot, i, self, devices);
#pragma unroll
    for (uint k = 0; k < 8; ++k)
      if (k < outs) ((__global WIDE*)(all[k] + out_at))[i] = sum;
  }
  for (ulong i = wide * WIDTH + get_global_id(0); i < count; i += get_global_size(0)) {
    const ELEMENT sum = combined(mine, landing, slot, i, self, devices);
    for (uint k = 0; k < 8; ++k)
      if (k < outs) all[k][out_at + i] = sum;
  }
}

#ifdef AT_ONCE
#include "peer_ptx.cl"

#define FLAG_WORDS 32u  // 32-bit words: the flags of a work-group, one per device

// Exchanges and combines few elements: each device puts its own into slot `self` of every other's
// landing memory, raises a flag there, waits for the others' flags and combines. Work-group g takes
// the same elements on every device, and waits only for work-groups g. The landing memory has 2 x
// devices slots, used by odd and even calls in turn: a device that has come to call n + 2 has seen
// a flag of call n + 1 of every other device, whose kernel of call n had ended by then. l0 to l7
// and f0 to f7 are the landing memory and flags of all devices.
__kernel void AT_ONCE(__global ELEMENT* out, ulong out_at, __global const ELEMENT* mine, ulong mine_at, ulong count, uint self,
                      uint devices, uint aligned, ulong slot, uint call, __global uint* status, ulong limit,
                      __global ELEMENT* l0, __global ELEMENT* l1, __global ELEMENT* l2, __global ELEMENT* l3,
                      __global ELEMENT* l4, __global ELEMENT* l5, __global ELEMENT* l6, __global ELEMENT* l7,
                      __global uint* f0, __global uint* f1, __global uint* f2, __global uint* f3,
                      __global uint* f4, __global uint* f5, __global uint* f6, __global uint* f7) {
  __global ELEMENT* const lands[8] = {l0, l1, l2, l3, l4, l5, l6, l7};
  __global uint* const flags[8] = {f0, f1, f2, f3, f4, f5, f6, f7};
  out += out_at;
  mine += mine_at;
  const ulong wide = aligned ? count / WIDTH : 0, begin = (ulong)(call & 1u) * devices * slot;
  const ulong first = get_global_id(0), step = get_global_size(0);
  __global ELEMENT* landing = l0;
  __global uint* own_flags = f0;
#pragma unroll
  for (uint k = 0; k < 8; ++k) {
    if (k == self) {
      landing = lands[k] + begin;
      own_flags = flags[k];
    } else if (k < devices) {
      __global ELEMENT* const to = lands[k] + begin + self * slot;
      for (ulong i = first; i < wide; i += step) ((__global WIDE*)to)[i] = ((__global const WIDE*)mine)[i];
      for (ulong i = wide * WIDTH + first; i < count; i += step) to[i] = mine[i];
    }
  }
  barrier(CLK_GLOBAL_MEM_FENCE);
  const uint at = get_group_id(0) * FLAG_WORDS, other = get_local_id(0);
  if (other < devices && other != self) {
    __global uint* theirs = f0;
#pragma unroll
    for (uint k = 1; k < 8; ++k)
      if (k == other) theirs = flags[k];
    store_release(theirs + at + self, call);
    await_flag(own_flags + at + other, call, other, status, limit);
  }
  barrier(CLK_GLOBAL_MEM_FENCE);
  for (ulong i = first; i < wide; i += step)
    ((__global WIDE*)out)[i] = combined_wide(mine, landing, slot, i, self, devices);
  for (ulong i = wide * WIDTH + first; i < count; i += step) out[i] = combined(mine, landing, slot, i, self, devices);
}
#endif
