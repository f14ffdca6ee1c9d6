// A block of runs of a case that is executed only to measure energy, apart from its samples.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "lib/measure/telemetry.hpp"
#include "lib/profile/energy.hpp"

namespace mgpu {

// The work of a block, on any clock.
struct EnergyWork {
  std::function<std::optional<TimeWindow>()> run;  // executes once; none: the block is to end
  std::function<void(Nanos)> pause;
  std::function<std::vector<TelemetryTrack>()> readings;  // since the last call
};

struct EnergyBlock {
  std::vector<EnergyFigures> counters;  // in the order of the tracks
  std::vector<TimeWindow> windows;      // of the runs that count
};

// Returns the figures of two blocks of a case.
EnergyBlock mean_of(const EnergyBlock& first, const EnergyBlock& second);

// Executes until the energy of the counters for which `decides` is known to 1 % with that of
// another such block, for 15 s at most, or longer if that is fewer than two runs once it has
// settled. `idle` by track. None if `run` returned none.
std::optional<EnergyBlock> measure_energy(const EnergyWork& work, std::span<const IdlePower> idle,
                                          const std::vector<bool>& decides);

// Reads the counters of energy of the host and the devices each millisecond, by a thread per
// counter, during its lifetime.
class EnergyReader {
 public:
  EnergyReader(std::span<const Device> devices, const TelemetryPlaces& places,
               std::function<Nanos()> now);
  std::vector<TelemetryTrack> take();  // since the last call; the host, then each device
  // By track: why there is neither a counter nor power; empty: there is.
  const std::vector<std::string>& reasons() const { return reasons_; }
  // Returns the track with the energy of a device: that of a CPU is the host's.
  std::size_t counter_of(std::size_t device) const { return counters_[device]; }

 private:
  std::vector<std::string> of_, reasons_;
  std::vector<std::size_t> counters_;
  std::vector<std::unique_ptr<Telemetry>> readers_;  // null: see its reason
};

}  // namespace mgpu
