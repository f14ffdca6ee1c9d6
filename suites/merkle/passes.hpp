// Division of a tree into kernel launches on one device, and the device memory they take. Pure.
#pragma once

#include <string>
#include <vector>

#include "lib/plan/slice_source.hpp"
#include "lib/workload/workload.hpp"
#include "suites/merkle/tree.hpp"

namespace mgpu::merkle {

// Flags of kernels/merkle.cl.
enum PassFlags : std::uint32_t {
  in_leaves = 1,
  hash_leaves = 2,
  in_blocks = 4,
  out_blocks = 8,
  tasks = 16,
  covered = 32,
  odd_twice = 64
};

struct Pass {
  bool group = false;  // reduce_group (local memory); false: reduce
  unsigned levels = 0;
  std::uint32_t flags = 0;
};

// Returns whether a launch of kernels/merkle_leaves.cl hashes the leaves of a piece before the
// passes, which then reduce their digests. SHA-256 of a prefix and 32 bytes is part of the first
// pass.
bool has_leaf_pass(const Rules& rules);

// Returns the launches that reduce items of 2^height leaves to item roots. The last one writes the
// roots; the others fill the two scratch buffers in turn. On GPUs `reduce` takes 8 nodes to 1 while
// the grid stays large, then one work-group reduces each item. On CPUs `reduce` takes up to 2^6
// nodes to 1.
std::vector<Pass> passes(const DeviceTraits& device, const Rules& rules, unsigned height);

// The segments that one launch reduces, each by itself: items, or all nodes of a launch if no tree
// ends within them at an incomplete node. Counts and distances are in nodes.
struct Segments {
  std::uint64_t full = 0, last = 0;             // a segment; the last segment of each tree
  std::uint64_t in_stride = 0, out_stride = 0;  // from one segment to the next
  std::uint64_t groups = 0;               // work-items of `reduce`, or work-groups, per segment
  std::uint32_t count = 1, per_tree = 1;  // in the launch, per tree
  std::uint32_t first = 0;                // number of the first one in its tree
};

// Returns the segments of each pass that reduces items begin .. end - 1.
std::vector<Segments> segments(const DeviceTraits& device, const std::vector<Pass>& chain,
                               const Geometry& geometry, Items begin, Items end);

// Returns the build options. `short_leaf`: the last leaf may be shorter than the others.
std::string kernel_options(const DeviceTraits& device, const Rules& rules, bool short_leaf);

// Returns how many nodes one work-item of `reduce` handles as a vector.
constexpr unsigned lanes(const DeviceTraits& device) { return device.cpu ? 16 : 1; }

// Sizes of a program's buffers in bytes, including padding.
struct Layout {
  unsigned leaf_buffers = 1;  // resident: one for all leaves; end to end: one per slot
  Bytes leaves = 0;           // size of each leaf buffer
  Bytes digests = 0;          // hashed leaves of a piece; 0 without a pass of their own
  Bytes scratch[2] = {0, 0};
  // Size of each of three buffers: item roots; collected nodes; nodes to merge with their levels.
  Bytes rows = 0;
  Bytes tasks = 0;
  Items piece = 0;  // items reduced by one chain of launches; a longer slice takes several
  Bytes total() const;
};
Layout layout(const DeviceTraits& device, const Rules& rules, const Geometry& geometry, Mode mode,
              Items fits);

// Returns the capacity as Workload::capacity defines it.
Capacity capacity(const DeviceTraits& device, const Rules& rules, const Geometry& geometry,
                  Mode mode);

}  // namespace mgpu::merkle
