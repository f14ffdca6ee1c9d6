// Choice of the tile that a work-group takes; shared by all kernels of products.

// Returns the place of a group's tile. Groups take bands of 8 items, column by column of their
// tiles, so that concurrent groups read few rows of A and columns of B. Items have `each` tiles;
// several of another size are given as one item.
uint place_of_tile(const uint group, const uint items, const uint each) {
  const uint band = group / (8 * each) * 8, rest = group - band * each, height = min(8u, items - band);
  return (band + rest % height) * each + rest / height;
}
