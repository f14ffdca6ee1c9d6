// The management library, replaced by tests/support/fake_nvml.cpp: how GPUs are found, and what
// happens without it.
#include "lib/opencl/nvml.hpp"

#include <doctest/doctest.h>

#include "tests/support/paths.hpp"

using namespace mgpu;

namespace {

Device nvml_device(std::optional<std::string> uuid, std::optional<std::string> pci) {
  Device d;
  d.uuid = std::move(uuid);
  d.pci = std::move(pci);
  return d;
}

}  // namespace

TEST_CASE("free memory is found by UUID, of a GPU or a part of one, else by PCI address") {
  const auto nvml = Nvml::load(test::fake_nvml_library());
  REQUIRE(nvml);
  CHECK(nvml->free_memory(nvml_device("8912fe00-0000-0000-0000-000000000000", std::nullopt)) ==
        Bytes{600});
  CHECK(nvml->free_memory(nvml_device("8912fe00-0000-0000-0000-000000000001", "0000:1a:00.0")) ==
        Bytes{30});
  CHECK(nvml->free_memory(nvml_device("unknown", "0000:1a:00.0")) == Bytes{600});
  CHECK(nvml->free_memory(nvml_device(std::nullopt, "0000:1a:00.0")) == Bytes{600});
  CHECK_FALSE(nvml->free_memory(nvml_device(std::nullopt, "0000:1b:00.0")));
  CHECK_FALSE(nvml->free_memory(nvml_device(std::nullopt, std::nullopt)));
}

TEST_CASE("settings are those of the GPU, also of a part of one; the link is as it is now") {
  const auto nvml = Nvml::load(test::fake_nvml_library());
  REQUIRE(nvml);
  for (const char* uuid :
       {"8912fe00-0000-0000-0000-000000000000", "8912fe00-0000-0000-0000-000000000001"}) {
    const DeviceState state = nvml->state(nvml->find(nvml_device(uuid, std::nullopt)));
    std::string all;
    for (const SettingInfo& info : kSettingTable)
      if (const auto& value = state[info.setting])
        all += std::string(info.name) + " " + in_words(info, *value) + "; ";
    CHECK(all ==
          "power_limit_w 500 W; clock_max_mhz 1990 MHz; memory_clock_max_mhz 3300 MHz; "
          "application_clock_mhz 1500 MHz; application_memory_clock_mhz 3200 MHz; "
          "pcie_generation_max 5; pcie_width_max 16; nvlinks_active 5; ecc on; mig off; "
          "persistence on; throttle idle, power cap, thermal, hardware slowdown; ");
  }
  const auto link = nvml->pcie_link(nvml->find(nvml_device(std::nullopt, "0000:1a:00.0")));
  CHECK(link.generation == 1);
  CHECK(link.width == 8);
}

TEST_CASE("a library that is missing, or another one, is not a library") {
  CHECK(Nvml::load("libno-such-library.so.1") == nullptr);
  CHECK(Nvml::load("libm.so.6") == nullptr);
}
