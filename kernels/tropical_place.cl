// Place of a work-group in an update: the tile that it takes, and the column of A at which k begins.
//
// There are `items` rows of tiles from `first` on; those from `gap` on come `gap_size` later.
#define TILE_OF_GROUP tile_of_group(place_of_tile((uint)get_group_id(0), items, each), first, each, gap, gap_size)
#define PACK_COLUMN column
#define PACK_MORE , const uint column

uint tile_of_group(const uint place, const uint first, const uint each, const uint gap, const uint gap_size) {
  const uint row = first + place / each;
  return (row >= gap ? row + gap_size : row) << 16 | place % each;
}
