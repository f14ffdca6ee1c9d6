// The test of memory on the fake backend.
#include "lib/measure/memory_test.hpp"

#include <doctest/doctest.h>

#include "tests/support/pattern_kernels.hpp"
#include "tests/support/refusal.hpp"

using namespace mgpu;
using namespace mgpu::test;

namespace {

constexpr Bytes kMemory = Bytes{8} << 20;

FakeDevice device_with_memory() {
  FakeDevice device;
  device.facts.id = "0:0";
  device.facts.compute_units = 1;
  device.facts.global_memory = kMemory;
  device.facts.max_allocation = kMemory / 4;
  return device;
}

MemoryTest tested(const FakeKernels& kernels, FakeDevice device, Bytes most,
                  Nanos budget = std::chrono::minutes(1)) {
  FakeBackend backend({std::move(device)}, kernels);
  const auto open = backend.open(backend.enumerate().devices.front());
  return test_memory(backend, *open, most, budget);
}

}  // namespace

TEST_CASE("all memory that is asked for is tested, in pieces, with two patterns") {
  const MemoryTest good = tested(pattern_kernels(), device_with_memory(), kMemory * 4 / 5);
  CHECK(good.bytes == kMemory * 4 / 5 / 4 * 4);
  CHECK(good.passes == 2);
  CHECK(good.wrong == 0);
  // More than there is: all that the device allocates.
  const MemoryTest all = tested(pattern_kernels(), device_with_memory(), 2 * kMemory);
  CHECK(all.bytes > kMemory / 2);
  CHECK(all.bytes < kMemory);
  const MemoryTest none = tested(pattern_kernels(), device_with_memory(), 0);
  CHECK(none.bytes == 0);
  CHECK(none.passes == 0);
}

TEST_CASE("a bit that is stuck is wrong in one of the two passes, wherever it is") {
  for (const std::uint64_t word : {0u, 4321u, 1500000u})
    CHECK(tested(pattern_kernels(word), device_with_memory(), kMemory * 4 / 5).wrong == 1);
  CHECK(tested(pattern_kernels(2000000), device_with_memory(), kMemory * 4 / 5).wrong == 0);
}

TEST_CASE("less is tested where all would take too long, but never nothing") {
  FakeDevice slow = device_with_memory();
  slow.ops_per_s = 1e6;  // a piece takes half a second
  const MemoryTest part = tested(pattern_kernels(), slow, kMemory * 4 / 5, std::chrono::seconds(4));
  CHECK(part.bytes > kMemory / 4);
  CHECK(part.bytes < kMemory * 4 / 5);
  CHECK(tested(pattern_kernels(), slow, kMemory * 4 / 5, Nanos{}).bytes == kMemory / 4);
}

TEST_CASE("a device that fails in the test is reported") {
  FakeDevice device = device_with_memory();
  device.script = fails_from(FakeCall::launch, 3, FakeFault::Kind::error);
  CHECK(kind_of_error([&] { tested(pattern_kernels(), device, kMemory); }) == ErrorKind::device);
}
