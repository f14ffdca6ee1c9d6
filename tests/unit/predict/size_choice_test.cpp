// Sizes chosen by rates, within limits, on a grid.
#include "lib/predict/size_choice.hpp"

#include <doctest/doctest.h>

#include "tests/support/refusal.hpp"
#include "tests/support/sum_suite.hpp"

using namespace mgpu;
using namespace mgpu::test;
using std::chrono::milliseconds;

namespace {

// Returns a suite with one operation and 8 bytes per item, for up to 2^30 items.
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
      throw Error(ErrorKind::usage, "--size: expected: 4 to 2^30");
  };
  return suite;
}

ChosenSize chosen_on(const std::vector<SizedDevice>& devices, const SizeLimits& limits = {}) {
  const SuiteInfo suite = countable();
  return choose_size({&suite, {}}, devices, limits);
}

SizedDevice at_rate(double ops_per_s) {
  SizedDevice device;
  device.rate.ops_per_s = ops_per_s;
  return device;
}

}  // namespace

TEST_CASE("the size is the one of the grid whose time is nearest to the aim") {
  const SuiteInfo suite = countable();
  const SizedDevice slow = at_rate(1e5), fast = at_rate(1e6);
  const ChosenSize chosen = choose_size({&suite, {}}, std::vector{slow, fast}, {});
  CHECK(chosen.size == 1 << 17);  // 131 ms; 2^16 would be 66 ms, which is further off as a ratio
  CHECK(chosen.fastest == 1);
  CHECK(seconds(chosen.expected) == doctest::Approx(0.131072));
  CHECK(chosen.limit == SizeLimit::none);
  // A slightly different rate gives the same size.
  CHECK(choose_size({&suite, {}}, std::vector{at_rate(1.05e6)}, {}).size == 1 << 17);
  // The constant costs per slice and per sample count as well.
  SizedDevice dear = fast;
  dear.rate.slice = milliseconds(20);
  dear.rate.fixed = milliseconds(15);
  CHECK(chosen_on({dear}).size == 1 << 16);
  SuiteInfo finer = suite;
  finer.sizes_per_doubling = 2;
  CHECK(choose_size({&finer, {}}, std::vector{fast}, {}).size == 3 << 15);  // 98 ms
}

TEST_CASE("each limit keeps the size down, and is named; the smallest size is below all") {
  const SizedDevice fast = at_rate(1e9);
  SizedDevice little = fast, slow_host = fast;
  little.room = Bytes{1} << 15;
  slow_host.rate.host_ops_per_s = 1e5;
  struct Known {
    std::vector<SizedDevice> devices;
    SizeLimits limits;
    std::uint64_t size;
    SizeLimit limit;
  };
  for (const Known& known :
       {Known{{fast}, {}, 1 << 27, SizeLimit::none},
        {{fast}, {.input = Bytes{1} << 20}, 1 << 17, SizeLimit::input},
        {{fast}, {.host_memory = Bytes{1} << 20}, 1 << 16, SizeLimit::host_memory},
        {{fast, little}, {}, 1 << 12, SizeLimit::device_memory},
        {{slow_host}, {}, 1 << 19, SizeLimit::host_time},  // 5.2 s
        {{fast}, {.input = 1}, 4, SizeLimit::input}}) {
    const ChosenSize chosen = chosen_on(known.devices, known.limits);
    CHECK(chosen.size == known.size);
    CHECK(chosen.limit == known.limit);
  }
  CHECK(chosen_on({at_rate(1)}).size == 4);
  // The suite's largest size is the limit.
  CHECK(chosen_on({at_rate(1e12)}, {.input = ~Bytes{0}}).size == 1 << 30);
}

TEST_CASE(
    "a size can be split over its devices and shows more than launches, however busy it was") {
  SizedDevice busy = at_rate(1e6);  // 50 us are 50 items
  busy.rate.fixed = milliseconds(121);
  const ChosenSize chosen = chosen_on({busy});
  CHECK(chosen.size == 64);
  CHECK(chosen.doubtful);
  CHECK_FALSE(chosen_on({at_rate(1e6)}).doubtful);
  SuiteInfo coarse = countable();
  coarse.shape = [](const SuiteParams& params) {
    Shape made = countable().shape(params);
    made.granularity = 256;
    return made;
  };
  CHECK(choose_size({&coarse, {}}, std::vector{busy}, {.devices = 4}).size == 1024);
}

TEST_CASE("a sweep ends at the largest size and grows four times each step") {
  const SuiteInfo suite = countable();
  CHECK(sweep_sizes({&suite, {}}, std::vector{at_rate(1e6)}, 1 << 17) ==
        std::vector<std::uint64_t>{1 << 7, 1 << 9, 1 << 11, 1 << 13, 1 << 15, 1 << 17});
  CHECK(sweep_sizes({&suite, {}}, std::vector{at_rate(1)}, 16) ==
        std::vector<std::uint64_t>{4, 16});
}
