// Sums sorted lists of points into buckets: the mixed additions of an MSM, nearly all of its work,
// and the few full additions for buckets that were too long for one work-item. The host and
// msm_sort.cl decide what is summed where. They count buckets from the slice's first, which is
// `first_bucket` of the device's. OpenCL C 1.2.
//
// Limits on an H100: for 2^24 terms of BLS12-381 (92 ms, where the goal was 86) multiplications, at
// 72 % of the rate that their pipe reaches alone; for 2^16 the 31 additions into the fullest
// bucket, 167 us one after another (results/msm.md).
#include "msm_bounds.cl"
#include "msm_curve.cl"

#define NEGATE 0x80000000u   // flag of an entry: subtract the point
#define PARTIAL 0x80000000u  // flag of a task: the sum goes to partials, not to a bucket

// Sets `count` sums to infinity; only ZZ of those is ever read.
__kernel void clear_sums(__global uint4* sums, uint count) {
  const uint i = (uint)get_global_id(0);
  if (i < count) fp_store(sums + (ulong)i * SUM_QUADS + 2 * FP_QUADS, fp_zero());
}

// Task t = (first entry, entries, target): a work-item adds the points of its entries, in a bucket
// to the sum that it has already. Tasks come longest first, so the work-items of a wavefront have
// equal work. plan[0] is the number of tasks. There are `count` points, most_buckets buckets, and
// at most most_entries entries, in tasks of at most `limit`.
__kernel void accumulate(__global const uint4* points, ulong first_point, uint count, __global const uint* entries, uint most_entries,
                         uint limit, __global const uint4* tasks, __global const uint* plan, __global uint4* buckets,
                         ulong first_bucket, uint most_buckets, __global uint4* partials) {
  const uint t = (uint)get_global_id(0);
  if (t >= plan[0]) return;
  const uint4 task = tasks[t];
  const bool partial = (task.z & PARTIAL) != 0;
  if (!IN_BOUNDS(task.z & ~PARTIAL, partial ? MOST_PARTIALS(most_entries, limit) : most_buckets)) return;
  const ulong target = (task.z & ~PARTIAL) + (partial ? 0 : first_bucket);
  Sum sum = infinity();
  if (!partial) sum = load_sum(buckets, target);
  for (uint i = 0; i < task.y; ++i) {
    if (!IN_BOUNDS(task.x + i, most_entries)) break;
    const uint entry = entries[task.x + i];
    if (!IN_BOUNDS(entry & ~NEGATE, count)) continue;
    Affine point = load_affine(points, first_point + (entry & ~NEGATE));
    // An unreduced 0 - y is 2p - y; for a blank y, and so for infinity, it is 0.
    if (entry & NEGATE) point.y = fp_sub(fp_zero(), point.y);
    sum = madd(sum, point);
  }
  store_sum(partial ? partials : buckets, target, sum);
}

// Long bucket l = (bucket, first partial, partials): a work-group adds its partials to the bucket.
// plan[1] is the number of long buckets; groups take them in turn. `shared` has a sum per
// work-item. most_entries and the other limits are those of `accumulate`.
__kernel void combine(__global const uint4* longs, __global const uint* plan, __global const uint4* partials, uint most_entries,
                      uint limit, __global uint4* buckets, ulong first_bucket, uint most_buckets, __local uint4* shared) {
  const uint me = (uint)get_local_id(0), size = (uint)get_local_size(0);
  for (uint l = (uint)get_group_id(0); l < plan[1]; l += (uint)get_num_groups(0)) {
    if (!IN_BOUNDS(l, MOST_LONGS(most_entries, limit))) break;
    const uint4 task = longs[l];
    if (!IN_BOUNDS(task.x, most_buckets)) continue;
    if (!IN_BOUNDS(task.z - 1, MOST_PARTIALS(most_entries, limit))) continue;
    Sum sum = infinity();
    if (me == 0) sum = load_sum(buckets, first_bucket + task.x);
    const uint rounds = (task.z + size - 1) / size;
    // The code has one addition: it first adds the work-item's own partials in turn, then those of
    // the other half, halving each time.
    uint half_size = size;
    for (uint round = 0; half_size > 1 || round < rounds; ++round) {
      Sum other = infinity();
      if (round < rounds) {
        const uint i = round * size + me;
        if (i < task.z && IN_BOUNDS(task.y + i, MOST_PARTIALS(most_entries, limit))) other = load_sum(partials, (ulong)task.y + i);
      } else {
        barrier(CLK_LOCAL_MEM_FENCE);
        store_local(shared, me, sum);
        barrier(CLK_LOCAL_MEM_FENCE);
        half_size /= 2;
        if (me < half_size) other = load_local(shared, me + half_size);
      }
      sum = add(sum, other);
    }
    if (me == 0) store_sum(buckets, first_bucket + task.x, sum);
  }
}
