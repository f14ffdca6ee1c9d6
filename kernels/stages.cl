// Stages of local memory: some are filled with the operands of the next k while another's products
// are summed; shared by the kernels of matrix products and of empirical Fisher matrices on GPUs.
//
// Given by -D, or defined by the file that includes this one: BK (k of a stage), STAGES (in local
// memory; 2 without cp.async), ASYNC (1: cp.async, NVIDIA only, compute capability 8.0 and up).
#include "unroll.cl"

#if ASYNC
// Copies `bytes` to local memory in the background; if `valid` is 0, nothing is read and zeros are
// written. `how` is "cg" for 16 bytes past the first cache, or "ca" for 4, 8 or 16 bytes through
// it.
#define COPY(how, to, from, bytes, valid)                                                                             \
  asm volatile("cp.async." how ".shared.global [%0], [%1], %2, %3;" ::"r"((uint)(ulong)(to)), "l"(from),              \
               "n"((uint)(bytes)), "r"((valid) ? (uint)(bytes) : 0u) : "memory")
#define COMMIT() asm volatile("cp.async.commit_group;" ::: "memory")
#define WAIT_FOR_ALL_BUT(n) asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory")
#define NEXT(stage) ((stage) + 1 == STAGES ? 0 : (stage) + 1)

// Sums over all k below `inner`: LOAD(stage, k0) begins to copy BK values of k from k0 on, if there
// are any, and WORK(stage) adds their products. After the barrier a stage has arrived for all
// work-items, and all have finished the one before, which is filled next.
#define SUM_OVER(inner)                                  \
  {                                                      \
    UNROLL for (uint s = 0; s < STAGES - 1; ++s) {       \
      LOAD(s, s * BK)                                    \
      COMMIT();                                          \
    }                                                    \
    uint filled = STAGES - 1, worked = 0;                \
    for (uint k0 = 0; k0 < inner; k0 += BK) {            \
      WAIT_FOR_ALL_BUT(STAGES - 2);                      \
      barrier(CLK_LOCAL_MEM_FENCE);                      \
      LOAD(filled, k0 + (STAGES - 1) * BK)               \
      COMMIT();                                          \
      WORK(worked)                                       \
      filled = NEXT(filled);                             \
      worked = NEXT(worked);                             \
    }                                                    \
  }
#else
// Does the same with two stages: FETCH(k0) reads the next k into registers, which keep them during
// WORK(stage); then STORE(stage) writes them to the other stage.
#define SUM_OVER(inner)                                  \
  {                                                      \
    uint worked = 0;                                     \
    if (inner > 0) {                                     \
      FETCH(0)                                           \
      STORE(0)                                           \
    }                                                    \
    for (uint k0 = 0; k0 < inner; k0 += BK) {            \
      barrier(CLK_LOCAL_MEM_FENCE);                      \
      if (k0 + BK < inner) FETCH(k0 + BK)                \
      WORK(worked)                                       \
      worked ^= 1;                                       \
      if (k0 + BK < inner) STORE(worked)                 \
    }                                                    \
  }
#endif
