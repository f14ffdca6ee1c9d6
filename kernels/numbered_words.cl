// Words that one work-group writes and another one, on this device or on a neighbour, waits for
// while both run: each carries a number next to its 32 bits. 64 bits are stored and loaded as a
// whole, so that no order between words is needed, and no fence (the LL protocol of NCCL,
// https://github.com/NVIDIA/nccl, src/device/prims_ll.h). Every wait has a limit; after one has
// been exceeded, no other wait takes place.
//
// NVIDIA: limits are nanoseconds; elsewhere there is no clock, and limits count polls.
#ifdef NVIDIA
#include "peer_ptx.cl"
#define time_at(looks) now_ns()
#else
#define time_at(looks) (looks)
#endif

typedef volatile __global ulong* words;

inline void post_word(words to, uint bits, uint number) { *to = (ulong)number << 32 | bits; }

// Waits for a word. If it does not come, the status becomes 1 + `device`, the one that should have
// sent it.
inline uint await_word(words from, uint number, uint device, volatile __global uint* status, ulong limit) {
  ulong word = *from;
  if ((uint)(word >> 32) == number) return (uint)word;
  const ulong until = time_at(0) + limit;
  for (ulong looks = 1;; ++looks) {
    word = *from;
    if ((uint)(word >> 32) == number) return (uint)word;
    if (looks % 64 != 0) continue;
    if (*status != 0) return 0;
    if (time_at(looks) > until) {
      atomic_cmpxchg(status, 0u, 1u + device);
      return 0;
    }
  }
}
