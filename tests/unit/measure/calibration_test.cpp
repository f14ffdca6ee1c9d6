// Calibration on the fake backend: it must find the figures that the devices were made with.
#include "lib/measure/calibration.hpp"

#include <doctest/doctest.h>

#include "tests/support/fake_calibration.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/thorough.hpp"

using namespace mgpu;
using namespace mgpu::test;

namespace {

// Allows a launch, which is up to 0.25 % of a long enough kernel and is not subtracted.
doctest::Approx about(double value) { return doctest::Approx(value).epsilon(0.003); }

Capability capability_of(const FakeDevice& device) {
  FakeBackend backend({device}, calibration_kernels());
  return measure_capability(backend, *backend.open(device.facts));
}

std::vector<FakeDevice> calibration_devices(std::size_t count, DeviceType type = DeviceType::gpu) {
  std::vector<FakeDevice> specs;
  for (std::size_t i = 0; i < count; ++i) {
    specs.push_back(calibration_device("0:" + std::to_string(i), type));
    specs.back().facts.max_allocation = Bytes{1} << 20;  // size of one transfer
  }
  return specs;
}

LinkCapability link_of(const std::vector<FakeDevice>& specs, FakeTime time = FakeTime::is_virtual,
                       FakeLink link = {}) {
  FakeBackend backend(specs, calibration_kernels(), time, link);
  std::vector<std::unique_ptr<OpenDevice>> open;
  std::vector<OpenDevice*> all;
  for (const FakeDevice& spec : specs) {
    open.push_back(backend.open(spec.facts));
    all.push_back(open.back().get());
  }
  return measure_link(backend, all);
}

}  // namespace

TEST_SUITE_BEGIN("one thread");

TEST_CASE("the rates and latencies of a device are found as they are, on a GPU and on a CPU") {
  for (const DeviceType type : {DeviceType::gpu, DeviceType::cpu}) {
    CAPTURE(to_string(type));
    const Capability found = capability_of(calibration_device("0:0", type));
    CHECK(found.fp32_flops == about(kFakeOps));
    CHECK(found.fp64_flops == about(kFakeOps / 2));
    CHECK(found.int32_ops == about(kFakeOps / 4));
    CHECK(found.memory_bytes_per_s == about(kFakeMemory));
    CHECK(found.pinned_up == about(kFakeUp));
    CHECK(found.pageable_up == about(kFakeUp));
    CHECK(found.pinned_down == about(kFakeDown));
    CHECK(found.pageable_down == about(kFakeDown));
    CHECK(found.launch == std::chrono::microseconds(5));
    CHECK(found.next_launch == std::chrono::microseconds(5));
  }
}

TEST_CASE("a device that is slower, lacks fp64 and says nothing of its size is measured as it is") {
  FakeDevice device = calibration_device("0:0");
  device.ops_per_s = kFakeOps / 50;
  device.facts.fp64 = false;
  device.facts.compute_units = 0;
  device.facts.max_work_group = 0;
  device.facts.native_float_width = 0;
  const Capability found = capability_of(device);
  CHECK(found.fp32_flops == about(kFakeOps / 50));
  CHECK(found.fp64_flops == 0);
}

TEST_CASE("a device that is ten thousand times as slow is measured within half a minute") {
  FakeDevice device = calibration_device("0:0");
  device.ops_per_s = kFakeOps / 1e4;
  device.facts.compute_units = 512;  // far more than it has cores to simulate them
  device.facts.max_allocation = Bytes{64} << 20;
  device.up = device.down = 1e7;
  FakeBackend backend({device}, calibration_kernels());
  const Nanos begin = backend.now();
  const Capability found = measure_capability(backend, *backend.open(device.facts));
  CHECK(found.fp32_flops == about(kFakeOps / 1e4));
  CHECK(found.memory_bytes_per_s == about(kFakeMemory / 1e4));
  CHECK(found.pinned_up == about(1e7));
  CHECK(backend.now() - begin < std::chrono::seconds(30));

  FakeDevice late = calibration_device("0:0");
  late.launch = std::chrono::milliseconds(50);
  FakeBackend other({late}, calibration_kernels());
  CHECK(measure_capability(other, *other.open(late.facts)).launch == late.launch);
  CHECK(other.now() < std::chrono::seconds(30));
}

TEST_CASE("the fp32 rate of a GPU that packs two operations is the packed one, and of CPUs none") {
  FakeKernels packing = calibration_kernels();
  // A work-item with two lanes costs as much as one with a single lane.
  packing["fp32"].ops = [plain = packing["fp32"].ops](const Grid& grid,
                                                      std::span<const FakeArg> args) {
    const Bytes lanes = std::get<std::span<std::byte>>(args[0]).size() / 4 / grid.global[0];
    return plain(grid, args) / (lanes == 2 ? 2 : 1);
  };
  for (const DeviceType type : {DeviceType::gpu, DeviceType::cpu}) {
    FakeDevice device = calibration_device("0:0", type);
    FakeBackend backend({device}, packing);
    const Capability found = measure_capability(backend, *backend.open(device.facts));
    CHECK(found.fp32_flops == about((type == DeviceType::cpu ? 1 : 2) * kFakeOps));
  }
}

TEST_CASE("a device that fails, hangs or is too small is an error of that kind") {
  const auto kind_of = [](const FakeDevice& device) {
    return thrown_by([&] { capability_of(device); }).kind();
  };
  FakeDevice device = calibration_device("0:0");
  device.script = fails_from(FakeCall::launch, 10, FakeFault::Kind::error);
  CHECK(kind_of(device) == ErrorKind::device);
  device.script = fails_from(FakeCall::launch, 10, FakeFault::Kind::hang);
  CHECK(kind_of(device) == ErrorKind::timeout);
  device.script = {};
  device.facts.global_memory = Bytes{1} << 20;
  CHECK(kind_of(device) == ErrorKind::out_of_memory);
}

TEST_CASE("devices together: all bytes, over the time of the slowest") {
  std::vector<FakeDevice> specs = calibration_devices(3);
  specs[2].up = kFakeUp / 2;
  specs[2].down = kFakeDown / 4;
  const LinkCapability link = link_of(specs);
  CHECK(link.up.all() == about(3 * kFakeUp / 2));
  CHECK(link.down.all() == about(3 * kFakeDown / 4));
}

TEST_CASE("what fewer devices carry together is measured for each number of them, not of CPUs") {
  const std::vector<double> together{2e9, 3.9e9, 5e9, 5.5e9, 5.2e9, 6e9, 5.8e9};
  const std::size_t devices = testing::is_thorough() ? 7 : 3;
  const LinkCapability link =
      link_of(calibration_devices(devices), FakeTime::is_virtual, {LinkRate(together), 1.5e9});
  REQUIRE(link.up.by_count().size() == devices);
  CHECK(link.up.of(1) == link.up.of(2));  // each is limited only by its own link
  for (std::size_t count = 2; count <= devices; ++count) {
    CHECK(link.up.of(count) == about(together[count - 1]));
    CHECK(link.down.of(count) == about(1.5e9));
  }
  CHECK(link_of(calibration_devices(3, DeviceType::cpu)).up.by_count().size() == 1);
}

TEST_SUITE_END();

TEST_CASE("devices together on threads of their own: never more than there is") {
  const LinkCapability link = link_of(calibration_devices(2), FakeTime::is_real);
  CHECK(link.up.all() > 0);
  CHECK(link.up.all() <= 1.001 * 2 * kFakeUp);
  CHECK(link.down.all() > 0);
  CHECK(link.down.all() <= 1.001 * 2 * kFakeDown);
}
