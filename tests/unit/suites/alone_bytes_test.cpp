// The memory that a whole problem takes on one device, of suites that give a device only a part of
// it when memory is short.
#include <doctest/doctest.h>

#include "tests/support/suite_params.hpp"

using namespace mgpu;
using namespace mgpu::test;

namespace {

constexpr Bytes kMiB = Bytes{1} << 20;

DeviceTraits gpu_with(Bytes memory) {
  DeviceTraits traits;
  traits.id = "0:0";
  traits.compute_units = 8;
  traits.max_work_group = 256;
  traits.local_memory = 48 << 10;
  traits.fp64 = true;
  traits.global_memory = traits.max_allocation = memory;
  return traits;
}

std::unique_ptr<Workload> made(const char* suite, SuiteParams params, Bytes memory) {
  params.devices = 2;
  params.memory.assign(2, {memory, memory});
  return suite_named(suite).make(params);
}

}  // namespace

TEST_CASE("what a device would hold alone is what it holds with enough memory, and no less") {
  struct Known {
    const char* suite;
    std::uint64_t size;
    Options options;
    Bytes little;
    double least, most;  // bounds of the share that a device with little memory holds
  };
  // Pieces of two devices are half of the problem and halos at least; waves and parts of a domain
  // are as small as memory demands.
  const Known all[] = {{"stencil", 1024, {}, 10 * kMiB, 0.6, 0.8},
                       {"stencil", 1024, {{"kind", "star"}, {"radius", "4"}}, 13 * kMiB, 0.6, 0.8},
                       {"lbm", 48, {}, 18 * kMiB, 0.6, 0.95},
                       {"matrix", 1024, {{"axis", "tiles"}}, 6 * kMiB, 0.05, 0.4},
                       {"pinn", 256, {{"partition", "domain"}, {"parts", "4"}}, 1, 0.2, 0.95}};
  for (const Known& known : all) {
    CAPTURE(known.suite);
    CAPTURE(known.little);
    const SuiteParams params = suite_params(known.suite, known.size, known.options);
    const DeviceTraits roomy = gpu_with(1024 * kMiB);
    const auto with_room = made(known.suite, params, roomy.global_memory);
    const Bytes all_of_it = with_room->capacity(roomy, Mode::end_to_end).resident;
    CHECK(all_of_it > 0);
    CHECK(with_room->alone_bytes(roomy, Mode::end_to_end) == all_of_it);
    // Memory for three of the four parts of a domain.
    const Bytes little = known.little > 1 ? known.little : all_of_it;
    const auto without = made(known.suite, params, little);
    const Capacity part = without->capacity(gpu_with(little), Mode::end_to_end);
    CAPTURE(part.reason);
    CHECK(part.fits > 0);
    CHECK(without->alone_bytes(gpu_with(little), Mode::end_to_end) == all_of_it);
    const double held = static_cast<double>(part.resident) / static_cast<double>(all_of_it);
    CHECK(held >= known.least);
    CHECK(held <= known.most);
  }
}
