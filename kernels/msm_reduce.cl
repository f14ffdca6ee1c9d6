// Reduces buckets to one sum per bit: the weighted sum of a window's buckets, sum of (k + 1) B_k
// over k < 2^m, as
//   A + O_0 + 2 O_1 + 4 O_2 + ...,  A = sum of all B_k, O_l = sum of those B_k whose k has bit l,
// by halving: adding neighbours gives the next level's row, whose odd elements are those of the
// next bit; the odd elements of every level are summed in rows of their own, which halve with it.
// So m levels, each one addition deep, do 2^(m+1) additions; running sums would do as many, but
// one after the other. `weigh` applies these weights, or the host does. OpenCL C 1.2.
//
// Limit for 2^16 and 2^18 terms on an H100: a level of few sums takes 11 us by `halve` and 7.5 us
// by `halve_by_four`, whose 4 products take 1.3 us each; 2^16 terms take 0.52 ms, where the goal
// was 0.50.
#include "msm_curve.cl"

// Level `level` of a window is a row of n = 2^log_n sums and `level` rows of n / 2 (at least one
// element): a launch halves each of them, and starts one more.
typedef struct {
  uint half_n, row, in_size, out_size;  // row: elements of each other row afterwards
} Halves;

PART Halves halves_of(uint log_n, uint level) {
  const uint n = 1u << log_n;
  Halves h;
  h.half_n = n >> 1;
  h.row = log_n >= 2 ? n >> 2 : 1;
  h.in_size = n + level * h.half_n;
  h.out_size = h.half_n + (level + 1) * h.row;
  return h;
}

// Returns the two sums to add for sum k of the next level: left and right, which are the same if
// there is nothing to add.
PART uint2 terms_of(Halves h, uint level, uint k) {
  if (k < h.half_n) return (uint2)(2 * k, 2 * k + 1);
  const uint n = 2 * h.half_n, l = (k - h.half_n) / h.row, j = (k - h.half_n) % h.row;
  const bool single = n < 4;  // one element each
  uint left = l < level ? n + l * h.half_n + (single ? j : 2 * j) : single ? 1 : 4 * j + 1;
  return (uint2)(left, single ? left : left + (l < level ? 1 : 2));
}

// Input starts at sum `first`; `count` sums in all are written from sum `out_first` on, out_size
// per window.
__kernel void halve(__global const uint4* in, ulong first, __global uint4* out, ulong out_first, uint log_n, uint level,
                    uint count) {
  const uint g = (uint)get_global_id(0);
  if (g >= count) return;
  const Halves h = halves_of(log_n, level);
  const uint2 terms = terms_of(h, level, g % h.out_size);
  in += (first + (ulong)(g / h.out_size) * h.in_size) * SUM_QUADS;
  Sum other = infinity();
  if (terms.x != terms.y) other = load_sum(in, terms.y);
  store_sum(out + out_first * SUM_QUADS, g, add(load_sum(in, terms.x), other));
}

PART Fp load_shared(__local const uint* at) {
  Fp r;
  UNROLL for (int k = 0; k < LIMBS; ++k) r.v[k] = at[k];
  return r;
}

PART void store_shared(__local uint* at, Fp a) {
  UNROLL for (int k = 0; k < LIMBS; ++k) at[k] = a.v[k];
}

// Halves `levels` levels, the first of them `level`, with four work-items per addition, which do 4
// products one after another instead of 14: for levels that do not fill a GPU. Work-groups are
// (any, windows); if there are several levels, one work-group has a window. Levels write to
// `between` and `in` in turn, where each window keeps the place that it has after the first level,
// as others may be at another level; with `ends` the last one writes to `out`, without gaps.
// `shared` has SHARED_WORDS per addition.
#define SHARED_WORDS (8 * LIMBS + 2)
__kernel void halve_by_four(__global uint4* in, ulong first, __global uint4* between, uint ends, __global uint4* out,
                            ulong out_first, uint log_n, uint level, uint levels, __local uint* shared) {
  const uint me = (uint)get_local_id(0), lane = me % 4, at_once = (uint)get_local_size(0) / 4;
  __local uint* value = shared + me / 4 * SHARED_WORDS;
  __local uint* special = value + 8 * LIMBS;
  const ulong window = get_group_id(1);
  const Halves largest = halves_of(log_n, level);
  __global uint4* from = in + (first + window * largest.in_size) * SUM_QUADS;
  __global uint4* to = between + window * largest.out_size * SUM_QUADS;
  for (uint end = level + levels; level < end; ++level, --log_n) {
    const Halves h = halves_of(log_n, level);
    if (ends && level + 1 == end) to = out + (out_first + window * h.out_size) * SUM_QUADS;
    for (uint base = (uint)get_group_id(0) * at_once; base < h.out_size; base += (uint)get_num_groups(0) * at_once) {
      const uint k = base + me / 4;
      const uint2 terms = terms_of(h, level, k < h.out_size ? k : 0);
      __global const uint4* a = from + (ulong)(lane < 2 ? terms.x : terms.y) * SUM_QUADS;
      __global const uint4* b = from + (ulong)(lane < 2 ? terms.y : terms.x) * SUM_QUADS;
      __global uint4* sum = to + (ulong)k * SUM_QUADS;
      const uint part = lane % 2;  // x with ZZ, y with ZZZ
      Fp left = fp_load(b + part * FP_QUADS), right = fp_load(a + (2 + part) * FP_QUADS), product, difference;
      bool adds = k < h.out_size;
#pragma unroll 1
      for (uint step = 0; step < 4; ++step) {
        product = fp_mul(left, right);
        if (step != 2 || lane == 0 || lane == 2) store_shared(value + (step % 2 * 4 + lane) * LIMBS, product);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (step == 0) {  // has U2, S2, U1, S1; computes P^2, R^2, ZZ, ZZZ
          if (lane < 2) {
            left = right = difference = fp_sub(product, load_shared(value + (lane + 2) * LIMBS));
            if (lane == 0) special[0] = fp_is_zero(difference);
          } else {
            left = fp_load(b + (2 + part) * FP_QUADS);
            if (lane == 2) special[1] = fp_is_blank(left) || fp_is_blank(right);
          }
        } else if (step == 1) {  // P^3, nothing, Q = U1 P^2, ZZ P^2
          left = lane < 2 ? difference : load_shared(value + (lane == 2 ? 2 : 6) * LIMBS);
          right = load_shared(value + 4 * LIMBS);
          adds = adds && special[0] == 0 && special[1] == 0;
        } else if (step == 2) {  // nothing, R (Q - X), S1 P^3, ZZZ P^3
          right = load_shared(value);
          if (lane == 1) {
            const Fp q = load_shared(value + 2 * LIMBS);
            const Fp x = fp_sub(fp_sub(load_shared(value + 5 * LIMBS), right), fp_add(q, q));
            if (adds) fp_store(sum, x);
            left = difference;
            right = fp_sub(q, x);
          } else if (lane > 1) {
            if (lane == 3 && adds) fp_store(sum + 2 * FP_QUADS, product);
            left = load_shared(value + (lane == 2 ? 3 : 7) * LIMBS);
          }
        }
      }
      if (adds && part) fp_store(sum + lane * FP_QUADS, lane == 3 ? product : fp_sub(product, load_shared(value + 6 * LIMBS)));
      // Infinity, equal or opposite points, nothing to add.
      if (!adds && lane == 0 && k < h.out_size) {
        Sum other = infinity();
        if (terms.x != terms.y) other = load_sum(from, terms.y);
        store_sum(to, k, add(load_sum(from, terms.x), other));
      }
      barrier(CLK_LOCAL_MEM_FENCE);
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    __global uint4* swapped = from;
    from = to;
    to = swapped;
  }
}

// Reduces the `bits` sums of a window, A, O_0, O_1, ..., to one: A + O_0 + 2 O_1 + ... One
// work-group per window and one work-item per sum, which doubles its own sum as often as needed;
// then they are added up in halves. A window has `stride` sums. `shared` has one per work-item. Windows of 14 bits take an
// H200 66 us (BN254), where the host took at least twice as long.
__kernel void weigh(__global const uint4* in, ulong first, uint stride, uint bits, __global uint4* out, ulong out_first,
                    __local uint4* shared) {
  const uint me = (uint)get_local_id(0), window = (uint)get_group_id(0);
  Sum sum = infinity();
  if (me < bits) sum = load_sum(in, first + (ulong)window * stride + me);
  for (uint i = 1; i < me && !is_infinity(sum); ++i) sum = doubled(sum);
  for (uint half_size = (uint)get_local_size(0) / 2; half_size > 0; half_size /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    store_local(shared, me, sum);
    barrier(CLK_LOCAL_MEM_FENCE);
    Sum other = infinity();
    if (me < half_size) other = load_local(shared, me + half_size);
    sum = add(sum, other);
  }
  if (me == 0) store_sum(out + out_first * SUM_QUADS, window, sum);
}
