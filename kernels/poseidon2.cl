// Poseidon2 of width 16 in KoalaBear and BabyBear, with Plonky3's matrices: hashes of rows by the
// padding-free overwrite sponge of rate 8, and trees of compression (the first half of a permuted
// pair). Digests and all states are 8 words in Montgomery form, 2^32 times the element, and may
// exceed p.
//
// Additions, not products, bound a permutation on GPUs. Sums are therefore kept in 64 bits and
// folded at bit 31 once, to words that may exceed p: fe_mul takes a square of one below 2^31.5, and
// gives an element below p again.
//
// -D options: those of ntt_field.cl; DEGREE of the S-box: 3 (KoalaBear) or 7 (BabyBear);
// PARTIAL_ROUNDS; ROUND_CONSTANTS: a list in Montgomery form, of 4 rounds, the partial ones and 4
// rounds; CANONICAL (0, 1): whether columns are canonical words rather than in Montgomery form, and
// then MONTGOMERY: 2^64 mod p.
#define LANES 1
#include "ntt_field.cl"

#define WIDTH 16
#define RATE 8
#define MASK_31 0x7fffffffu
#define REST (0x80000000u - P)  // 2^31 mod p

__constant uint round_constants[] = {ROUND_CONSTANTS};

// Returns a word below 2^31.5 that equals v mod p. v is below 128 x 2^31 for KoalaBear, where
// 2^31 mod p is below 2^24, and below 16 x 2^31 for BabyBear.
PART uint fold_small(ulong v) { return ((uint)v & MASK_31) + (uint)(v >> 31) * REST; }
// Does so for v below 64 x 2^31.
PART uint fold(ulong v) {
#if DEGREE == 7
  v = (v & MASK_31) + (ulong)(uint)(v >> 31) * REST;
#endif
  return fold_small(v);
}

PART uint s_box(uint x) {
  const uint square = fe_mul(x, x);
#if DEGREE == 3
  return fe_mul(x, square);
#else
  return fe_mul(fe_mul(x, square), fe_mul(square, square));
#endif
}

// Multiplies by the matrix of blocks circ(2, 3, 1, 1), doubled on the diagonal. Words below 1.29 p
// give sums below 46 p.
PART void mix(const uint* x, ulong* v) {
  ulong sum[4] = {0, 0, 0, 0};
  UNROLL for (int i = 0; i < WIDTH; i += 4) {
    const ulong a = (ulong)x[i] + x[i + 1], b = (ulong)x[i + 2] + x[i + 3], all = a + b;
    const ulong c = all + x[i + 1], d = all + x[i + 3];
    v[i] = c + a;
    v[i + 1] = c + 2 * (ulong)x[i + 2];
    v[i + 2] = d + b;
    v[i + 3] = d + 2 * (ulong)x[i];
    UNROLL for (int j = 0; j < 4; ++j) sum[j] += v[i + j];
  }
  UNROLL for (int i = 0; i < WIDTH; ++i) v[i] += sum[i % 4];
}

// Return sum + x / 2^k and sum - x / 2^k: 1 / 2^k is -(p - 1) / 2^k.
PART uint add_part(ulong sum, uint x, uint k) {
  return fold_small(sum + (x >> k) + (P - (x & ((1u << k) - 1)) * ((P - 1) >> k)));
}
PART uint subtract_part(ulong sum, uint x, uint k) {
  return fold_small(sum + (x & ((1u << k) - 1)) * ((P - 1) >> k) + (P - (x >> k)));
}

// Multiplies by 1 + the diagonal -2, 1, 2, 1/2, 3, 4, -1/2, -3, -4 and powers of 1/2. Words stay
// below 1.47 p, as 6 times the rest of folding is added to 2^31 at most.
PART void mix_partial(uint* s) {
  ulong all = s[0];
  UNROLL for (int i = 1; i < WIDTH; ++i) all += s[i];
  const ulong sum = fold(all);
  s[0] = fold_small(sum + 2 * (ulong)(P - s[0]));
  s[1] = fold_small(sum + s[1]);
  s[2] = fold_small(sum + 2 * (ulong)s[2]);
  s[3] = add_part(sum, s[3], 1);
  s[4] = fold_small(sum + 3 * (ulong)s[4]);
  s[5] = fold_small(sum + 4 * (ulong)s[5]);
  s[6] = subtract_part(sum, s[6], 1);
  s[7] = fold_small(sum + 5 * (ulong)P - 3 * (ulong)s[7]);
  s[8] = fold_small(sum + 6 * (ulong)P - 4 * (ulong)s[8]);
  s[9] = add_part(sum, s[9], 8);
#if DEGREE == 3
  s[10] = add_part(sum, s[10], 3);
  s[11] = add_part(sum, s[11], 24);
  s[12] = subtract_part(sum, s[12], 8);
  s[13] = subtract_part(sum, s[13], 3);
  s[14] = subtract_part(sum, s[14], 4);
  s[15] = subtract_part(sum, s[15], 24);
#else
  s[10] = add_part(sum, s[10], 2);
  s[11] = add_part(sum, s[11], 3);
  s[12] = add_part(sum, s[12], 27);
  s[13] = subtract_part(sum, s[13], 8);
  s[14] = subtract_part(sum, s[14], 4);
  s[15] = subtract_part(sum, s[15], 27);
#endif
}

// Takes and returns words below 1.29 p. The first and the last four rounds are the same code.
PART void permute(uint* s) {
  ulong v[WIDTH];
  mix(s, v);
  __constant const uint* constants = round_constants;
  for (int part = 0; part < 2; ++part) {
    for (int round = 0; round < 4; ++round, constants += WIDTH) {
      UNROLL for (int i = 0; i < WIDTH; ++i) s[i] = s_box(fold(v[i] + constants[i]));
      mix(s, v);
    }
    UNROLL for (int i = 0; i < WIDTH; ++i) s[i] = fold(v[i]);
    if (part == 1) break;
    for (int round = 0; round < PARTIAL_ROUNDS; ++round) {
      s[0] = s_box(fold((ulong)s[0] + *constants++));
      mix_partial(s);
    }
    UNROLL for (int i = 0; i < WIDTH; ++i) v[i] = s[i];
  }
}

PART void load_half(uint* s, __global const uint* from, ulong at) {
  const uint8 half_ = vload8(at, from);
  s[0] = half_.s0, s[1] = half_.s1, s[2] = half_.s2, s[3] = half_.s3;
  s[4] = half_.s4, s[5] = half_.s5, s[6] = half_.s6, s[7] = half_.s7;
}
PART void store_half(__global uint* to, ulong at, const uint* s) {
  vstore8((uint8)(s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7]), at, to);
}

// Mirrors suites/ntt/commit_program.hpp, which explains it.
typedef struct {
  ulong at, stride;
  uint rows, columns, state_at, out_at, first, last;
} Absorb;

// Absorbs columns into the sponges of rows, one per work-item. States between launches are the
// capacity: each launch but the last absorbs whole blocks, so that the next overwrites the rate.
__kernel void absorb(__global const uint* columns, __global const uint* states, __global uint* out,
                     const Absorb a) {
  const uint row = (uint)get_global_id(0);
  if (row >= a.rows) return;
  uint s[WIDTH];
  UNROLL for (int i = 0; i < WIDTH; ++i) s[i] = 0;
  if (!a.first) load_half(s + RATE, states, a.state_at + row);
  columns += a.at + row;
  for (uint begin = 0; begin < a.columns; begin += RATE) {
    UNROLL for (uint i = 0; i < RATE; ++i)
      if (begin + i < a.columns) {
        const uint word = columns[(begin + i) * a.stride];
#if CANONICAL
        s[i] = fe_mul(word, MONTGOMERY);
#else
        s[i] = word;
#endif
      }
    permute(s);
  }
  if (a.last) {
    store_half(out, a.out_at + row, s);
  } else {
    store_half(out, a.out_at + row, s + RATE);
  }
}

// Computes a level of `nodes` nodes at `to` in the tree from the one at `from` in `below`.
__kernel void compress(__global const uint* below, __global uint* tree, const uint from, const uint to, const uint nodes) {
  const uint node = (uint)get_global_id(0);
  if (node >= nodes) return;
  uint s[WIDTH];
  load_half(s, below, (ulong)from + 2 * (ulong)node);
  load_half(s + RATE, below, (ulong)from + 2 * (ulong)node + 1);
  permute(s);
  store_half(tree, (ulong)to + node, s);
}
