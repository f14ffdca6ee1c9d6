// Telemetry: clocks, power, temperature and load while samples ran. Plain readings and pure
// functions of them; lib/measure/telemetry.hpp reads the hardware.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/base/units.hpp"

namespace mgpu {

enum class Gauge {
  clock,
  memory_clock,
  power,
  temperature,
  memory_temperature,
  utilisation,
  memory_used,
  load,
  other_load,
  other_processes,
  pcie_generation,
  pcie_width
};
inline constexpr std::size_t kGauges = 12;

struct GaugeInfo {
  Gauge gauge;
  const char* name;   // name with the unit, in files
  const char* label;  // name of a track in a timeline
  double factor;      // from the unit to the label's
  const char* meaning;
};
// Indexed by Gauge. Shares are 0 to 1: `utilisation` is the busy share of a GPU's time, `load` that
// of all of the machine's cores by all processes, `other_load` that by processes other than this
// one. `other_processes` counts those that hold memory of the GPU. The PCIe link is the one in use
// while the device works, with `pcie_width` lanes.
inline constexpr std::array<GaugeInfo, kGauges> kGaugeTable = {{
    {Gauge::clock, "clock_mhz", "clock MHz", 1, "clock of the cores"},
    {Gauge::memory_clock, "memory_clock_mhz", "memory clock MHz", 1, "clock of the memory"},
    {Gauge::power, "power_w", "power W", 1, "power drawn"},
    {Gauge::temperature, "temperature_c", "temperature C", 1, "temperature of the chip"},
    {Gauge::memory_temperature, "memory_temperature_c", "memory temperature C", 1,
     "temperature of the memory"},
    {Gauge::utilisation, "utilisation", "utilisation %", 100,
     "share of the time in which a GPU is busy"},
    {Gauge::memory_used, "memory_used_bytes", "memory used MiB", 1.0 / (1 << 20),
     "memory in use by all processes"},
    {Gauge::load, "load", "load %", 100, "share of the machine's cores that all processes use"},
    {Gauge::other_load, "other_load", "other load %", 100,
     "share of the machine's cores that other processes use"},
    {Gauge::other_processes, "other_processes", "other processes", 1,
     "other processes that hold memory of the GPU"},
    {Gauge::pcie_generation, "pcie_generation", "PCIe generation", 1, "of the link in use"},
    {Gauge::pcie_width, "pcie_width", "PCIe lanes", 1, "lanes in use"},
}};

// Reasons why a clock was held down, as bits.
namespace throttle {
inline constexpr std::uint32_t power_cap = 1, thermal = 2, power_brake = 4, hardware = 8,
                               sync_boost = 16;
}
// Returns "power cap", "thermal", ... for the bits that are set.
std::vector<std::string> throttle_words(std::uint32_t bits);
std::uint32_t throttle_bits(const std::vector<std::string>& words);  // ignores unknown words

struct TelemetryReading {
  static constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  Nanos at{};
  std::array<double, kGauges> values = all_unknown();
  double energy_j = unknown;  // a counter: only differences are meaningful
  std::uint32_t throttle = 0;
  bool throttle_known = false;  // whether the source tells; else `throttle` is 0

  double& operator[](Gauge gauge) { return values[static_cast<std::size_t>(gauge)]; }
  double operator[](Gauge gauge) const { return values[static_cast<std::size_t>(gauge)]; }

 private:
  static constexpr std::array<double, kGauges> all_unknown() {
    std::array<double, kGauges> all{};
    all.fill(unknown);
    return all;
  }
};

inline constexpr const char* kHost = "host";

// The readings of one thing, in order of time. `of`: a device's id, or kHost.
struct TelemetryTrack {
  std::string of;
  std::vector<TelemetryReading> readings;
};

struct TimeWindow {
  Nanos begin{}, end{};
};

struct GaugeFigures {
  double min = 0, mean = 0, max = 0;
};

// Summary for one thing during the samples of a case.
struct TelemetryFigures {
  std::string of;
  std::size_t readings = 0;  // number inside samples
  std::array<std::optional<GaugeFigures>, kGauges> gauges{};
  std::uint32_t throttle = 0;
  std::size_t throttled_samples = 0;

  const std::optional<GaugeFigures>& operator[](Gauge gauge) const {
    return gauges[static_cast<std::size_t>(gauge)];
  }
};

// Summarises a track. A sample is described by the readings inside it or, when it is shorter than
// the time between two, by the one nearest to its middle, at most `reach` away. Means weigh samples
// by their length.
TelemetryFigures summarise_telemetry(const TelemetryTrack& track,
                                     std::span<const TimeWindow> samples, Nanos reach);

// Returns the readings that describe one sample, with times since its begin, clamped to it.
std::vector<TelemetryReading> readings_of_sample(const TelemetryTrack& track,
                                                 const TimeWindow& sample, Nanos reach);

// Returns the first reading inside the sample that shows a clock held down, if the reading before
// it does not; null: there is none.
const TelemetryReading* throttling_begun(const TelemetryTrack& track, const TimeWindow& sample);

// A reading in a record: `of` whom, `at` since the sample's begin.
struct TelemetryPoint {
  std::string of;
  TelemetryReading reading;
};

}  // namespace mgpu
