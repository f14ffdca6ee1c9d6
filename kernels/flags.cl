// Flags that a kernel raises for kernels of other devices, which run and wait for them
// (kernels/peer_ptx.cl). On other devices than NVIDIA GPUs atomics are used, which order memory on
// the CPUs that this is for, and limits count polls.
#ifdef NVIDIA
#include "peer_ptx.cl"
#else
inline uint load_acquire(volatile __global uint* from) { return atomic_add(from, 0u); }

inline void store_release(volatile __global uint* to, uint value) {
  mem_fence(CLK_GLOBAL_MEM_FENCE);
  atomic_xchg(to, value);
}

inline void await_flag(volatile __global uint* flag, uint number, uint device, volatile __global uint* status, ulong limit) {
  for (ulong looks = 0; (int)(load_acquire(flag) - number) < 0; ++looks) {
    if (load_acquire(status) != 0) return;
    if (looks > limit) {
      atomic_cmpxchg(status, 0u, 1u + device);
      return;
    }
  }
}
#endif
