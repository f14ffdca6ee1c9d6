// The static score of devices as their drivers describe them.
#include "lib/device/score.hpp"

#include <doctest/doctest.h>

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

// A GPU of half a unit's saturation: compute = units * lanes / 20 < 100.
Device small_nvidia(std::optional<std::uint32_t> capability) {
  Device d = h200();
  d.compute_units = 10;
  d.global_memory = 5 * kGiB;
  d.compute_capability = capability;
  return d;
}

}  // namespace

TEST_CASE("an H200 scores 100") { CHECK(static_score(h200()) == doctest::Approx(100)); }

TEST_CASE("a two-core PoCL processor scores 22.32") {
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
  Device d = h200();
  d.host_unified_memory = true;
  CHECK(static_score(d) == doctest::Approx(80));
  d.host_unified_memory = false;
  d.virtualised = true;
  CHECK(static_score(d) == doctest::Approx(72));
  d.virtualised = false;
  for (const DeviceType type : {DeviceType::accelerator, DeviceType::custom}) {
    d.type = type;
    CHECK(static_score(d) == doctest::Approx(72));
  }
}

TEST_CASE("the platform decides the backend points, not the device it shows") {
  const auto score_on = [](const char* platform, const char* vendor) {
    Device d = h200();
    d.platform = platform;
    d.platform_vendor = vendor;
    return static_score(d);
  };
  CHECK(score_on("Portable Computing Language", "The pocl project") == doctest::Approx(90));
  CHECK(score_on("rusticl", "Mesa/X.org") == doctest::Approx(90));
  CHECK(score_on("clvk", "clvk") == doctest::Approx(90));
  CHECK(score_on("Oclgrind", "University of Bristol") == doctest::Approx(90));
  CHECK(score_on("Intelligent Compute", "Amdahl") == doctest::Approx(90));
  CHECK(score_on("Intel(R) OpenCL", "Intel(R) Corporation") == doctest::Approx(100));
  CHECK(score_on("AMD Accelerated Parallel Processing", "Advanced Micro Devices, Inc.") ==
        doctest::Approx(100));
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
