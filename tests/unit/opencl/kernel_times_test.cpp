// Keys of launches, and the times remembered for them.
#include "lib/opencl/kernel_times.hpp"

#include <doctest/doctest.h>

using namespace mgpu;

TEST_CASE("a kernel is expected to take what that launch took, else the last one of its grid") {
  const Grid grid{{1024, 1, 1}, {64, 1, 1}};
  const auto at = [&](std::uint64_t offset, const Grid& of) {
    return launch_key("sum", of, {offset});
  };
  KernelTimes times;
  CHECK_FALSE(times.expected(at(0, grid)));
  times.saw(at(0, grid), Nanos{100});
  times.saw(at(512, grid), Nanos{130});
  CHECK(times.expected(at(0, grid)) == Nanos{100});
  CHECK(times.expected(at(512, grid)) == Nanos{130});
  CHECK(times.expected(at(7, grid)) == Nanos{130});
  CHECK_FALSE(times.expected(launch_key("other", grid, {std::uint64_t{0}})));
  CHECK_FALSE(times.expected(launch_key("sum", {{1024, 1, 1}, {32, 1, 1}}, {std::uint64_t{0}})));
  times.saw(at(0, grid), Nanos{110});
  CHECK(times.expected(at(0, grid)) == Nanos{110});
}

TEST_CASE("a grid that has not run takes as long per work-item as the nearest, if any is near") {
  const auto of = [](std::size_t rows) {
    return launch_key("step", {{64, rows, 1}, {64, 1, 1}}, {std::uint64_t{rows}});
  };
  KernelTimes times;
  times.saw(of(4096), Nanos{4000});
  CHECK(times.expected(of(2776)) == Nanos{2711});
  CHECK(times.expected(of(8192)) == Nanos{8000});
  CHECK_FALSE(times.expected(of(8193)));
  CHECK_FALSE(times.expected(of(2047)));
  times.saw(of(2000), Nanos{3000});  // a launch for which only a smaller time was known
  CHECK(times.expected(of(2400)) == Nanos{3600});
  CHECK(times.expected(of(3500)) == Nanos{3418});
  CHECK(times.expected(of(4096)) == Nanos{4000});
  CHECK_FALSE(times.expected(launch_key("other", {{64, 4096, 1}, {64, 1, 1}}, {std::uint64_t{0}})));
}
