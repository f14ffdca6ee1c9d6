// Passes of number-theoretic transforms. A transform of n = n1 n2 elements x[i1 n2 + i2] is
// computed as n1 rows by n2 columns (the four-step algorithm: Bailey, FFTs in external or
// hierarchical memory, 1990). `columns` transforms along i1, in one pass or in two, and multiplies
// by w^(i2 k1), where w is the root of unity of order n. `rows` transforms along i2, and element
// k2 of row k1 is element k1 + n1 k2 of the result.
//
// A pass transforms R = 2^BITS elements of each of W = 2^WIDTH_BITS columns (or rows) at once: a
// tile. It decimates in frequency, 2^EACH_BITS elements in registers, so that row `at` of the tile
// becomes element reversed(at) of the columns' transforms.
//
// -D options: those of ntt_field.cl; BITS, WIDTH_BITS, EACH_BITS (at most BITS); TILED (0, 1): a
// work-item computes a whole tile, as CPUs want it, or a work-group does, through local memory;
// PEERS: number of devices, up to 8, into whose memory `columns` stores their rows, 0: one; SHIFTED:
// `columns` first multiplies element i of the transform by power i of a coset's shift; DIRECT: the
// table has each factor of `columns`; ROWS (0, 1): which kernel this is; ROOT_BITS: log2 of the order
// of the root whose powers come first in the table; FACTORS: where in the table those of this pass
// begin, by which it multiplies after blocks; ROOT_SHIFT: the root of order 16 is 2 to this power
// (Goldilocks, where 2 has order 192); IN_REVERSED, COLUMNS_REVERSED, OUT_REVERSED (0, 1): whether
// the kernel reads its input in reversed order, whether columns are in reversed order, whether it
// writes rows, or elements of rows, in reversed order.
#ifndef PEERS
#define PEERS 0
#endif
#ifndef IN_REVERSED  // not of `rows`
#define IN_REVERSED 0
#endif
#ifndef LANES
#define LANES 1
#endif
#include "ntt_field.cl"

#define MOST_DEVICES 8
#define R (1u << BITS)
#define W (1u << WIDTH_BITS)
#define EACH (1u << EACH_BITS)
#define VECTORS (W / LANES)            // of a row of a tile
#define GROUP ((R * W) >> EACH_BITS)   // work-items of a tile
#define LAST_BITS (BITS - EACH_BITS * ((BITS - 1) / EACH_BITS))  // levels of the last step
#if TILED
#define ONE_TILE __attribute__((reqd_work_group_size(1, 1, 1)))
#else
#define ONE_TILE __attribute__((reqd_work_group_size(GROUP, 1, 1)))
#endif

// Mirrors suites/ntt/passes.hpp, which explains it.
typedef struct {
  uint n, row_bits, column_bits, in_at, out_at;
  uint in_step, out_step, shift;
  uint in_width, in_first, in_row, in_hi;
  uint width, first, across, out_row, out_hi;
  uint hi_exponent, exponent_shift;
  uint low, high, low_bits, direct;
  uint rows, owners, scaled;
} Pass;

PART uint reversed(uint x, uint bits) {
  x = (x & 0x55555555u) << 1 | (x >> 1 & 0x55555555u);
  x = (x & 0x33333333u) << 2 | (x >> 2 & 0x33333333u);
  x = (x & 0x0f0f0f0fu) << 4 | (x >> 4 & 0x0f0f0f0fu);
  x = (x & 0x00ff00ffu) << 8 | (x >> 8 & 0x00ff00ffu);
  x = x << 16 | x >> 16;
  return bits == 0 ? 0 : x >> (32 - bits);
}

// A work-item of a GPU loads as many words at once as one instruction can.
#if TILED || WORD == 32 || EACH_BITS < 2
#define PACKED 0
#elif WORD == 8
#define PACKED 2
typedef ulong2 pack;
#else
#define PACKED 4
typedef uint4 pack;
#endif

#if WORD == 32
typedef fe element;
PART element load(__global const word* from, ulong at) { return fp_load(from + 2 * at); }
PART void store(__global word* to, ulong at, element x) { fp_store(to + 2 * at, x); }
PART fe zero(void) { return fp_zero(); }
#define fe_of(x) (x)
#else
typedef word element;
PART element load(__global const word* from, ulong at) { return from[at]; }
PART void store(__global word* to, ulong at, element x) { to[at] = x; }
PART fe zero(void) { return fe_of(0); }
#endif

// Returns (x - y) r^exponent, where r is the root of order 2^order_bits, at most 2^EACH_BITS.
PART fe times_root(fe x, fe y, uint exponent, uint order_bits, __global const word* table) {
#ifdef ROOT_SHIFT
  const uint shift = ROOT_SHIFT * (exponent << (4 - order_bits)) % 192;  // 2^96 = -1
  return fe_shifted(shift < 96 ? fe_sub(x, y) : fe_sub(y, x), shift % 96);
#else
  return fe_mul(fe_sub_for_mul(x, y), fe_of(load(table, exponent << (ROOT_BITS - order_bits))));
#endif
}

// Transforms blocks of 2^count elements. Unless it `reduces`, all but the first one may only be
// multiplied afterwards.
PART void blocks(fe* v, const uint count, const bool reduces, __global const word* table) {
  UNROLL for (uint t = 0; t < count; ++t) {
    const uint apart = 1u << (count - 1 - t);
    const bool raw = !reduces && t + 1 == count;
    UNROLL for (uint j = 0; j < EACH / 2; ++j) {
      const uint low = j & (apart - 1), a = ((j ^ low) << 1) | low, b = a + apart;
      const fe x = v[a], y = v[b];
      v[a] = raw && a > 0 ? fe_add_for_mul(x, y) : fe_add(x, y);
      v[b] = low > 0 ? times_root(x, y, low, count - t, table) : raw ? fe_sub_for_mul(x, y) : fe_sub(x, y);
    }
  }
}

// Computes as many levels of blocks of 2^bits elements as fit into the EACH elements of a work-item, of which the first is
// number `i` of its block: blocks of EACH elements, then factors.
PART void levels(fe* v, const uint bits, const uint i, __global const word* table) {
  blocks(v, EACH_BITS, false, table);
  table += WORDS * (FACTORS + (i << (ROOT_BITS - bits + EACH_BITS)));
#if PACKED
  word factors[EACH] __attribute__((aligned(16)));
  UNROLL for (uint j = 0; j < EACH / PACKED; ++j)((pack*)factors)[j] = ((__global const pack*)table)[j];
  UNROLL for (uint j = 1; j < EACH; ++j) v[j] = fe_mul(v[j], factors[j]);
#else
  UNROLL for (uint j = 1; j < EACH; ++j) v[j] = fe_mul(v[j], fe_of(load(table, j)));
#endif
}

// Returns the row of the tile that is element j of part g, when blocks have 2^`bits` elements.
PART uint row_of(uint g, uint j, uint bits) {
  const uint b = bits < EACH_BITS ? EACH_BITS : bits, spread = b - EACH_BITS;
  return ((g >> spread) << b) + (g & ((1u << spread) - 1)) + (j << spread);
}
// Returns the number of that part's first element in its block.
PART uint first_of(uint g, uint bits) { return bits < EACH_BITS ? 0 : g & ((1u << (bits - EACH_BITS)) - 1); }

// Returns a power of the number whose powers begin at `at`: p->low for w, or p->shift.
PART element power(__global const word* table, const Pass* p, uint at, uint exponent) {
  const element low = load(table, at + (exponent & ((1u << p->low_bits) - 1))),
                high = load(table, at + (p->high - p->low) + (exponent >> p->low_bits));
#if LANES > 1
  return fe_mul(fe_of(low), fe_of(high)).s0;
#else
  return fe_mul(low, high);
#endif
}
// Returns what follows the small powers that begin at `at`: a factor of all elements.
PART element scale_of(__global const word* table, const Pass* p, uint at) { return load(table, at + (1u << p->low_bits)); }
#ifdef SHIFTED
// Returns the factor of an element of the transform.
PART element shift_of(__global const word* table, const Pass* p, uint element_) {
#if LANES > 1
  return fe_mul(fe_of(power(table, p, p->shift, element_)), fe_of(scale_of(table, p, p->shift))).s0;
#else
  return fe_mul(power(table, p, p->shift, element_), scale_of(table, p, p->shift));
#endif
}
#endif

PART ulong place_in(const Pass* p, uint row, uint column) {
  return IN_REVERSED ? ((ulong)(p->in_first + column) << p->row_bits) + reversed(row, p->row_bits)
                     : (ulong)row * p->in_width + p->in_first + column;
}
PART uint row_out(const Pass* p, uint k, uint hi) {
  const uint row = k * p->out_row + hi * p->out_hi;
  return OUT_REVERSED ? reversed(row, p->row_bits) : row;
}

// The first row after those of a device, and the place of row 0 in its memory, which may wrap around.
typedef struct {
  uint end[MOST_DEVICES], place[MOST_DEVICES];
} Targets;

// Defines `to` and `place` for column 0 of a row of the output.
#if PEERS
#define TO_PEERS                                                                                          \
  , __global word *to1, __global word *to2, __global word *to3, __global word *to4, __global word *to5,   \
      __global word *to6, __global word *to7, const Targets targets
#define TO_PEER(i)                                 \
  if (i < PEERS && row_of_out >= targets.end[i - 1]) \
    to = to##i, place = targets.place[i];
#define FIND_PLACE(row)                                                    \
  const uint row_of_out = (row);                                           \
  __global word* to = out;                                                 \
  uint place = targets.place[0];                                               \
  TO_PEER(1) TO_PEER(2) TO_PEER(3) TO_PEER(4) TO_PEER(5) TO_PEER(6) TO_PEER(7) \
  place += row_of_out * p->width;
#else
#define TO_PEERS
#define FIND_PLACE(row)   \
  __global word* to = out; \
  const ulong place = (ulong)(row) * p->width;
#endif
// Returns the number of a column in natural order.
PART uint number_of(const Pass* p, uint column) {
  return COLUMNS_REVERSED ? reversed(p->first + column, p->column_bits) : p->first + column;
}
// Returns the exponent of a column's factor from one k to the next.
PART uint exponent_of(const Pass* p, uint hi, uint column) {
  return (hi * p->hi_exponent + number_of(p, column)) << p->exponent_shift;
}

// Devices that computed columns: the first column after theirs, columns of their rows, the place of
// column 0 of the share's first row, which may wrap around, and whether that is `here`.
typedef struct {
  uint end, width, place, here;
} Source;
typedef struct {
  Source at[MOST_DEVICES];
} Sources;

#if TILED
PART void transform(fe* tile, __global const word* table) {
  for (int left = BITS; left > 0; left -= EACH_BITS) {
    const uint bits = (uint)left;
    for (uint g = 0; g < R / EACH; ++g) {
      const uint i = first_of(g, bits);
      for (uint c = 0; c < VECTORS; ++c) {
        fe v[EACH];
        for (uint j = 0; j < EACH; ++j) v[j] = tile[row_of(g, j, bits) * VECTORS + c];
        if (bits > EACH_BITS) {
          levels(v, bits, i, table);
        } else {
          blocks(v, LAST_BITS, true, table);
        }
        for (uint j = 0; j < EACH; ++j) tile[row_of(g, j, bits) * VECTORS + c] = v[j];
      }
    }
  }
}

#if !ROWS
__kernel ONE_TILE void columns(__global const word* in, __global word* out, __global const word* table,
                               const Pass pass TO_PEERS) {
  const Pass* const p = &pass;
  fe tile[R * VECTORS], factor[VECTORS], ratio[VECTORS];  // factors of the columns for k, and from k to k + 1
  element* const elements = (element*)tile;
  const uint hi = (uint)get_group_id(0) / p->across, begin = (uint)get_group_id(0) % p->across * W;
  const uint count = min(W, p->width - begin);
  in += (p->in_at + get_group_id(1) * p->in_step) * (ulong)p->n * WORDS;
  out += (p->out_at + get_group_id(1) * p->out_step) * (ulong)p->n * WORDS;
  if (count < W)
    for (uint i = 0; i < R * VECTORS; ++i) tile[i] = zero();
  for (uint j = 0; j < R; ++j) {
    const ulong at = place_in(p, j * p->in_row + hi * p->in_hi, begin), apart = IN_REVERSED ? (ulong)1 << p->row_bits : 1;
    for (uint c = 0; c < count; ++c) elements[j * W + c] = load(in, at + c * apart);
  }
#ifdef SHIFTED
  for (uint c = 0; c < W; ++c) {
    ((element*)factor)[c] = shift_of(table, p, hi * p->in_hi * p->in_width + begin + c);
    ((element*)ratio)[c] = power(table, p, p->shift, p->in_row * p->in_width);
  }
  for (uint j = 0; j < R; ++j)
    for (uint c = 0; c < VECTORS; ++c) {
      tile[j * VECTORS + c] = fe_mul(tile[j * VECTORS + c], factor[c]);
      factor[c] = fe_mul(factor[c], ratio[c]);
    }
#endif
  transform(tile, table);
  for (uint c = 0; c < W; ++c) {
    ((element*)factor)[c] = power(table, p, p->low, 0);
    ((element*)ratio)[c] = power(table, p, p->low, c < count ? exponent_of(p, hi, begin + c) : 0);
  }
  for (uint k = 0; k < R; ++k) {
    const uint row = reversed(k, BITS);
    for (uint c = 0; c < VECTORS; ++c) {
      tile[row * VECTORS + c] = fe_mul(tile[row * VECTORS + c], factor[c]);
      factor[c] = fe_mul(factor[c], ratio[c]);
    }
    FIND_PLACE(row_out(p, k, hi))
    for (uint c = 0; c < count; ++c) store(to, place + begin + c, elements[row * W + c]);
  }
}

#else
__kernel ONE_TILE void rows(__global const word* here, __global const word* there, const Sources sources,
                            __global word* out, __global const word* table, const Pass pass) {
  const Pass* const p = &pass;
  fe tile[R * VECTORS];
  element* const elements = (element*)tile;
  const uint begin = (uint)get_group_id(0) * W, count = min(W, p->rows - begin);
  here += (p->in_at + get_group_id(1)) * (ulong)p->n * WORDS;
  out += (p->out_at + get_group_id(1) * p->out_step) * (ulong)p->n * WORDS;
  if (count < W)
    for (uint i = 0; i < R * VECTORS; ++i) tile[i] = zero();
  for (uint r = 0; r < count; ++r) {
    uint column = 0;
    for (uint s = 0; s < p->owners; ++s) {
      const Source source = sources.at[s];
      __global const word* const from = source.here ? here : there;
      for (; column < source.end; ++column)
        elements[(COLUMNS_REVERSED ? reversed(column, BITS) : column) * W + r] =
            load(from, (uint)(source.place + (begin + r) * source.width + column));
    }
  }
  transform(tile, table);
  if (p->scaled) {
    const element scale = scale_of(table, p, p->low);
    for (uint i = 0; i < R * VECTORS; ++i) tile[i] = fe_mul(tile[i], fe_of(scale));
  }
  for (uint k = 0; k < R; ++k) {
    const uint row = reversed(k, BITS);
    const ulong at = OUT_REVERSED ? (ulong)begin * R + row : (ulong)k * p->rows + begin, apart = OUT_REVERSED ? R : 1;
    for (uint r = 0; r < count; ++r) store(out, at + r * apart, elements[row * W + r]);
  }
}
#endif

#else
// Elements of a tile in local memory; a row is one longer, so that the elements of a column are in
// different banks. Elements of 32 bytes lie in two planes.
#define CELLS (R * (W + 1))
#if WORD == 32
#define LOCAL_WORDS (2 * CELLS)
PART void put(__local word* cells, uint at, fe x) {
  cells[at] = (uint4)(x.v[0], x.v[1], x.v[2], x.v[3]);
  cells[at + CELLS] = (uint4)(x.v[4], x.v[5], x.v[6], x.v[7]);
}
PART fe take(__local const word* cells, uint at) {
  const uint4 a = cells[at], b = cells[at + CELLS];
  const fe x = {{a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w}};
  return x;
}
#else
#define LOCAL_WORDS CELLS
PART void put(__local word* cells, uint at, fe x) { cells[at] = x; }
PART fe take(__local const word* cells, uint at) { return cells[at]; }
#endif
PART uint cell_of(uint row, uint column) { return row * (W + 1) + column; }
// Returns the cell of the j-th element that a work-item reads, when the elements of a column lie one
// after another.
PART uint transposed_cell(uint lane, uint j, bool is_reversed) {
  const uint i = lane + j * GROUP, row = i & (R - 1);
  return cell_of(is_reversed ? reversed(row, BITS) : row, i >> BITS);
}

// Transforms the tile of which this work-item has the elements row_of(g, j, BITS) of its column.
// It ends with elements row_of(g, j, LAST_BITS). `reduces`: as in blocks().
PART void transform(fe* v, __local word* cells, const uint g, const uint column, const bool reduces, __global const word* table) {
  UNROLL for (int left = BITS; left > 0; left -= EACH_BITS) {
    const uint bits = (uint)left;
    if (left < BITS) {
      UNROLL for (uint j = 0; j < EACH; ++j) put(cells, cell_of(row_of(g, j, bits + EACH_BITS), column), v[j]);
      barrier(CLK_LOCAL_MEM_FENCE);
      UNROLL for (uint j = 0; j < EACH; ++j) v[j] = take(cells, cell_of(row_of(g, j, bits), column));
    }
    if (bits > EACH_BITS) {
      levels(v, bits, first_of(g, bits), table);
    } else {
      blocks(v, LAST_BITS, reduces, table);
    }
  }
}

#if !ROWS
__kernel ONE_TILE void columns(__global const word* in, __global word* out, __global const word* table,
                               const Pass pass TO_PEERS) {
  const Pass* const p = &pass;
  __local word cells[LOCAL_WORDS];
  const uint lane = (uint)get_local_id(0), g = lane >> WIDTH_BITS;
  const uint hi = (uint)get_group_id(0) / p->across, begin = (uint)get_group_id(0) % p->across * W,
             in_tile = lane & (W - 1), column = begin + in_tile;
  in += (p->in_at + get_group_id(1) * p->in_step) * (ulong)p->n * WORDS;
  out += (p->out_at + get_group_id(1) * p->out_step) * (ulong)p->n * WORDS;
  // Work-items beyond the share read its last column: loads without branches overlap.
  const uint last = p->width - 1;
  fe v[EACH];
#if IN_REVERSED  // a column is contiguous
  UNROLL for (uint j = 0; j < EACH; ++j) {
    const uint i = lane + j * GROUP;
    v[j] = load(in, place_in(p, reversed(i & (R - 1), BITS) * p->in_row + hi * p->in_hi, min(begin + (i >> BITS), last)));
  }
  UNROLL for (uint j = 0; j < EACH; ++j) put(cells, transposed_cell(lane, j, true), v[j]);
  barrier(CLK_LOCAL_MEM_FENCE);
  UNROLL for (uint j = 0; j < EACH; ++j) v[j] = take(cells, cell_of(row_of(g, j, BITS), in_tile));
#else
  in += WORDS * place_in(p, g * p->in_row + hi * p->in_hi, min(column, last));
  UNROLL for (uint j = 0; j < EACH; ++j, in += WORDS * ((ulong)(p->in_row << (BITS - EACH_BITS)) * p->in_width)) v[j] = load(in, 0);
#endif
#ifdef SHIFTED
  const uint step = p->in_row * p->in_width;  // of the exponent, from a row to the next
  fe shift = shift_of(table, p, g * step + hi * p->in_hi * p->in_width + column);
  const fe next = power(table, p, p->shift, step << (BITS - EACH_BITS));
  UNROLL for (uint j = 0; j < EACH; ++j) {
    v[j] = fe_mul(v[j], shift);
    if (j + 1 < EACH) shift = fe_mul(shift, next);
  }
#endif
  transform(v, cells, g, in_tile, false, table);
  if (column >= p->width) return;
  const uint k0 = reversed(g, BITS - EACH_BITS), apart = 1u << (BITS - EACH_BITS);
#ifdef DIRECT
  table += WORDS * (p->direct + (k0 << p->column_bits) + number_of(p, column));
#else
  const uint exponent = exponent_of(p, hi, column);
  fe factor = power(table, p, p->low, exponent * k0);
  const fe ratio = power(table, p, p->low, exponent * apart);
#endif
#if !PEERS && !OUT_REVERSED
  out += WORDS * ((ulong)row_out(p, k0, hi) * p->width + column);
#endif
  UNROLL for (uint m = 0; m < EACH; ++m) {
#ifdef DIRECT
    const fe factor = load(table, 0);
    table += WORDS * (apart << p->column_bits);
#endif
    const fe x = fe_mul(v[reversed(m, EACH_BITS)], factor);
#if PEERS || OUT_REVERSED
    FIND_PLACE(row_out(p, k0 + m * apart, hi))
    store(to, place + column, x);
#else
    store(out, 0, x);
    out += WORDS * ((ulong)(apart * p->out_row) * p->width);
#endif
#ifndef DIRECT
    if (m + 1 < EACH) factor = fe_mul(factor, ratio);
#endif
  }
}

#else
#define COLUMNS_EACH (GROUP < R ? R / GROUP : 1)  // of which a work-item loads elements
PART Source source_of(const Sources* sources, uint owners, uint column) {
  Source source = sources->at[0];
  UNROLL for (uint s = 1; s < MOST_DEVICES; ++s)
    if (s < owners && column >= sources->at[s - 1].end) source = sources->at[s];
  return source;
}

__kernel ONE_TILE void rows(__global const word* here, __global const word* there, const Sources sources,
                            __global word* out, __global const word* table, const Pass pass) {
  const Pass* const p = &pass;
  __local word cells[LOCAL_WORDS];
  const uint lane = (uint)get_local_id(0), g = lane >> WIDTH_BITS, begin = (uint)get_group_id(0) * W, in_tile = lane & (W - 1),
             row = begin + in_tile;
  here += (p->in_at + get_group_id(1)) * (ulong)p->n * WORDS;
  out += (p->out_at + get_group_id(1) * p->out_step) * (ulong)p->n * WORDS;
  const uint last = p->rows - 1;
  fe v[EACH];
  Source of_columns[COLUMNS_EACH];  // chosen once: it takes longer than a load
  UNROLL for (uint j = 0; j < COLUMNS_EACH; ++j) of_columns[j] = source_of(&sources, p->owners, (lane + j * GROUP) & (R - 1));
  UNROLL for (uint j = 0; j < EACH; ++j) {
    const uint i = lane + j * GROUP, column = i & (R - 1);
    const Source source = of_columns[j % COLUMNS_EACH];
    v[j] = load(source.here ? here : there, (uint)(source.place + min(begin + (i >> BITS), last) * source.width + column));
  }
  UNROLL for (uint j = 0; j < EACH; ++j) put(cells, transposed_cell(lane, j, COLUMNS_REVERSED), v[j]);
  barrier(CLK_LOCAL_MEM_FENCE);
  UNROLL for (uint j = 0; j < EACH; ++j) v[j] = take(cells, cell_of(row_of(g, j, BITS), in_tile));
  transform(v, cells, g, in_tile, true, table);
  if (p->scaled) {
    const element scale = scale_of(table, p, p->low);
    UNROLL for (uint j = 0; j < EACH; ++j) v[j] = fe_mul(v[j], scale);
  }
#if OUT_REVERSED
  UNROLL for (uint j = 0; j < EACH; ++j) put(cells, cell_of(row_of(g, j, LAST_BITS), in_tile), v[j]);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint i = lane; i < R * W; i += GROUP) {
    const uint at = i & (R - 1), r = i >> BITS;
    if (begin + r < p->rows) store(out, (ulong)(begin + r) * R + at, take(cells, cell_of(at, r)));
  }
#else
  if (row >= p->rows) return;
  out += WORDS * ((ulong)reversed(g, BITS - EACH_BITS) * p->rows + row);
  UNROLL for (uint m = 0; m < EACH; ++m, out += WORDS * ((ulong)p->rows << (BITS - EACH_BITS)))
      store(out, 0, v[reversed(m, EACH_BITS)]);
#endif
}
#endif
#endif
