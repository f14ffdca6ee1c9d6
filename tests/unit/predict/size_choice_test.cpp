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
        {{slow_host}, {}, 1 << 18, SizeLimit::host_time},  // 2.6 s
        {{fast, at_rate(1e5)}, {}, 1 << 19, SizeLimit::slow_device},
        {{fast, at_rate(1e5)}, {.slowest = milliseconds(100)}, 1 << 13, SizeLimit::slow_device},
        {{fast}, {.input = 1}, 4, SizeLimit::input}}) {
    const ChosenSize chosen = chosen_on(known.devices, known.limits);
    CHECK(chosen.size == known.size);
    CHECK(chosen.limit == known.limit);
  }
  // A constant cost is that of a busy machine.
  SizedDevice busy = at_rate(1e5);
  busy.rate.fixed = std::chrono::seconds(20);
  CHECK(chosen_on({fast, busy}).size == 1 << 19);
  CHECK(chosen_on({at_rate(1)}).size == 8);  // the least that can be split
  // The suite's largest size is the limit.
  CHECK(chosen_on({at_rate(1e12)}, {.input = ~Bytes{0}}).size == 1 << 30);
}

TEST_CASE("a size has at least eight granules per device, unless memory forbids that") {
  SuiteInfo coarse = countable();
  coarse.shape = [](const SuiteParams& params) {
    Shape made = countable().shape(params);
    made.granularity = 256;
    return made;
  };
  const std::vector slow{at_rate(1e4)};  // 0.1 s are 1,000 items
  const auto size = [&](const SizeLimits& limits) {
    return choose_size({&coarse, {}}, slow, limits).size;
  };
  CHECK(size({.devices = 1}) == 2048);
  CHECK(size({.devices = 4}) == 8192);
  CHECK(size({.input = 8 * 4096, .devices = 4}) == 1024);  // one granule per device still fits
  CHECK(size({.input = 8 * 512, .devices = 4}) == 512);    // not even that
  // The host may take longer for it.
  std::vector slow_host = slow;
  slow_host[0].rate.host_ops_per_s = 100;
  const ChosenSize chosen = choose_size({&coarse, {}}, slow_host, {.devices = 4});
  CHECK(chosen.size == 8192);
  CHECK(chosen.limit == SizeLimit::host_time);
  CHECK(chosen.beyond);
  // The items may not depend on the size.
  SuiteInfo fixed = countable();
  fixed.shape = [](const SuiteParams& params) {
    Shape made = countable().shape(params);
    made.items = 8;
    made.cost.ops = static_cast<double>(params.size) / 8;
    return made;
  };
  CHECK(choose_size({&fixed, {}}, std::vector{at_rate(1e6)}, {.devices = 4}).size == 1 << 17);
}

TEST_CASE("the constant cost that a busy machine shows does not make problems small") {
  SizedDevice busy = at_rate(1e6);
  busy.rate.fixed = milliseconds(121);
  const ChosenSize chosen = chosen_on({busy});
  CHECK(chosen.size == 1 << 17);
  CHECK(chosen.doubtful);
  CHECK_FALSE(chosen_on({at_rate(1e6)}).doubtful);
}

TEST_CASE("a small size grows until it can be split, and what cannot be says so") {
  SuiteInfo suite = countable();
  const auto pieces = [&](std::uint64_t size, std::size_t devices) {
    Problem problem{&suite, {}};
    problem.params.size = size;
    return too_few_pieces(problem, devices);
  };
  CHECK(size_to_split({&suite, {}}, 4, 2) == 16);
  CHECK(size_to_split({&suite, {}}, 100, 2) == 100);
  CHECK(size_to_split({&suite, {}}, 4, 1 << 20) == 4);  // no size that is still small
  CHECK(pieces(4, 4).empty());
  CHECK(pieces(4, 5) == "4 items are 4 pieces for 5 devices");
  suite.shape = [](const SuiteParams& params) {
    Shape made = countable().shape(params);
    made.granularity = 128;
    return made;
  };
  CHECK(pieces(16, 2) == "16 items in granules of 128 cannot be split over 2 devices");
  CHECK(pieces(16, 1).empty());
  CHECK(pieces(300, 3).empty());
  CHECK(pieces(300, 4) == "300 items in granules of 128 are 3 pieces for 4 devices");
  suite.check = nullptr;
  suite.shape = [](const SuiteParams&) {
    Shape made;
    made.items = 1;
    return made;
  };
  CHECK(pieces(4, 2) == "1 item cannot be split over 2 devices");
  CHECK(size_to_split({&suite, {}}, 4, 2) == 4);
  suite.shape = nullptr;
  CHECK(pieces(4, 8).empty());
  CHECK(size_to_split({&suite, {}}, 4, 8) == 4);
}

TEST_CASE("a sweep ends at the largest size and grows four times each step") {
  const SuiteInfo suite = countable();
  CHECK(sweep_sizes({&suite, {}}, std::vector{at_rate(1e6)}, 1 << 17) ==
        std::vector<std::uint64_t>{1 << 7, 1 << 9, 1 << 11, 1 << 13, 1 << 15, 1 << 17});
  CHECK(sweep_sizes({&suite, {}}, std::vector{at_rate(1)}, 16) ==
        std::vector<std::uint64_t>{4, 16});
}
