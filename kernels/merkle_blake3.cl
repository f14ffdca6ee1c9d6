// BLAKE3 of the nodes and leaves of a Merkle tree; included by merkle_hash.cl, whose options and
// types it uses. A node is the BLAKE3 hash of its 64 or 65 bytes, not a node of BLAKE3's own tree.

#define from_bytes(x) (x)
#define PAD 0u

#define CHUNK_START 1u
#define CHUNK_END 2u
#define PARENT 4u
#define ROOT 8u
#define MOST_LEVELS 21  // of BLAKE3's tree: a message has at most 2^30 + 1 bytes

__constant uint PERMUTATION[16] = {2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8};

void initial_state(word* s) {
  s[0] = 0x6a09e667, s[1] = 0xbb67ae85, s[2] = 0x3c6ef372, s[3] = 0xa54ff53a;
  s[4] = 0x510e527f, s[5] = 0x9b05688c, s[6] = 0x1f83d9ab, s[7] = 0x5be0cd19;
}

#define MIX_HALF(a, b, c, d, x, right_d, right_b) \
  a += b + x;                                     \
  d = rotate(d ^ a, (word)(32 - right_d));        \
  c += d;                                         \
  b = rotate(b ^ c, (word)(32 - right_b));
#define MIX(a, b, c, d, i)                                        \
  {                                                               \
    MIX_HALF(v[a], v[b], v[c], v[d], w[i], 16, 12)                \
    MIX_HALF(v[a], v[b], v[c], v[d], w[i + 1], 8, 7)              \
  }

// The compression function for block `w` of `bytes` bytes, of chunk `chunk`. Overwrites w.
void compress(word* s, word* w, uint chunk, uint bytes, uint flags) {
  word v[16], t[16];
  initial_state(v + 8);
  copy8(v, s);
  v[12] = chunk, v[13] = 0, v[14] = bytes, v[15] = flags;
#pragma unroll
  for (uint round = 0; round < 7; ++round) {
    MIX(0, 4, 8, 12, 0)
    MIX(1, 5, 9, 13, 2)
    MIX(2, 6, 10, 14, 4)
    MIX(3, 7, 11, 15, 6)
    MIX(0, 5, 10, 15, 8)
    MIX(1, 6, 11, 12, 10)
    MIX(2, 7, 8, 13, 12)
    MIX(3, 4, 9, 14, 14)
#pragma unroll
    for (uint i = 0; i < 16; ++i) t[i] = w[PERMUTATION[i]];
#pragma unroll
    for (uint i = 0; i < 16; ++i) w[i] = t[i];
  }
#pragma unroll
  for (uint i = 0; i < 8; ++i) s[i] = v[i] ^ v[i + 8];
}

// Computes s, the node above left and right; `lone`: there is no right, and s = left.
void hash_pair(word* s, const word* left, const word* right, bool hash_leaves, bool lone, word unused_left, word unused_right,
               uint one) {
  if (lone) {
    copy8(s, left);
    return;
  }
  word w[32];
  make_node(w, left, right, PAD);
  initial_state(s);
#if RFC6962
#pragma unroll
  for (uint i = 17; i < 32; ++i) w[i] = 0;
  compress(s, w, 0, 64, CHUNK_START);
  compress(s, w + 16, 0, 1, CHUNK_END | ROOT);
#else
  compress(s, w, 0, 64, CHUNK_START | CHUNK_END | ROOT);
#endif
}

#ifdef MESSAGES
// Hashes chunks of 1024 bytes one after another. `stack` has the roots of complete subtrees before
// them, the largest first.
void hash_message(word* s, const messages* m, uint one) {
  word stack[MOST_LEVELS][8], w[16];
  const uint chunks = m->length == 0 ? 1 : (m->length - 1) / 1024 + 1;
  uint height = 0;
#pragma unroll 1
  for (uint chunk = 0;; ++chunk) {
    const bool last = chunk + 1 == chunks;
    const uint bytes = min(m->length - 1024 * chunk, 1024u);
    initial_state(s);
#pragma unroll 1
    for (uint at = 0; at == 0 || at < bytes; at += 64) {
      load_words(w, m, 256 * chunk + at / 4);
      uint flags = at == 0 ? CHUNK_START : 0;
      if (at + 64 >= bytes) flags |= chunks == 1 ? CHUNK_END | ROOT : CHUNK_END;
      compress(s, w, chunk, min(bytes - at, 64u), flags);
    }
#pragma unroll 1
    for (uint done = chunk + 1; height > 0 && (last || done % 2 == 0); done /= 2) {
      copy8(w + 8, s);
      copy8(w, stack[--height]);
      initial_state(s);
      compress(s, w, 0, 64, last && height == 0 ? PARENT | ROOT : PARENT);
    }
    if (last) return;
    copy8(stack[height++], s);
  }
}
#endif
