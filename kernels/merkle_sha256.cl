// SHA-256 of the nodes and leaves of a Merkle tree; included by merkle_hash.cl, whose options and
// types it uses. BITCOIN: a node is SHA-256 of SHA-256.

// Converts between big-endian bytes and native words: OpenCL devices are little-endian.
#if LANES == 1
word from_bytes(word x) { return as_uint(as_uchar4(x).wzyx); }  // one instruction on GPUs
#else
word from_bytes(word x) { return bitselect(rotate(x, (word)24), rotate(x, (word)8), (word)0x00ff00ffu); }
#endif

__constant uint K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01,
    0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc,
    0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08,
    0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

// K plus the message schedule of the second block of a 64-byte message (0x80, zeros, the length of
// 512 bits), which is constant.
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
// On AVX-512, PoCL 3.1 (LLVM 14) turns the `or` of a bitselect into an addition and CHOOSE into
// three instructions. In this form it is one, and a ^ b of a round is b ^ c of the next: 24.3 M
// nodes/s per core instead of 22.7.
#define CHOOSE(e, f, g) ((g) ^ ((e) & ((f) ^ (g))))
#define MAJORITY(a, b, c) ((b) ^ (((a) ^ (b)) & ((b) ^ (c))))
#else
#define CHOOSE(e, f, g) bitselect((g), (f), (e))
#define MAJORITY(a, b, c) bitselect((a), (b), (a) ^ (c))
#endif
// NVIDIA's Hopper has one pipe for shifts, logic and additions, 64 lanes per clock and SM, and
// another for multiplications. So additions are moved to the latter as x * one + y, with `one` a
// kernel argument that the compiler cannot know: 8.59 G nodes/s on an H200 (2^24 leaves) instead of
// 7.65. The sum h + K + w + choose stays: its two instructions of three operands would become four
// multiplications.
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

void initial_state(word* s) {
  s[0] = 0x6a09e667, s[1] = 0xbb67ae85, s[2] = 0x3c6ef372, s[3] = 0xa54ff53a;
  s[4] = 0x510e527f, s[5] = 0x9b05688c, s[6] = 0x1f83d9ab, s[7] = 0x5be0cd19;
}

// The compression function of FIPS 180-4, 6.2.2. Overwrites w.
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

// Compresses the second block of a 64-byte message.
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
// Makes prefix || d, as far as one block goes: the digest shifted by a byte.
void shifted_block(word* w, uint prefix, const word* d) {
  w[0] = (d[0] >> 8) | prefix;
#pragma unroll
  for (uint i = 1; i < 8; ++i) w[i] = (d[i - 1] << 24) | (d[i] >> 8);
  w[8] = d[7] << 24;
}
#endif
// Computes s, the node above left and right; `lone`: there is no right, and s = left. With RFC 6962
// and `hash_leaves`, left and right are leaves, and become leaf hashes first. A number of bits at
// the end of their 256 may be unused (whole bytes): 0x80 and zeros are there then, as the padding
// of SHA-256 begins. One instance of compress() serves up to four blocks: a kernel compiles in a
// fraction of the time, and stays in the caches.
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
#ifdef BITCOIN
  copy8(w, s);
  w[8] = 0x80000000u;
#pragma unroll
  for (uint i = 9; i < 15; ++i) w[i] = 0;
  w[15] = 256;
  initial_state(s);
  compress(s, w, one);
#endif
#endif
}

#define PAD 0x80u
#ifdef MESSAGES
void hash_message(word* s, const messages* m, uint one) {
  const uint blocks = (m->length + 8) / 64 + 1;
  initial_state(s);
#pragma unroll 1
  for (uint block = 0; block < blocks; ++block) {
    word w[16];
    load_words(w, m, 16 * block);
#pragma unroll
    for (uint i = 0; i < 16; ++i) w[i] = from_bytes(w[i]);
    if (block + 1 == blocks) {
      w[14] = m->length >> 29;
      w[15] = m->length << 3;
    }
    compress(s, w, one);
  }
#pragma unroll
  for (uint i = 0; i < 8; ++i) s[i] = from_bytes(s[i]);
}
#endif
