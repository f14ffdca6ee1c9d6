// SHA-256 Merkle trees: many nodes down to few, several levels a launch. An odd node at the end of a level is promoted
// unchanged. OpenCL C 1.2. What is reduced by which launch is the host's matter (suites/merkle/passes.hpp).
//
// -D options:
//   LANES    nodes a work-item hashes at once: 1 (GPUs) or 16 (CPUs: uint16 vectors, one work-item a work-group)
//   RFC6962  0: node = H(l || r), the leaves are the bottom level; 1: leaf = H(0x00 || d), node = H(0x01 || l || r)
//   SHORT_LEAF  with RFC 6962 leaf hashes to compute: the last leaf may have fewer than 32 bytes
//   UNROLL   how many of the four 16-round steps of a compression are unrolled
//   MULTIPLY_ADDS  most additions run as multiply-adds, see ROUND
//
// Kernel argument `one` is 1. A digest is 8 native words. A row is one digest after another; leaves are rows of big-endian
// bytes; with 16 lanes a block is 16 digests transposed (word w of digest i at w * 16 + i): what lies between two passes, so
// that only leaves need a transpose.

#if LANES == 16
typedef uint16 word;
#else
typedef uint word;
#endif
#define IN_LEAVES 1u    // the input is leaves (big-endian bytes), not native words
#define HASH_LEAVES 2u  // RFC 6962 leaf hashes are still to be computed
#define IN_BLOCKS 4u    // 16 lanes: the input is blocks, not rows
#define OUT_BLOCKS 8u   // 16 lanes: the output is blocks, not rows
#define TASKS 16u       // work-item (work-group in reduce_group) g reduces task g, (first, count), to row out_first + g
#define COVERED 32u     // reduce_group: some rows are nodes of a higher level already

__constant uint K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01,
    0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc,
    0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08,
    0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

// K plus the message schedule of the second block of a 64-byte message: 0x80, zeros, the length 512 bits. A constant.
__constant uint K_PADDING[64] = {
    0xc28a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01,
    0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf374, 0x649b69c1, 0xf0fe4786, 0x0fe1edc6, 0x240cf254,
    0x4fe9346f, 0x6cc984be, 0x61b9411e, 0x16f988fa, 0xf2c65152, 0xa88e5a6d, 0xb019fc65, 0xb9d99ec7, 0x9a1231c3, 0xe70eeaa0,
    0xfdb1232b, 0xc7353eb0, 0x3069bad5, 0xcb976d5f, 0x5a0f118f, 0xdc1eeefd, 0x0a35b689, 0xde0b7a04, 0x58f4ca9d, 0xe15d5b16,
    0x007f3e86, 0x37088980, 0xa507ea32, 0x6fab9537, 0x17406110, 0x0d8cd6f1, 0xcdaa3b6d, 0xc0bbbe37, 0x83613bda, 0xdb48a363,
    0x0b02e931, 0x6fd15ca7, 0x521afaca, 0x31338431, 0x6ed41a95, 0x6d437890, 0xc39c91f2, 0x9eccabbd, 0xb5c9a0e6, 0x532fb63c,
    0xd2c741c6, 0x07237ea3, 0xa4954b68, 0x4c191d76};

#define ROTR(x, n) rotate((x), (word)(32 - (n)))
#define BIG_SIGMA0(x) (ROTR(x, 2) ^ ROTR(x, 13) ^ ROTR(x, 22))
#define BIG_SIGMA1(x) (ROTR(x, 6) ^ ROTR(x, 11) ^ ROTR(x, 25))
#define SMALL_SIGMA0(x) (ROTR(x, 7) ^ ROTR(x, 18) ^ ((x) >> 3))
#define SMALL_SIGMA1(x) (ROTR(x, 17) ^ ROTR(x, 19) ^ ((x) >> 10))
#if LANES == 16
// AVX-512, PoCL 3.1 (LLVM 14): of a bitselect, the `or` became an addition and choose three instructions; so written it is one, and
// a ^ b of a round is b ^ c of the next. Predicted 758 instead of 822 instructions for 16 rounds, 8 %; measured (CPU time) 24.3
// instead of 22.7 M nodes/s a core. UNROLL 1, 2 or 4: no clear difference.
#define CHOOSE(e, f, g) ((g) ^ ((e) & ((f) ^ (g))))
#define MAJORITY(a, b, c) ((b) ^ (((a) ^ (b)) & ((b) ^ (c))))
#else
#define CHOOSE(e, f, g) bitselect((g), (f), (e))
#define MAJORITY(a, b, c) bitselect((a), (b), (a) ^ (c))
#endif
// NVIDIA's Hopper has one pipe for shifts, logic and additions, 64 lanes a clock and SM, and beside it one for multiplications. So
// additions go there as x * one + y, with `one` a kernel argument that no compiler can see through. Plain, a node is 2,187
// instructions of the first pipe: predicted 7.65 G nodes/s on an H200 (132 SMs, 1.98 GHz), measured 7.65 (2^24 leaves, 8 to 1). All
// additions moved: 1,728, predicted 9.7, measured 8.20. All but the sum h + K + w + choose, two IADD3 whose three operands would be
// two multiplications each: 8.59. With the 16-round steps unrolled 7.77, 7.82, 8.31. Shifts by mul_hi besides: no change.
#ifdef MULTIPLY_ADDS
#define ADD(x, y) ((x) * one + (y))
#else
#define ADD(x, y) ((x) + (y))
#endif
#define ROUND(a, b, c, d, e, f, g, h, kw)                                      \
  {                                                                            \
    const word t = ADD(h + (kw) + CHOOSE(e, f, g), BIG_SIGMA1(e));             \
    d = ADD(d, t);                                                             \
    h = ADD(ADD(t, MAJORITY(a, b, c)), BIG_SIGMA0(a));                         \
  }
#define ROUNDS4(KW, i, a, b, c, d, e, f, g, h)                                      \
  ROUND(a, b, c, d, e, f, g, h, KW(i)) ROUND(h, a, b, c, d, e, f, g, KW((i) + 1))    \
  ROUND(g, h, a, b, c, d, e, f, KW((i) + 2)) ROUND(f, g, h, a, b, c, d, e, KW((i) + 3))
#define ROUNDS8(KW, i) ROUNDS4(KW, i, a, b, c, d, e, f, g, h) ROUNDS4(KW, (i) + 4, e, f, g, h, a, b, c, d)
#define ROUNDS16(KW) ROUNDS8(KW, 0) ROUNDS8(KW, 8)
#define LOAD_STATE word a = s[0], b = s[1], c = s[2], d = s[3], e = s[4], f = s[5], g = s[6], h = s[7];
#define ADD_STATE s[0] += a, s[1] += b, s[2] += c, s[3] += d, s[4] += e, s[5] += f, s[6] += g, s[7] += h;

void copy8(word* to, const word* from) {
#pragma unroll
  for (uint i = 0; i < 8; ++i) to[i] = from[i];
}

void initial_state(word* s) {
  s[0] = 0x6a09e667, s[1] = 0xbb67ae85, s[2] = 0x3c6ef372, s[3] = 0xa54ff53a;
  s[4] = 0x510e527f, s[5] = 0x9b05688c, s[6] = 0x1f83d9ab, s[7] = 0x5be0cd19;
}

// FIPS 180-4, 6.2.2. Overwrites w.
#define KW_FIRST(i) (K[i] + w[i])
#define KW_LATER(i) \
  (K[base + (i)] +  \
   (w[i] = ADD(ADD(ADD(w[i], w[((i) + 9) & 15]), SMALL_SIGMA0(w[((i) + 1) & 15])), SMALL_SIGMA1(w[((i) + 14) & 15]))))
void compress(word* s, word* w, uint one) {
  LOAD_STATE
  ROUNDS16(KW_FIRST)
#pragma unroll UNROLL
  for (uint base = 16; base < 64; base += 16) {
    ROUNDS16(KW_LATER)
  }
  ADD_STATE
}

// The second block of a 64-byte message.
#define KW_PADDING(i) (K_PADDING[base + (i)])
void compress_padding(word* s, uint one) {
  LOAD_STATE
#pragma unroll UNROLL
  for (uint base = 0; base < 64; base += 16) {
    ROUNDS16(KW_PADDING)
  }
  ADD_STATE
}

#if RFC6962
// prefix || d, as far as one block goes: the digest shifted by a byte.
void shifted_block(word* w, uint prefix, const word* d) {
  w[0] = (d[0] >> 8) | prefix;
#pragma unroll
  for (uint i = 1; i < 8; ++i) w[i] = (d[i - 1] << 24) | (d[i] >> 8);
  w[8] = d[7] << 24;
}
#endif
// s = the node above left and right; `lone`: there is no right, s = left. With RFC 6962 and `hash_leaves`, left and right are
// leaves, and become leaf hashes first. Of their 256 bits so many at the end may be unused (whole bytes): there is 0x80 and zeros then,
// as the padding of SHA-256 begins. One instance of compress() for up to four blocks: a kernel is compiled in a fraction of the
// time, and stays in the caches.
void hash_pair(word* s, word* left, word* right, bool hash_leaves, bool lone, word unused_left, word unused_right, uint one) {
  word w[16];
  if (lone && !hash_leaves) {
    copy8(s, left);
    return;
  }
#if RFC6962
  const uint steps = lone ? 1 : 4;
#pragma unroll 1
  for (uint step = hash_leaves ? 0 : 2; step < steps; ++step) {
    if (step != 3) {
      shifted_block(w, step == 2 ? 0x01000000u : 0, step == 1 ? right : left);
      initial_state(s);
    }
    if (step < 2) {
      word unused = unused_right;
      if (step == 0) unused = unused_left;
      w[8] |= (1u - min(unused, (word)1)) << 23;
#pragma unroll
      for (uint i = 9; i < 15; ++i) w[i] = 0;
      w[15] = 33u * 8u - unused;
    } else if (step == 2) {
      w[8] |= right[0] >> 8;
#pragma unroll
      for (uint i = 1; i < 8; ++i) w[8 + i] = (right[i - 1] << 24) | (right[i] >> 8);
    } else {
      w[0] = (right[7] << 24) | 0x800000u;
#pragma unroll
      for (uint i = 1; i < 15; ++i) w[i] = 0;
      w[15] = 65 * 8;
    }
    compress(s, w, one);
    if (step == 0) {
      copy8(left, s);
    } else if (step == 1) {
      copy8(right, s);
    }
  }
#else
  copy8(w, left);
  copy8(w + 8, right);
  initial_state(s);
  compress(s, w, one);
  compress_padding(s, one);
#endif
}

uint nodes_at(uint count, uint level) { return (count + (1u << level) - 1) >> level; }

// Levels from this many nodes to one; the copy of a single node counts as one.
uint levels_above(uint count) { return 32 - clz(max(count, 2u) - 1); }

// Big-endian bytes <-> native words: OpenCL devices are little-endian.
#if LANES == 1
word swap_bytes(word x) { return as_uint(as_uchar4(x).wzyx); }  // one instruction on GPUs
#else
word swap_bytes(word x) { return bitselect(rotate(x, (word)24), rotate(x, (word)8), (word)0x00ff00ffu); }
#endif
#if LANES == 16

// Interleaving the first half of the 16 rows with the second is a rotation of the 8 bits (row, column) of an index; four of them
// swap row and column. 64 two-source permutes for 16 nodes; a version with gathers reached 28.8 M nodes/s on 2 cores, this 46.7.
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

// The 16 pairs of neighbours among the 32 nodes of x and y.
void split_pairs(word* left, word* right, const word* x, const word* y) {
#pragma unroll
  for (uint i = 0; i < 8; ++i) {
    left[i] = (word)(x[i].even, y[i].even);
    right[i] = (word)(x[i].odd, y[i].odd);
  }
}

// Pairs 16 p .. 16 p + 15 of `count` nodes. Pairs past the end repeat the last one; the partner of an odd last node is whatever
// follows it (buffers are padded to whole pairs).
void load_pairs(word* left, word* right, __global const uint* in, uint p, uint count, uint flags) {
  if (flags & IN_BLOCKS) {
    __global const uint* x = in + (ulong)p * 256;
    __global const uint* y = p * 32 + 16 < count ? x + 128 : x;
    word u[8], v[8];
#pragma unroll
    for (uint i = 0; i < 8; ++i) {
      u[i] = vload16(i, x);
      v[i] = vload16(i, y);
    }
    split_pairs(left, right, u, v);
    return;
  }
  const uint last = (count + 1) / 2 - 1;
  word rows[16];
#pragma unroll
  for (uint i = 0; i < 16; ++i) rows[i] = vload16(min(p * 16 + i, last), in);
  transpose(rows);
  if (flags & IN_LEAVES) {
#pragma unroll
    for (uint i = 0; i < 16; ++i) rows[i] = swap_bytes(rows[i]);
  }
  copy8(left, rows);
  copy8(right, rows + 8);
}

uint16 only_lane(uint lane) {
  const uint16 lanes = (uint16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  return as_uint16(lanes == (uint16)lane);
}

// `value` in this lane, 0 in the others; such a lane there may not be.
word in_lane(uint value, uint lane) { return only_lane(lane) & (word)value; }

void promote(word* s, const word* left, uint lane) {
  const uint16 mask = only_lane(lane);
#pragma unroll
  for (uint i = 0; i < 8; ++i) s[i] = select(s[i], left[i], mask);
}

void store(__global uint* out, const word* s, ulong first, uint n, uint flags) {
  if (flags & OUT_BLOCKS) {
#pragma unroll
    for (uint i = 0; i < 8; ++i) vstore16(s[i], i, out + first * 8);
    return;
  }
  uint words[8][16];
  for (uint i = 0; i < 8; ++i) vstore16(s[i], 0, words[i]);
  for (uint lane = 0; lane < n; ++lane)
    for (uint i = 0; i < 8; ++i) out[(first + lane) * 8 + i] = words[i][lane];
}

#define REDUCE_ATTRIBUTES __attribute__((reqd_work_group_size(1, 1, 1)))
#define STACK 6
#else
void unpack(word* d, uint4 x, uint4 y) {
  d[0] = x.s0, d[1] = x.s1, d[2] = x.s2, d[3] = x.s3;
  d[4] = y.s0, d[5] = y.s1, d[6] = y.s2, d[7] = y.s3;
}

void load_pairs(word* left, word* right, __global const uint* in, uint p, uint count, uint flags) {
  __global const uint4* pair = (__global const uint4*)in + (ulong)p * 4;
  unpack(left, pair[0], pair[1]);
  pair += p * 2 + 1 < count ? 2 : 0;
  unpack(right, pair[0], pair[1]);
  if (flags & IN_LEAVES) {
#pragma unroll
    for (uint i = 0; i < 8; ++i) {
      left[i] = swap_bytes(left[i]);
      right[i] = swap_bytes(right[i]);
    }
  }
}

word in_lane(uint value, uint lane) { return lane == 0 ? value : 0; }

void split_pairs(word* left, word* right, const word* x, const word* y) {
  copy8(left, x);
  copy8(right, y);
}

void store(__global uint* out, const word* s, ulong first, uint n, uint flags) {
  __global uint4* row = (__global uint4*)out + first * 2;
  row[0] = (uint4)(s[0], s[1], s[2], s[3]);
  row[1] = (uint4)(s[4], s[5], s[6], s[7]);
}

#define REDUCE_ATTRIBUTES
#define STACK 3
#endif
// Work-item g reduces LANES << levels nodes to LANES, from node g * (LANES << levels) of the `count` after node in_first on; the
// last may have fewer, and of a leaf that is the very last one `unused_bits` are not used. 1 <= levels <= STACK. Depth first: vectors of LANES nodes, one digest a level in private memory. With
// TASKS (16 lanes only): up to 1024 rows to one.
__kernel REDUCE_ATTRIBUTES void reduce(__global const uint* in, __global uint* out, __global const uint2* tasks, ulong in_first,
                                       ulong count, ulong out_first, uint levels, uint flags, uint one, uint unused_bits) {
  const ulong group = get_global_id(0);
  ulong first = group * ((ulong)LANES << levels);
  if (!(flags & TASKS) && first >= count) return;
  uint nodes = (uint)min((ulong)LANES << levels, count - first);
  uint all_levels = levels;  // beyond `levels`, neighbours are lanes of one vector
#if LANES == 16
  if (flags & TASKS) {
    first = tasks[group].x;
    nodes = tasks[group].y;
    all_levels = levels_above(nodes);
    levels = all_levels > 5 ? all_levels - 4 : 1;
  }
#endif
  in += (in_first + first) * 8;

  word left[8], right[8], s[8], stack[STACK][8];
  for (uint p = 0; p < 1u << (levels - 1); ++p) {
    uint j = p;  // vector j of its level
    if (j * LANES < nodes_at(nodes, 1)) load_pairs(left, right, in, p, nodes, flags);
    for (uint level = 1;; ++level) {
      const uint below = nodes_at(nodes, level - 1), here = nodes_at(nodes, level);
      if (j * LANES < here) {  // else nothing but lanes past the end
        const bool odd = (below & 1) && here - 1 - j * LANES < LANES;
        word unused_left = 0, unused_right = 0;
#ifdef SHORT_LEAF
        if (level == 1 && first + nodes == count) {
          const word unused = in_lane(unused_bits, (nodes - 1) / 2 - p * LANES);
          if (nodes & 1) {
            unused_left = unused;
          } else {
            unused_right = unused;
          }
        }
#endif
        hash_pair(s, left, right, level == 1 && (flags & HASH_LEAVES), LANES == 1 && odd, unused_left, unused_right, one);
#if LANES == 16
        if (odd) promote(s, left, here - 1 - j * LANES);
#endif
      }
      if (level < levels) {
        if (!(j & 1)) {
          copy8(stack[level - 1], s);
          break;
        }
        split_pairs(left, right, stack[level - 1], s);
        j >>= 1;
      } else if (level < all_levels) {
        split_pairs(left, right, s, s);
      } else {
        break;
      }
    }
  }
  store(out, s, out_first + group * ((flags & TASKS) ? 1 : LANES), nodes_at(nodes, all_levels), flags);
}

#if LANES == 1
// Work-group g reduces up to 1 << levels rows to one, in local memory (half as many digests as there are rows): rows g << levels
// on of the `count` rows, or task g. COVERED: `in` holds the pieces of one tree of `count` rows; after the rows comes, for each,
// the level of the node that lies there, or a high one inside such a node.
__kernel void reduce_group(__global const uint* in, __global uint* out, __global const uint2* tasks, ulong count, ulong out_first,
                           uint levels, uint flags, uint one, __local uint4* digests) {
  const uint lane = get_local_id(0), lanes = get_local_size(0);
  const ulong group = get_group_id(0);
  ulong first = group << levels;
  if (!(flags & TASKS) && first >= count) return;
  uint nodes = (uint)min(1ul << levels, count - first);
  if (flags & TASKS) {
    first = tasks[group].x;
    nodes = tasks[group].y;
  }
  __global const uint* covered = in + count * 8;
  in += first * 8;
  const uint all_levels = levels_above(nodes);
  word left[8], right[8], s[8];
  for (uint level = 1; level <= all_levels; ++level) {
    const uint below = nodes_at(nodes, level - 1), here = nodes_at(nodes, level);
    // Node i overwrites what nodes before it have read: all of a step read before any of it writes.
    for (uint base = 0; base < here; base += lanes) {
      const uint i = base + lane;
      const bool pair = 2 * i + 1 < below && !((flags & COVERED) && covered[(ulong)i << level] >= level);
      if (i < here) {
        if (level == 1) {
          load_pairs(left, right, in, i, nodes, 0);
        } else {
          unpack(left, digests[4 * i], digests[4 * i + 1]);
          if (pair) unpack(right, digests[4 * i + 2], digests[4 * i + 3]);
        }
      }
      barrier(CLK_LOCAL_MEM_FENCE);
      if (i < here) {
        hash_pair(s, left, right, false, !pair, 0, 0, one);
        digests[2 * i] = (uint4)(s[0], s[1], s[2], s[3]);
        digests[2 * i + 1] = (uint4)(s[4], s[5], s[6], s[7]);
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (lane == 0) store(out, s, out_first + group, 1, 0);
}
#endif
