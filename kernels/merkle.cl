// Merkle trees: reduces many nodes to few, several levels per launch. An odd node at the end of a
// level is promoted unchanged, or paired with itself. OpenCL C 1.2. The host decides what each
// launch reduces (suites/merkle/passes.hpp).
//
// Limits of SHA-256 on an H100: with 2^26 leaves, the rate of integer instructions, of which 85 %
// are reached; with 2^20 and fewer, the latency of their levels, 4.3 us each, as a hash is 128
// rounds that wait for each other (results/limits.md).
//
// -D options:
//   LANES, RFC6962, hashes: see merkle_hash.cl
//   BITCOIN  nodes are SHA-256 of SHA-256, and an odd node is paired with itself
//   SHORT_LEAF  with RFC 6962 leaf hashes to compute: the last leaf may have fewer than 32 bytes
//
// Kernel argument `one` is 1. A digest is 8 native words. A row is one digest after another; leaves
// are rows of the bytes of digests. With 16 lanes, a block is 16 digests transposed (word w of
// digest i at w * 16 + i): the format between two passes, so that only leaves need a transpose.

#define IN_LEAVES 1u    // the input is leaves (bytes of digests), not native words
#define HASH_LEAVES 2u  // RFC 6962 leaf hashes are still to be computed
#define IN_BLOCKS 4u    // 16 lanes: the input is blocks, not rows
#define OUT_BLOCKS 8u   // 16 lanes: the output is blocks, not rows
#define TASKS 16u       // work-item or group g reduces task g, (first, count), to row out_first + g; there are `full` rows
#define COVERED 32u     // reduce_group: some rows are nodes of a higher level already
#ifdef BITCOIN
#define ODD_TWICE 64u   // an odd node is paired with itself; no level lies above a root
#else
#define ODD_TWICE 0u
#endif
#include "merkle_hash.cl"

uint nodes_at(uint count, uint level) { return (count + (1u << level) - 1) >> level; }

// Returns the number of levels from this many nodes to one; the copy of a single node counts as
// one.
uint levels_above(uint count) { return 32 - clz(max(count, 2u) - 1); }

#if LANES == 16
// Splits the 32 nodes of x and y into 16 pairs of neighbours.
void split_pairs(word* left, word* right, const word* x, const word* y) {
#pragma unroll
  for (uint i = 0; i < 8; ++i) {
    left[i] = (word)(x[i].even, y[i].even);
    right[i] = (word)(x[i].odd, y[i].odd);
  }
}

// Loads pairs 16 p .. 16 p + 15 of `count` nodes. Pairs past the end repeat the last one; the
// partner of an odd last node is whatever follows it (buffers are padded to whole pairs).
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
    for (uint i = 0; i < 16; ++i) rows[i] = from_bytes(rows[i]);
  }
  copy8(left, rows);
  copy8(right, rows + 8);
}

uint16 only_lane(uint lane) {
  const uint16 lanes = (uint16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  return as_uint16(lanes == (uint16)lane);
}

// Returns `value` in this lane, 0 in the others; the lane need not exist.
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
  store_rows(out, s, first, n);
}

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
      left[i] = from_bytes(left[i]);
      right[i] = from_bytes(right[i]);
    }
  }
}

word in_lane(uint value, uint lane) { return lane == 0 ? value : 0; }

void promote(word* s, const word* left, uint lane) { copy8(s, left); }

void split_pairs(word* left, word* right, const word* x, const word* y) {
  copy8(left, x);
  copy8(right, y);
}

void store(__global uint* out, const word* s, ulong first, uint n, uint flags) { store_rows(out, s, first, n); }

#define STACK 3
#endif
// Takes a task: its first of `count` rows, and how many they are. A damaged task stays within the
// rows, so that it only makes the result wrong.
#define TAKE_TASK(first, nodes, task, count)               \
  {                                                        \
    first = min((ulong)task.x, count - 1);                 \
    nodes = (uint)clamp((ulong)task.y, 1ul, min(count - first, 1024ul)); \
  }
// Segments are reduced each by itself: complete ones of `full` nodes, with the last one of each
// tree of `last`; the first segment of a launch is number `first` of the `per_tree` of its tree.
// Segments are `stride` nodes apart, except that leaves of trees follow each other without gaps.
ulong segment_nodes(uint segment, ulong full, ulong last, uint per_tree, uint first) {
  return (first + segment) % per_tree == per_tree - 1 ? last : full;
}

// Work-item g reduces LANES << levels nodes to LANES. It is number g % groups of its segment, of
// which there are `segments`, from node in_first on. The last work-item of a segment may have fewer
// nodes, and `unused_bits` of the very last leaf are not used. 1 <= levels <= STACK. The order is
// depth first: vectors of LANES nodes, one digest per level in private memory. With TASKS (16 lanes
// only): up to 1024 rows to one.
__kernel REDUCE_ATTRIBUTES void reduce(__global const uint* in, __global uint* out, __global const uint2* tasks, ulong in_first,
                                       ulong full, ulong last, ulong stride, ulong groups, uint segments, uint per_tree,
                                       uint first_segment, ulong out_first, ulong out_stride, uint levels, uint flags, uint one,
                                       uint unused_bits) {
  ulong group = get_global_id(0);
  // More than 2^32 work-items are those of one segment.
  const uint segment = group < groups ? 0 : (uint)group / (uint)groups;
  group -= segment * groups;
  const ulong count = segment_nodes(segment, full, last, per_tree, first_segment);
  ulong first = group * ((ulong)LANES << levels);
  if (!(flags & TASKS) && (segment >= segments || first >= count)) return;
  uint nodes = (uint)min((ulong)LANES << levels, count - first);
  in_first += segment * stride;
  if (flags & IN_LEAVES) in_first -= (first_segment + segment) / per_tree * (full - last);
  uint all_levels = levels;  // beyond `levels`, neighbours are lanes of one vector
#if LANES == 16
  if (flags & TASKS) {
    TAKE_TASK(first, nodes, tasks[group], count)
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
      if (j * LANES < here) {  // otherwise all lanes are past the end
        bool odd = (below & 1) && here - 1 - j * LANES < LANES;
        if (odd && (flags & ODD_TWICE)) {
          promote(right, left, here - 1 - j * LANES);
          odd = false;
        }
        word unused_left = 0, unused_right = 0;
#ifdef SHORT_LEAF
        if (level == 1 && segment + 1 == segments && first + nodes == count) {
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
  store(out, s, out_first + segment * out_stride + group * ((flags & TASKS) ? 1 : LANES), nodes_at(nodes, all_levels), flags);
}

#if LANES == 1
// Work-group g reduces up to 1 << levels rows to one, in local memory (half as many digests as
// there are rows): those of segment g, or task g. COVERED: the only task is all rows, pieces of
// one tree; after the rows comes, per row, the level of the node that lies there, or a high one
// inside such a node.
__kernel void reduce_group(__global const uint* in, __global uint* out, __global const uint2* tasks, ulong full, ulong last,
                           ulong stride, uint per_tree, uint first_segment, ulong out_first, uint levels, uint flags, uint one,
                           __local uint4* digests) {
  const uint lane = get_local_id(0), lanes = get_local_size(0);
  const uint group = get_group_id(0);
  ulong first = group * stride;
  uint nodes = (uint)segment_nodes(group, full, last, per_tree, first_segment);
  if (flags & TASKS) {
    TAKE_TASK(first, nodes, tasks[group], full)
  }
  if (nodes == 0) return;
  __global const uint* covered = in + full * 8;
  in += first * 8;
  const uint all_levels = (flags & ODD_TWICE) ? levels : levels_above(nodes);
  word left[8], right[8], s[8];
  for (uint level = 1; level <= all_levels; ++level) {
    const uint below = nodes_at(nodes, level - 1), here = nodes_at(nodes, level);
    // Node i overwrites what nodes before it have read: all work-items of a step read before any of
    // them writes.
    for (uint base = 0; base < here; base += lanes) {
      const uint i = base + lane;
      const bool both = 2 * i + 1 < below;
      const bool pair =
          (both || ((flags & ODD_TWICE) && i < here)) && !((flags & COVERED) && covered[(ulong)i << level] >= level);
      if (i < here) {
        if (level == 1) {
          load_pairs(left, right, in, i, nodes, 0);
        } else {
          unpack(left, digests[4 * i], digests[4 * i + 1]);
          const uint right_at = 4 * i + (both || !ODD_TWICE ? 2 : 0);
          if (pair) unpack(right, digests[right_at], digests[right_at + 1]);
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
