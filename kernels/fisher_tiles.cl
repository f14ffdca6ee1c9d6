// Places of the tiles of partial Fisher matrices; shared by kernels/fisher_gram.cl,
// fisher_gram_cpu.cl and fisher_combine.cl.

// Tile number t is (i, j), i <= j, column after column: t = j (j + 1) / 2 + i.
inline uint column_of_tile(const uint t) {
  uint j = (uint)((sqrt(8.0f * t + 1.0f) - 1.0f) * 0.5f);
  while (j * (j + 1) / 2 > t) --j;
  while ((j + 1) * (j + 2) / 2 <= t) ++j;
  return j;
}
inline uint row_of_tile(const uint t, const uint column) { return t - column * (column + 1) / 2; }
