// Many steps of jacobi2d (kernels/stencil.cl) in one launch. Each work-group keeps a tile of the
// plane in registers; the cells that a step needs of the tiles around it come through boxes in
// global memory, and through those that the devices before and after write into. A group waits only
// for the four groups around it.
//
// Every word of a box carries the number of its step (kernels/numbered_words.cl). There are two
// boxes for each side, used in turn: a group that writes step s + 2 has read step s + 1 of the
// group it writes to, which had then read step s.
//
// All groups have to be resident, or the running ones would wait for ever for the others: with
// `steps` 0 they only test whether they are. Every wait has a limit; after one has been exceeded,
// no other wait takes place.
//
// Given by -D: REAL, and WIDE if that is double; ACROSS x HIGH, the work-items of a group; ROWS of
// a work-item, which has 4 cells of each. NVIDIA: defined if ACROSS is 32, so that a row of
// work-items is a warp. suites/stencil/persistent.cpp launches this kernel.
#pragma OPENCL FP_CONTRACT OFF

#define JOINED(a, b) a##b
#define TOGETHER(a, b) JOINED(a, b)
typedef REAL real;
typedef TOGETHER(REAL, 4) reals;

#define ITEMS (ACROSS * HIGH)
#define TILE_ACROSS (ACROSS * 4)
#define TILE_HIGH (HIGH * ROWS)
// A box: the cells above the tile, below it, to its left and to its right. A row is stored as the
// first cells of all work-items, then the second ones and so on, so that neighbours store side by
// side.
#define BELOW TILE_ACROSS
#define LEFT (2 * TILE_ACROSS)
#define RIGHT (LEFT + TILE_HIGH)
#define BOX (RIGHT + TILE_HIGH)

#ifdef WIDE
#define WORDS 2u  // words per cell
#else
#define WORDS 1u
#endif

#include "numbered_words.cl"

inline void post(words to, real value, uint step) {
#ifdef WIDE
  const ulong bits = as_ulong(value);
  post_word(to, (uint)bits, step);
  post_word(to + 1, (uint)(bits >> 32), step);
#else
  post_word(to, as_uint(value), step);
#endif
}

inline void post_row(words to, reals cells, uint step) {
  post(to, cells.s0, step);
  post(to + ACROSS * WORDS, cells.s1, step);
  post(to + 2 * ACROSS * WORDS, cells.s2, step);
  post(to + 3 * ACROSS * WORDS, cells.s3, step);
}

inline real await_cell(words from, uint step, uint device, volatile __global uint* status, ulong limit) {
#ifdef WIDE
  const ulong low = await_word(from, step, device, status, limit), high = await_word(from + 1, step, device, status, limit);
  return as_double(high << 32 | low);
#else
  return as_float(await_word(from, step, device, status, limit));
#endif
}

#ifdef NVIDIA
// Returns `bits` of the work-item `by` places further on in the warp.
inline uint moved_bits(uint bits, int by) {
  uint other;
  asm volatile("shfl.sync.idx.b32 %0, %1, %2, 31, 0xffffffff;" : "=r"(other) : "r"(bits), "r"((uint)get_local_id(0) + by & 31u));
  return other;
}
inline real moved(real value, int by) {
#ifdef WIDE
  const ulong bits = as_ulong(value);
  return as_double((ulong)moved_bits((uint)(bits >> 32), by) << 32 | moved_bits((uint)bits, by));
#else
  return as_float(moved_bits(as_uint(value), by));
#endif
}
#endif

// Makes `steps` steps of rows [first, first + rows) of `to`, whose row r is row r + shift of
// `from`; row `above` of `from` precedes the first, row `below` follows the last. The state in
// `from` has number `number`, which only grows, from launch to launch. One group per tile, row
// after row of tiles. Boxes: two per tile. Mail, in rows of whole tiles: data from the device
// before, in steps of even and odd number, then the same from the one after. `before` and `after`
// are those devices, or `self` if there are no others and the plane is its own neighbour.
__kernel __attribute__((reqd_work_group_size(ITEMS, 1, 1))) void jacobi2d_persistent(
    __global const real* from, __global real* to, __global ulong* boxes, __global ulong* mail, __global ulong* mail_before,
    __global ulong* mail_after, __global uint* status, ulong limit, uint first, uint rows, uint shift, uint above, uint below,
    uint n, uint stride, uint steps, uint number, uint self, uint before, uint after) {
  __local real around[2][BOX];
  __local reals tops[2][ITEMS], bottoms[2][ITEMS];
#ifndef NVIDIA
  __local real starts[2][ROWS][ITEMS], ends[2][ROWS][ITEMS];
#endif
  const uint item = get_local_id(0), tile = get_group_id(0), tiles = get_num_groups(0);
  if (steps == 0) {
    if (item > 0) return;
    volatile __global uint* const arrived = status + 1;
    atomic_inc(arrived);
    const ulong until = time_at(0) + limit;
    for (ulong looks = 0; *arrived < tiles && *(volatile __global uint*)status == 0; ++looks) {
      if (time_at(looks) > until) *status = 1;
    }
    return;
  }
  const uint lane = item % ACROSS, high = item / ACROSS;
  const uint tiles_across = (n + TILE_ACROSS - 1) / TILE_ACROSS, tile_x = tile % tiles_across;
  const uint all_across = tiles_across * TILE_ACROSS, left = tile_x * TILE_ACROSS, top = tile / tiles_across * TILE_HIGH,
             tall = min(rows - top, (uint)TILE_HIGH);
  const bool highest = top == 0, lowest = top + tall == rows, others = before != self;
  const uint x = left + lane * 4, own_top = high * ROWS, mine = own_top < tall && x < n ? min(tall - own_top, (uint)ROWS) : 0;
  __global const real* const tile_from = from + (ulong)(first + top + shift) * stride;
  reals cells[ROWS];
#pragma unroll
  for (uint r = 0; r < ROWS; ++r)
    cells[r] = r < mine ? *(__global const reals*)(tile_from + (ulong)(own_top + r) * stride + x) : (reals)0;

  for (uint s = 0; s < steps; ++s) {
    const uint now = s & 1u, step = number + s, turn = step & 1u;
    // Data that this step reads of other work-items, and of other tiles.
    tops[now][item] = cells[0];
    bottoms[now][item] = cells[ROWS - 1];
#ifndef NVIDIA
#pragma unroll
    for (uint r = 0; r < ROWS; ++r) {
      starts[now][r][item] = cells[r].s0;
      ends[now][r][item] = cells[r].s3;
    }
#endif
    for (uint i = item; i < BOX; i += ITEMS) {
      const bool row = i < LEFT, under = i >= BELOW, right = i >= RIGHT;
      const uint place = under ? i - BELOW : i, cell = place % ACROSS * 4 + place / ACROSS;
      const uint at = row ? left + cell : right ? i - RIGHT : i - LEFT;
      if (row ? at >= n : at >= tall || (right ? left + TILE_ACROSS >= n : left == 0)) continue;
      real value;
      if (s == 0) {
        __global const real* const beside = tile_from + (ulong)at * stride + left;
        __global const real* const over = under ? (lowest ? from + (ulong)below * stride : tile_from + (ulong)tall * stride)
                                                : (highest ? from + (ulong)above * stride : tile_from - stride);
        value = row ? over[at] : right ? beside[TILE_ACROSS] : *(beside - 1);
      } else if (row && others && (under ? lowest : highest)) {
        words came = mail + ((under ? 2 + turn : turn) * all_across + left + place) * WORDS;
        value = await_cell(came, step, under ? after : before, status, limit);
      } else {
        value = await_cell(boxes + ((tile * 2 + turn) * BOX + i) * WORDS, step, self, status, limit);
      }
      around[now][row ? (under ? BELOW : 0) + cell : i] = value;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint coming = step + 1, then = coming & 1u;
    const bool sends = s + 1 < steps && mine > 0, to_left = sends && lane == 0 && tile_x > 0;
    const bool to_right = sends && lane == ACROSS - 1 && tile_x + 1 < tiles_across;
    const words aside =
        boxes + ((to_left ? tile - 1 : tile + 1) * 2 + then) * BOX * WORDS + ((to_left ? RIGHT : LEFT) + own_top) * WORDS;
    reals north = high > 0 ? bottoms[now][item - ACROSS] : vload4(lane, around[now]);
    const reals under = own_top + ROWS < tall ? tops[now][min(item + ACROSS, (uint)ITEMS - 1)] : vload4(lane, around[now] + BELOW);
#pragma unroll
    for (uint r = 0; r < ROWS; ++r) {
      const reals here = cells[r];
      reals south = under;
      if (r + 1 < ROWS && r + 1 != mine) south = cells[r + 1 < ROWS ? r + 1 : r];
#ifdef NVIDIA
      real before_it = moved(here.s3, -1), after_it = moved(here.s0, 1);
#else
      real before_it = ends[now][r][max(item, 1u) - 1], after_it = starts[now][r][min(item + 1, (uint)ITEMS - 1)];
#endif
      if (lane == 0) before_it = around[now][LEFT + own_top + r];
      if (lane == ACROSS - 1) after_it = around[now][RIGHT + own_top + r];
      reals next = ((((reals)(before_it, here.s012) + (reals)(here.s123, after_it)) + north) + south) * (real)0.25f;
      if (x == 0) next.s0 = here.s0;
      if (x + 4 >= n) {
        next.s3 = here.s3;
        if (x + 3 >= n) next.s2 = here.s2;
        if (x + 2 >= n) next.s1 = here.s1;
        if (x + 1 >= n) next.s0 = here.s0;
      }
      north = here;
      cells[r] = next;
      if ((to_left || to_right) && r < mine) post(aside + r * WORDS, to_left ? next.s0 : next.s3, coming);
    }
    if (sends && high == 0) {
      const uint tile_above = highest ? tile + tiles - tiles_across : tile - tiles_across;
      post_row(highest && others ? mail_before + ((2 + then) * all_across + left + lane) * WORDS
                                 : boxes + ((tile_above * 2 + then) * BOX + BELOW + lane) * WORDS,
               cells[0], coming);
    }
    if (sends && own_top + mine == tall) {
      const uint tile_below = lowest ? tile + tiles_across - tiles : tile + tiles_across;
      reals last = cells[0];
#pragma unroll
      for (uint r = 1; r < ROWS; ++r)
        if (r < mine) last = cells[r];
      post_row(lowest && others ? mail_after + (then * all_across + left + lane) * WORDS
                                : boxes + ((tile_below * 2 + then) * BOX + lane) * WORDS,
               last, coming);
    }
#ifndef NVIDIA
    // Needed if work-items run in turn: all data is sent before any wait begins.
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
  }
  // These are computed again: compiled by PoCL 6, `mine` has another value after the loop, and rows
  // beyond the plane would be written.
  const uint again = get_local_id(0), last_top = again / ACROSS * ROWS;
  const uint last_x = left + again % ACROSS * 4;
#pragma unroll
  for (uint r = 0; r < ROWS; ++r) {
    if (last_top + r < tall && last_x < n)
      *(__global reals*)(to + (ulong)(first + top + last_top + r) * stride + last_x) = cells[r];
  }
}
