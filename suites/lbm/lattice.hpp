// Places of planes of populations on a device, and the number of planes that it has room for.
//
// A lattice is a ring of `slots`: a device keeps plane z in slot z % slots, so that planes keep
// their place when the partition changes, and halos lie where they would as planes of the share.
// Planes are numbered on past the ends of the box: the plane before plane 0 is -1 for the device
// that owns plane 0. If each device has memory for all planes, there are as many slots as planes;
// otherwise there are fewer, and a share and its halos take a part of them. Slots lie in pieces of
// memory, each with as many slots as a device can allocate at once (an H200: a quarter of its
// memory).
//
// With two lattices a step reads one and writes the other. Each population lies in the cell that it
// left, and the next step takes it from there to the next cell. Of each outermost plane, a copy of
// the five populations that cross the border is put among the neighbour's halos.
//
// In place there is one lattice and two kinds of steps by turns. The first takes populations,
// swapped, from other cells and leaves them in other cells, some of them beyond a border: the five
// populations that crossed it are put among the neighbour's halos, and the neighbour takes them
// from there to their cells. The second changes only its own cells, and swaps; then the five
// populations of the outermost plane are put among the halos, as with two lattices.
#pragma once

#include <algorithm>
#include <vector>

#include "suites/lbm/problem.hpp"

namespace mgpu::lbm {

struct Slot {
  std::uint64_t piece = 0, at = 0;  // at: number of the slot in the piece
};

struct Lattice {
  std::uint64_t slots = 0, in_piece = 0;  // in_piece: slots per piece, except in the last
  Slot slot_of(std::int64_t z) const {
    const auto ring = static_cast<std::int64_t>(slots);
    const auto slot = static_cast<std::uint64_t>((z % ring + ring) % ring);
    return {slot / in_piece, slot % in_piece};
  }
  std::uint64_t pieces() const { return ceil_div(slots, in_piece); }
  std::uint64_t slots_of_piece(std::uint64_t piece) const {
    return std::min(in_piece, slots - piece * in_piece);
  }
};

// Returns the lattice for devices that each have this much memory. None: it is unknown or
// unlimited.
Lattice lattice_of(const Problem& problem, const std::vector<DeviceMemory>& devices);

// Planes that are consecutive both in the slots of one piece and in the box; `in_box` is the number
// of the first in the box.
struct Run {
  std::int64_t z = 0;
  std::uint64_t in_box = 0, count = 0;
  Slot slot;  // slot of the first
};

// Returns planes [first, end) as runs. They may continue past either end of the box.
std::vector<Run> runs_of(const Problem& problem, const Lattice& lattice, std::int64_t first,
                         std::int64_t end);

// Returns the most planes of a share on a device with these slots. They leave room for its halos,
// unless there is a slot for every plane.
std::uint64_t most_of_share(const Problem& problem, const Lattice& lattice);

// Returns the most numbers that arrive at a device for its blocks in one step.
std::uint64_t most_landing(const Problem& problem);

// Returns what devices send each other if shares are cut along two axes: `which` has a bit for each
// population of a patch that goes to cells of another device in a step.
std::vector<Transfer> transfers_among(const Problem& problem, std::span<const Owner> owners);

// Returns the number of a file's planes that a device keeps: all, or those of a share with its
// halos.
inline std::uint64_t planes_of_file(const Problem& problem, const Lattice& lattice, Mode mode) {
  return mode == Mode::resident ? problem.planes : lattice.slots + 2 * problem.depth;
}

// Memory of a device with these slots that keeps a file's cells of `planes_of_file` planes: the
// total, and the largest buffer.
struct DeviceBytes {
  Bytes all = 0, largest = 0;
};
DeviceBytes bytes_on_device(const Problem& problem, const Lattice& lattice,
                            std::uint64_t planes_of_file);

// Throws Error(usage) if the problem has too few planes for all devices to take part, or the
// devices have too little memory for it. `planes_by`: the option that sets the number of planes.
void check_devices(const Problem& problem, const std::vector<DeviceMemory>& devices,
                   const char* planes_by);

}  // namespace mgpu::lbm
