// Energy of one run of a case, from readings of a counter (or of power alone) while the case was
// executed back to back. Pure; lib/session/energy_block.hpp executes and reads.
//
// A counter advances in steps of 10 to 100 ms, and may see only a quarter of the time between two
// steps. A block therefore takes a second or more, its ends lie on a line between steps, and pauses
// between runs let each step see another part of a run; the energy of the pauses is that of idling.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/profile/telemetry.hpp"

namespace mgpu {

// Time between the beginning of a block and its first run that counts: power follows the work by up
// to a second.
inline constexpr Nanos kEnergySettles = std::chrono::milliseconds(1500);
inline constexpr Nanos kLeastEnergyWindow = std::chrono::seconds(1);
// EnergyFigures::power_error of two blocks together, at which they end.
inline constexpr double kEnergyKnown = 0.01;

// Reading of one counter in a block. Energy is that of one run, without pauses.
struct EnergyFigures {
  std::string of;                // a device's id, or kHost
  std::optional<double> joules;  // none: see reason
  double half_width = 0;         // of the 95 % interval, in J
  std::vector<double> parts;     // the same of the runs in each of 8 parts of a block
  std::size_t runs = 0;          // that the readings enclose
  Nanos run{};                   // mean time of one
  // Half-width of the interval of the power while a run is under way, as a share: what is left if
  // runs do not take equally long.
  double power_error = 0;
  double idle_w = 0;               // power before the block, with the programs in memory
  Nanos step{};                    // between two steps of the counter; 0: power was integrated
  std::optional<double> by_power;  // `joules` by the integral of the power instead of the counter
  std::string reason;
};

// Power of a thing that idles, and the time between two steps of its counter. None: no reading.
struct IdlePower {
  double watts = 0;
  Nanos step{};
};
std::optional<IdlePower> idle_power(const TelemetryTrack& track);

// Returns the energy of one of `runs`, which are in order of time; the first of them begins after
// the block has settled. None if readings enclose fewer than one of them.
std::optional<EnergyFigures> energy_of_run(const TelemetryTrack& track,
                                           std::span<const TimeWindow> runs, double idle_w);

// Returns the figures of two blocks of the same runs, each of which counts half.
EnergyFigures mean_of(const EnergyFigures& first, const EnergyFigures& second);

// Returns how long pause number `n` lasts, so that a step of the counter sees another part of the
// runs that follow than the steps before did. `stepped`: when the counter stepped last.
Nanos pause_before(std::size_t n, Nanos now, Nanos run, std::optional<Nanos> stepped, Nanos step);
// Returns when the counter was first read to have stepped to its present value.
std::optional<Nanos> last_step(const TelemetryTrack& track);

// Returns how long the runs of a block must be in total: at least a second and 10 steps of the
// counter.
Nanos energy_window(Nanos step);

}  // namespace mgpu
