// What a launch is known by, and what is remembered of it.
#include "lib/exec/kernel_times.hpp"

#include <doctest/doctest.h>

using namespace mgpu;

TEST_CASE("a kernel is expected to take what that very launch took, else what one of its grid took last") {
  const Grid grid{{1024, 1, 1}, {64, 1, 1}}, wider{{2048, 1, 1}, {64, 1, 1}};
  const auto at = [&](std::uint64_t offset, const Grid& of) { return launch_key("sum", of, {offset}); };
  KernelTimes times;
  CHECK_FALSE(times.expected(at(0, grid)));
  times.saw(at(0, grid), Nanos{100});
  times.saw(at(512, grid), Nanos{130});
  CHECK(times.expected(at(0, grid)) == Nanos{100});
  CHECK(times.expected(at(512, grid)) == Nanos{130});
  CHECK(times.expected(at(7, grid)) == Nanos{130});
  CHECK_FALSE(times.expected(at(0, wider)));
  CHECK_FALSE(times.expected(launch_key("other", grid, {std::uint64_t{0}})));
  CHECK_FALSE(times.expected(launch_key("sum", {{1024, 1, 1}, {32, 1, 1}}, {std::uint64_t{0}})));
  times.saw(at(0, grid), Nanos{110});
  CHECK(times.expected(at(0, grid)) == Nanos{110});
}
