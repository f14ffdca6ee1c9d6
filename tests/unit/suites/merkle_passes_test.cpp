// How the merkle suite cuts a tree into launches, and what it says of a device's capacity.
#include <doctest/doctest.h>

#include "suites/merkle/passes.hpp"

using namespace mgpu;
using namespace mgpu::merkle;

namespace {

DeviceTraits traits(bool cpu, Bytes memory, Bytes allocation) {
  DeviceTraits device;
  device.cpu = cpu;
  device.max_work_group = 1024;
  device.global_memory = memory;
  device.max_allocation = allocation;
  return device;
}

constexpr Bytes gib = Bytes{1} << 30;

}  // namespace

TEST_CASE("the launches of any height add up to it, each within what its kernel can do") {
  for (const bool cpu : {false, true}) {
    for (unsigned height = 5; height <= 46; ++height) {
      const auto chain = passes(traits(cpu, gib, gib), TreeKind::rfc6962, height);
      unsigned sum = 0;
      for (std::size_t i = 0; i < chain.size(); ++i) {
        sum += chain[i].levels;
        CHECK(chain[i].levels >= 1);
        CHECK(chain[i].levels <= (cpu ? 6u : chain[i].group ? 10u : 3u));
        CHECK(chain[i].group == (!cpu && i + 1 == chain.size()));
        CHECK(((chain[i].flags & (in_leaves | hash_leaves)) != 0) == (i == 0));
        // Blocks go in exactly where they came out.
        CHECK(((chain[i].flags & in_blocks) != 0) ==
              (i > 0 && (chain[i - 1].flags & out_blocks) != 0));
        CHECK(((chain[i].flags & out_blocks) != 0) == (cpu && i + 1 < chain.size()));
      }
      CHECK(sum == height);
    }
  }
}

TEST_CASE("only the RFC 6962 tree over raw leaves hashes them") {
  const DeviceTraits device = traits(false, gib, gib);
  CHECK((passes(device, TreeKind::plain, 10).front().flags & hash_leaves) == 0);
  CHECK((passes(device, TreeKind::rfc6962_digests, 10).front().flags & hash_leaves) == 0);
  CHECK((passes(device, TreeKind::rfc6962, 10).front().flags & hash_leaves) != 0);
}

TEST_CASE("a resident tree is one piece where its leaves fit, and nothing where they do not") {
  const Geometry tree = Geometry::of(std::uint64_t{1} << 26);  // 2 GiB of leaves
  const Capacity large =
      capacity(traits(false, 140 * gib, 35 * gib), TreeKind::plain, tree, Mode::resident);
  CHECK(large.fits == tree.items);
  CHECK(large.pipeline == tree.items);
  CHECK(large.resident > 2 * gib);
  CHECK(large.resident < 3 * gib);
  CHECK(large.reason.empty());
  for (const auto& [memory, allocation] :
       {std::pair{140 * gib, gib}, std::pair{2 * gib, 2 * gib}}) {
    const Capacity none =
        capacity(traits(false, memory, allocation), TreeKind::plain, tree, Mode::resident);
    CHECK(none.fits == 0);
    CHECK_FALSE(none.reason.empty());
  }
}

TEST_CASE("scratch memory stays under a gibibyte however many leaves there are") {
  const Geometry tree = Geometry::of(std::uint64_t{1} << 30);
  const DeviceTraits device = traits(false, 140 * gib, 35 * gib);
  const Layout plan = layout(device, TreeKind::plain, tree, Mode::resident, tree.items);
  CHECK(plan.scratch[0] + plan.scratch[1] <= gib);
  CHECK(plan.piece < tree.items);
  CHECK(plan.piece >= tree.items / 8);
}

TEST_CASE(
    "end to end, a tree larger than the device goes through two slots in pieces that overlap") {
  const Geometry tree = Geometry::of(std::uint64_t{1} << 30);  // 32 GiB of leaves
  const DeviceTraits device = traits(false, gib, gib / 4);
  const Capacity capacity_small = capacity(device, TreeKind::plain, tree, Mode::end_to_end);
  CHECK(capacity_small.fits >= 1);
  CHECK(capacity_small.pipeline <= capacity_small.fits);
  CHECK(capacity_small.pipeline * (digest_bytes << tree.height) <= (32u << 20));
  CHECK(capacity_small.resident <= gib / 10 * 9);
  const Layout plan = layout(device, TreeKind::plain, tree, Mode::end_to_end, capacity_small.fits);
  CHECK(plan.leaf_buffers == 2);
  CHECK(plan.leaves <= device.max_allocation);
  CHECK(plan.total() == capacity_small.resident);
}

TEST_CASE(
    "end to end, pieces are large enough to hide what each costs, and as many as overlap uploads "
    "with compute") {
  constexpr Bytes mib = 1 << 20;
  const auto piece_of = [](std::uint64_t leaves, bool cpu) {
    const Geometry tree = Geometry::of(leaves);
    return capacity(traits(cpu, 16 * gib, 4 * gib), TreeKind::plain, tree, Mode::end_to_end)
               .pipeline *
           (digest_bytes << tree.height);
  };
  CHECK(piece_of(1 << 18, false) == 4 * mib);  // of 8
  CHECK(piece_of(1 << 22, false) == 8 * mib);  // of 128
  CHECK(piece_of(1 << 24, false) == 16 * mib);
  CHECK(piece_of(1 << 28, false) == 32 * mib);
  CHECK(piece_of(1 << 18, true) == mib);
  CHECK(piece_of(1 << 24, true) == 8 * mib);
  const Geometry tiny = Geometry::of(100);
  CHECK(capacity(traits(false, 16 * gib, 4 * gib), TreeKind::plain, tiny, Mode::end_to_end)
            .pipeline == tiny.items);
}
