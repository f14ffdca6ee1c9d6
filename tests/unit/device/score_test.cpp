// The static score of devices, from their drivers' descriptions.
#include <doctest/doctest.h>

#include "lib/device/selection.hpp"
#include "tests/support/pairs.hpp"

using namespace mgpu;

namespace {

constexpr Bytes kGiB = Bytes{1} << 30;

Device h200() {
  Device d;
  d.name = "NVIDIA H200";
  d.vendor = d.platform_vendor = "NVIDIA Corporation";
  d.platform = "NVIDIA CUDA";
  d.compute_capability = 90;
  d.compute_units = 132;
  d.global_memory = 140 * kGiB;
  return d;
}

Device pocl_cpu() {
  Device d;
  d.type = DeviceType::cpu;
  d.name = "pthread-Intel(R) Xeon(R)";
  d.vendor = "GenuineIntel";
  d.platform = "Portable Computing Language";
  d.platform_vendor = "The pocl project";
  d.compute_units = 2;
  d.native_float_width = 16;
  d.global_memory = 4 * kGiB;
  d.host_unified_memory = true;
  return d;
}

// Returns a GPU that half saturates the scale: compute = units * lanes / 20 < 100.
Device small_nvidia(std::optional<std::uint32_t> capability) {
  Device d = h200();
  d.compute_units = 10;
  d.global_memory = 5 * kGiB;
  d.compute_capability = capability;
  return d;
}

}  // namespace

TEST_CASE("an H200 scores 100, a two-core PoCL processor 22.32") {
  CHECK(static_score(h200()) == doctest::Approx(100));
  // 0.4 * 10 + 0.2 * 50 + 0.2 * 40 + 0.2 * (2 * 16 / 20)
  CHECK(static_score(pocl_cpu()) == doctest::Approx(22.32));
}

TEST_CASE("NVIDIA units have 64 lanes before compute capability 8.6, except 6.1") {
  const auto with_lanes = [](double lanes) { return 40 + 20 + 10 + 0.2 * (10 * lanes / 20); };
  for (const std::uint32_t capability : {35U, 50U, 52U, 60U, 62U, 70U, 75U, 80U}) {
    CAPTURE(capability);
    CHECK(static_score(small_nvidia(capability)) == doctest::Approx(with_lanes(64)));
  }
  for (const std::uint32_t capability : {61U, 86U, 89U, 90U, 100U, 120U}) {
    CAPTURE(capability);
    CHECK(static_score(small_nvidia(capability)) == doctest::Approx(with_lanes(128)));
  }
  CHECK(static_score(small_nvidia(std::nullopt)) == doctest::Approx(with_lanes(128)));
}

TEST_CASE("AMD graphics have 64 lanes a unit, AMD processors their float width") {
  Device d = small_nvidia(std::nullopt);
  d.vendor = d.platform_vendor = "Advanced Micro Devices, Inc.";
  d.platform = "AMD Accelerated Parallel Processing";
  CHECK(static_score(d) == doctest::Approx(40 + 20 + 10 + 0.2 * 32));
  d.type = DeviceType::cpu;
  d.native_float_width = 8;
  CHECK(static_score(d) == doctest::Approx(4 + 20 + 10 + 0.2 * 4));
}

TEST_CASE("other graphics count their native float width") {
  Device d = small_nvidia(std::nullopt);
  d.vendor = "Intel(R) Corporation";
  d.platform = "Intel(R) OpenCL Graphics";
  d.platform_vendor = "Intel(R) Corporation";
  d.native_float_width = 1;
  d.host_unified_memory = true;
  CHECK(static_score(d) == doctest::Approx(20 + 20 + 10 + 0.2 * 0.5));
}

TEST_CASE("integrated, virtual, accelerator and custom devices rank below discrete graphics") {
  Device shared = h200(), on_host = shared, accelerator = shared, custom = shared;
  shared.host_unified_memory = true;
  on_host.virtualised = true;
  accelerator.type = DeviceType::accelerator;
  custom.type = DeviceType::custom;
  CHECK(static_score(shared) == doctest::Approx(80));
  for (const Device& d : {on_host, accelerator, custom})
    CHECK(static_score(d) == doctest::Approx(72));
}

TEST_CASE("the platform decides the backend points, not the device it shows") {
  for (const auto& [platform, vendor] : test::pairs_of(R"(
         Portable Computing Language = The pocl project; rusticl = Mesa/X.org; clvk = clvk
         Oclgrind = University of Bristol; Intelligent Compute = Amdahl
         Intel(R) OpenCL = Intel(R) Corporation
         AMD Accelerated Parallel Processing = Advanced Micro Devices, Inc.)")) {
    CAPTURE(platform);
    Device d = h200();
    d.platform = platform;
    d.platform_vendor = vendor;
    const bool of_vendor = platform == "Intel(R) OpenCL" || platform.starts_with("AMD");
    CHECK(static_score(d) == doctest::Approx(of_vendor ? 100 : 90));
  }
}

TEST_CASE("memory and lanes count to a hundred and no further") {
  Device d = h200();
  d.global_memory = kGiB / 2;
  d.compute_units = 0;
  CHECK(static_score(d) == doctest::Approx(40 + 20 + 1));
}

TEST_CASE("device types have the names that selectors and files use") {
  CHECK(to_string(DeviceType::gpu) == "gpu");
  CHECK(to_string(DeviceType::cpu) == "cpu");
  CHECK(to_string(DeviceType::accelerator) == "accelerator");
  CHECK(to_string(DeviceType::custom) == "custom");
}
