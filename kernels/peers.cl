// Access of one GPU to another's memory on the direct path, without the host: flags that one sets
// and the other waits for, and bytes that it puts there. NVIDIA only. lib/opencl/cl_peer.cpp
// launches these kernels.
#include "peer_ptx.cl"

#define DEVICES 8       // largest number of devices of a group
#define FLAG_WORDS 32u  // 32-bit words per flag, which has a line of 128 bytes

// Signals each device in `signal`, a bit each, then waits for a signal of each in `await`, for at
// most `limit` ns. One work-item per device. Words of a device's flags f0 to f7: how often each
// device signalled it, how often it signalled each, how often it waited for each.
__kernel __attribute__((reqd_work_group_size(DEVICES, 1, 1))) void sync(uint signal, uint await, uint self, __global uint* status,
                                                                       ulong limit, __global uint* f0, __global uint* f1,
                                                                       __global uint* f2, __global uint* f3, __global uint* f4,
                                                                       __global uint* f5, __global uint* f6, __global uint* f7) {
  const uint other = get_local_id(0);
  __global uint* const all[DEVICES] = {f0, f1, f2, f3, f4, f5, f6, f7};
  __global uint* mine = f0;
  __global uint* theirs = f0;
  for (uint i = 1; i < DEVICES; ++i) {
    if (i == self) mine = all[i];
    if (i == other) theirs = all[i];
  }
  __global uint* const sent = mine + (DEVICES + other) * FLAG_WORDS;
  __global uint* const awaited = mine + (2 * DEVICES + other) * FLAG_WORDS;
  if (signal >> other & 1u) {
    *sent += 1;
    store_release(theirs + self * FLAG_WORDS, *sent);
  }
  if (await >> other & 1u) {
    *awaited += 1;
    await_flag(mine + other * FLAG_WORDS, *awaited, other, status, limit);
  }
}

// Notes where memory is.
__kernel void address(__global const uchar* memory, __global ulong* to) { *to = (ulong)memory; }

// Copies bytes, 16 at a time if both sides allow it.
__kernel void put(__global uchar* to, ulong to_at, __global const uchar* from, ulong from_at, ulong size) {
  to += to_at;
  from += from_at;
  const ulong first = get_global_id(0), step = get_global_size(0);
  ulong done = 0;
  if ((((ulong)to | (ulong)from) & 15) == 0) {
    const ulong vectors = size / 16;
    for (ulong i = first; i < vectors; i += step) ((__global uint4*)to)[i] = ((__global const uint4*)from)[i];
    done = vectors * 16;
  } else if ((((ulong)to | (ulong)from) & 3) == 0) {
    const ulong words = size / 4;
    for (ulong i = first; i < words; i += step) ((__global uint*)to)[i] = ((__global const uint*)from)[i];
    done = words * 4;
  }
  for (ulong i = done + first; i < size; i += step) to[i] = from[i];
}
