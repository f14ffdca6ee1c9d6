// Additions to kernels/stencil.cl for a step whose kernel exchanges layers with the devices before
// and after it: the work-groups of its outermost layers come first. They wait until the neighbours
// have sent the halos of the state that is read, compute, store the layers that the neighbours need
// into the neighbours' mail, and the last of them raises a flag there. All other work-groups
// neither wait nor are waited for, so that they hide the exchange.
//
// A device's mail: the halos of states of even and odd number, each from the device before and from
// the one after; then a flag of each of these, the number of the last state that it has sent. A
// device that has seen flag s of a neighbour also knows that the neighbour has read its halos of
// state s - 1, which those of s + 1 replace.
//
// Predicted for two H200: half of the time on one, 3 us for a launch, nothing for the exchange
// (1.97 x at 16384 x 16384). Measured: 1.93 x, and 298 us per step, against 286 if devices wait
// after the step; 281 of these are the kernel on half of the rows. Groups without an exchange take
// a separate path since, in 36 registers instead of 40, which takes 3 us less.
//
// Given by -D: REAL, RADIUS_OF_STEP, the layers of a halo.
#include "flags.cl"

#define BEFORE 1u  // bits of `how`: there is a device before, after
#define AFTER 2u
#define WAITS 4u    // waits for flags; otherwise the halos are known to be there
#define SENDS 8u    // sends halos of the state that it makes
#define SIGNALS 16u  // signals that it has sent
#define MAILED 32u  // halos that it reads are in the mail; otherwise next to the share's own layers

#define FLAG_WORDS 32u  // 32-bit words per flag, which has a line of 128 bytes

#define EXCHANGE_ARGS                                                                                                          \
  __global REAL *mail, __global REAL *mail_before, __global REAL *mail_after, ulong layer, uint how, uint number, uint top_end, \
      uint bottom_begin, __global uint *done, __global uint *status, ulong limit, uint before, uint after
#define EXCHANGE mail, mail_before, mail_after, layer, how, number, top_end, bottom_begin, done, status, limit, before, after

#define HALO (RADIUS_OF_STEP * layer)  // cells of a halo

// Return the halo of state `number`, and the flag, from the device before (side 0) or after (1).
inline __global REAL* halo_in(__global REAL* mail, ulong layer, uint number, uint side) {
  return mail + ((number & 1u) * 2 + side) * HALO;
}
inline __global uint* flag_in(__global REAL* mail, ulong layer, uint side) {
  return (__global uint*)(mail + 4 * HALO) + side * FLAG_WORDS;
}

// The strip of layers [first, end) of the groups with number `strip` along the last axis, and the
// sides on which it is outermost.
typedef struct {
  uint begin, stop, sides;
} Strip;

inline Strip strip_of(uint strip, uint first, uint end, uint how, uint top_end, uint bottom_begin) {
  Strip mine = {first, top_end, how & BEFORE};
  if (top_end == end) mine.sides = how & (BEFORE | AFTER);
  if (strip == 1) {
    mine.begin = bottom_begin;
    mine.stop = end;
    mine.sides = how & AFTER;
  } else if (strip > 1) {
    mine.begin = top_end + (strip - 2) * STRIP;
    mine.stop = min(mine.begin + STRIP, bottom_begin);
    mine.sides = 0;
  }
  return mine;
}

// Waits for the halos; called by all work-items of a group.
inline void await_halos(uint sides, bool is_first, EXCHANGE_ARGS) {
  if (sides == 0 || (how & WAITS) == 0) return;
  if (is_first) {
    if (sides & BEFORE) await_flag(flag_in(mail, layer, 0), number, before, status, limit);
    if (sides & AFTER) await_flag(flag_in(mail, layer, 1), number, after, status, limit);
  }
  barrier(CLK_GLOBAL_MEM_FENCE | CLK_LOCAL_MEM_FENCE);
}

// Return the layers before and after [first, end) in `from`, the state before `to`, whose own
// layers are `shift` further on.
inline __global const REAL* layers_before(__global const REAL* from, uint first, uint shift, EXCHANGE_ARGS) {
  if ((how & MAILED) && (how & BEFORE)) return halo_in(mail, layer, number, 0);
  return from + (ulong)(first + shift - RADIUS_OF_STEP) * layer;
}
inline __global const REAL* layers_after(__global const REAL* from, uint end, uint shift, EXCHANGE_ARGS) {
  if ((how & MAILED) && (how & AFTER)) return halo_in(mail, layer, number, 1);
  return from + (ulong)(end + shift) * layer;
}

// Sends this work-item's part of the halos: VECTOR cells at `at` of each layer.
inline void send_halos(__global const REAL* to, uint first, uint end, uint sides, ulong at, EXCHANGE_ARGS) {
  if ((how & SENDS) == 0) return;
  for (uint l = 0; l < RADIUS_OF_STEP; ++l) {
    if (sides & BEFORE)
      store(load(to + (ulong)(first + l) * layer + at), halo_in(mail_before, layer, number + 1, 1) + l * layer + at);
    if (sides & AFTER)
      store(load(to + (ulong)(end - RADIUS_OF_STEP + l) * layer + at), halo_in(mail_after, layer, number + 1, 0) + l * layer + at);
  }
}

// Called by all work-items of a group; `groups` groups are outermost on a side, and the last to
// come here raises the flag.
inline void signal_sent(uint sides, bool is_first, uint groups, EXCHANGE_ARGS) {
  if (sides == 0 || (how & SIGNALS) == 0) return;
  barrier(CLK_GLOBAL_MEM_FENCE | CLK_LOCAL_MEM_FENCE);
  if (!is_first) return;
  for (uint side = 0; side < 2; ++side) {
    if ((sides >> side & 1u) == 0) continue;
#ifdef NVIDIA
    asm volatile("fence.acq_rel.sys;" : : : "memory");
#else
    mem_fence(CLK_GLOBAL_MEM_FENCE);
#endif
    if (atomic_inc(done + side) + 1 < groups) continue;
    atomic_xchg(done + side, 0u);  // for the next launch
    store_release(flag_in(side == 0 ? mail_before : mail_after, layer, 1 - side), number + 1);
  }
}
