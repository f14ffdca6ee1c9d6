// Empty iterations in one launch: the cost of waiting for neighbours
// (tests/bench/rounds_bench.cpp). One work-group per device writes `count` words to the devices
// before and after it and waits for theirs, one word per work-item while there are any. Mail: two
// places for words from the device before, in iterations of even and odd number, then two for words
// from the one after.
#include "numbered_words.cl"

__kernel void rounds(__global ulong* mail, __global ulong* mail_before, __global ulong* mail_after, __global uint* status,
                     ulong limit, uint count, uint rounds, uint number, uint before, uint after) {
  for (uint round = number; round != number + rounds; ++round) {
    const uint turn = round & 1u;
    for (uint i = get_local_id(0); i < count; i += get_local_size(0)) {
      post_word(mail_before + (2 + turn) * count + i, i, round);
      post_word(mail_after + turn * count + i, i, round);
    }
    // Needed if work-items run in turn: all words are sent before any wait begins.
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = get_local_id(0); i < count; i += get_local_size(0)) {
      await_word(mail + turn * count + i, round, before, status, limit);
      await_word(mail + (2 + turn) * count + i, round, after, status, limit);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}
