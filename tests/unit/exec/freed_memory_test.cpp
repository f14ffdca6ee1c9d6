// Memory of freed buffers: what is kept, reused and evicted, on its own and on a fake device.
#include "lib/exec/freed_memory.hpp"

#include <doctest/doctest.h>

#include "lib/base/error.hpp"
#include "tests/support/sum_sample.hpp"

using namespace mgpu;
using namespace mgpu::test;

TEST_CASE("kept memory is reused by size, and evicted from the oldest on") {
  FreedMemory<int> memory;
  memory.add(10);
  memory.remove(10);
  CHECK(memory.put(1, 10) == 1);  // nothing is kept yet
  CHECK(memory.kept() == 0);
  memory.keep(true);
  for (const auto& [handle, size] : {std::pair{2, 10}, {3, 20}, {4, 10}}) {
    memory.add(static_cast<Bytes>(size));
    memory.remove(static_cast<Bytes>(size));
    CHECK_FALSE(memory.put(handle, static_cast<Bytes>(size)));
  }
  CHECK(memory.kept() == 40);
  CHECK_FALSE(memory.take(15));
  CHECK(memory.take(10) == 2);
  memory.add(10);
  CHECK(memory.in_use() == 10);
  CHECK(memory.kept() == 30);
  CHECK(memory.evict_to(30).empty());
  CHECK(memory.evict_to(10) == std::vector<int>{3});
  const MemoryPeak peak = memory.take_peak();
  CHECK(peak.bytes == 40);
  CHECK(peak.reused == 1);
  CHECK(peak.evicted == 1);
  const MemoryPeak since = memory.take_peak();
  CHECK(since.bytes == 20);  // 10 in use and 10 kept
  CHECK((since.reused == 0 && since.evicted == 0));
}

TEST_CASE("a device with a pool reuses freed buffers, and gives them up when memory is short") {
  FakeDevice fake = fake_device("0:0");
  fake.facts.global_memory = fake.facts.max_allocation = 100;
  FakeBackend backend({fake}, {});
  Handicap pool;
  pool.keeps_freed = true;
  for (const bool keeps : {true, false}) {
    CAPTURE(keeps);
    const auto device = backend.open(fake.facts, keeps ? pool : Handicap{});
    DeviceResources& resources = device->resources();
    resources.allocate(40);
    resources.allocate(40);  // the same memory
    auto large = resources.allocate(70);
    CHECK(device->free_memory() == 30);
    CHECK_THROWS_AS(resources.allocate(40), Error);
    large.reset();
    const SetupCost cost = device->take_setup_cost();
    CHECK(cost.allocated == 0);
    CHECK(cost.memory.bytes == 70);
    CHECK(cost.memory.reused == (keeps ? 1 : 0));
    CHECK(cost.memory.evicted == (keeps ? 1 : 0));
    CHECK(device->free_memory() == 100);  // kept memory is as good as free
  }
}
