// Leaves of Merkle trees: hashes leaves of any length to leaves of 32 bytes, digests, which merkle.cl
// reduces. OpenCL C 1.2. See merkle_hash.cl for -D options.
#define MESSAGES
#include "merkle_hash.cl"

// Hashes `count` leaves of `length` bytes from byte `first` of `in` on, `stride` bytes apart, to
// rows from `out_first` on. Kernel argument `one` is 1.
__kernel REDUCE_ATTRIBUTES void hash_leaves(__global const uchar* in, __global uint* out, ulong first, ulong out_first, ulong count,
                                            uint stride, uint length, uint one) {
  const ulong leaf = get_global_id(0) * LANES;
  if (leaf >= count) return;
  const uint lanes = (uint)min((ulong)LANES, count - leaf);
  const messages m = {in, first + leaf * stride, stride, lanes - 1, length + RFC6962};
  word s[8];
  hash_message(s, &m, one);
  store_rows(out, s, out_first + leaf, lanes);
}
