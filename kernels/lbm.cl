// One step of a D3Q19 lattice Boltzmann method over planes of a box that is periodic from its first
// plane to its last. Each cell has 19 populations, which move to a neighbouring cell along one
// velocity each, collide there and relax: the two of a pair of opposite velocities by their sum
// with one rate and by their difference with another (two relaxation times: Ginzburg, Verhaeghe and
// d'Humieres, Commun. Comput. Phys. 3, 2008; with equal rates it is BGK). The equilibrium is the
// incompressible one (He and Luo, J. Stat. Phys. 88, 1997), which needs no division; walls reflect
// half a cell outside (bounce-back). A population is stored minus its weight (Skordos, Phys. Rev. E
// 48, 1993), which leaves it more digits. The order of every sum is written out and nothing is
// contracted, so that a cell has the same bits on every device.
//
// A plane is 19 arrays of rows, one per population: those that stay in their plane (0 to 8), those
// that go to the next one (9 to 13), those that go to the one before (14 to 18). So the data that a
// plane gives to either side is contiguous, and neighbouring work-groups touch only 3 planes. A
// work-item takes a cell: loads first, then arithmetic, then stores. suites/lbm/lattice.hpp
// explains launches and layouts.
//
// Each population is read once and written once: 152 bytes per cell. That limits an H200, which
// copies 4.25 TB/s, to 28.0 G cells per second; the 450 instructions of a cell would limit it to 74
// G. In half precision a cell takes 76 bytes: 44.2 G were measured, 26.1 with 152 bytes. 40 registers (in place 72, of which 38 are addresses) leave 48 (24) warps, each with 19 loads
// under way: 117 (58) KB per SM, where 23 KB hide the latency of memory.
//
// Given by -D: HALVED: what leaves a block of planes is rounded to half precision. HALF_STORAGE:
// populations are stored in half precision, 76 bytes per cell. SENDS: step_between stores what crosses borders among the
// halos of the neighbours, too. WALL_X, WALL_Y: walls along that axis
// instead of periodic ends. FORCED: the channel's force along x. STREAMING, on NVIDIA GPUs: 1, stored data is the first to leave their
// caches, as it is not read in this step; 2, loaded data as well.
#pragma OPENCL FP_CONTRACT OFF

#define POPULATIONS 19

#define HALF_SCALE 4096.0f
// Round to half precision, to nearest even, and back.
inline ushort to_half(float value) {
  ushort bits;
  vstore_half_rte(value * HALF_SCALE, 0, (half*)&bits);
  return bits;
}
inline float from_half(ushort bits) { return vload_half(0, (half*)&bits) * (1.0f / HALF_SCALE); }

// A population in memory, and how it is made of a number and becomes one again.
#ifdef HALF_STORAGE
typedef ushort stored;
#define PACKED(value) to_half(value)
#define UNPACKED(bits) from_half(bits)
#define PTX_TYPE "b16"
#define PTX_REGISTER "h"
#else
typedef float stored;
#define PACKED(value) (value)
#define UNPACKED(bits) (bits)
#define PTX_TYPE "f32"
#define PTX_REGISTER "f"
#endif

#ifdef STREAMING
#define STORE_AT(address, value) \
  asm volatile("st.global.cs." PTX_TYPE " [%0], %1;" : : "l"(address), PTX_REGISTER(PACKED(value)) : "memory")
#else
#define STORE_AT(address, value) *(address) = PACKED(value)
#endif
#if defined(STREAMING) && STREAMING > 1
inline float load_from(__global const stored* address) {
  stored value;
  asm volatile("ld.global.cs." PTX_TYPE " %0, [%1];" : "=" PTX_REGISTER(value) : "l"(address));
  return UNPACKED(value);
}
#else
#define load_from(address) UNPACKED(*(address))
#endif

// Velocity of each population q, and the number of the opposite population.
#define EACH_POPULATION(DO) \
  DO(0, 0, 0, 0, 0) \
  DO(1, 1, 0, 0, 2) DO(2, -1, 0, 0, 1) DO(3, 0, 1, 0, 4) DO(4, 0, -1, 0, 3) \
  DO(5, 1, 1, 0, 6) DO(6, -1, -1, 0, 5) DO(7, 1, -1, 0, 8) DO(8, -1, 1, 0, 7) \
  DO(9, 0, 0, 1, 14) DO(10, 1, 0, 1, 15) DO(11, -1, 0, 1, 16) DO(12, 0, 1, 1, 17) DO(13, 0, -1, 1, 18) \
  DO(14, 0, 0, -1, 9) DO(15, -1, 0, -1, 10) DO(16, 1, 0, -1, 11) DO(17, 0, -1, -1, 12) DO(18, 0, 1, -1, 13)

#define WEIGHT_OF_STILL (1.0f / 3)
#define WEIGHT_OF_AXIS (1.0f / 18)
#define WEIGHT_OF_EDGE (1.0f / 36)

inline float density_of(const float* f) {
  float sum = f[0];
#define ADD(q, cx, cy, cz, opposite) if (q > 0) sum += f[q];
  EACH_POPULATION(ADD)
#undef ADD
  return sum;
}

#define VELOCITY(f) \
  const float ux = ((((((((f[1] - f[2]) + f[5]) - f[6]) + f[7]) - f[8]) + f[10]) - f[11]) - f[15]) + f[16]; \
  const float uy = ((((((((f[3] - f[4]) + f[5]) - f[6]) - f[7]) + f[8]) + f[12]) - f[13]) - f[17]) + f[18]; \
  const float uz = ((((((((f[9] + f[10]) + f[11]) + f[12]) + f[13]) - f[14]) - f[15]) - f[16]) - f[17]) - f[18];

// Even and odd parts of the equilibrium of a pair of opposite populations of one weight, in a fluid
// of velocity `along` along the first.
#define EVEN(weight, along) ((weight) * (level + 4.5f * ((along) * (along))))
#define ODD(weight, along) (((weight) * 3.0f) * (along))

// Collides the populations that have arrived in a cell. `lift` is what the force adds to a
// population of weight 1 and velocity +1 along x.
inline void collide(float* f, float even_rate, float odd_rate, float lift) {
  const float density = density_of(f);
  VELOCITY(f)
  const float level = density - 1.5f * ((ux * ux + uy * uy) + uz * uz);
#ifdef FORCED
#define LIFTED(odd, weight, cx) (cx) == 0 ? (odd) : (cx) > 0 ? (odd) + (weight) * lift : (odd) - (weight) * lift
#else
#define LIFTED(odd, weight, cx) (odd)
#endif
#define RELAX(a, b, weight, along, cx) \
  { \
    const float even = even_rate * (EVEN(weight, along) - 0.5f * (f[a] + f[b])); \
    const float odd_part = odd_rate * (ODD(weight, along) - 0.5f * (f[a] - f[b])); \
    const float odd = LIFTED(odd_part, weight, cx); \
    f[a] += even + odd; \
    f[b] += even - odd; \
  }
  f[0] += even_rate * (WEIGHT_OF_STILL * level - f[0]);
  RELAX(1, 2, WEIGHT_OF_AXIS, ux, 1)
  RELAX(3, 4, WEIGHT_OF_AXIS, uy, 0)
  RELAX(9, 14, WEIGHT_OF_AXIS, uz, 0)
  RELAX(5, 6, WEIGHT_OF_EDGE, ux + uy, 1)
  RELAX(7, 8, WEIGHT_OF_EDGE, ux - uy, 1)
  RELAX(10, 15, WEIGHT_OF_EDGE, ux + uz, 1)
  RELAX(11, 16, WEIGHT_OF_EDGE, uz - ux, -1)
  RELAX(12, 17, WEIGHT_OF_EDGE, uy + uz, 0)
  RELAX(13, 18, WEIGHT_OF_EDGE, uz - uy, 0)
}

#ifdef HALVED
#define HALF_ARGUMENTS , uint in_box, uint planes, uint block_planes
// Rounds what leaves the block upwards or downwards. `block_planes` 0: nothing.
#define HALVE(f) \
  if (block_planes > 0) { \
    const uint z = in_box + get_global_id(2); \
    if (z + 1 == planes || (z + 1) % block_planes == 0) \
      for (uint q = 9; q < 14; ++q) f[q] = from_half(to_half(f[q])); \
    if (z % block_planes == 0) \
      for (uint q = 14; q < 19; ++q) f[q] = from_half(to_half(f[q])); \
  }
#else
#define HALF_ARGUMENTS
#define HALVE(f)
#endif

// Whether the population of a velocity came from outside the box, and where in a plane it came
// from.
#ifdef WALL_X
#define OUTSIDE_X(cx) ((cx) > 0 ? x == 0 : (cx) < 0 ? x + 1 == nx : false)
#else
#define OUTSIDE_X(cx) false
#endif
#ifdef WALL_Y
#define OUTSIDE_Y(cy) ((cy) > 0 ? y == 0 : (cy) < 0 ? y + 1 == ny : false)
#else
#define OUTSIDE_Y(cy) false
#endif
#define OUTSIDE(cx, cy) (OUTSIDE_X(cx) || OUTSIDE_Y(cy))
#define SOURCE(cx, cy) (((cy) > 0 ? south : (cy) < 0 ? north : here) + ((cx) > 0 ? west : (cx) < 0 ? east : x))
#define SOURCE_PLANE(cz) ((cz) > 0 ? below : (cz) < 0 ? above : own)

// Offsets in a plane of a cell's row and its neighbours, and of the neighbouring cells in a row.
#define AROUND \
  const uint plane = ny * stride, here = y * stride, at = here + x; \
  const uint south = (y == 0 ? ny - 1 : y - 1) * stride, north = (y + 1 == ny ? 0 : y + 1) * stride; \
  const uint west = x == 0 ? nx - 1 : x - 1, east = x + 1 == nx ? 0 : x + 1;

// The lid, half a cell beyond the last row, moves along x and drags the populations that it
// reflects: `drag` is a sixth of its velocity.
#ifdef WALL_Y
#define DRAG \
  if (y + 1 == ny) { \
    f[6] -= drag; \
    f[7] += drag; \
  }
#else
#define DRAG
#endif

// The planes of a launch are [first, first + get_global_size(2)) of a buffer. Plane `before_at` of
// `before` precedes the first, plane `after_at` of `after` follows the last.
#define PLANES(CONST) \
  const ulong block = (ulong)POPULATIONS * plane; \
  const uint slot = first + get_global_id(2); \
  CONST stored* const own = from + slot * block; \
  CONST stored* const below = get_global_id(2) == 0 ? before + before_at * block : own - block; \
  CONST stored* const above = get_global_id(2) + 1 == get_global_size(2) ? after + after_at * block : own + block;

#ifdef SENDS
#define SEND_ARGUMENTS , __global stored* lower, __global stored* upper, uint landed_at, uint sends
// Store the populations that leave the first plane downwards and the last one upwards into block
// `landed_at` of neighbours' halos. Bits of `sends`: 1, to `lower`; 2, to `upper`.
#define SEND(q, to) (to)[((ulong)POPULATIONS * landed_at + q) * plane + at] = PACKED(f[q]);
#define SEND_ACROSS \
  if ((sends & 1) && get_global_id(2) == 0) { \
    SEND(14, lower) SEND(15, lower) SEND(16, lower) SEND(17, lower) SEND(18, lower) \
  } \
  if ((sends & 2) && get_global_id(2) + 1 == get_global_size(2)) { \
    SEND(9, upper) SEND(10, upper) SEND(11, upper) SEND(12, upper) SEND(13, upper) \
  }
#else
#define SEND_ARGUMENTS
#define SEND_ACROSS
#endif

// Steps from one lattice to another, in both of which population q of a cell, as it leaves the
// cell, lies in that cell. Rows [left, right).
__kernel void step_between(__global const stored* from, __global const stored* before, uint before_at, __global const stored* after,
                           uint after_at, __global stored* to, uint first, uint left, uint right, uint nx, uint ny, uint stride,
                           float even_rate, float odd_rate, float drag, float lift HALF_ARGUMENTS SEND_ARGUMENTS) {
  const uint x = get_global_id(0), y = left + get_global_id(1);
  if (x >= nx || y >= right) return;
  AROUND
  PLANES(__global const)
  float f[POPULATIONS];
#define LOAD(q, cx, cy, cz, opposite) \
  f[q] = load_from(OUTSIDE(cx, cy) ? own + (opposite * plane + at) : SOURCE_PLANE(cz) + (q * plane + SOURCE(cx, cy)));
  EACH_POPULATION(LOAD)
#undef LOAD
  DRAG
  collide(f, even_rate, odd_rate, lift);
  HALVE(f)
  SEND_ACROSS
  to += slot * block + at;
#define STORE(q, cx, cy, cz, opposite) STORE_AT(to + q * plane, f[q]);
  EACH_POPULATION(STORE)
#undef STORE
}

// The next two kernels step in place, in turn (AA pattern: Bailey, Myre, Walsh, Lilja and Saar,
// ICPP 2009). Each cell reads its populations from 19 places that no other cell reads or writes in
// the same step, and writes each place with the population of the opposite velocity.
//
// Reads populations from the cells where they came from, in which each lies in the opposite one's
// place: afterwards all lie where they go to.
__kernel void step_across(__global stored* from, __global stored* before, uint before_at, __global stored* after, uint after_at,
                          uint first, uint left, uint right, uint nx, uint ny, uint stride, float even_rate, float odd_rate, float drag,
                          float lift) {
  const uint x = get_global_id(0), y = left + get_global_id(1);
  if (x >= nx || y >= right) return;
  AROUND
  PLANES(__global)
  float f[POPULATIONS];
#define PLACE(q, cx, cy, cz, opposite) (OUTSIDE(cx, cy) ? own + (q * plane + at) : SOURCE_PLANE(cz) + (opposite * plane + SOURCE(cx, cy)))
#define LOAD(q, cx, cy, cz, opposite) f[q] = load_from(PLACE(q, cx, cy, cz, opposite));
  EACH_POPULATION(LOAD)
#undef LOAD
  DRAG
  collide(f, even_rate, odd_rate, lift);
#define STORE(q, cx, cy, cz, opposite) STORE_AT(PLACE(q, cx, cy, cz, opposite), f[opposite]);
  EACH_POPULATION(STORE)
#undef STORE
}

// Reads populations from the cell where they have arrived: afterwards they lie in it, each in the
// opposite one's place.
__kernel void step_within(__global stored* from, uint first, uint left, uint right, uint nx, uint ny, uint stride, float even_rate,
                          float odd_rate, float drag, float lift) {
  const uint x = get_global_id(0), y = left + get_global_id(1), plane = ny * stride;
  if (x >= nx || y >= right) return;
  from += (ulong)POPULATIONS * plane * (first + get_global_id(2)) + (y * stride + x);
  float f[POPULATIONS];
#define LOAD(q, cx, cy, cz, opposite) f[q] = load_from(from + q * plane);
  EACH_POPULATION(LOAD)
#undef LOAD
  DRAG
  collide(f, even_rate, odd_rate, lift);
#define STORE(q, cx, cy, cz, opposite) STORE_AT(from + q * plane, f[opposite]);
  EACH_POPULATION(STORE)
#undef STORE
}

// Sets the populations of a cell in equilibrium.
inline void rest(float* f, float density, float ux, float uy, float uz) {
  const float level = density - 1.5f * ((ux * ux + uy * uy) + uz * uz);
#define SET(a, b, weight, along) \
  f[a] = EVEN(weight, along) + ODD(weight, along); \
  f[b] = EVEN(weight, along) - ODD(weight, along);
  f[0] = WEIGHT_OF_STILL * level;
  SET(1, 2, WEIGHT_OF_AXIS, ux)
  SET(3, 4, WEIGHT_OF_AXIS, uy)
  SET(9, 14, WEIGHT_OF_AXIS, uz)
  SET(5, 6, WEIGHT_OF_EDGE, ux + uy)
  SET(7, 8, WEIGHT_OF_EDGE, ux - uy)
  SET(10, 15, WEIGHT_OF_EDGE, ux + uz)
  SET(11, 16, WEIGHT_OF_EDGE, uz - ux)
  SET(12, 17, WEIGHT_OF_EDGE, uy + uz)
  SET(13, 18, WEIGHT_OF_EDGE, uz - uy)
}

// Initialises planes [z, z + get_global_size(2)) of the box, in slots from `first` on: populations
// as they leave the cells, each in the opposite one's place if `swapped`. For a cell x, y of plane
// z the tables have, by x + y and by z, the parts of its velocity and density; or `fields` has both
// from plane `at_plane` on, as `look` writes them (tabled 0).
__kernel void begin(__global stored* to, __global const float4* along, __global const float4* across, __global const float4* fields,
                    uint tabled, uint swapped, uint first, uint z, uint at_plane, uint nx, uint ny, uint stride) {
  const uint x = get_global_id(0), y = get_global_id(1), k = get_global_id(2), plane = ny * stride;
  if (x >= nx) return;
  float f[POPULATIONS];
  if (tabled) {
    const float4 a = along[(x + y) % nx], b = across[z + k];
    rest(f, a.z + b.z, a.x * b.x, a.x * b.x, a.y * b.y);
  } else {
    const float4 given = fields[((ulong)(at_plane + k) * ny + y) * nx + x];
    rest(f, given.w, given.x, given.y, given.z);
  }
  to += (ulong)POPULATIONS * plane * (first + k) + (y * stride + x);
  if (swapped) {
#define STORE(q, cx, cy, cz, opposite) to[q * plane] = PACKED(f[opposite]);
    EACH_POPULATION(STORE)
#undef STORE
  } else {
#define STORE(q, cx, cy, cz, opposite) to[q * plane] = PACKED(f[q]);
    EACH_POPULATION(STORE)
#undef STORE
  }
}

// Computes velocity along x, y and z of cells, and their density minus 1, from populations that
// have left them: 0, each in its own cell; 1, each in the opposite one's place; 2, where
// step_across leaves them. Writes to the planes from `at_plane` of `to` on, rows without gaps.
// `half_force`: a force acts half before the collision of a cell and half after.
__kernel void look(__global const stored* from, __global const stored* before, uint before_at, __global const stored* after, uint after_at,
                   __global float4* to, uint layout, uint first, uint at_plane, uint left, uint right, uint nx, uint ny, uint stride,
                   float half_force) {
  const uint x = get_global_id(0), y = left + get_global_id(1);
  if (x >= nx || y >= right) return;
  AROUND
  PLANES(__global const)
  float f[POPULATIONS];
#define LOAD(q, cx, cy, cz, opposite) \
  if (layout == 0) f[q] = UNPACKED(own[q * plane + at]); \
  if (layout == 1) f[opposite] = UNPACKED(own[q * plane + at]); \
  if (layout == 2) f[opposite] = UNPACKED(*PLACE(q, cx, cy, cz, opposite));
  EACH_POPULATION(LOAD)
#undef LOAD
  VELOCITY(f)
  __global float4* const cell = to + (((ulong)(at_plane + get_global_id(2)) * ny + y) * nx + x);
  cell->x = ux - half_force;
  cell->y = uy;
  cell->z = uz;
  cell->w = density_of(f);
}

// Moves what step_across left for a plane of another device, five populations from
// `first_population` on, to their places in it. Populations that walls of that plane reflected are
// there already, and stay.
__kernel void take_crossed(__global const stored* landed, __global stored* to, uint landed_at, uint first_population, uint slot, uint nx,
                           uint ny, uint stride) {
  const uint x = get_global_id(0), y = get_global_id(1);
  if (x >= nx) return;
  const uint plane = ny * stride, at = y * stride + x;
  to += (ulong)POPULATIONS * plane * slot;
#define TAKE(q, cx, cy, cz, opposite) \
  if (q >= first_population && q < first_population + 5 && !OUTSIDE(cx, cy)) \
    to[q * plane + at] = landed[(landed_at + q - first_population) * plane + at];
  EACH_POPULATION(TAKE)
#undef TAKE
}

// Copies some populations, a bit of `which` each, of rows [left, right) of the planes from `first`
// on, into one piece of `packed`; unpack copies them out of it. One work-item per place in a plane.
__kernel void pack(__global const stored* from, __global stored* packed, ulong packed_at, uint which, uint first, uint left, uint right,
                   uint nx, uint ny, uint stride) {
  const uint x = get_global_id(0), y = get_global_id(1), rows = right - left, plane = ny * stride;
  if (x >= nx || y >= rows) return;
  from += (ulong)POPULATIONS * plane * (first + get_global_id(2)) + ((left + y) * stride + x);
  packed += packed_at + ((ulong)get_global_id(2) * popcount(which) * rows + y) * nx + x;
  for (uint q = 0; q < POPULATIONS; ++q) {
    if ((which >> q & 1) == 0) continue;
    *packed = from[q * plane];
    packed += (ulong)rows * nx;
  }
}

__kernel void unpack(__global const stored* packed, __global stored* to, ulong packed_at, uint which, uint first, uint left, uint right,
                     uint nx, uint ny, uint stride) {
  const uint x = get_global_id(0), y = get_global_id(1), rows = right - left, plane = ny * stride;
  if (x >= nx || y >= rows) return;
  to += (ulong)POPULATIONS * plane * (first + get_global_id(2)) + ((left + y) * stride + x);
  packed += packed_at + ((ulong)get_global_id(2) * popcount(which) * rows + y) * nx + x;
  for (uint q = 0; q < POPULATIONS; ++q) {
    if ((which >> q & 1) == 0) continue;
    to[q * plane] = *packed;
    packed += (ulong)rows * nx;
  }
}

#ifdef HALVED
// Copies five populations of a plane, from `first` on, as numbers of half precision to `packed`;
// unpack_half copies them back. Dimension 2: the populations.
__kernel void pack_half(__global const stored* from, __global half* packed, ulong packed_at, uint slot, uint first, uint nx, uint ny,
                        uint stride) {
  const uint x = get_global_id(0), y = get_global_id(1), k = get_global_id(2), plane = ny * stride;
  if (x >= nx) return;
  from += (ulong)(POPULATIONS * slot + first + k) * plane + (y * stride + x);
  vstore_half_rte(*from * HALF_SCALE, packed_at + (k * ny + y) * nx + x, packed);
}

__kernel void unpack_half(__global const half* packed, __global stored* to, ulong packed_at, uint slot, uint first, uint nx, uint ny,
                          uint stride) {
  const uint x = get_global_id(0), y = get_global_id(1), k = get_global_id(2), plane = ny * stride;
  if (x >= nx) return;
  to += (ulong)(POPULATIONS * slot + first + k) * plane + (y * stride + x);
  *to = vload_half(packed_at + (k * ny + y) * nx + x, packed) * (1.0f / HALF_SCALE);
}
#endif
