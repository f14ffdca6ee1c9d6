// Partial Fisher matrices on CPUs, with the same bits as kernels/fisher_gram.cl. The columns of a
// tile are packed for a few rows at a time, as rows of s lie pages apart, and summed in vector
// registers. One work-item per work-group.
//
// Given by -D: REAL64 (0, 1), W (elements of a vector: 4, 8, 16), MR (rows of a register tile: 4,
// 8), B (edge of a tile, a multiple of MR and 2 W), BK (rows of s packed at a time).
#pragma OPENCL FP_CONTRACT OFF
#include "cpu_vectors.cl"
#include "fisher_tiles.cl"

// Packs columns first ... first + B - 1 of `rows` rows of s, with zeros from `columns` on.
inline void pack(__global const real* s, const ulong stride, const uint first, const uint columns, const uint rows, __local real* to) {
  if (first + B <= columns) {
    for (uint k = 0; k < rows; ++k) {
      for (uint e = 0; e < B; e += W) VSTORE(VLOAD(0, s + k * stride + first + e), 0, to + k * B + e);
    }
  } else {
    for (uint k = 0; k < rows; ++k) {
      for (uint e = 0; e < B; ++e) to[k * B + e] = first + e < columns ? s[k * stride + first + e] : 0;
    }
  }
}

// Adds `rows` products to each of the MR x NR sums at `out`, or starts them if `fresh`.
inline void register_tile(__local const real* a, __local const real* b, const uint rows, const bool fresh, __global real* out) {
  FOR_ROWS(DECLARE)
  if (!fresh) {
#define RELOAD(i) l##i = VLOAD(0, out + i * B), r##i = VLOAD(1, out + i * B);
    FOR_ROWS(RELOAD)
  }
  __local const real* const last = a + rows * B;
  for (; a < last; a += B, b += B) {
    const vec left = VLOAD(0, b), right = VLOAD(1, b);
    FOR_ROWS(ADD)
  }
#define KEEP(i) VSTORE(l##i, 0, out + i * B), VSTORE(r##i, 1, out + i * B);
  FOR_ROWS(KEEP)
}

// The arguments are those of kernels/fisher_gram.cl.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void gram(__global const real* restrict s, const uint stride,
                                                                   const ulong first_row, const ulong end_row, const uint block_rows,
                                                                   const uint columns, __global real* restrict partials) {
  __local real packed_a[BK * B], packed_b[BK * B];
  const uint tile = (uint)get_group_id(0), block = (uint)get_group_id(1);
  const uint tile_j = column_of_tile(tile), tile_i = row_of_tile(tile, tile_j);
  const bool diagonal = tile_i == tile_j;
  const ulong row0 = first_row + (ulong)block * block_rows, row1 = min(row0 + block_rows, end_row);
  __global real* out = partials + ((ulong)block * get_num_groups(0) + tile) * (B * B);
  for (ulong row = row0; row == row0 || row < row1; row += BK) {
    const uint rows = row < row1 ? (uint)min((ulong)BK, row1 - row) : 0;
    __global const real* from = s + row * stride;
    pack(from, stride, tile_i * B, columns, rows, packed_a);
    if (!diagonal) pack(from, stride, tile_j * B, columns, rows, packed_b);
    __local const real* b = diagonal ? packed_a : packed_b;
    for (uint n = 0; n < B; n += NR) {
      const uint end = diagonal ? n + NR : B;  // the part below the diagonal is not needed
      for (uint m = 0; m < end; m += MR) register_tile(packed_a + m, b + n, rows, row == row0, out + m * B + n);
    }
  }
}
