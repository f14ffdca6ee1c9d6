// Fills memory with a pattern that differs in every word, and counts the words that are not read
// back as they were written (lib/measure/memory_test.cpp). OpenCL C 1.2.
//
// -D options:
//   LINEAR  a work-item has a contiguous range of the words (CPUs), else neighbours have
//           neighbouring words (GPUs)

// Returns the word at an index, which may exceed 32 bits: a cell that answers for another address is
// seen, too. The second pass writes the inverse, so that every bit is 0 once and 1 once.
uint pattern_at(ulong index, uint inverse) {
  uint word = (uint)index * 2654435761u ^ (uint)(index >> 32) * 2246822519u;
  word ^= word >> 15;
  word *= 739982445u;
  word ^= word >> 12;
  return word ^ inverse;
}

#ifdef LINEAR
#define EACH_WORD(i)                                                                               \
  const ulong each = (words + get_global_size(0) - 1) / get_global_size(0);                        \
  const ulong end = min(words, (get_global_id(0) + 1) * each);                                     \
  for (ulong i = get_global_id(0) * each; i < end; ++i)
#else
#define EACH_WORD(i) for (ulong i = get_global_id(0); i < words; i += get_global_size(0))
#endif

__kernel void write_pattern(__global uint* memory, ulong words, ulong first, uint inverse) {
  EACH_WORD(i) memory[i] = pattern_at(first + i, inverse);
}

__kernel void count_wrong_words(__global const uint* memory, ulong words, ulong first, uint inverse,
                                __global uint* wrong) {
  uint mine = 0;
  EACH_WORD(i) mine += memory[i] != pattern_at(first + i, inverse);
  if (mine > 0) atomic_add(wrong, mine);
}
