// All shortest paths by rounds (blocked Floyd-Warshall: Venkataraman, Sahni, Mukhopadhyaya, A blocked all-pairs shortest-paths algorithm,
// 2003): what a round does besides its large product, kernels/tropical*.cl with UPDATE. State d: row u, column v, `stride` a row, is the
// length of the best path from u to v so far; with PATHS 1, `paths` is the vertex before v on it, NOWHERE where there is none.
//
// Given by -D: T (edge of a block that is closed at once, a multiple of 4), GROUP (work-items of close_block), PATHS (0, 1), INT32, and
// those of tropical_numbers.cl.
#include "unroll.cl"
#if INT32
typedef int real;
#else
typedef float real;
#endif
#include "tropical_numbers.cl"

#define EACH (T * T / GROUP)  // elements of a work-item of close_block
#define COLUMNS 64            // work-items of close_rows

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

// `rows` rows from `first_row` on, as a panel of their own.
__kernel void copy_rows(__global const real* d, __global const int* paths, __global real* panel, __global int* panel_paths,
                        const uint first_row, const uint stride) {
  const ulong to = (ulong)get_global_id(1) * stride + get_global_id(0), at = (ulong)first_row * stride + to;
  panel[to] = d[at];
#if PATHS
  panel_paths[to] = paths[at];
#endif
}

// The `size` vertices from `first` on, at most T: paths between them by way of them, as Floyd (1962) has it, by one work-group. In step
// k its row and column stay, so that nobody reads what another one writes.
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void close_block(__global real* d, __global int* paths, const uint first,
                                                                              const uint size, const uint stride) {
  __local real block[T * T];
#if PATHS
  __local int before[T * T];
#endif
  const uint id = (uint)get_local_id(0);
  for (uint e = 0; e < EACH; ++e) {
    const uint at = id + e * GROUP, i = at / T, j = at % T;
    const ulong from = (ulong)(first + i) * stride + first + j;
    block[at] = i < size && j < size ? d[from] : NOTHING;
#if PATHS
    before[at] = i < size && j < size ? paths[from] : NOWHERE;
#endif
  }
  for (uint k = 0; k < size; ++k) {
    barrier(CLK_LOCAL_MEM_FENCE);
    UNROLL for (uint e = 0; e < EACH; ++e) {
      const uint at = id + e * GROUP, i = at / T, j = at % T;
      const real by_k = block[i * T + k] + block[k * T + j];
      if (i != k && j != k && i != j && IS_BETTER(by_k, block[at])) {
        block[at] = SETTLED(by_k);
#if PATHS
        if (!IS_NOTHING(by_k)) before[at] = before[k * T + j];
#endif
      }
    }
  }
  for (uint e = 0; e < EACH; ++e) {
    const uint at = id + e * GROUP, i = at / T, j = at % T;
    const ulong to = (ulong)(first + i) * stride + first + j;
    if (i < size && j < size) {
      d[to] = block[at];
#if PATHS
      paths[to] = before[at];
#endif
    }
  }
}

// Rows of the block that was closed: paths that end elsewhere and begin by way of its vertices. A work-item has a column. They are
// written to `panel` as well, where the rows of other vertices find them while these may still be written.
__kernel __attribute__((reqd_work_group_size(COLUMNS, 1, 1))) void close_rows(__global real* d, __global int* paths, __global real* panel,
                                                                               __global int* panel_paths, const uint first,
                                                                               const uint size, const uint stride) {
  __local real block[T * T];
  const uint id = (uint)get_local_id(0), v = (uint)get_global_id(0);
  for (uint at = id; at < T * T; at += COLUMNS) {
    const uint i = at / T, j = at % T;
    block[at] = i < size && j < size ? d[(ulong)(first + i) * stride + first + j] : NOTHING;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  const bool inside = v >= first && v < first + size;
  __global real* const column = d + (ulong)first * stride + v;
  real old[T];
  UNROLL for (uint k = 0; k < T; ++k) old[k] = k < size ? column[(ulong)k * stride] : NOTHING;
#if PATHS
  __global int* const column_paths = paths + (ulong)first * stride + v;
  int before[T];
  UNROLL for (uint k = 0; k < T; ++k) before[k] = k < size ? column_paths[(ulong)k * stride] : NOWHERE;
#endif
  for (uint i = 0; i < size; ++i) {
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
