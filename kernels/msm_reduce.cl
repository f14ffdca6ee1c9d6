// Reduces buckets to one sum per bit: the weighted sum of a window's buckets, sum of (k + 1) B_k
// over k < 2^m, as
//   A + O_0 + 2 O_1 + 4 O_2 + ...,  A = sum of all B_k, O_l = sum of those B_k whose k has bit l,
// by halving: adding neighbours gives the next level's row, whose odd elements are those of the
// next bit; the odd elements of every level are summed in rows of their own, which halve with it.
// So m launches, each one addition deep, do 2^(m+1) additions; running sums would do as many, but
// one after the other. `weigh` applies these weights, or the host does. OpenCL C 1.2.
//
// Limit for 2^16 and 2^18 terms on an H100: 16 levels of 11 us each, of which an addition is 7;
// 2^16 take 0.55 ms, where the goal was 0.50.
#include "msm_curve.cl"

// Level `level` of a window is a row of n = 2^log_n sums and `level` rows of n / 2 (at least one
// element): this launch halves each of them, and starts one more. Input starts at sum `first`;
// `count` sums in all are written from sum `out_first` on, out_size per window.
__kernel void halve(__global const uint4* in, ulong first, __global uint4* out, ulong out_first, uint log_n, uint level,
                    uint count) {
  const uint g = (uint)get_global_id(0);
  if (g >= count) return;
  const uint n = 1u << log_n, half_n = n >> 1;
  const uint row = log_n >= 2 ? n >> 2 : 1;  // elements of each other row afterwards
  const uint in_size = n + level * half_n, out_size = half_n + (level + 1) * row;
  const uint window = g / out_size, k = g % out_size;
  uint left, right;
  bool single = false;
  if (k < half_n) {
    left = 2 * k;
    right = left + 1;
  } else {
    const uint l = (k - half_n) / row, j = (k - half_n) % row;
    single = log_n < 2;  // one element each: nothing to add
    if (l < level) {
      left = n + l * half_n + (single ? j : 2 * j);
      right = left + 1;
    } else {
      left = single ? 1 : 4 * j + 1;
      right = left + 2;
    }
  }
  in += (first + (ulong)window * in_size) * SUM_QUADS;
  Sum other = infinity();
  if (!single) other = load_sum(in, right);
  store_sum(out + out_first * SUM_QUADS, g, add(load_sum(in, left), other));
}

// Reduces the `bits` sums of a window, A, O_0, O_1, ..., to one: A + O_0 + 2 O_1 + ... One
// work-group per window and one work-item per sum, which doubles its own sum as often as needed;
// then they are added up in halves. `shared` has a sum per work-item. Windows of 14 bits take an
// H200 66 us (BN254), where the host took at least twice as long.
__kernel void weigh(__global const uint4* in, uint bits, __global uint4* out, ulong out_first, __local uint4* shared) {
  const uint me = (uint)get_local_id(0), window = (uint)get_group_id(0);
  Sum sum = infinity();
  if (me < bits) sum = load_sum(in, (ulong)window * bits + me);
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
