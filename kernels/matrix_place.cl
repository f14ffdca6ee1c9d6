// Which tile a work-group takes: what all kernels of products have in common.

// Of bands of 8 items, column by column of their tiles, so that those at work at a time read few rows of A and columns of B. Items have
// `each` tiles; several of another size are given as one item.
uint place_of_tile(const uint group, const uint items, const uint each) {
  const uint band = group / (8 * each) * 8, rest = group - band * each, height = min(8u, items - band);
  return (band + rest % height) * each + rest / height;
}
