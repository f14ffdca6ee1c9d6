// Loads and stores that other GPUs see in order, and a clock, in PTX: OpenCL C 1.2 has neither. A
// store of a flag makes visible what this work-item wrote before, and what others of its work-group
// wrote before a barrier; a load that sees the flag makes it visible to all later accesses ("Memory
// Consistency Model" in the PTX ISA).

inline uint load_acquire(__global uint* from) {
  uint value;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
  return value;
}

// Stores flags after one fence for all of them.
inline void fence_release(void) { asm volatile("fence.acq_rel.sys;" : : : "memory"); }
inline void store_flag(__global uint* to, uint value) {
  asm volatile("st.relaxed.sys.global.u32 [%0], %1;" : : "l"(to), "r"(value) : "memory");
}

inline void store_release(__global uint* to, uint value) {
  fence_release();
  store_flag(to, value);
}

inline ulong now_ns(void) {
  ulong time;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
  return time;
}

// Waits until the flag has been raised to `number`, for at most `limit` ns. If that does not
// happen, the status becomes 1 + `device`, the one that should have raised it; after that no wait
// takes place. Flags count up and wrap around; differences do not.
inline void await_flag(__global uint* flag, uint number, uint device, __global uint* status, ulong limit) {
  const ulong until = now_ns() + limit;
  while ((int)(load_acquire(flag) - number) < 0) {
    if (load_acquire(status) != 0) return;
    if (now_ns() > until) {
      atomic_cmpxchg(status, 0u, 1u + device);
      return;
    }
  }
}
