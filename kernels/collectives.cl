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
//   AT_ONCE, IN_TILES  names of kernels that also exchange, few and many elements, in one launch per
//                  device, between DEVICES NVIDIA GPUs on the direct path
//   MOVES          nothing is combined
//   MOST_TILES     of one exchange
//   WAITERS        work-items per group of IN_TILES that handle flags, at least DEVICES - 1

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

// By device: this one, the one after it, and so on round to the one before it.
#define EACH(k) for (uint k = 0; k < DEVICES; ++k)
#define OTHERS(k) for (uint k = 1; k < DEVICES; ++k)
inline uint number_of(uint self, uint k) { return (self + k) % DEVICES; }
// Addresses of memory. They are numbers, as an NVIDIA driver takes 0.4 us for each buffer of a launch.
typedef struct {
  ulong at[DEVICES];
} addresses;
// Elements [from, from + size) of this device's input go to each, or come from each to [to, to + size) of its output.
typedef struct {
  ulong from[DEVICES], size[DEVICES], to[DEVICES];
} segments;

inline ulong most_of(segments all) {
  ulong most = 0;
#pragma unroll
  EACH(k) most = max(most, all.size[k]);
  return most;
}

// The box of `sender` in the landing memory of device k: `box` words, the first LINE of which say only
// that it has come. Odd and even calls use boxes of their own: a device that has come to call n + 2
// has heard of all others in call n + 1, so that their kernels of call n had ended by then.
#define LINE 16u
inline words box_of(addresses boxes, uint k, uint sender, ulong box, uint call) {
  return (words)boxes.at[k] + ((call & 1u) * DEVICES + sender) * box;
}

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

// Waits for element i of a device.
inline ELEMENT received(addresses boxes, uint device, ulong box, ulong i, uint call, __global uint* status, ulong limit) {
  return await(box_of(boxes, 0, device, box, call) + LINE + i * WORDS, call, device, status, limit);
}

// Exchanges few elements: each device puts what it sends into its boxes at the others, and waits for
// each element of theirs. All that come are combined with its own [from, from + size) of `sent`, or
// each goes to its place in the output (MOVES).
__kernel void AT_ONCE(__global ELEMENT* out, __global const ELEMENT* in, segments sent, segments come, addresses boxes, ulong box,
                      uint self, uint call, __global uint* status, ulong limit) {
  const ulong first = get_global_id(0), step = get_global_size(0), most = most_of(sent), most_come = most_of(come);
  if (first == 0) {
#pragma unroll
    OTHERS(k) post_word(box_of(boxes, k, self, box, call), 0, call);
  }
  for (ulong i = first; i < most; i += step) {
#pragma unroll
    OTHERS(k)
      if (i < sent.size[k]) post(box_of(boxes, k, self, box, call) + LINE + i * WORDS, in[sent.from[k] + i], call);
  }
#ifdef MOVES
  for (ulong i = first; i < sent.size[0]; i += step) out[sent.to[0] + i] = in[sent.from[0] + i];
  for (ulong i = first; i < most_come; i += step) {
#pragma unroll
    OTHERS(k)
      if (i < come.size[k])
        out[come.to[k] + i] = received(boxes, number_of(self, k), box, i, call, status, limit);
  }
#else
  for (ulong i = first; i < sent.size[0]; i += step) {
    ELEMENT sum = 0;
    for (uint k = 0; k < DEVICES; ++k) {
      const ELEMENT x = k == self ? in[sent.from[0] + i] : received(boxes, k, box, i, call, status, limit);
      sum = k == 0 ? x : WITH(sum, x);
    }
    out[sent.to[0] + i] = sum;
  }
#endif
  if (first == 0)
    OTHERS(k) await_word(box_of(boxes, 0, number_of(self, k), box, call), call, number_of(self, k), status, limit);
}

// Work-items of IN_TILES before the waiters, which wait for other devices and raise their flags while
// the workers go on: a flag costs a fence, which takes microseconds while a link is full.
#define WORKERS (get_local_size(0) - WAITERS)

// Copies elements to one or two places.
inline void move(__global ELEMENT* to, __global ELEMENT* also, __global const ELEMENT* from, ulong count, uint aligned) {
  const ulong wide = aligned ? count / WIDTH : 0;
  for (ulong i = get_local_id(0); i < wide; i += WORKERS) {
    const WIDE x = ((__global const WIDE*)from)[i];
    ((__global WIDE*)to)[i] = x;
    if (also != 0) ((__global WIDE*)also)[i] = x;
  }
  for (ulong i = wide * WIDTH + get_local_id(0); i < count; i += WORKERS) {
    const ELEMENT x = from[i];
    to[i] = x;
    if (also != 0) also[i] = x;
  }
}

// Flags of a device: from each device that it has come, and for each exchange, device and tile that
// the tile is there. A place has one meaning in all calls, as a device may be a call ahead.
#define TILE_FLAG(exchange, device, tile) (DEVICES + ((exchange) * DEVICES + (device)) * MOST_TILES + (tile))

enum { ENDS, COMBINES, PASSES_ON };

// Exchanges many elements, in tiles; a work-group waits only for its own. First the device's
// segments go to the addresses `to`, and `also` to others of its own (0: nowhere). `then` tells what
// happens to the device's part of `part` elements as it comes: nothing; it combines what is in slots
// of `slot` elements at `landing` with its own segment, or takes the elements at `landing`, and
// stores the result at the addresses `results`. `asks`: others must have come before their memory
// may be written. When the kernel ends, all others have read what it sent, and its own output is
// whole.
__kernel void IN_TILES(__global const ELEMENT* in, segments sent, addresses to, addresses also, uint asks, uint then,
                       ulong part, ulong landing, ulong slot, addresses results, uint aligned, ulong tile, uint tiles,
                       addresses flags, uint self, uint call, __global uint* status, ulong limit) {
  const uint lane = get_local_id(0), group = get_group_id(0), step = get_num_groups(0);
  // The waiter of another device has its number from this device on; others have DEVICES or more.
  const uint waiter = lane < WORKERS ? DEVICES : lane - WORKERS + 1, other = number_of(self, waiter);
  __global uint* const raised = (__global uint*)flags.at[0];
  __global uint* theirs = raised;
#pragma unroll
  OTHERS(k) if (k == waiter) theirs = (__global uint*)flags.at[k];
  if (asks) {
    if (waiter < DEVICES) {
      if (group == 0) store_release(theirs + self, call);
      await_flag(raised + other, call, other, status, limit);
    }
    barrier(CLK_GLOBAL_MEM_FENCE);
  }
  // In each turn, workers send the next tile and combine or pass on the one of two turns before;
  // waiters raise flags of what workers did in the turn before, and wait for what they need next.
  const uint own = group < tiles ? (tiles - group + step - 1) / step : 0, turns = own + (then == ENDS ? 1 : 3);
  for (uint turn = 0; turn < turns; ++turn) {
    const uint t = group + turn * step;  // wraps around below 0 when it is used less some steps
    if (lane >= WORKERS) {
      if (waiter < DEVICES && turn > 0) {
        fence_release();
        if (turn <= own) store_flag(theirs + TILE_FLAG(0, self, t - step), call);
        if (then != ENDS && turn >= 3) store_flag(theirs + TILE_FLAG(1, self, t - 3 * step), call);
        if (then != ENDS && turn <= own)
          await_flag(raised + TILE_FLAG(0, other, t - step), call, other, status, limit);
      }
    } else {
      const uint sends = turn < own ? DEVICES : 0;
      for (uint i = 0; i < sends; ++i) {
        // Work-groups begin with different devices, and end with this one.
        const uint wanted = i == DEVICES - 1 ? 0 : 1 + (i + t) % (DEVICES - 1);
        const ulong at = t * tile;
        ulong from = 0, size = 0, there = 0, here = 0;
#pragma unroll
        EACH(k) {
          if (k == wanted) from = sent.from[k], size = sent.size[k], there = to.at[k], here = also.at[k];
        }
        if (there == 0 || at >= size) continue;
        __global ELEMENT* copy = here != 0 ? (__global ELEMENT*)here + at : 0;
        move((__global ELEMENT*)there + at, copy, in + from + at, min(tile, size - at), aligned);
      }
      const ulong from = (t - 2 * step) * tile;
      if (then != ENDS && turn >= 2 && turn < own + 2 && from < part) {
        const ulong size = min(tile, part - from), wide = aligned ? size / WIDTH : 0;
        __global const ELEMENT* mine = in + sent.from[0] + from;
        __global const ELEMENT* landed = (__global const ELEMENT*)landing + from;
        for (ulong i = lane; i < wide; i += WORKERS) {
          const WIDE x =
              then == COMBINES ? combined_wide(mine, landed, slot, i, self, DEVICES) : ((__global const WIDE*)landed)[i];
#pragma unroll
          EACH(k) if (results.at[k] != 0) ((__global WIDE*)((__global ELEMENT*)results.at[k] + from))[i] = x;
        }
        for (ulong i = wide * WIDTH + lane; i < size; i += WORKERS) {
          const ELEMENT x = then == COMBINES ? combined(mine, landed, slot, i, self, DEVICES) : landed[i];
          EACH(k) if (results.at[k] != 0) ((__global ELEMENT*)results.at[k] + from)[i] = x;
        }
      }
    }
    barrier(CLK_GLOBAL_MEM_FENCE);
  }
  for (uint turn = 0; waiter < DEVICES && turn < own; ++turn)
    await_flag(raised + TILE_FLAG(then == ENDS ? 0 : 1, other, group + turn * step), call, other, status, limit);
}
#endif
