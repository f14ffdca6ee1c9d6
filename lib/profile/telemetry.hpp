// Telemetry: what clocks, power, temperature and load were while samples ran. Plain readings and
// pure functions of them; who reads the hardware is in lib/measure/telemetry.hpp.
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
  utilisation,
  memory_used,
  load,
  other_load,
  other_processes,
  pcie_generation,
  pcie_width
};
inline constexpr std::size_t kGauges = 11;

struct GaugeInfo {
  Gauge gauge;
  const char* name;   // with the unit, as in files
  const char* label;  // of a track in a timeline
  double factor;      // from the unit to that of the label
};
// By Gauge. Shares are 0 to 1: `utilisation` of a GPU's time, `load` of all of the machine's cores
// by anybody, `other_load` by others than this process. `other_processes` hold memory of the GPU.
// The PCIe link is the one that it has while it works, with `pcie_width` lanes.
inline constexpr std::array<GaugeInfo, kGauges> kGaugeTable = {{
    {Gauge::clock, "clock_mhz", "clock MHz", 1},
    {Gauge::memory_clock, "memory_clock_mhz", "memory clock MHz", 1},
    {Gauge::power, "power_w", "power W", 1},
    {Gauge::temperature, "temperature_c", "temperature C", 1},
    {Gauge::utilisation, "utilisation", "utilisation %", 100},
    {Gauge::memory_used, "memory_used_bytes", "memory used MiB", 1.0 / (1 << 20)},
    {Gauge::load, "load", "load %", 100},
    {Gauge::other_load, "other_load", "other load %", 100},
    {Gauge::other_processes, "other_processes", "other processes", 1},
    {Gauge::pcie_generation, "pcie_generation", "PCIe generation", 1},
    {Gauge::pcie_width, "pcie_width", "PCIe lanes", 1},
}};

// Why a clock was held down, as bits.
namespace throttle {
inline constexpr std::uint32_t power_cap = 1, thermal = 2, power_brake = 4, hardware = 8,
                               sync_boost = 16;
}
// "power cap", "thermal", ... of the bits that are set.
std::vector<std::string> throttle_words(std::uint32_t bits);
std::uint32_t throttle_bits(const std::vector<std::string>& words);  // unknown words are left out

struct TelemetryReading {
  static constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
  Nanos at{};
  std::array<double, kGauges> values = all_unknown();
  double energy_j = unknown;  // a counter: only differences mean something
  std::uint32_t throttle = 0;

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

// Counters of energy move every 20 to 100 ms, some sample a quarter of the time, and power is an
// average over a second: over less than that the same work came out up to 137 times apart.
inline constexpr Nanos kShortestForEnergy = std::chrono::seconds(1);
inline constexpr const char* kTooShortForEnergy =
    "samples are shorter than 1 s, over which counters of energy say nothing";

struct TimeWindow {
  Nanos begin{}, end{};
};

struct GaugeFigures {
  double min = 0, mean = 0, max = 0;
};

// Of one thing during the samples of a case.
struct TelemetryFigures {
  std::string of;
  std::size_t readings = 0;  // that fell into samples
  std::array<std::optional<GaugeFigures>, kGauges> gauges{};
  std::optional<double> energy_j;  // of a sample, on average
  std::string energy_reason;       // why there is none, where the counter was read
  std::uint32_t throttle = 0;
  std::size_t throttled_samples = 0;

  const std::optional<GaugeFigures>& operator[](Gauge gauge) const {
    return gauges[static_cast<std::size_t>(gauge)];
  }
};

// A sample is described by the readings inside it, or, when it is shorter than the time between
// two, by the one nearest to its middle, at most `reach` away. Means weigh samples by their length.
// Energy is the counter's, interpolated at the ends of samples, of those that are no shorter than
// kShortestForEnergy.
TelemetryFigures summarise_telemetry(const TelemetryTrack& track,
                                     std::span<const TimeWindow> samples, Nanos reach);

// The readings that describe one sample, times counted from its begin and held within it.
std::vector<TelemetryReading> readings_of_sample(const TelemetryTrack& track,
                                                 const TimeWindow& sample, Nanos reach);

// A reading of a record: of whom, `at` since the sample's begin.
struct TelemetryPoint {
  std::string of;
  TelemetryReading reading;
};

}  // namespace mgpu
