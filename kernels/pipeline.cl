// Stages of a pipeline: each takes a batch of records, and makes one. A record is WIDTH words of 32
// bits, one record after another. Arithmetic is on integers, or on fp32 by operations that no compiler
// contracts, so that bits are the same on every device. OpenCL C 1.2.
//
// -D options:
//   WIDTH   words of a record, a power of two from 8 on
//   GROUP   work-items of a work-group of `hash` and of stages of rows
//   ITEMS   work-items that transform a record
//   ROLLED  see unroll.cl
//   MULTIPLY_ADDS  for SHA-256, see merkle_hash.cl
//   ROWS, STAGES, TABLES, HALVES, REDUCED  the kernel of stages of rows, see there
//
// Every kernel reads records from word `from` of `in` on, and writes those it makes from word `to`
// of `out` on; `passes` is how often a stage does its work. The output may be another device's
// memory: only whole rows of words are written, side by side.
//
// Predicted for one H200 (132 SMs, 1.75 GHz) and a pass over 65,536 records of 256 words: `hash`
// has 17 blocks per record, at the 15 G blocks/s that merkle.cl reaches: 74 us. `transform` moves
// 640 words per level to and from local memory, 32 per clock and SM, on 8 levels: 45 us. `product`
// has 4,096 multiply-adds, 64 per clock and SM: 18 us. Each reads and writes 128 MiB, at 4 TB/s: 33
// us per launch, less than the arithmetic of all but a single pass of `product`; `reduce` reads
// half of that: 17 us.
#define PRIME 998244353u  // 119 2^23 + 1

// Returns x < 2 PRIME reduced to below PRIME.
uint below_prime(uint x) { return min(x, x - PRIME); }

// Returns x w modulo PRIME for any x; w.y is floor(w.x 2^32 / PRIME) (Shoup).
uint times(uint x, uint2 w) { return below_prime(x * w.x - mul_hi(x, w.y) * PRIME); }

// Returns what a word adds to a reduction: in pass t it is rotated by t and times 2 t + 1.
uint weighted(uint x, uint passes) {
  uint sum = 0;
  for (uint t = 1; t <= passes; ++t) sum += rotate(x, t) * (2 * t + 1);
  return sum;
}

#define SIDE (WIDTH < 16 ? WIDTH : 16)  // words of a row

#ifdef ROWS
#include "unroll.cl"
// Stages of rows: a record is a matrix with rows of SIDE words, and a work-item has a row, x. They
// are one kernel, ROWS, which does all that STAGES names. Numbers are fp32, computed by additions,
// minima and fma only, so that no compiler can round otherwise.

// Multiplies the row by `matrix`, SIDE x SIDE, modulo 2^32, in each pass.
void multiply_row(uint* x, __local const uint* matrix, uint passes) {
  uint y[SIDE];
#pragma unroll 1
  for (uint pass = 0; pass < passes; ++pass) {
#ifndef ROLLED
    // Otherwise NVIDIA's compiler keeps the matrix in registers, 255 of them, and few rows are
    // under way.
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
    UNROLL
    for (uint j = 0; j < SIDE; ++j) y[j] = 0;
    UNROLL
    for (uint i = 0; i < SIDE; ++i) {
      UNROLL
      for (uint j = 0; j < SIDE; ++j) y[j] += x[i] * matrix[i * SIDE + j];
    }
    UNROLL
    for (uint j = 0; j < SIDE; ++j) x[j] = y[j];
  }
}

// Turns words into numbers from -1 up to 1: a word is a signed number of 2^-31.
void numbers_of_row(uint* x) {
  UNROLL
  for (uint i = 0; i < SIDE; ++i) x[i] = as_uint((float)(int)x[i] * 0x1p-31f);
}

// Computes the row's min-plus product with `weights`, SIDE x SIDE, in each pass: word j becomes the
// least of x[i] + weights[i][j].
void shorten_row(uint* x, __local const uint* weights, uint passes) {
  float y[SIDE];
#pragma unroll 1
  for (uint pass = 0; pass < passes; ++pass) {
#ifndef ROLLED
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
    UNROLL
    for (uint j = 0; j < SIDE; ++j) y[j] = as_float(x[0]) + as_float(weights[j]);
    UNROLL
    for (uint i = 1; i < SIDE; ++i) {
      UNROLL
      for (uint j = 0; j < SIDE; ++j) y[j] = fmin(y[j], as_float(x[i]) + as_float(weights[i * SIDE + j]));
    }
    UNROLL
    for (uint j = 0; j < SIDE; ++j) x[j] = as_uint(y[j]);
  }
}

// Takes pairs of words as dual numbers, a value and a derivative, and replaces each by a polynomial
// of an eighth of it, by Horner's rule. A pass adds eight coefficients.
void differentiate_row(uint* x, __local const uint* coefficients, uint passes) {
  UNROLL
  for (uint i = 0; i < SIDE; i += 2) {
    const float value = as_float(x[i]) * 0.125f, slope = as_float(x[i + 1]) * 0.125f;
    float y = 0.0f, derivative = 0.0f;
#pragma unroll 1
    for (uint pass = 0; pass < passes; ++pass) {
      UNROLL
      for (uint k = 0; k < 8; ++k) {
        derivative = fma(derivative, value, y * slope);
        y = fma(y, value, as_float(coefficients[k]));
      }
    }
    x[i] = as_uint(y);
    x[i + 1] = as_uint(derivative);
  }
}

// Bit 8 i + j: the product of blades i and j of the algebra with three vectors of square 1 is
// negative.
#define NEGATIVE 0xcccc6666aaaa0000ul

// Takes eight words as a multivector, and multiplies it by `factor` from the right in each pass.
void turn_row(uint* x, __local const uint* factor, uint passes) {
  UNROLL
  for (uint from = 0; from < SIDE; from += 8) {
#pragma unroll 1
    for (uint pass = 0; pass < passes; ++pass) {
      float y[8];
      UNROLL
      for (uint k = 0; k < 8; ++k) y[k] = 0.0f;
      UNROLL
      for (uint i = 0; i < 8; ++i) {
        UNROLL
        for (uint j = 0; j < 8; ++j) {
          const float u = as_float(factor[j]);
          y[i ^ j] = fma(as_float(x[from + i]), NEGATIVE >> (8 * i + j) & 1 ? -u : u, y[i ^ j]);
        }
      }
      UNROLL
      for (uint k = 0; k < 8; ++k) x[from + k] = as_uint(y[k]);
    }
  }
}

// STAGES is made of these; `at` is the first word of the stage's table.
#define NUMBERS() numbers_of_row(x);
#define PRODUCT(passes, at) multiply_row(x, tables + (at), passes);
#define TROPICAL(passes, at) shorten_row(x, tables + (at), passes);
#define DUAL(passes, at) differentiate_row(x, tables + (at), passes);
#define CLIFFORD(passes, at) turn_row(x, tables + (at), passes);
#define TRANSFORM(passes, at) transform_records(x, rows, (__global const uint2*)(table + (at)), passes);
#define PLACE(i) ((i) / SIDE * (SIDE + 1) + (i) % SIDE)  // rows are a word apart
#define HALF (GROUP * (SIDE + 1))

// Transforms the whole records that the work-group's rows are, through local memory of two halves.
void transform_records(uint* x, __local uint* rows, __global const uint2* roots, uint passes) {
  const uint lane = get_local_id(0);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint i = 0; i < SIDE; ++i) rows[PLACE(lane * SIDE + i)] = below_prime(x[i] - mul_hi(x[i], 4u) * PRIME);
  uint now = 0;
#pragma unroll 1
  for (uint pass = 0; pass < passes; ++pass) {
#pragma unroll 1
    for (uint done = 1; done < WIDTH; done *= 2) {
      barrier(CLK_LOCAL_MEM_FENCE);
      for (uint n = lane; n < GROUP * SIDE / 2; n += GROUP) {
        const uint i = n % (WIDTH / 2), record = n / (WIDTH / 2) * WIDTH, j = i & (done - 1), place = record + 2 * i - j;
        const uint a = rows[now + PLACE(record + i)];
        const uint b = times(rows[now + PLACE(record + WIDTH / 2 + i)], roots[j * (WIDTH / 2 / done)]);
        rows[HALF - now + PLACE(place)] = below_prime(a + b);
        rows[HALF - now + PLACE(place + done)] = below_prime(a - b + PRIME);
      }
      now = HALF - now;
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint i = 0; i < SIDE; ++i) x[i] = rows[now + PLACE(lane * SIDE + i)];
}

// Rows pass through local memory, so that words of one launch lie side by side. The first TABLES
// words of `table` are those that all work-items read at once. REDUCED, if defined, is the passes
// of a reduction that follows the stages of rows.
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void ROWS(__global const uint* in, ulong from, __global uint* out, ulong to,
                                                                      uint count, uint passes, __global const uint* table) {
  __local uint rows[HALVES * HALF];
  __local uint tables[TABLES] __attribute__((aligned(16)));
  const uint lane = get_local_id(0);
  const ulong at = (ulong)get_group_id(0) * GROUP * SIDE, all = (ulong)count * WIDTH;
  const uint words_left = (uint)min((ulong)(GROUP * SIDE), all - at);
  for (uint i = lane; i < TABLES; i += GROUP) tables[i] = table[i];
  for (uint i = lane; i < words_left; i += GROUP) rows[PLACE(i)] = in[from + at + i];
  barrier(CLK_LOCAL_MEM_FENCE);
  uint x[SIDE];
  UNROLL
  for (uint i = 0; i < SIDE; ++i) x[i] = rows[PLACE(lane * SIDE + i)];
  STAGES
  barrier(CLK_LOCAL_MEM_FENCE);
  UNROLL
  for (uint i = 0; i < SIDE; ++i) rows[PLACE(lane * SIDE + i)] = x[i];
  barrier(CLK_LOCAL_MEM_FENCE);
#ifdef REDUCED
  for (uint i = lane; i < words_left / WIDTH * 8; i += GROUP) {
    uint sum = 0;
    for (uint j = 0; j < WIDTH; j += 8) sum += weighted(rows[PLACE(i / 8 * WIDTH + i % 8 + j)], REDUCED);
    out[to + at / WIDTH * 8 + i] = sum;
  }
#else
  for (uint i = lane; i < words_left; i += GROUP) out[to + at + i] = rows[PLACE(i)];
#endif
}
#else
#define LANES 1
#define RFC6962 0
#define UNROLL 1
#include "merkle_hash.cl"
#undef UNROLL
#include "unroll.cl"

#define BLOCKS (WIDTH / 16 + 1)  // blocks of SHA-256, the padded one included

// Returns word i of a block of 16 of a record, whose input is x, after the passes so far.
uint masked(uint x, uint block, uint i, const uint* mask) { return x ^ rotate(mask[i % 8], block * 2 + i / 8); }

// Hashes a record as a message of SHA-256 (FIPS 180-4), each word as its four bytes from the
// highest on. Word j of it becomes its exclusive or with word j % 8 of the digest, rotated by j /
// 8. `one` is 1.
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void hash(__global const uint* in, ulong from, __global uint* out, ulong to,
                                                                      uint count, uint passes, uint one) {
  __local uint masks[GROUP * 8];
  const uint lane = get_local_id(0), record = (uint)get_global_id(0), first = (uint)get_group_id(0) * GROUP;
  uint mask[8] = {0, 0, 0, 0, 0, 0, 0, 0};  // mask of all passes so far
  __global const uint* words = in + from + (ulong)min(record, count - 1) * WIDTH;
#pragma unroll 1
  for (uint pass = 0; pass < passes; ++pass) {
    uint s[8], w[16];
    initial_state(s);
#pragma unroll 1
    for (uint block = 0; block < BLOCKS; ++block) {
      if (block < WIDTH / 16) {
        UNROLL
        // 16 bytes per load: lanes are a record apart, so that each load takes as many cache lines
        // as lanes.
        for (uint i = 0; i < 16; i += 4) {
          const uint4 x = ((__global const uint4*)words)[block * 4 + i / 4];
          w[i] = masked(x.s0, block, i, mask);
          w[i + 1] = masked(x.s1, block, i + 1, mask);
          w[i + 2] = masked(x.s2, block, i + 2, mask);
          w[i + 3] = masked(x.s3, block, i + 3, mask);
        }
      } else {  // the last block has eight words of a record of eight, none of others
        UNROLL
        for (uint i = 0; i < 8; ++i) w[i] = WIDTH == 8 ? masked(words[i], 0, i, mask) : 0;
        UNROLL
        for (uint i = 8; i < 15; ++i) w[i] = 0;
        w[WIDTH % 16] = 0x80000000u;
        w[15] = WIDTH * 32u;
      }
      compress(s, w, one);
    }
    UNROLL
    for (uint i = 0; i < 8; ++i) mask[i] ^= s[i];
  }
  UNROLL
  for (uint i = 0; i < 8; ++i) masks[lane * 8 + i] = mask[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  const uint words_left = min((uint)GROUP, count - first) * WIDTH;
  const ulong at = (ulong)first * WIDTH;
  for (uint i = lane; i < words_left; i += GROUP)
    out[to + at + i] = in[from + at + i] ^ rotate(masks[i / WIDTH * 8 + i % 8], i % WIDTH / 8);
}

// Computes a record's number-theoretic transform in each pass: X[k] is the sum of x[j] root^(jk)
// modulo PRIME, where `roots` has the powers of a root of unity of order WIDTH from 0 to WIDTH / 2
// - 1. The levels have Stockham's order, so that words come out in place.
__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void transform(__global const uint* in, ulong from, __global uint* out,
                                                                           ulong to, uint count, uint passes,
                                                                           __global const uint2* roots) {
  __local uint words[2 * WIDTH];
  const uint lane = get_local_id(0);
  const ulong at = (ulong)get_group_id(0) * WIDTH;
  for (uint i = lane; i < WIDTH; i += ITEMS) {
    const uint x = in[from + at + i];
    // floor(2^32 / PRIME) is 4: the result is below 2 PRIME.
    words[i] = below_prime(x - mul_hi(x, 4u) * PRIME);
  }
  uint now = 0;  // half that contains the words: 0 or WIDTH
#pragma unroll 1
  for (uint pass = 0; pass < passes; ++pass) {
#pragma unroll 1
    for (uint done = 1; done < WIDTH; done *= 2) {  // parts of `done` words are transformed
      barrier(CLK_LOCAL_MEM_FENCE);
      for (uint i = lane; i < WIDTH / 2; i += ITEMS) {
        const uint j = i & (done - 1), place = 2 * i - j;
        const uint x = words[now + i], y = times(words[now + WIDTH / 2 + i], roots[j * (WIDTH / 2 / done)]);
        words[WIDTH - now + place] = below_prime(x + y);
        words[WIDTH - now + place + done] = below_prime(x - y + PRIME);
      }
      now = WIDTH - now;
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint i = lane; i < WIDTH; i += ITEMS) out[to + at + i] = words[now + i];
}

// Reduces a record to eight words: word c is the sum of words c, c + 8, c + 16, ..., in each
// pass as `weighted` says.
__kernel void reduce(__global const uint* in, ulong from, __global uint* out, ulong to, uint count, uint passes) {
  const ulong i = get_global_id(0);
  if (i >= (ulong)count * 8) return;
  __global const uint* words = in + from + i / 8 * WIDTH + i % 8;
  uint sum = 0;
  for (uint j = 0; j < WIDTH; j += 8) sum += weighted(words[j], passes);
  out[to + i] = sum;
}
#endif
