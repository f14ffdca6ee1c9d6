// The settings that a device works under and that somebody may change between two runs, or during
// one: limits of power and clocks, its links, ECC. One table describes them; files, comparisons and
// warnings follow from it.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace mgpu {

enum class Setting {
  power_limit,
  clock_max,
  memory_clock_max,
  application_clock,
  application_memory_clock,
  pcie_generation_max,
  pcie_width_max,
  nvlinks_active,
  ecc,
  mig,
  persistence,
  governor,
  boost,
  throttle
};
inline constexpr std::size_t kSettings = 14;

// A number in the unit of its setting, on or off, or a word.
using SettingValue = std::variant<double, bool, std::string>;

struct SettingInfo {
  // How a difference between two results matters. decisive: they are not compared unless asked
  // to; noted: the difference is reported; never: ignored, as the value is of one moment.
  enum class Matters { decisive, noted, never };
  Setting setting;
  const char* name;   // with the unit, as in files
  const char* label;  // for people
  const char* unit;   // "W"; empty: none
  std::size_t type;   // the index of its SettingValue
  Matters matters;
};

// Table of settings, indexed by Setting. The current PCIe generation and width are not in it,
// because idle GPUs slow their links down; telemetry reads them while samples run.
inline constexpr std::array<SettingInfo, kSettings> kSettingTable = {{
    {Setting::power_limit, "power_limit_w", "power limit", "W", 0, SettingInfo::Matters::decisive},
    {Setting::clock_max, "clock_max_mhz", "highest clock", "MHz", 0,
     SettingInfo::Matters::decisive},
    {Setting::memory_clock_max, "memory_clock_max_mhz", "highest memory clock", "MHz", 0,
     SettingInfo::Matters::decisive},
    {Setting::application_clock, "application_clock_mhz", "application clock", "MHz", 0,
     SettingInfo::Matters::decisive},
    {Setting::application_memory_clock, "application_memory_clock_mhz", "application memory clock",
     "MHz", 0, SettingInfo::Matters::decisive},
    {Setting::pcie_generation_max, "pcie_generation_max", "highest PCIe generation", "", 0,
     SettingInfo::Matters::decisive},
    {Setting::pcie_width_max, "pcie_width_max", "PCIe lanes", "", 0,
     SettingInfo::Matters::decisive},
    {Setting::nvlinks_active, "nvlinks_active", "active NVLinks", "", 0,
     SettingInfo::Matters::decisive},
    {Setting::ecc, "ecc", "ECC", "", 1, SettingInfo::Matters::decisive},
    {Setting::mig, "mig", "MIG mode", "", 1, SettingInfo::Matters::decisive},
    {Setting::persistence, "persistence", "persistence mode", "", 1, SettingInfo::Matters::noted},
    {Setting::governor, "governor", "frequency governor", "", 2, SettingInfo::Matters::decisive},
    {Setting::boost, "boost", "clock boost", "", 1, SettingInfo::Matters::decisive},
    {Setting::throttle, "throttle", "why its clock is held down", "", 2,
     SettingInfo::Matters::never},
}};

// Values of a device's settings. A setting that is not known has no value.
struct DeviceState {
  std::array<std::optional<SettingValue>, kSettings> values;

  std::optional<SettingValue>& operator[](Setting s) { return values[static_cast<std::size_t>(s)]; }
  const std::optional<SettingValue>& operator[](Setting s) const {
    return values[static_cast<std::size_t>(s)];
  }
  bool operator==(const DeviceState&) const = default;
};

// Returns the value for people: "500 W", "on", "performance".
std::string in_words(const SettingInfo& info, const SettingValue& value);

struct SettingChange {
  const SettingInfo* info = nullptr;
  std::string before, after;  // as in_words() has them
};
// Returns the settings that matter, are known in both states and differ.
std::vector<SettingChange> setting_changes(const DeviceState& before, const DeviceState& after);

}  // namespace mgpu
