// All shortest paths by iterations (blocked Floyd-Warshall: Venkataraman, Sahni, Mukhopadhyaya, A
// blocked all-pairs shortest-paths algorithm, 2003): the parts of an iteration other than its large
// product, which is kernels/tropical*.cl with UPDATE. State d: row u, column v, `stride` per row,
// is the length of the best path from u to v so far; with PATHS 1, `paths` is the vertex before v
// on it, NOWHERE if there is none.
//
// Given by -D: T (edge of a block that is closed at once, a multiple of 4), GROUP (work-items of
// close_block, T T / 16 or a part of it), PARTS (parts of the rows of a block, a divisor of T),
// COLUMNS (columns of a work-group of close_rows, a divisor of 64), PATHS (0, 1), INT32, and the
// options of tropical_numbers.cl.
#include "unroll.cl"
#if INT32
typedef int real;
typedef int4 real4;
#else
typedef float real;
typedef float4 real4;
#endif
#include "tropical_numbers.cl"

#ifndef COLUMNS
#define COLUMNS 64
#endif
// Loads four numbers from local memory, 16 bytes at once.
#define TAKE_FOUR(type, to, from)                      \
  {                                                    \
    const type four = *(__local const type*)(from);    \
    (to)[0] = four.x, (to)[1] = four.y;                \
    (to)[2] = four.z, (to)[3] = four.w;                \
  }

// Makes the initial state from `from`, which is laid out as d and may be d; a vertex reaches itself
// by no edge. Column n and those after it have no edges, nor have rows that fill up a block.
// `order`: the first vertex of the rows from each multiple of `edge` on.
__kernel void begin(__global const real* from, __global real* d, __global int* paths, __global const uint* order, const uint first_row,
                    const uint edge, const uint n, const uint stride) {
  const uint v = (uint)get_global_id(0), row = first_row + (uint)get_global_id(1), u = order[row / edge] + row % edge;
  const ulong at = (ulong)row * stride + v;
  real length = u < n && v < n ? from[at] : NOTHING;
  if (u == v) length = 0;
  d[at] = length;
#if PATHS
  paths[at] = u == v || IS_NOTHING(length) ? NOWHERE : (int)u;
#endif
}

// Copies the rows from `first_row` on to a panel of their own, four elements per work-item.
__kernel void copy_rows(__global const real* d, __global const int* paths, __global real* panel, __global int* panel_paths,
                        const uint first_row, const uint stride) {
  const uint v = 4 * (uint)get_global_id(0);
  if (v >= stride) return;
  const ulong to = (ulong)get_global_id(1) * stride + v, at = (ulong)first_row * stride + to;
  vstore4(vload4(0, d + at), 0, panel + to);
#if PATHS
  vstore4(vload4(0, paths + at), 0, panel_paths + to);
#endif
}

// Closes the `size` vertices from `first` on, at most T: paths between them through them, by
// Floyd's algorithm (1962), in one work-group, whose work-items keep EACH parts of 4 x 4 elements.
// Their rows are those of d from `first_row` on. Before step k its row and column are handed on, in
// two places in turn: the step does not change them, as the way from k to k is 0. Steps beyond
// `size` change nothing. On an H200 a step of 64 vertices took 0.64 us with single elements in
// registers, each of which reads a number and tests whether to hand it on. Predicted for 4 x 4, two
// reads of 16 bytes: 0.15, so 10 us for all.
#define EACH (T / 4 * (T / 4) / GROUP)
// Goes through the parts of a work-item; part e begins with row i0 and column j0.
#define FOR_PARTS for (uint e = 0; e < EACH; ++e)
#define PLACE const uint i0 = (id + e * GROUP) / (T / 4) * 4, j0 = (id + e * GROUP) % (T / 4) * 4;
#define AT(a, b) ((ulong)(first_row + i0 + (a)) * stride + first + j0 + (b))
#define HAND_ON(next)                                                      \
  {                                                                        \
    if (i0 / 4 == (next) / 4) {                                            \
      UNROLL for (uint b = 0; b < 4; ++b) row[(next)&1][j0 + b] = own[e][(next)&3][b]; \
      HAND_ON_PATHS(next)                                                  \
    }                                                                      \
    if (j0 / 4 == (next) / 4)                                              \
      UNROLL for (uint a = 0; a < 4; ++a) column[(next)&1][i0 + a] = own[e][a][(next)&3]; \
  }
#if PATHS
#define HAND_ON_PATHS(next) UNROLL for (uint b = 0; b < 4; ++b) row_before[(next)&1][j0 + b] = before[e][(next)&3][b];
#else
#define HAND_ON_PATHS(next)
#endif
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void close_block(__global real* d, __global int* paths, const uint first_row,
                                                                              const uint first, const uint size, const uint stride) {
  __local real row[2][T] __attribute__((aligned(16))), column[2][T] __attribute__((aligned(16)));
  real own[EACH][4][4];
#if PATHS
  __local int row_before[2][T] __attribute__((aligned(16)));
  int before[EACH][4][4];
#endif
  const uint id = (uint)get_local_id(0);
  FOR_PARTS {
    PLACE
    UNROLL for (uint a = 0; a < 4; ++a) UNROLL for (uint b = 0; b < 4; ++b) {
      const bool there = i0 + a < size && j0 + b < size;
      own[e][a][b] = i0 + a == j0 + b ? 0 : there ? d[AT(a, b)] : NOTHING;
#if PATHS
      before[e][a][b] = there ? paths[AT(a, b)] : NOWHERE;
#endif
    }
    HAND_ON(0)
  }
  for (uint k0 = 0; k0 < size; k0 += 4) {
    UNROLL for (uint c = 0; c < 4; ++c) {
      const uint k = k0 + c;
      barrier(CLK_LOCAL_MEM_FENCE);
      FOR_PARTS {
        PLACE
        real x[4], y[4];
        TAKE_FOUR(real4, x, column[c & 1] + i0)
        TAKE_FOUR(real4, y, row[c & 1] + j0)
#if PATHS
        int y_before[4];
        TAKE_FOUR(int4, y_before, row_before[c & 1] + j0)
#endif
        UNROLL for (uint a = 0; a < 4; ++a) UNROLL for (uint b = 0; b < 4; ++b) {
          const real by_k = x[a] + y[b];
#if PATHS
          if (IS_BETTER(by_k, own[e][a][b]) && !IS_NOTHING(by_k)) before[e][a][b] = y_before[b];
#endif
          own[e][a][b] = SETTLED(BETTER(own[e][a][b], by_k));
        }
        if (i0 == j0) {
          UNROLL for (uint a = 0; a < 4; ++a) own[e][a][a] = 0;
#if PATHS
          UNROLL for (uint a = 0; a < 4; ++a) before[e][a][a] = NOWHERE;
#endif
        }
        HAND_ON(k + 1)
      }
    }
  }
  FOR_PARTS {
    PLACE
    UNROLL for (uint a = 0; a < 4; ++a) UNROLL for (uint b = 0; b < 4; ++b) {
      if (i0 + a < size && j0 + b < size) {
        d[AT(a, b)] = own[e][a][b];
#if PATHS
        paths[AT(a, b)] = before[e][a][b];
#endif
      }
    }
  }
}

// Closes the rows of a closed block: paths that end elsewhere and begin through its vertices. PARTS
// work-items have a column, some rows each. The rows are also written to `panel`, where the rows of
// other vertices read them while these may still be written. On an H200 one work-item for 64 rows
// took 43 us for 16384 columns, with 4 warps per multiprocessor; predicted for four: 12 to 15.
__kernel __attribute__((reqd_work_group_size(COLUMNS * PARTS, 1, 1))) void close_rows(__global real* d, __global int* paths,
                                                                                      __global real* panel, __global int* panel_paths,
                                                                                      const uint first_row, const uint first,
                                                                                      const uint size, const uint stride) {
  __local real block[T * T];
  const uint id = (uint)get_local_id(0), v = (uint)get_group_id(0) * COLUMNS + id % COLUMNS;
  for (uint at = id; at < T * T; at += COLUMNS * PARTS) {
    const uint i = at / T, j = at % T;
    block[at] = i < size && j < size ? d[(ulong)(first_row + i) * stride + first + j] : NOTHING;
  }
  const bool inside = v >= first && v < first + size;
  __global real* const column = d + (ulong)first_row * stride + v;
  real old[T];
  UNROLL for (uint k = 0; k < T; ++k) old[k] = k < size ? column[(ulong)k * stride] : NOTHING;
#if PATHS
  __global int* const column_paths = paths + (ulong)first_row * stride + v;
  int before[T];
  UNROLL for (uint k = 0; k < T; ++k) before[k] = k < size ? column_paths[(ulong)k * stride] : NOWHERE;
#endif
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);  // all rows are read before any is written
  const uint begin = id / COLUMNS * (T / PARTS), end = min(begin + T / PARTS, size);
  for (uint i = begin; i < end; ++i) {
    real best = column[(ulong)i * stride];
#if PATHS
    int place = column_paths[(ulong)i * stride];
#endif
    if (!inside) {
      UNROLL for (uint k = 0; k < T; ++k) {
        const real by_k = block[i * T + k] + old[k];
#if PATHS
        if (IS_BETTER(by_k, best) && !IS_NOTHING(by_k)) place = before[k];
#endif
        best = BETTER(best, by_k);
      }
      best = SETTLED(best);
      column[(ulong)i * stride] = best;
#if PATHS
      column_paths[(ulong)i * stride] = place;
#endif
    }
    panel[(ulong)i * stride + v] = best;
#if PATHS
    panel_paths[(ulong)i * stride + v] = place;
#endif
  }
}
