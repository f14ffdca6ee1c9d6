// Packs both operands of a product into panels that CPUs read front to back; shared by
// kernels/matrix_cpu.cl and tropical_cpu.cl. One work-item per work-group.
//
// Given by -D: the options of cpu_vectors.cl.
#include "cpu_vectors.cl"

#ifndef PACK_COLUMN  // column of a at which k begins
#define PACK_COLUMN 0
#define PACK_MORE
#endif

// Packs rows first_row + MR * group ... of a (`count` rows in all) as panel `first_panel` + group:
// MR rows side by side for every k, with zeros beyond the last row.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void pack_rows(__global const real* restrict a, __global real* restrict packed,
                                                                        const uint first_row, const uint count, const uint inner,
                                                                        const uint lda PACK_MORE) {
  const uint panel = first_row / MR + (uint)get_group_id(0);
  __global real* to = packed + (ulong)panel * MR * inner;
  // 64 k of all rows are packed at a time: the strided writes then stay in the first cache.
  for (uint begin = 0; begin < inner; begin += 64, to += 64 * MR) {
    const uint size = min(64u, inner - begin);
    for (uint r = 0; r < MR; ++r) {
      const uint row = panel * MR + r;
      __global const real* from = a + (ulong)row * lda + begin + PACK_COLUMN;
      if (row < count) {
        for (ulong k = 0; k < size; ++k) to[k * MR + r] = from[k];
      } else {
        for (ulong k = 0; k < size; ++k) to[k * MR + r] = 0;
      }
    }
  }
}

// Packs columns of b in the same way: NR of them side by side for every k. A work-group takes 64 k
// of a panel.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void pack_columns(__global const real* restrict b,
                                                                           __global real* restrict packed, const uint first_column,
                                                                           const uint count, const uint inner, const uint ldb) {
  const uint panel = first_column / NR + (uint)get_group_id(0), column = panel * NR;
  const uint begin = (uint)get_group_id(1) * 64, end = min(begin + 64, inner);
  __global real* to = packed + ((ulong)panel * inner + begin) * NR;
  __global const real* from = b + (ulong)begin * ldb + column;
  if (column + NR <= count) {
    for (uint k = begin; k < end; ++k, from += ldb, to += NR) {
      VSTORE(VLOAD(0, from), 0, to);
      VSTORE(VLOAD(1, from), 1, to);
    }
  } else {
    for (uint k = begin; k < end; ++k, from += ldb, to += NR) {
      for (uint e = 0; e < NR; ++e) to[e] = column + e < count ? from[e] : 0;
    }
  }
}
