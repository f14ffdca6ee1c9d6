// Keccak-256 of the nodes and leaves of a Merkle tree, as Ethereum has it (padding 0x01); included
// by merkle_hash.cl, whose options and types it uses.

#define from_bytes(x) (x)
#define PAD 0x01u
#define RATE 34  // words of a block

// The state of Keccak has 25 lanes of 64 bits: two vectors of eight hold those of 16 messages.
#if LANES == 16
typedef ulong8 lane;
#define PARTS 2
#else
typedef ulong lane;
#define PARTS 1
#endif

// The last bit of the last block of a message is part of its padding.
#define LAST_WORD (RATE - 1)
#define LAST_BIT 0x80000000u

// Absorbs a block of one part of the messages.
void absorb(lane* a, const word* w, uint part) {
#pragma unroll
  for (uint i = 0; i < RATE / 2; ++i) {
#if LANES == 16
    a[i] ^= part == 0 ? upsample(w[2 * i + 1].lo, w[2 * i].lo) : upsample(w[2 * i + 1].hi, w[2 * i].hi);
#else
    a[i] ^= upsample(w[2 * i + 1], w[2 * i]);
#endif
  }
}

void squeeze(word* s, const lane* a, uint part) {
#pragma unroll
  for (uint i = 0; i < 4; ++i) {
#if LANES == 16
    const uint8 low = convert_uint8(a[i]), high = convert_uint8(a[i] >> 32);
    if (part == 0) {
      s[2 * i].lo = low, s[2 * i + 1].lo = high;
    } else {
      s[2 * i].hi = low, s[2 * i + 1].hi = high;
    }
#else
    s[2 * i] = (uint)a[i], s[2 * i + 1] = (uint)(a[i] >> 32);
#endif
  }
}

__constant ulong ROUND_CONSTANTS[24] = {
    0x0000000000000001, 0x0000000000008082, 0x800000000000808a, 0x8000000080008000, 0x000000000000808b, 0x0000000080000001,
    0x8000000080008081, 0x8000000000008009, 0x000000000000008a, 0x0000000000000088, 0x0000000080008009, 0x000000008000000a,
    0x000000008000808b, 0x800000000000008b, 0x8000000000008089, 0x8000000000008003, 0x8000000000008002, 0x8000000000000080,
    0x000000000000800a, 0x800000008000000a, 0x8000000080008081, 0x8000000000008080, 0x0000000080000001, 0x8000000080008008};
__constant uint ROTATIONS[25] = {0, 1, 62, 28, 27, 36, 44, 6, 55, 20, 3, 10, 43, 25, 39, 41, 45, 15, 21, 8, 18, 2, 61, 56, 14};

// Keccak-f[1600] of FIPS 202, 3.3: lane (x, y) is a[x + 5 y].
void permute(lane* a) {
#pragma unroll 1
  for (uint round = 0; round < 24; ++round) {
    lane column[5], b[25];
#pragma unroll
    for (uint x = 0; x < 5; ++x) column[x] = a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20];
#pragma unroll
    for (uint x = 0; x < 5; ++x) {
      const lane change = column[(x + 4) % 5] ^ rotate(column[(x + 1) % 5], (lane)1);
#pragma unroll
      for (uint y = 0; y < 5; ++y) b[y + (2 * x + 3 * y) % 5 * 5] = rotate(a[x + 5 * y] ^ change, (lane)ROTATIONS[x + 5 * y]);
    }
#pragma unroll
    for (uint y = 0; y < 25; y += 5) {
#pragma unroll
      for (uint x = 0; x < 5; ++x) a[y + x] = b[y + x] ^ (~b[y + (x + 1) % 5] & b[y + (x + 2) % 5]);
    }
    a[0] ^= ROUND_CONSTANTS[round];
  }
}

void clear(lane* a) {
#pragma unroll
  for (uint i = 0; i < 25; ++i) a[i] = 0;
}

// Computes s, the node above left and right; `lone`: there is no right, and s = left. The message
// is shorter than a block.
void hash_pair(word* s, const word* left, const word* right, bool hash_leaves, bool lone, word unused_left, word unused_right,
               uint one) {
  if (lone) {
    copy8(s, left);
    return;
  }
  word w[RATE];
  make_node(w, left, right, PAD);
#pragma unroll
  for (uint i = 17; i < LAST_WORD; ++i) w[i] = 0;
  w[LAST_WORD] = LAST_BIT;
#pragma unroll 1
  for (uint part = 0; part < PARTS; ++part) {
    lane a[25];
    clear(a);
    absorb(a, w, part);
    permute(a);
    squeeze(s, a, part);
  }
}

#ifdef MESSAGES
void hash_message(word* s, const messages* m, uint one) {
  const uint blocks = m->length / (4 * RATE) + 1;
#pragma unroll 1
  for (uint part = 0; part < PARTS; ++part) {
    lane a[25];
    clear(a);
#pragma unroll 1
    for (uint block = 0; block < blocks; ++block) {
      word w[48];
#pragma unroll
      for (uint i = 0; i < 48; i += 16) load_words(w + i, m, RATE * block + i);
      if (block + 1 == blocks) w[LAST_WORD] ^= LAST_BIT;
      absorb(a, w, part);
      permute(a);
    }
    squeeze(s, a, part);
  }
}
#endif
