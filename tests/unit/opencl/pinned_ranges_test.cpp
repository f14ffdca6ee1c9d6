// Ranges of memory that count as pinned.
#include "lib/opencl/pinned_ranges.hpp"

#include <doctest/doctest.h>

#include <array>

using namespace mgpu;

TEST_CASE("memory is pinned where one range holds all of it") {
  std::array<std::byte, 100> memory{};
  const std::span<const std::byte> all(memory), first = all.first(40), second = all.subspan(40, 40);
  PinnedRanges ranges;
  CHECK_FALSE(ranges.hold(first));
  ranges.add(first);
  ranges.add(second);
  CHECK(ranges.hold(first));
  CHECK(ranges.hold(all.subspan(39, 1)));
  CHECK(ranges.hold(all.subspan(50, 30)));
  CHECK_FALSE(ranges.hold(all.subspan(50, 31)));
  CHECK_FALSE(
      ranges.hold(all.subspan(39, 2)));  // two ranges: a transfer might not be allowed to cross
  CHECK_FALSE(ranges.hold(all));
  ranges.remove(first);
  CHECK_FALSE(ranges.hold(first));
  CHECK(ranges.hold(second));
}

TEST_CASE("memory pinned twice is pinned until both are gone") {
  std::array<std::byte, 10> memory{};
  PinnedRanges ranges;
  ranges.add(memory);
  ranges.add(memory);
  ranges.remove(memory);
  CHECK(ranges.hold(memory));
  ranges.remove(memory);
  CHECK_FALSE(ranges.hold(memory));
}
