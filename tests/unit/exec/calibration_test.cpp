// Calibration on the fake backend: what comes out is what the devices were made with.
#include "lib/exec/calibration.hpp"

#include <doctest/doctest.h>

#include "lib/base/error.hpp"
#include "tests/support/fake_calibration.hpp"
#include "tests/support/thorough.hpp"

using namespace mgpu;
using namespace mgpu::test;

namespace {

// A launch is up to 0.25 % of a kernel that is long enough, and its time is not taken off.
doctest::Approx about(double value) { return doctest::Approx(value).epsilon(0.003); }

Capability measured(const FakeDevice& device) {
  FakeBackend backend({device}, calibration_kernels());
  return measure_capability(backend, *backend.open(device.facts));
}

std::vector<OpenDevice*> pointers(const std::vector<std::unique_ptr<OpenDevice>>& devices) {
  std::vector<OpenDevice*> all;
  for (const auto& device : devices) all.push_back(device.get());
  return all;
}

ErrorKind failure_of(FakeDevice device) {
  try {
    measured(device);
  } catch (const Error& error) {
    return error.kind();
  }
  return ErrorKind::internal;
}

}  // namespace

TEST_CASE("the rates and latencies of a device are found as they are, on a GPU and on a CPU") {
  for (const DeviceType type : {DeviceType::gpu, DeviceType::cpu}) {
    CAPTURE(to_string(type));
    const Capability found = measured(calibration_device("0:0", type));
    CHECK(found.fp32_flops == about(kFakeOps));
    CHECK(found.fp64_flops == about(kFakeOps / 2));
    CHECK(found.int32_ops == about(kFakeOps / 4));
    CHECK(found.memory_bytes_per_s == about(kFakeMemory));
    CHECK(found.pinned_up == about(2e10));
    CHECK(found.pageable_up == about(2e10));
    CHECK(found.pinned_down == about(1e10));
    CHECK(found.pageable_down == about(1e10));
    CHECK(found.launch == std::chrono::microseconds(5));
    CHECK(found.next_launch == std::chrono::microseconds(5));
  }
}

TEST_CASE("a slower device is found to be slower, by as much") {
  FakeDevice slow = calibration_device("0:0");
  slow.ops_per_s = kFakeOps / 50;
  CHECK(measured(slow).fp32_flops == about(kFakeOps / 50));
}

TEST_CASE("what a device does not have is not measured") {
  FakeDevice device = calibration_device("0:0");
  device.facts.fp64 = false;
  CHECK(measured(device).fp64_flops == 0);
}

TEST_CASE("a device that says nothing of its size is measured all the same") {
  FakeDevice device = calibration_device("0:0");
  device.facts.compute_units = 0;
  device.facts.max_work_group = 0;
  device.facts.native_float_width = 0;
  CHECK(measured(device).fp32_flops == about(kFakeOps));
}

TEST_CASE("a device that fails or hangs is an error that says which") {
  FakeDevice device = calibration_device("0:0");
  device.script = fails_from(FakeCall::launch, 10, FakeFault::Kind::error);
  CHECK(failure_of(device) == ErrorKind::device);
  device.script = fails_from(FakeCall::launch, 10, FakeFault::Kind::hang);
  CHECK(failure_of(device) == ErrorKind::timeout);
  device.script = {};
  device.facts.global_memory = Bytes{1} << 20;
  CHECK(failure_of(device) == ErrorKind::out_of_memory);
}

TEST_CASE("devices together: all bytes, over the time of the slowest") {
  std::vector<FakeDevice> specs = {calibration_device("0:0"), calibration_device("0:1"),
                                   calibration_device("0:2")};
  specs[2].up = 1e10;  // half of what the others have
  specs[2].down = 0.25e10;
  FakeBackend backend(specs, calibration_kernels());
  std::vector<std::unique_ptr<OpenDevice>> open;
  for (const FakeDevice& spec : specs) open.push_back(backend.open(spec.facts));
  const LinkCapability link = measure_link(backend, pointers(open));
  CHECK(link.up.all() == about(3 * 1e10));
  CHECK(link.down.all() == about(3 * 0.25e10));
}

TEST_CASE("what fewer devices carry together is measured for each number of them") {
  std::vector<FakeDevice> specs;
  for (const char* id :
       testing::first_when_quick(4, {"0:0", "0:1", "0:2", "0:3", "0:4", "0:5", "0:6"}))
    specs.push_back(calibration_device(id));
  const std::vector<double> together{2e10, 3.9e10, 5e10, 5.5e10, 5.2e10, 6e10, 5.8e10};
  FakeBackend backend(specs, calibration_kernels(), FakeTime::is_virtual,
                      {LinkRate(together), 1.5e10});
  std::vector<std::unique_ptr<OpenDevice>> open;
  for (const FakeDevice& spec : specs) open.push_back(backend.open(spec.facts));
  const LinkCapability link = measure_link(backend, pointers(open));
  REQUIRE(link.up.by_count().size() == specs.size());
  CHECK(link.up.of(1) == link.up.of(2));  // one is limited by its own link only
  for (std::size_t count = 2; count <= specs.size(); ++count) {
    CHECK(link.up.of(count) == about(together[count - 1]));
    CHECK(link.down.of(count) == about(1.5e10));
  }
}

TEST_CASE("of CPUs only what all carry together is measured") {
  std::vector<FakeDevice> specs;
  for (const char* id : {"0:0", "0:1", "0:2"})
    specs.push_back(calibration_device(id, DeviceType::cpu));
  FakeBackend backend(specs, calibration_kernels());
  std::vector<std::unique_ptr<OpenDevice>> open;
  for (const FakeDevice& spec : specs) open.push_back(backend.open(spec.facts));
  CHECK(measure_link(backend, pointers(open)).up.by_count().size() == 1);
}

TEST_CASE("devices together on threads of their own: never more than there is") {
  std::vector<FakeDevice> specs = {calibration_device("0:0"), calibration_device("0:1")};
  for (FakeDevice& spec : specs) spec.facts.max_allocation = Bytes{1} << 20;
  FakeBackend backend(specs, calibration_kernels(), FakeTime::is_real);
  std::vector<std::unique_ptr<OpenDevice>> open;
  for (const FakeDevice& spec : specs) open.push_back(backend.open(spec.facts));
  const LinkCapability link = measure_link(backend, pointers(open));
  CHECK(link.up.all() > 0);
  CHECK(link.up.all() <= 1.001 * 4e10);
  CHECK(link.down.all() > 0);
  CHECK(link.down.all() <= 1.001 * 2e10);
}
