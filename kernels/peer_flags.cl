// Order between GPUs that reach each other's memory, without the host: flags that one sets in the other's memory and the other waits
// for. NVIDIA only: OpenCL C 1.2 has no loads and stores that other devices see in order, PTX has (ld.acquire.sys, st.release.sys;
// "Memory Consistency Model" in the PTX ISA). Its launches are in lib/exec/cl_peer.cpp.

#define DEVICES 8    // of a group, at most
#define FLAG_WORDS 32u  // of 32 bits between two flags: a line of 128 bytes each

inline uint load_acquire(__global uint* from) {
  uint value;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
  return value;
}

inline void store_release(__global uint* to, uint value) {
  asm volatile("fence.acq_rel.sys;\n\tst.release.sys.global.u32 [%0], %1;" : : "l"(to), "r"(value) : "memory");
}

inline ulong now_ns(void) {
  ulong time;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
  return time;
}

// Signals each device in `signal`, a bit each, then waits for a signal of each in `await`, for `limit` ns at most: what does not come
// by then is noted in the status, after which nothing is waited for any more. One work-item a device. Words of a device's flags: how
// often each device signalled it, how often it signalled each, how often it waited for each, its status (0: good; else 1 + the device
// whose signal did not come). Counts wrap around; their differences do not.
__kernel __attribute__((reqd_work_group_size(DEVICES, 1, 1))) void sync(uint signal, uint await, uint self, ulong limit,
                                                                       __global uint* f0, __global uint* f1, __global uint* f2,
                                                                       __global uint* f3, __global uint* f4, __global uint* f5,
                                                                       __global uint* f6, __global uint* f7) {
  const uint other = get_local_id(0);
  __global uint* const all[DEVICES] = {f0, f1, f2, f3, f4, f5, f6, f7};
  __global uint* mine = all[0];
  __global uint* theirs = all[0];
  for (uint i = 1; i < DEVICES; ++i) {
    if (i == self) mine = all[i];
    if (i == other) theirs = all[i];
  }
  __global uint* const sent = mine + (DEVICES + other) * FLAG_WORDS;
  __global uint* const awaited = mine + (2 * DEVICES + other) * FLAG_WORDS;
  __global uint* const status = mine + 3 * DEVICES * FLAG_WORDS;
  if (signal >> other & 1u) {
    *sent += 1;
    store_release(theirs + self * FLAG_WORDS, *sent);
  }
  if (await >> other & 1u) {
    const uint number = *awaited + 1;
    *awaited = number;
    const ulong until = now_ns() + limit;
    while ((int)(load_acquire(mine + other * FLAG_WORDS) - number) < 0) {
      if (load_acquire(status) != 0) break;
      if (now_ns() > until) {
        atomic_cmpxchg(status, 0u, 1u + other);
        break;
      }
    }
  }
}
