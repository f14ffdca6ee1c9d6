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
//   AT_ONCE, IN_PARTS  names of kernels that exchange and combine in one launch, few and many
//                  elements, between DEVICES NVIDIA GPUs on the direct path

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
#include "numbered_words.cl"

// Parameters a0, a1, .. of all devices, and the one of device `k`. An NVIDIA driver takes 0.4 us for
// each buffer of a launch, so that there are no more than DEVICES.
#define EACH2(type, a) type a##0, type a##1
#define EACH3(type, a) EACH2(type, a), type a##2
#define EACH4(type, a) EACH3(type, a), type a##3
#define EACH5(type, a) EACH4(type, a), type a##4
#define EACH6(type, a) EACH5(type, a), type a##5
#define EACH7(type, a) EACH6(type, a), type a##6
#define EACH8(type, a) EACH7(type, a), type a##7
#define EACH JOIN(EACH, DEVICES)
#define OF2(a, k) ((k) == 0 ? a##0 : a##1)
#define OF3(a, k) ((k) == 2 ? a##2 : OF2(a, k))
#define OF4(a, k) ((k) == 3 ? a##3 : OF3(a, k))
#define OF5(a, k) ((k) == 4 ? a##4 : OF4(a, k))
#define OF6(a, k) ((k) == 5 ? a##5 : OF5(a, k))
#define OF7(a, k) ((k) == 6 ? a##6 : OF6(a, k))
#define OF8(a, k) ((k) == 7 ? a##7 : OF7(a, k))
#define OF JOIN(OF, DEVICES)

// 32-bit words of an element, each of which travels with the number of its call.
#define WORDS (4u / WIDTH)
#if WIDTH == 4
inline void post(words to, ELEMENT x, uint call) { post_word(to, as_uint(x), call); }
inline ELEMENT await(words from, uint call, uint device, __global uint* status, ulong limit) {
  return JOIN(as_, ELEMENT)(await_word(from, call, device, status, limit));
}
#else
inline void post(words to, ELEMENT x, uint call) {
  const uint2 bits = as_uint2(x);
  post_word(to, bits.x, call);
  post_word(to + 1, bits.y, call);
}
inline ELEMENT await(words from, uint call, uint device, __global uint* status, ulong limit) {
  const uint low = await_word(from, call, device, status, limit);
  return JOIN(as_, ELEMENT)((uint2)(low, await_word(from + 1, call, device, status, limit)));
}
#endif

// Exchanges and combines few elements: each device puts its own into box `self` of every other's
// landing memory, and waits for each element of the others. The landing memory l0, l1, .. has 2 x
// DEVICES boxes of `box` words, used by odd and even calls in turn: a device that has come to call
// n + 2 has all of call n + 1 of every other device, whose kernel of call n had ended by then.
__kernel void AT_ONCE(__global ELEMENT* out, ulong out_at, __global const ELEMENT* mine, ulong mine_at, ulong count, uint self,
                      ulong box, uint call, __global uint* status, ulong limit, EACH(__global ulong*, l)) {
  const ulong begin = (ulong)(call & 1u) * DEVICES * box, first = get_global_id(0), step = get_global_size(0);
  out += out_at;
  mine += mine_at;
  for (ulong i = first; i < count; i += step) {
    const ELEMENT x = mine[i];
#pragma unroll
    for (uint k = 1; k < DEVICES; ++k) {
      const uint to = (self + k) % DEVICES;
      post(OF(l, to) + begin + self * box + i * WORDS, x, call);
    }
  }
  words landing = OF(l, self) + begin;
  for (ulong i = first; i < count; i += step) {
    ELEMENT sum = 0;
    for (uint k = 0; k < DEVICES; ++k) {
      const ELEMENT x = k == self ? mine[i] : await(landing + k * box + i * WORDS, call, k, status, limit);
      sum = k == 0 ? x : WITH(sum, x);
    }
    out[i] = sum;
  }
}

// Elements of part k of `count`: as part_of in lib/exchange/collective.cpp.
inline ulong part_begin(ulong count, uint k) {
  const ulong granules = count / WIDTH;
  return k == DEVICES ? count : (granules / DEVICES * k + min((ulong)k, granules % DEVICES)) * WIDTH;
}

inline void move(__global ELEMENT* to, __global const ELEMENT* from, ulong count, uint aligned) {
  const ulong wide = aligned ? count / WIDTH : 0;
  for (ulong i = get_local_id(0); i < wide; i += get_local_size(0)) ((__global WIDE*)to)[i] = ((__global const WIDE*)from)[i];
  for (ulong i = wide * WIDTH + get_local_id(0); i < count; i += get_local_size(0)) to[i] = from[i];
}

// Raises flag `at` of all other devices, after what the work-group has written.
#define RAISE(at)                                                              \
  barrier(CLK_GLOBAL_MEM_FENCE);                                               \
  if (lane < DEVICES && lane != self) store_release(OF(f, lane) + (at), call);

// Exchanges and combines many elements, in two shots: part k of every device goes to device k in
// tiles, which combines them and stores the result into the outputs o0, o1, .. of all. A work-group
// waits only for its tiles. Every device has 2 x DEVICES x `tiles` flags f0, f1, ..: for each sender
// and tile that it has landed, and that the result is there. When the kernel ends, all others have
// read what it sent, and its own output is whole.
__kernel void IN_PARTS(EACH(__global ELEMENT*, o), ulong out_at,
                       __global const ELEMENT* mine, ulong mine_at, ulong count, uint self, uint aligned, ulong slot, ulong tile,
                       uint tiles, uint call, __global uint* status, ulong limit, EACH(__global ELEMENT*, l),
                       EACH(__global uint*, f)) {
  const uint lane = get_local_id(0);
  __global const ELEMENT* landing = OF(l, self);
  __global uint* flags = OF(f, self);
  const ulong own = part_begin(count, self), own_count = part_begin(count, self + 1) - own;
  mine += mine_at;
  for (uint t = get_group_id(0); t < tiles; t += get_num_groups(0)) {
    for (uint k = 1; k < DEVICES; ++k) {
      const uint to = (self + k) % DEVICES;
      const ulong part = part_begin(count, to), size = part_begin(count, to + 1) - part, from = t * tile;
      if (from < size) move(OF(l, to) + self * slot + from, mine + part + from, min(tile, size - from), aligned);
    }
    RAISE(self * tiles + t)
  }
  for (uint t = get_group_id(0); t < tiles; t += get_num_groups(0)) {
    if (lane < DEVICES && lane != self) await_flag(flags + lane * tiles + t, call, lane, status, limit);
    barrier(CLK_GLOBAL_MEM_FENCE);
    const ulong from = t * tile, size = from < own_count ? min(tile, own_count - from) : 0, wide = aligned ? size / WIDTH : 0;
    const ulong to = out_at + own + from;
    for (ulong i = lane; i < wide; i += get_local_size(0)) {
      const WIDE sum = combined_wide(mine + own + from, landing + from, slot, i, self, DEVICES);
#pragma unroll
      for (uint k = 0; k < DEVICES; ++k) {
        const uint q = (self + k) % DEVICES;
        ((__global WIDE*)(OF(o, q) + to))[i] = sum;
      }
    }
    for (ulong i = wide * WIDTH + lane; i < size; i += get_local_size(0)) {
      const ELEMENT sum = combined(mine + own + from, landing + from, slot, i, self, DEVICES);
      for (uint k = 0; k < DEVICES; ++k) OF(o, k)[to + i] = sum;
    }
    RAISE((DEVICES + self) * tiles + t)
  }
  if (lane < DEVICES && lane != self)
    for (uint t = get_group_id(0); t < tiles; t += get_num_groups(0))
      await_flag(flags + (DEVICES + lane) * tiles + t, call, lane, status, limit);
}
#endif
