// The effect of a throttle (handicap) on a device's facts, and its description.
#include "lib/device/handicap.hpp"

#include <doctest/doctest.h>

using namespace mgpu;

TEST_CASE("a cap takes memory away and never adds any") {
  Device device;
  device.global_memory = 1000;
  device.max_allocation = 250;
  Handicap handicap;
  CHECK(limited(device, handicap).global_memory == 1000);
  handicap.memory_cap = 600;
  CHECK(limited(device, handicap).global_memory == 600);
  CHECK(limited(device, handicap).max_allocation == 250);
  handicap.memory_cap = 100;
  CHECK(limited(device, handicap).max_allocation == 100);
  handicap.memory_cap = 5000;
  CHECK(limited(device, handicap).global_memory == 1000);
}

TEST_CASE("a handicap is told in words, each of its parts only when it has it") {
  Handicap handicap;
  CHECK_FALSE(handicap.any());
  CHECK(in_words(handicap).empty());
  handicap.slow = 2.5;
  CHECK(in_words(handicap) == "kernels 2.5 times as long");
  handicap.slow_from_fraction = 0.5;
  CHECK(in_words(handicap) == "kernels 2.5 times as long from 50 % of the work on");
  handicap.slow_from_time = std::chrono::milliseconds(20);
  handicap.delay = std::chrono::milliseconds(1);
  handicap.memory_cap = Bytes{512} << 20;
  CHECK(in_words(handicap) ==
        "kernels 2.5 times as long from 20.0 ms on, slices 1.00 ms late, memory 512 MiB");
  CHECK(in_words({1, 0, {}, Nanos{}, Bytes{1} << 30}) == "memory 1.00 GiB");
}
