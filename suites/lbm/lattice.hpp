// Where planes of populations lie on a device, and how many it has room for.
//
// A lattice is a ring of `slots`: a device keeps plane z in slot z % slots, so that planes keep
// their place when borders move and halos are where they would be as planes of one's own. Planes
// count on over the end of the box: the one before plane 0 is -1 to the device that owns plane 0.
// Where each device has memory for all planes there are as many slots; else fewer, of which a share
// and its halos take a part. Slots lie in pieces of memory, as many in each as a device allocates
// at once (an H200: a quarter of its memory).
//
// With two lattices a step goes from one to the other; each population lies in the cell that it
// left, and comes from there to the next cell with the next step. Of what crosses a border, the
// five populations of the outermost plane that go there, a copy is put among the neighbour's halos.
// In place there is one lattice and two kinds of steps by turns. The first takes what lies in other
// cells, swapped, and leaves it in others, those beyond a border among them: of these five
// populations are put among the neighbour's halos, which takes them from there to where they
// belong. The second changes nothing but its own cells, and swaps: then the five populations of the
// outermost plane are put among the halos, as with two lattices.
#pragma once

#include <algorithm>
#include <vector>

#include "suites/lbm/problem.hpp"

namespace mgpu::lbm {

struct Slot {
  std::uint64_t piece = 0, at = 0;  // at: its number in the piece
};

struct Lattice {
  std::uint64_t slots = 0, in_piece = 0;  // in_piece: slots of a piece, but for the last one
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

// For devices with so much memory, each; none: not known, or without end.
Lattice lattice_of(const Problem& problem, const std::vector<DeviceMemory>& devices);

// Planes that lie in one piece, one slot after another, and in the box as well: `in_box` is the
// number of the first there.
struct Run {
  std::int64_t z = 0;
  std::uint64_t in_box = 0, count = 0;
  Slot slot;  // of the first
};

// Planes [first, end), which may go on over either end of the box.
std::vector<Run> runs_of(const Problem& problem, const Lattice& lattice, std::int64_t first,
                         std::int64_t end);

// Planes that a device with these slots can have, beside its halos where it has not all.
std::uint64_t most_of_share(const Problem& problem, const Lattice& lattice);

// Numbers of all that comes to a device beside its blocks in one step, at most.
std::uint64_t most_landing(const Problem& problem);

// Returns what devices send each other where shares are cut along two axes: `which` has a bit for
// each population of a patch that goes to cells of another device in a step.
std::vector<Transfer> transfers_among(const Problem& problem, std::span<const Owner> owners);

// Planes of a file that a device keeps: all, or those of a share with its halos.
inline std::uint64_t planes_of_file(const Problem& problem, const Lattice& lattice, Mode mode) {
  return mode == Mode::resident ? problem.planes : lattice.slots + 2 * problem.depth;
}

// Of a device with these slots, in which a file's cells are kept of so many planes: all its memory,
// and the largest piece.
struct DeviceBytes {
  Bytes all = 0, largest = 0;
};
DeviceBytes bytes_on_device(const Problem& problem, const Lattice& lattice,
                            std::uint64_t planes_of_file);

// Throws Error(usage) for a problem that has not the planes for all devices to take part, or that
// they have no memory for. `planes_by`: the option that says how many planes there are.
void check_devices(const Problem& problem, const std::vector<DeviceMemory>& devices,
                   const char* planes_by);

}  // namespace mgpu::lbm
