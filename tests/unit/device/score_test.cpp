// The static score of devices, from their drivers' descriptions.
#include "lib/device/score.hpp"

#include <doctest/doctest.h>

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

TEST_CASE("graphics of unknown vendors, and accelerators, count their native float width") {
  Device d = small_nvidia(std::nullopt);
  d.vendor = d.platform_vendor = d.platform = d.name = "Innosilicon";
  d.native_float_width = 4;
  CHECK(static_score(d) == doctest::Approx(40 + 10 + 10 + 0.2 * 2));
  d.vendor = d.platform_vendor = d.platform = "Intel(R) Corporation";
  d.type = DeviceType::accelerator;
  CHECK(static_score(d) == doctest::Approx(12 + 20 + 10 + 0.2 * 2));
}

namespace {

// A device with the facts that its driver reports, as public clinfo reports have them.
struct Card {
  const char *name, *vendor, *platform, *platform_vendor;
  std::uint32_t units, clock_mhz, gib;
  bool unified;
  double lanes;      // of the whole device
  double tera_fp32;  // published rate; 0: the driver reports no true clock
};

Device device_of(const Card& card) {
  Device d;
  d.name = card.name;
  d.vendor = card.vendor;
  d.platform = card.platform;
  d.platform_vendor = card.platform_vendor;
  d.compute_units = card.units;
  d.clock_mhz = card.clock_mhz;
  d.global_memory = card.gib * kGiB;
  d.host_unified_memory = card.unified;
  d.score = static_score(d);
  return d;
}

const char *const kRocm = "AMD Accelerated Parallel Processing",
                  *const kAmdInc = "Advanced Micro Devices, Inc.",
                  *const kIntelGraphics = "Intel(R) OpenCL Graphics",
                  *const kIntelCorp = "Intel(R) Corporation";

const Card kMi300x{
    "gfx942:sramecc+:xnack-", kAmdInc, kRocm, kAmdInc, 304, 2100, 191, false, 304 * 64, 163.4};
const Card kA770{"Intel(R) Arc(TM) A770 Graphics",
                 kIntelCorp,
                 kIntelGraphics,
                 kIntelCorp,
                 512,
                 2400,
                 15,
                 false,
                 4096,
                 19.66};
const Card kM2{"Apple M2", "Apple", "Apple", "Apple", 10, 1000, 10, true, 1280, 0};
const Card kMali{"Mali-G610 r0p0", "ARM", "ARM Platform", "ARM", 4, 1000, 7, true, 256, 0};

}  // namespace

TEST_CASE("a card's lanes and rate are those that its maker publishes") {
  const Card cards[] = {
      kMi300x,
      kA770,
      kM2,
      kMali,
      {"AMD Instinct MI250X", kAmdInc, kRocm, kAmdInc, 110, 1700, 63, false, 110 * 64, 47.9},
      {"gfx906:sramecc+:xnack-", kAmdInc, kRocm, kAmdInc, 60, 1801, 15, false, 3840, 13.8},
      // 96 compute units: AMD counts pairs, Mesa single ones.
      {"gfx1100", kAmdInc, kRocm, kAmdInc, 48, 2498, 23, false, 6144, 61.4},
      {"AMD Radeon RX 7900 XTX (radeonsi, navi31)", "AMD", "rusticl", "Mesa/X.org", 96, 2498, 23,
       false, 6144, 61.4},
      {"AMD Radeon RX 6900 XT", kAmdInc, kRocm, kAmdInc, 40, 2250, 15, false, 5120, 23.04},
      {"AMD Radeon RX 580", kAmdInc, kRocm, kAmdInc, 36, 1340, 7, false, 2304, 6.17},
      {"Intel(R) Arc(TM) B580 Graphics", kIntelCorp, kIntelGraphics, kIntelCorp, 160, 2670, 11,
       false, 2560, 13.67},
      {"Intel(R) Data Center GPU Max 1550", kIntelCorp, kIntelGraphics, kIntelCorp, 1024, 1600, 128,
       false, 16384, 52.43},
      {"Mesa Intel(R) Arc(tm) A770 Graphics (DG2)", "Intel", "rusticl", "Mesa/X.org", 32, 2400, 15,
       false, 4096, 19.66},
      {"Apple M1", "Apple", "Apple", "Apple", 8, 1278, 5, true, 1024, 2.6},
      {"Mali-G78 r1p1", "ARM", "ARM Platform", "ARM", 20, 848, 7, true, 640, 0},
      {"QUALCOMM Adreno(TM) X1-85", "QUALCOMM", "QUALCOMM Snapdragon(TM)", "QUALCOMM", 6, 1500, 7,
       true, 1536, 4.6}};
  for (const Card& card : cards) {
    CAPTURE(card.name);
    const Device device = device_of(card);
    const bool own = device.platform != "rusticl";
    CHECK(static_score(device) == doctest::Approx((card.unified ? 20 : 40) + (own ? 20 : 10) +
                                                  0.2 * std::min(100.0, 10.0 * card.gib) +
                                                  0.2 * std::min(100.0, card.lanes / 20)));
    if (card.tera_fp32 > 0)
      CHECK(nominal_fp32(device) == doctest::Approx(card.tera_fp32 * 1e12).epsilon(0.02));
  }
}

TEST_CASE("the larger card is listed first, also where the score of both is 100") {
  const Device order[] = {device_of(kMi300x), device_of(kA770), device_of(kM2), device_of(kMali)};
  CHECK(order[0].score == order[1].score);
  for (std::size_t i = 0; i < std::size(order); ++i)
    for (std::size_t k = 0; k < std::size(order); ++k) {
      CAPTURE(i);
      CAPTURE(k);
      CHECK(ranks_before(order[i], order[k]) == (i < k));
    }
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
