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

std::uint64_t leaves_of(const Geometry& geometry, Items items) {
  return std::min(geometry.all_leaves(), items * geometry.leaves_of_item());
}

Bytes item_bytes(const Rules& rules, const Geometry& geometry) {
  return std::max<std::uint64_t>(1, geometry.leaves_of_item()) * rules.leaf_bytes;
}

std::uint64_t nodes_above(std::uint64_t nodes, unsigned levels) {
  return ceil_div(nodes, std::uint64_t{1} << levels);
}

Bytes scratch_bytes(const DeviceTraits& device, const std::vector<Pass>& chain,
                    const Geometry& geometry, Items items, Bytes (&scratch)[2]) {
  scratch[0] = scratch[1] = padding;
  const std::vector<Segments> all = segments(device, chain, geometry, 0, items);
  for (std::size_t i = 0; i + 1 < chain.size(); ++i)
    scratch[i % 2] = std::max(
        scratch[i % 2], all[i].count * all[i].groups * lanes(device) * digest_bytes + padding);
  return scratch[0] + scratch[1];
}

}  // namespace

std::vector<Segments> segments(const DeviceTraits& device, const std::vector<Pass>& chain,
                               const Geometry& geometry, Items begin, Items end) {
  const bool by_item =
      geometry.trees > 1 && geometry.leaves % (std::uint64_t{1} << geometry.height) != 0;
  Segments items;
  items.full = items.in_stride = geometry.leaves_of_item();
  items.last = geometry.leaves - ((geometry.per_tree - 1) << geometry.height);
  items.count = u32(end - begin);
  items.per_tree = u32(geometry.per_tree);
  items.first = u32(begin % geometry.per_tree);
  Segments one;
  one.full = one.last = geometry.first_leaf(end) - geometry.first_leaf(begin);

  std::vector<Segments> all;
  unsigned done = 0;
  for (std::size_t i = 0; i < chain.size(); ++i) {
    const Pass& pass = chain[i];
    Segments here = by_item || pass.group ? items : one;
    const std::uint64_t width = std::uint64_t{pass.group ? 1 : lanes(device)} << pass.levels;
    here.groups = std::max<std::uint64_t>(1, ceil_div(here.full, width));
    here.out_stride = i + 1 == chain.size() ? 1 : here.groups * lanes(device);
    all.push_back(here);
    done += pass.levels;
    for (Segments* each : {&items, &one}) {
      each->full = nodes_above(each->full, pass.levels);
      each->last = nodes_above(each->last, pass.levels);
    }
    items.in_stride = by_item ? here.out_stride : std::uint64_t{1} << (geometry.height - done);
  }
  return all;
}

bool has_leaf_pass(const Rules& rules) {
  return rules.hashes_leaves() && !(rules.kind == TreeKind::rfc6962 && rules.hash == Hash::sha256 &&
                                    rules.leaf_bytes == digest_bytes);
}

std::vector<Pass> passes(const DeviceTraits& device, const Rules& rules, unsigned height) {
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
      chain.push_back({false, std::min(rest, a_thread), 0});
      rest -= chain.back().levels;
    } while (rest > a_group);
    if (rest > 0) chain.push_back({true, rest, 0});
  }
  chain.front().flags |=
      in_leaves | (rules.hashes_leaves() && !has_leaf_pass(rules) ? hash_leaves : 0u);
  return chain;
}

std::string kernel_options(const DeviceTraits& device, const Rules& rules, bool short_leaf) {
  constexpr std::array<const char*, 3> hashes{"", " -DKECCAK256", " -DBLAKE3"};
  return std::string(device.cpu ? "-DLANES=16" : "-DLANES=1") + " -DUNROLL=1" +
         (device.nvidia ? " -DMULTIPLY_ADDS" : "") +
         (rules.has_prefixes() ? " -DRFC6962=1" : " -DRFC6962=0") +
         (short_leaf && !has_leaf_pass(rules) ? " -DSHORT_LEAF" : "") +
         (rules.is_bitcoin() ? " -DBITCOIN" : "") + hashes[static_cast<std::size_t>(rules.hash)];
}

Bytes Layout::total() const {
  return leaf_buffers * leaves + digests + scratch[0] + scratch[1] + 3 * rows + tasks;
}

Layout layout(const DeviceTraits& device, const Rules& rules, const Geometry& geometry, Mode mode,
              Items fits) {
  const std::vector<Pass> chain = passes(device, rules, geometry.height);
  Layout plan;
  plan.leaf_buffers = mode == Mode::resident ? 1 : 2;
  plan.leaves =
      leaves_of(geometry, mode == Mode::resident ? geometry.items : fits) * rules.leaf_bytes +
      padding;
  plan.piece = std::max<Items>(fits, 1);
  for (;; plan.piece = (plan.piece + 1) / 2) {
    if (has_leaf_pass(rules))
      plan.digests = leaves_of(geometry, plan.piece) * digest_bytes + padding;
    const Bytes all =
        plan.digests + scratch_bytes(device, chain, geometry, plan.piece, plan.scratch);
    if (all <= scratch_limit || plan.piece == 1) break;
  }
  plan.rows = geometry.items * (digest_bytes + sizeof(std::uint32_t)) + padding;
  plan.tasks = geometry.items * 2 * sizeof(std::uint32_t);
  return plan;
}

Capacity capacity(const DeviceTraits& device, const Rules& rules, const Geometry& geometry,
                  Mode mode) {
  const Bytes usable = device.usable_memory();
  const auto too_large = [&](const Layout& plan) {
    return plan.leaves > device.max_allocation ||
           std::max({plan.digests, plan.scratch[0], plan.scratch[1]}) > device.max_allocation ||
           plan.total() > usable;
  };
  Capacity capacity;
  capacity.fits = geometry.items;
  const Bytes item = item_bytes(rules, geometry);
  if (mode == Mode::end_to_end)
    capacity.fits = std::min(capacity.fits, std::max<Items>(1, largest_slot / item));
  Layout plan = layout(device, rules, geometry, mode, capacity.fits);
  while (mode == Mode::end_to_end && capacity.fits > 1 && too_large(plan)) {
    capacity.fits /= 2;
    plan = layout(device, rules, geometry, mode, capacity.fits);
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
    const Bytes all = geometry.all_leaves() * rules.leaf_bytes;
    const Bytes least = device.cpu ? mib : std::clamp<Bytes>(all / 2, 4 * mib, 8 * mib);
    const Bytes piece = std::clamp<Bytes>(all / 32, least, (device.cpu ? 8 : 32) * mib);
    capacity.pipeline = std::clamp<Items>(piece / item, 1, capacity.fits);
  }
  return capacity;
}

}  // namespace mgpu::merkle
