// All shortest paths by rounds (blocked Floyd-Warshall: Venkataraman, Sahni, Mukhopadhyaya, A blocked all-pairs shortest-paths algorithm,
// 2003): what a round does besides its large product, kernels/tropical*.cl with UPDATE. State d: row u, column v, `stride` a row, is the
// length of the best path from u to v so far; with PATHS 1, `paths` is the vertex before v on it, NOWHERE where there is none.
//
// Given by -D: T (edge of a block that is closed at once, a multiple of 4), GROUP (work-items of close_block), PARTS (of the rows of a
// block, a divisor of T), PATHS (0, 1), INT32, and those of tropical_numbers.cl.
#include "unroll.cl"
#if INT32
typedef int real;
#else
typedef float real;
#endif
#include "tropical_numbers.cl"

#define EACH (T * T / GROUP)  // elements of a work-item of close_block
#define COLUMNS 64            // of a work-group of close_rows

// The initial state: `from`, laid out as d, which it may be; a vertex reaches itself by no edge. Beyond column n there is nothing.
__kernel void begin(__global const real* from, __global real* d, __global int* paths, const uint first_row, const uint n,
                    const uint stride) {
  const uint v = (uint)get_global_id(0), u = first_row + (uint)get_global_id(1);
  const ulong at = (ulong)u * stride + v;
  real length = v < n ? from[at] : NOTHING;
  if (u == v) length = 0;
  d[at] = length;
#if PATHS
  paths[at] = u == v || IS_NOTHING(length) ? NOWHERE : (int)u;
#endif
}

// Rows from `first_row` on, as a panel of their own: four elements by a work-item.
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

// The `size` vertices from `first` on, at most T: paths between them by way of them, as Floyd (1962) has it, by one work-group, whose
// work-items keep their elements. In step k its row and column stay; those of the next are handed on, by turns in two places. On an
// H200 a step of 64 vertices took 1 us with all elements in local memory; predicted for this: 0.15.
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void close_block(__global real* d, __global int* paths, const uint first,
                                                                              const uint size, const uint stride) {
  __local real row[2][T], column[2][T];
  real own[EACH];
#if PATHS
  __local int row_before[2][T];
  int before[EACH];
#endif
  const uint id = (uint)get_local_id(0);
#if PATHS
#define HAND_ON(next)                                   \
  if (i == (next)) row[(next)&1][j] = own[e];           \
  if (i == (next)) row_before[(next)&1][j] = before[e]; \
  if (j == (next)) column[(next)&1][i] = own[e];
#else
#define HAND_ON(next)                         \
  if (i == (next)) row[(next)&1][j] = own[e]; \
  if (j == (next)) column[(next)&1][i] = own[e];
#endif
  UNROLL for (uint e = 0; e < EACH; ++e) {
    const uint at = id + e * GROUP, i = at / T, j = at % T;
    const ulong from = (ulong)(first + i) * stride + first + j;
    own[e] = i < size && j < size ? d[from] : NOTHING;
#if PATHS
    before[e] = i < size && j < size ? paths[from] : NOWHERE;
#endif
    HAND_ON(0)
  }
  for (uint k = 0; k < size; ++k) {
    barrier(CLK_LOCAL_MEM_FENCE);
    UNROLL for (uint e = 0; e < EACH; ++e) {
      const uint at = id + e * GROUP, i = at / T, j = at % T;
      const real by_k = column[k & 1][i] + row[k & 1][j];
      if (i != k && j != k && i != j && IS_BETTER(by_k, own[e])) {
        own[e] = SETTLED(by_k);
#if PATHS
        if (!IS_NOTHING(by_k)) before[e] = row_before[k & 1][j];
#endif
      }
      HAND_ON(k + 1)
    }
  }
  UNROLL for (uint e = 0; e < EACH; ++e) {
    const uint at = id + e * GROUP, i = at / T, j = at % T;
    const ulong to = (ulong)(first + i) * stride + first + j;
    if (i < size && j < size) {
      d[to] = own[e];
#if PATHS
      paths[to] = before[e];
#endif
    }
  }
}

// Rows of the block that was closed: paths that end elsewhere and begin by way of its vertices. PARTS work-items have a column, some
// rows each. They are written to `panel` as well, where the rows of other vertices find them while these may still be written. On an
// H200 one work-item for 64 rows took 43 us for 16384 columns, with 4 warps on a multiprocessor; predicted for four: 12 to 15.
__kernel __attribute__((reqd_work_group_size(COLUMNS * PARTS, 1, 1))) void close_rows(__global real* d, __global int* paths,
                                                                                      __global real* panel, __global int* panel_paths,
                                                                                      const uint first, const uint size,
                                                                                      const uint stride) {
  __local real block[T * T];
  const uint id = (uint)get_local_id(0), v = (uint)get_group_id(0) * COLUMNS + id % COLUMNS;
  for (uint at = id; at < T * T; at += COLUMNS * PARTS) {
    const uint i = at / T, j = at % T;
    block[at] = i < size && j < size ? d[(ulong)(first + i) * stride + first + j] : NOTHING;
  }
  const bool inside = v >= first && v < first + size;
  __global real* const column = d + (ulong)first * stride + v;
  real old[T];
  UNROLL for (uint k = 0; k < T; ++k) old[k] = k < size ? column[(ulong)k * stride] : NOTHING;
#if PATHS
  __global int* const column_paths = paths + (ulong)first * stride + v;
  int before[T];
  UNROLL for (uint k = 0; k < T; ++k) before[k] = k < size ? column_paths[(ulong)k * stride] : NOWHERE;
#endif
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);  // nobody's rows are written before all have been read
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
