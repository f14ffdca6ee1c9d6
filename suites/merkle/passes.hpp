// How a tree is cut into kernel launches on one device, and the device memory that takes. Pure.
#pragma once

#include <string>
#include <vector>

#include "lib/plan/slice_source.hpp"
#include "lib/workload/workload.hpp"
#include "suites/merkle/tree.hpp"

namespace mgpu::merkle {

// The flags of kernels/merkle.cl.
enum PassFlags : std::uint32_t {
  in_leaves = 1,
  hash_leaves = 2,
  in_blocks = 4,
  out_blocks = 8,
  tasks = 16,
  covered = 32
};

struct Pass {
  bool group = false;  // reduce_group (local memory), else reduce
  unsigned levels = 0;
  std::uint32_t flags = 0;
};

// The launches that take items of 2^height leaves to item roots; the last writes them, those before
// it fill the two scratch buffers in turn. On GPUs: `reduce` 8 to 1 while the grid stays large,
// then one work-group an item. On CPUs: `reduce` with up to 2^6 levels.
std::vector<Pass> passes(const DeviceTraits& device, TreeKind kind, unsigned height);

// `short_leaf`: the last leaf may have fewer than 32 bytes.
std::string kernel_options(const DeviceTraits& device, TreeKind kind, bool short_leaf);

// Nodes one work-item of `reduce` handles side by side.
constexpr unsigned lanes(const DeviceTraits& device) { return device.cpu ? 16 : 1; }

// What a program allocates. Sizes in bytes, paddings included.
struct Layout {
  unsigned leaf_buffers = 1;  // resident: one of all leaves; end to end: one a slot
  Bytes leaves = 0;           // each of them
  Bytes scratch[2] = {0, 0};
  Bytes rows = 0;  // item roots, and each of two more buffers: collected nodes, nodes to merge
                   // (with their levels)
  Bytes tasks = 0;
  Items piece = 0;  // items reduced by one chain of launches; a longer slice takes several
  Bytes total() const;
};
Layout layout(const DeviceTraits& device, TreeKind kind, const Geometry& geometry, Mode mode,
              Items fits);

// Capacity as Workload::capacity defines it.
Capacity capacity(const DeviceTraits& device, TreeKind kind, const Geometry& geometry, Mode mode);

}  // namespace mgpu::merkle
