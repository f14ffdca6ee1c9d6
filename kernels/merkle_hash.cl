// The hash of Merkle trees, LANES at once, and the types of their kernels; included by merkle.cl,
// merkle_leaves.cl and pipeline.cl.
//
// -D options:
//   LANES    nodes that a work-item hashes at once: 1 (GPUs) or 16 (CPUs: uint16 vectors,
//            one work-item per work-group)
//   KECCAK256, BLAKE3  the hash; neither: SHA-256
//   RFC6962  0: node = H(l || r); 1: leaf = H(0x00 || d), node = H(0x01 || l || r)
//   UNROLL   SHA-256: how many of the four 16-round steps of a compression are unrolled
//   MULTIPLY_ADDS  SHA-256: most additions run as multiply-adds, see ROUND
//   MESSAGES the hash of messages of any length is needed too
//
// Each hash defines
//   from_bytes    converts between four bytes of a digest, as a little-endian word, and the native
//                 word of kernels
//   hash_pair     computes the node above two others
//   PAD           the byte that it appends to a message
//   hash_message  hashes `messages`, to the bytes of digests

#if LANES == 16
typedef uint16 word;
#define REDUCE_ATTRIBUTES __attribute__((reqd_work_group_size(1, 1, 1)))
#else
typedef uint word;
#define REDUCE_ATTRIBUTES
#endif

void copy8(word* to, const word* from) {
#pragma unroll
  for (uint i = 0; i < 8; ++i) to[i] = from[i];
}

#if LANES == 16

// Interleaving the first half of the 16 rows with the second is a rotation of the 8 bits (row,
// column) of an index; four rotations swap row and column. 64 two-source permutes for 16 nodes
// reach 46.7 M nodes/s on 2 cores, gathers reached 28.8.
uint16 interleave(uint8 x, uint8 y) {
  uint16 r;
  r.even = x;
  r.odd = y;
  return r;
}
void transpose(word* r) {
#pragma unroll
  for (uint stage = 0; stage < 4; ++stage) {
    word t[16];
#pragma unroll
    for (uint i = 0; i < 8; ++i) {
      t[2 * i] = interleave(r[i].lo, r[i + 8].lo);
      t[2 * i + 1] = interleave(r[i].hi, r[i + 8].hi);
    }
#pragma unroll
    for (uint i = 0; i < 16; ++i) r[i] = t[i];
  }
}

// Stores the first n of 16 digests as rows from row `first` on.
void store_rows(__global uint* out, const word* s, ulong first, uint n) {
  uint words[8][16];
  for (uint i = 0; i < 8; ++i) vstore16(s[i], 0, words[i]);
  for (uint lane = 0; lane < n; ++lane)
    for (uint i = 0; i < 8; ++i) out[(first + lane) * 8 + i] = words[i][lane];
}
#else
void store_rows(__global uint* out, const word* s, ulong first, uint n) {
  __global uint4* row = (__global uint4*)out + first * 2;
  row[0] = (uint4)(s[0], s[1], s[2], s[3]);
  row[1] = (uint4)(s[4], s[5], s[6], s[7]);
}
#endif

#ifdef MESSAGES
// Messages of `length` bytes each, one per lane: a byte 0x00 with RFC6962, and bytes of `in` from
// `first` on, `stride` from one lane to the next. Lanes after lane `last` repeat it.
typedef struct {
  __global const uchar* in;
  ulong first, stride;
  uint last, length;
} messages;
void load_words(word* w, const messages* m, uint k);
#endif

// Makes the message of a node, 64 bytes or 65 with RFC6962, and what follows it in little-endian
// words: `pad` after the end.
#define NODE_BYTES (64 + RFC6962)
void make_node(word* w, const word* left, const word* right, uint pad) {
#if RFC6962
  word before = 0x01000000u;
#pragma unroll
  for (uint i = 0; i < 16; ++i) {
    const word now = i < 8 ? left[i % 8] : right[i % 8];
    w[i] = (now << 8) | (before >> 24);
    before = now;
  }
  w[16] = (before >> 24) | (pad << 8);
#else
  copy8(w, left);
  copy8(w + 8, right);
  w[16] = pad;
#endif
}

#if defined KECCAK256
#include "merkle_keccak.cl"
#elif defined BLAKE3
#include "merkle_blake3.cl"
#else
#include "merkle_sha256.cl"
#endif

#ifdef MESSAGES
// Loads words k to k + 15 of messages, little-endian, with PAD after the end and zeros beyond it.
// May read up to 192 bytes after the end of a leaf.
void load_words(word* w, const messages* m, uint k) {
  const ulong at = m->first + 4ul * k - (k == 0 ? 0 : RFC6962);
#if LANES == 16
#pragma unroll
  for (uint i = 0; i < 16; ++i) {
    __global const uchar* row = m->in + at + min(i, m->last) * m->stride;
    w[i] = (uint16)(as_uint4(vload16(0, row)), as_uint4(vload16(1, row)), as_uint4(vload16(2, row)), as_uint4(vload16(3, row)));
  }
  transpose(w);
#else
  __global const uint* row = (__global const uint*)(m->in + (at & ~3ul));
  const uint shift = 8 * (uint)(at & 3);
  uint low = row[0];
#pragma unroll
  for (uint i = 0; i < 16; ++i) {
    const uint high = row[i + 1];
    w[i] = (uint)(upsample(high, low) >> shift);
    low = high;
  }
#endif
#if RFC6962
  if (k == 0) {
#pragma unroll
    for (uint i = 15; i > 0; --i) w[i] = (w[i] << 8) | (w[i - 1] >> 24);
    w[0] <<= 8;
  }
#endif
#pragma unroll
  for (uint i = 0; i < 16; ++i) {
    const uint byte = 4 * (k + i);
    if (byte + 4 > m->length) {
      const uint left = m->length - min(byte, m->length);
      w[i] &= (1u << 8 * left) - 1;
      if (byte + left == m->length) w[i] |= PAD << 8 * left;
    }
  }
}
#endif
