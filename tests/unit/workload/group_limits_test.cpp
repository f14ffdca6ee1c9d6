// Work-group sizes by a kernel's own limits.
#include <doctest/doctest.h>

#include "lib/workload/stream.hpp"

using namespace mgpu;

namespace {

Kernel limited(std::size_t all, std::array<std::size_t, 3> each = {1024, 1024, 64}) {
  return Kernel(GroupLimits{all, each});
}

}  // namespace

TEST_CASE("a kernel that runs with any work-group gets the one wanted, or a half that it takes") {
  CHECK(group_of(256, Kernel()) == 256);
  CHECK(group_of(256, limited(256)) == 256);
  CHECK(group_of(256, limited(255)) == 128);
  CHECK(group_of(96, limited(50)) == 48);
  CHECK(group_of(256, limited(1024, {8, 1024, 64})) == 8);
  CHECK(group_of(256, limited(0)) == 1);
  CHECK(group_of(256, limited(256), limited(40)) == 32);
}

TEST_CASE(
    "work-groups of several dimensions shrink from the last one on until the kernel takes it") {
  using Local = std::array<std::size_t, 3>;
  CHECK(group_of(Local{32, 8, 1}, limited(256)) == Local{32, 8, 1});
  CHECK(group_of(Local{32, 8, 1}, limited(64)) == Local{32, 2, 1});
  CHECK(group_of(Local{32, 8, 1}, limited(16)) == Local{16, 1, 1});
  CHECK(group_of(Local{4, 4, 128}, limited(1 << 20)) == Local{4, 4, 64});
  CHECK(group_of(Local{4, 4, 4}, limited(0)) == Local{1, 1, 1});
}

TEST_CASE("a grid covers all items whatever work-group the kernel takes") {
  const Grid grid = grid_of(limited(100), 1000, 256);
  CHECK(grid.local[0] == 64);
  CHECK(grid.global[0] == 1024);
}
