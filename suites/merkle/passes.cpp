#include "suites/merkle/passes.hpp"

#include <algorithm>

#include "lib/base/quantity.hpp"

namespace mgpu::merkle {
namespace {

constexpr Bytes mib = Bytes{1} << 20;
constexpr Bytes scratch_limit = 1024 * mib;
constexpr Bytes padding =
    512;  // one block of 16 digests, so that loads of whole vectors and pairs stay inside
constexpr Bytes largest_slot = 256 * mib;  // larger slices gain nothing end to end

// Returns the bytes that `nodes` output nodes of a pass take in memory.
Bytes stored(const DeviceTraits& device, std::uint64_t nodes) {
  return (nodes + lanes(device) - 1) / lanes(device) * lanes(device) * digest_bytes + padding;
}

Bytes scratch_bytes(const DeviceTraits& device, const std::vector<Pass>& chain,
                    std::uint64_t leaves, Bytes (&scratch)[2]) {
  scratch[0] = scratch[1] = padding;
  unsigned done = 0;
  for (std::size_t i = 0; i + 1 < chain.size(); ++i) {
    done += chain[i].levels;
    scratch[i % 2] = std::max(scratch[i % 2], stored(device, (leaves >> done) + 1));
  }
  return scratch[0] + scratch[1];
}

std::uint64_t leaves_of(const Geometry& geometry, Items items) {
  return std::min(geometry.leaves, items << geometry.height);
}

}  // namespace

std::vector<Pass> passes(const DeviceTraits& device, TreeKind kind, unsigned height) {
  std::vector<Pass> chain;
  if (device.cpu) {
    constexpr unsigned most = 6;
    const unsigned count = ceil_div(height, most);
    for (unsigned i = 0; i < count; ++i) {
      const unsigned levels = height / count + (i < height % count);
      chain.push_back(
          {false, levels, (i > 0 ? in_blocks : 0u) | (i + 1 < count ? out_blocks : 0u)});
    }
  } else {
    // Levels that a work-item reduces, and most levels that a work-group of 32 then reduces. A tree
    // of 2^20 leaves takes an H100 247 us; with at most 6 levels per work-group, and so 3 more per
    // work-item, it takes 255 us.
    constexpr unsigned a_thread = 3, a_group = 7;
    unsigned rest = height;
    do {
      chain.push_back({false, a_thread, 0});
      rest -= a_thread;
    } while (rest > a_group);
    chain.push_back({true, rest, 0});
  }
  chain.front().flags |= in_leaves | (kind == TreeKind::rfc6962 ? hash_leaves : 0u);
  return chain;
}

std::string kernel_options(const DeviceTraits& device, TreeKind kind, bool short_leaf) {
  return std::string(device.cpu ? "-DLANES=16" : "-DLANES=1") + " -DUNROLL=1" +
         (device.nvidia ? " -DMULTIPLY_ADDS" : "") +
         (kind == TreeKind::plain ? " -DRFC6962=0" : " -DRFC6962=1") +
         (short_leaf ? " -DSHORT_LEAF" : "");
}

Bytes Layout::total() const {
  return leaf_buffers * leaves + scratch[0] + scratch[1] + 3 * rows + tasks;
}

Layout layout(const DeviceTraits& device, TreeKind kind, const Geometry& geometry, Mode mode,
              Items fits) {
  const std::vector<Pass> chain = passes(device, kind, geometry.height);
  Layout plan;
  plan.leaf_buffers = mode == Mode::resident ? 1 : 2;
  plan.leaves =
      leaves_of(geometry, mode == Mode::resident ? geometry.items : fits) * digest_bytes + padding;
  plan.piece = std::max<Items>(fits, 1);
  while (scratch_bytes(device, chain, leaves_of(geometry, plan.piece), plan.scratch) >
             scratch_limit &&
         plan.piece > 1)
    plan.piece = (plan.piece + 1) / 2;
  plan.rows = geometry.items * (digest_bytes + sizeof(std::uint32_t)) + padding;
  plan.tasks = geometry.items * 2 * sizeof(std::uint32_t);
  return plan;
}

Capacity capacity(const DeviceTraits& device, TreeKind kind, const Geometry& geometry, Mode mode) {
  const Bytes usable = device.usable_memory();
  const auto too_large = [&](const Layout& plan) {
    return plan.leaves > device.max_allocation ||
           std::max(plan.scratch[0], plan.scratch[1]) > device.max_allocation ||
           plan.total() > usable;
  };
  Capacity capacity;
  capacity.fits = geometry.items;
  const Bytes item = digest_bytes << geometry.height;
  if (mode == Mode::end_to_end)
    capacity.fits = std::min(capacity.fits, std::max<Items>(1, largest_slot / item));
  Layout plan = layout(device, kind, geometry, mode, capacity.fits);
  while (mode == Mode::end_to_end && capacity.fits > 1 && too_large(plan)) {
    capacity.fits /= 2;
    plan = layout(device, kind, geometry, mode, capacity.fits);
  }
  if (too_large(plan)) {
    capacity.fits = 0;
    capacity.reason =
        (mode == Mode::resident ? "all leaves (" : "two slots of one item's leaves (") +
        format_bytes(static_cast<double>(plan.leaf_buffers * plan.leaves)) +
        ") do not fit the device: " + format_bytes(static_cast<double>(device.max_allocation)) +
        " at once, " + format_bytes(static_cast<double>(usable)) + " in all";
    return capacity;
  }
  capacity.resident = plan.total();
  capacity.pipeline = capacity.fits;
  if (mode == Mode::end_to_end) {
    // At least 8 slices for each of 4 devices let uploads overlap compute. Each slice takes an H200
    // about 100 us however small it is, because each of its three passes waits for the last hash;
    // uploading 8 MiB (157 us) hides that. Two slices of 4 MiB are better than one of 8 MiB. Above
    // 32 MiB (8 MiB for CPUs, which copy through their caches) there is no further gain.
    const Bytes all = geometry.leaves * digest_bytes;
    const Bytes least = device.cpu ? mib : std::clamp<Bytes>(all / 2, 4 * mib, 8 * mib);
    const Bytes piece = std::clamp<Bytes>(all / 32, least, (device.cpu ? 8 : 32) * mib);
    capacity.pipeline = std::clamp<Items>(piece / item, 1, capacity.fits);
  }
  return capacity;
}

}  // namespace mgpu::merkle
