// Rounds in which nothing is computed, in one launch: what it costs to wait for neighbours (tests/bench/rounds_bench.cpp). One
// work-group a device writes `count` words to the devices before and after it and waits for theirs; a word a work-item, while there
// are some. Mail: two places for what comes from the device before, in rounds of even and odd number, then two for the one after.
#include "numbered_words.cl"

__kernel void rounds(__global ulong* mail, __global ulong* mail_before, __global ulong* mail_after, __global uint* status,
                     ulong limit, uint count, uint rounds, uint number, uint before, uint after) {
  for (uint round = number; round != number + rounds; ++round) {
    const uint turn = round & 1u;
    for (uint i = get_local_id(0); i < count; i += get_local_size(0)) {
      post_word(mail_before + (2 + turn) * count + i, i, round);
      post_word(mail_after + turn * count + i, i, round);
    }
    barrier(CLK_LOCAL_MEM_FENCE);  // where work-items take turns: nobody waits before all has been sent
    for (uint i = get_local_id(0); i < count; i += get_local_size(0)) {
      await_word(mail + turn * count + i, round, before, status, limit);
      await_word(mail + (2 + turn) * count + i, round, after, status, limit);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}
