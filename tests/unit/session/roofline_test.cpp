// The least time of a problem, from the measured ceilings of devices.
#include "lib/session/roofline.hpp"

#include <doctest/doctest.h>

using namespace mgpu;

namespace {

DeviceCeiling roofed_device(double int32_ops, double memory, const Demand& demand) {
  DeviceCeiling made;
  made.capability.int32_ops = int32_ops;
  made.capability.memory_bytes_per_s = memory;
  made.demand = demand;
  return made;
}

constexpr Demand mostly_integers{0, 0, 1e9, 1e9}, mostly_memory{0, 0, 1e9, 1e11};

}  // namespace

TEST_CASE("the kind of work that takes a device longest is its roof") {
  const DeviceCeiling one = roofed_device(1e12, 4e12, mostly_integers),
                      other = roofed_device(1e12, 4e12, mostly_memory);
  CHECK(ceiling_of({&one, 1}, {})->seconds == doctest::Approx(1e-3));
  CHECK(ceiling_of({&one, 1}, {})->kind == "int32");
  CHECK(ceiling_of({&other, 1}, {})->seconds == doctest::Approx(25e-3));
  CHECK(ceiling_of({&other, 1}, {})->kind == "memory");
}

TEST_CASE("devices share a problem so that all end together, each at its own roof") {
  // 1 ms and 3 ms alone: the first device gets 3 / 4 of the items. The faster device determines the
  // kind.
  const DeviceCeiling both[] = {roofed_device(1e12, 1e12, mostly_integers),
                                roofed_device(3.3e12, 1e9 / 3e-3, mostly_integers)};
  const auto ceiling = ceiling_of(both, {});
  CHECK(ceiling->seconds == doctest::Approx(0.75e-3));
  CHECK(ceiling->kind == "int32");
}

TEST_CASE("transfers hide under compute: the longer of both is the roof") {
  const DeviceCeiling one = roofed_device(1e12, 4e12, mostly_integers);
  CHECK(ceiling_of({&one, 1}, {5e6, 0, 1e10, 0})->kind == "int32");
  CHECK(ceiling_of({&one, 1}, {5e6, 0, 1e10, 0})->link.bytes_up == 5e6);
  CHECK(ceiling_of({&one, 1}, {5e7, 8e7, 1e10, 1e10})->link.bytes_down == 8e7);
  CHECK(ceiling_of({&one, 1}, {5e7, 0, 1e10, 1e10})->kind == "host link");
  CHECK(ceiling_of({&one, 1}, {5e7, 8e7, 1e10, 1e10})->seconds == doctest::Approx(8e-3));
  CHECK(ceiling_of({&one, 1}, {5e7, 0, 0, 0})->seconds ==
        doctest::Approx(1e-3));  // the link was not measured
}

TEST_CASE("without a demand, or a figure for it, there is no roof") {
  CHECK_FALSE(ceiling_of({}, {1, 1, 1, 1}));
  const DeviceCeiling nothing_asked = roofed_device(1e12, 1e12, {});
  CHECK_FALSE(ceiling_of({&nothing_asked, 1}, {}));
  const DeviceCeiling pair[] = {roofed_device(1e12, 1e12, mostly_integers),
                                roofed_device(0, 1e12, mostly_integers)};
  CHECK_FALSE(ceiling_of(pair, {}));
}
