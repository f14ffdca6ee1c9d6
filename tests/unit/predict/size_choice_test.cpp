// Sizes chosen by rates, within limits, on a grid.
#include "lib/predict/size_choice.hpp"

#include <doctest/doctest.h>

#include "tests/support/refusal.hpp"
#include "tests/support/sum_suite.hpp"

using namespace mgpu;
using namespace mgpu::test;
using std::chrono::milliseconds;

namespace {

// An operation and 8 bytes an item, done for up to 2^30 items.
SuiteInfo countable() {
  SuiteInfo suite = sum_suite(false);
  suite.shape = [](const SuiteParams& params) {
    Shape shape;
    shape.items = params.size;
    shape.cost.ops = 1;
    shape.bytes_in = params.size * 8;
    shape.bytes_out = 8;
    return shape;
  };
  suite.host_bytes = [](const SuiteParams& params) { return params.size * 16; };
  suite.check = [](const SuiteParams& params) {
    if (params.size < 4 || params.size > 1 << 30)
      throw Error(ErrorKind::usage, "--size: accepted: 4 to 2^30");
  };
  return suite;
}

SizedDevice at_rate(double ops_per_s) {
  SizedDevice device;
  device.rate.ops_per_s = ops_per_s;
  return device;
}

}  // namespace

TEST_CASE(
    "the size is the one of the grid whose time on the fastest device is nearest to the aim") {
  const SuiteInfo suite = countable();
  const SizedDevice slow = at_rate(1e5), fast = at_rate(1e6);
  const ChosenSize chosen = choose_size({&suite, {}}, std::vector{slow, fast}, {});
  CHECK(chosen.size == 1 << 17);  // 131 ms; 2^16 would be 66 ms, further off as a ratio
  CHECK(chosen.fastest == 1);
  CHECK(seconds(chosen.expected) == doctest::Approx(0.131072));
  CHECK(chosen.limit == SizeLimit::none);
  // A rate that comes out a little differently gives the same size.
  CHECK(choose_size({&suite, {}}, std::vector{at_rate(1.05e6)}, {}).size == 1 << 17);
  SuiteInfo finer = suite;
  finer.sizes_per_doubling = 2;
  CHECK(choose_size({&finer, {}}, std::vector{fast}, {}).size == 3 << 15);  // 98 ms
}

TEST_CASE("what a slice and a sample cost besides counts as well") {
  const SuiteInfo suite = countable();
  SizedDevice device = at_rate(1e6);
  device.rate.slice = milliseconds(20);
  device.rate.fixed = milliseconds(15);
  CHECK(choose_size({&suite, {}}, std::vector{device}, {}).size == 1 << 16);
}

TEST_CASE("each limit keeps the size down, and is named") {
  const SuiteInfo suite = countable();
  const std::vector fast{at_rate(1e9)};
  CHECK(choose_size({&suite, {}}, fast, {}).size == 1 << 27);
  SizeLimits limits;
  limits.input = Bytes{1} << 20;
  ChosenSize chosen = choose_size({&suite, {}}, fast, limits);
  CHECK(chosen.size == 1 << 17);
  CHECK(chosen.limit == SizeLimit::input);
  limits = {};
  limits.host_memory = Bytes{1} << 20;
  chosen = choose_size({&suite, {}}, fast, limits);
  CHECK(chosen.size == 1 << 16);
  CHECK(chosen.limit == SizeLimit::host_memory);
  SizedDevice little = fast.front();
  little.room = Bytes{1} << 15;
  chosen = choose_size({&suite, {}}, std::vector{fast.front(), little}, {});
  CHECK(chosen.size == 1 << 12);
  CHECK(chosen.limit == SizeLimit::device_memory);
  SizedDevice slow_host = fast.front();
  slow_host.rate.host_ops_per_s = 1e5;
  chosen = choose_size({&suite, {}}, std::vector{slow_host}, {});
  CHECK(chosen.size == 1 << 19);  // 5.2 s
  CHECK(chosen.limit == SizeLimit::host_time);
  // Beyond what the suite does there is nothing to choose.
  CHECK(choose_size({&suite, {}}, std::vector{at_rate(1e12)}, {.input = ~Bytes{0}}).size ==
        1 << 30);
}

TEST_CASE("where even the smallest size is beyond a limit or the aim, that is it") {
  const SuiteInfo suite = countable();
  CHECK(choose_size({&suite, {}}, std::vector{at_rate(1)}, {}).size == 4);
  const ChosenSize chosen = choose_size({&suite, {}}, std::vector{at_rate(1e9)}, {.input = 1});
  CHECK(chosen.size == 4);
  CHECK(chosen.limit == SizeLimit::input);
}

TEST_CASE(
    "a sweep ends at the largest size and grows four times each step, from where launches are not "
    "all") {
  const SuiteInfo suite = countable();
  CHECK(sweep_sizes({&suite, {}}, std::vector{at_rate(1e6)}, 1 << 17) ==
        std::vector<std::uint64_t>{1 << 7, 1 << 9, 1 << 11, 1 << 13, 1 << 15, 1 << 17});
  CHECK(sweep_sizes({&suite, {}}, std::vector{at_rate(1)}, 16) ==
        std::vector<std::uint64_t>{4, 16});
}
