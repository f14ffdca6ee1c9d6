// Sorts points into buckets: signed digits of the scalars, a counting sort of the points by bucket,
// and the list of tasks for msm_accumulate.cl, longest first. Integers only. OpenCL C 1.2.
//
// Limit for 2^22 terms with a table of multiples on an H100 (12.4 ms, where the goal was 11):
// entries of all windows at once are written too far apart, 150 ps each instead of 55.
//
// A scalar s is cut into windows of c bits from below, then of c - 1. A digit above 2^(c-1) becomes
// negative and carries one up, so that a window has 2^(c-1) buckets, of which narrow windows use
// half: bucket k has the points whose digit is k + 1, or -(k + 1) and then negated.
//
// -D options: MSM_ROLLED as in msm_field.cl; FOLD: r - s and the opposite point for s > r / 2,
// which saves a bit, only if r times the point is infinity; R0..R7: the group order r.

#include "msm_bounds.cl"

#ifdef MSM_ROLLED
#define UNROLL
#else
#define UNROLL _Pragma("unroll")
#endif
#define NEGATE 0x80000000u   // as in msm_accumulate.cl
#define PARTIAL 0x80000000u  // as in msm_accumulate.cl
#define BLOCK_LOG 11         // counters per block of the scan: 2^11

// plan: data that the kernels below exchange. The counters of the lengths follow it, limit + 1 of
// them.
#define PLAN_TASKS 0u
#define PLAN_LONGS 1u
#define PLAN_PARTIALS 2u
#define PLAN_LENGTHS 4u

__kernel void clear_words(__global uint* words, uint count, __global uint* more, uint more_count) {
  const uint i = (uint)get_global_id(0);
  if (i < count) words[i] = 0;
  if (i < more_count) more[i] = 0;
}

// Computes the digits of scalars first .. first + count - 1 in windows window .. end_window - 1,
// window after window: |digit|, and NEGATE. The lowest `wide` windows have c bits, the others one
// less.
__kernel void digits(__global const uint4* scalars, ulong first, uint count, uint c, uint wide, uint window, uint end_window,
                     __global uint* codes) {
  const uint i = (uint)get_global_id(0);
  if (i >= count) return;
  const uint4 low = scalars[(first + i) * 2], high = scalars[(first + i) * 2 + 1];
  uint s[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
  uint flip = 0;
#ifdef FOLD
  const uint r[8] = {R0, R1, R2, R3, R4, R5, R6, R7};
  uint t[8];
  ulong borrow = 0;
  UNROLL for (int k = 0; k < 8; ++k) {
    borrow = (ulong)r[k] - s[k] - borrow;
    t[k] = (uint)borrow;
    borrow >>= 63;
  }
  // flip is 1 if r - s is smaller.
  borrow = 0;
  UNROLL for (int k = 0; k < 8; ++k) borrow = ((ulong)t[k] - s[k] - borrow) >> 63;
  flip = (uint)borrow;
  UNROLL for (int k = 0; k < 8; ++k) s[k] = flip ? t[k] : s[k];
#endif
  uint carry = 0;
  for (uint w = 0; w < end_window; ++w) {
    const uint bits = w < wide ? c : c - 1, buckets = 1u << (bits - 1), mask = 2 * buckets - 1;
    uint digit = (s[0] & mask) + carry;
    UNROLL for (int k = 0; k < 7; ++k) s[k] = s[k] >> bits | s[k + 1] << (32 - bits);
    s[7] >>= bits;
    carry = digit > buckets;
    if (carry) digit = 2 * buckets - digit;
    if (w >= window) codes[(ulong)(w - window) * count + i] = digit != 0 && (flip ^ carry) ? digit | NEGATE : digit;
  }
}

// Work-item (i, w) counts the digit of point i in window w, and stores its rank within its bucket.
// The buckets of a window begin `row` after those of the one before: the number of its buckets, or
// 0 if all windows share them. Launches go window after window, here and in `place`, so that the
// counters and the entries in use at a time stay in a cache: with 2^24 points, all windows at once
// took 86 ps per entry on an H200, pieces that fit its second-level cache 39.
__kernel void count_digits(__global const uint* codes, uint count, uint buckets, uint row, __global uint* counts,
                           __global uint* ranks) {
  const uint i = (uint)get_global_id(0), w = (uint)get_global_id(1);
  if (i >= count) return;
  const ulong slot = (ulong)w * count + i;
  const uint digit = codes[slot] & ~NEGATE;
  if (digit != 0 && IN_BOUNDS(digit - 1, buckets)) ranks[slot] = atomic_inc(&counts[w * row + digit - 1]);
}

// Work-item (i, w, part) moves point i to its place among the entries, which are sorted by bucket,
// if its bucket is in that part of the window's buckets. Parts are so large that the entries of one
// fit a cache too; from window `wide` on a part has half as many buckets. If windows share their
// buckets (`row` is 0), an entry of window w is point i of row w of a table with `stride` points
// per row.
__kernel void place(__global const uint* codes, uint count, uint buckets, uint row, uint part_buckets, uint wide, uint stride,
                    __global const uint* offsets, __global const uint* bases, __global const uint* ranks, __global uint* entries,
                    uint most_entries) {
  const uint i = (uint)get_global_id(0), w = (uint)get_global_id(1);
  if (i >= count) return;
  const ulong slot = (ulong)w * count + i;
  const uint code = codes[slot];
  const uint in_a_part = w < wide ? part_buckets : part_buckets / 2;
  if ((code & ~NEGATE) == 0 || ((code & ~NEGATE) - 1) / in_a_part != get_global_id(2)) return;
  if (!IN_BOUNDS((code & ~NEGATE) - 1, buckets)) return;
  const uint bucket = w * row + (code & ~NEGATE) - 1;
  const uint at = offsets[bucket] + bases[bucket >> BLOCK_LOG] + ranks[slot];
  if (IN_BOUNDS(at, most_entries)) entries[at] = (w * stride + i) | (code & NEGATE);
}

// Returns the exclusive prefix sum of `mine` over the work-group; *total is the sum of all (Hillis
// and Steele, Data parallel algorithms, 1986).
uint scan_group(uint mine, __local uint* shared, uint* total) {
  const uint me = (uint)get_local_id(0), size = (uint)get_local_size(0);
  uint sum = mine;
  for (uint step = 1; step < size; step *= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    shared[me] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (me >= step) sum += shared[me - step];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  shared[me] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  *total = shared[size - 1];
  return sum - mine;
}

// A work-group turns a block of counts into prefix sums within the block (with one more at the very
// end, so that every bucket has a next), and writes the block's sum. It also counts how many
// buckets have which length; those above `limit` are cut into pieces of that length.
__kernel void scan_blocks(__global uint* counts, uint count, uint limit, __global uint* sums, __global uint* plan,
                          __local uint* shared, __local uint* lengths) {
  const uint me = (uint)get_local_id(0), size = (uint)get_local_size(0), each = (1u << BLOCK_LOG) / size;
  const uint begin = ((uint)get_group_id(0) << BLOCK_LOG) + me * each;
  for (uint k = me; k <= limit; k += size) lengths[k] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  uint sum = 0;
  for (uint k = begin; k < begin + each && k < count; ++k) {
    const uint length = counts[k];
    sum += length;
    if (length >= limit) atomic_add(&lengths[limit], length / limit);
    if (length % limit) atomic_inc(&lengths[length % limit]);
  }
  uint total;
  uint before = scan_group(sum, shared, &total);
  for (uint k = begin; k < begin + each && k <= count; ++k) {
    const uint length = k < count ? counts[k] : 0;
    counts[k] = before;
    before += length;
  }
  if (me == 0) sums[get_group_id(0)] = total;
  for (uint k = me; k <= limit; k += size) {
    if (lengths[k]) atomic_add(&plan[PLAN_LENGTHS + k], lengths[k]);
  }
}

// One work-group turns the sums of blocks into prefix sums, and the numbers of lengths into the
// first task of each, longest first.
__kernel void scan_sums(__global uint* sums, uint count, uint limit, __global uint* plan, __local uint* shared) {
  const uint me = (uint)get_local_id(0), size = (uint)get_local_size(0);
  uint before = 0, total;
  // The code has one scan: PoCL takes a second for each.
  for (uint pass = 0; pass < 2; ++pass) {
    __global uint* numbers = pass == 0 ? sums : plan;
    const uint end = pass == 0 ? count : limit + 1;
    before = 0;
    for (uint k = me; k - me < end; k += size) {
      const uint at = pass == 0 ? k : PLAN_LENGTHS + limit - k;
      const uint number = k < end ? numbers[at] : 0;
      const uint place = before + scan_group(number, shared, &total);
      if (k < end) numbers[at] = place;
      before += total;
    }
  }
  if (me == 0) plan[PLAN_TASKS] = before;
}

// Makes the tasks of every bucket: (first entry, entries, target, 0). A bucket longer than `limit`
// gets several, which sum to partials, and an entry in longs: (bucket, first partial, partials, 0).
// A work-group takes its places in each length at once. All buckets together have at most
// most_entries entries and most_tasks tasks.
__kernel void make_tasks(__global const uint* offsets, __global const uint* bases, uint count, uint limit, __global uint* plan,
                         __global uint4* tasks, __global uint4* longs, uint most_entries, uint most_tasks, __local uint* lengths) {
  const uint me = (uint)get_local_id(0), size = (uint)get_local_size(0);
  const uint bucket = (uint)get_global_id(0);
  for (uint k = me; k <= limit; k += size) lengths[k] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  uint begin = 0, length = 0, full_rank = 0, rest_rank = 0;
  if (bucket < count) {
    begin = offsets[bucket] + bases[bucket >> BLOCK_LOG];
    length = offsets[bucket + 1] + bases[(bucket + 1) >> BLOCK_LOG] - begin;
    if (length >= limit) full_rank = atomic_add(&lengths[limit], length / limit);
    if (length % limit) rest_rank = atomic_inc(&lengths[length % limit]);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint k = me; k <= limit; k += size) {
    if (lengths[k]) lengths[k] = atomic_add(&plan[PLAN_LENGTHS + k], lengths[k]);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (length == 0) return;
  if (!IN_BOUNDS(length - 1, most_entries)) return;
  const uint pieces = (length + limit - 1) / limit;
  uint target = bucket;
  if (pieces > 1) {
    target = atomic_add(&plan[PLAN_PARTIALS], pieces);
    const uint at = atomic_inc(&plan[PLAN_LONGS]);
    if (IN_BOUNDS(at, MOST_LONGS(most_entries, limit))) longs[at] = (uint4)(bucket, target, pieces, 0);
    target |= PARTIAL;
  }
  for (uint k = 0; k < length / limit; ++k) {
    const uint at = lengths[limit] + full_rank + k;
    if (IN_BOUNDS(at, most_tasks)) tasks[at] = (uint4)(begin + k * limit, limit, target + k, 0);
  }
  if (length % limit) {
    const uint at = lengths[length % limit] + rest_rank, whole = length / limit;
    if (IN_BOUNDS(at, most_tasks)) tasks[at] = (uint4)(begin + whole * limit, length % limit, target + whole, 0);
  }
}
