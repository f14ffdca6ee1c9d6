#include "lib/session/energy_block.hpp"

#include <algorithm>
#include <numbers>
#include <utility>

namespace mgpu {
namespace {

constexpr Nanos kMostEnergyTime = std::chrono::seconds(15);
constexpr double kKnown = std::numbers::sqrt2 * kEnergyKnown;
constexpr Nanos kStepIfUnknown = std::chrono::milliseconds(100);
constexpr Nanos kEnergyInterval = std::chrono::milliseconds(1);  // between two readings

void add_readings(std::vector<TelemetryTrack>& all, std::vector<TelemetryTrack> more) {
  if (all.empty()) {
    all = std::move(more);
    return;
  }
  for (std::size_t i = 0; i < all.size(); ++i)  // the first reading is the last one before
    all[i].readings.insert(all[i].readings.end(),
                           more[i].readings.begin() + (more[i].readings.empty() ? 0 : 1),
                           more[i].readings.end());
}

}  // namespace

std::optional<EnergyBlock> measure_energy(const EnergyWork& work, std::span<const IdlePower> idle,
                                          const std::vector<bool>& decides) {
  Nanos step{};
  for (const IdlePower& one : idle) step = std::max(step, one.step);
  if (step <= Nanos{}) step = kStepIfUnknown;
  std::vector<TelemetryTrack> tracks;
  std::vector<TimeWindow> runs;
  std::optional<Nanos> begin;
  Nanos paused{}, due = kEnergySettles + energy_window(step);
  const auto first =
      static_cast<std::size_t>(std::find(decides.begin(), decides.end(), true) - decides.begin());
  for (std::size_t pauses = 0;;) {
    const auto run = work.run();
    if (!run) return std::nullopt;
    if (!begin) begin = paused = run->begin;
    if (run->begin - *begin >= kEnergySettles) runs.push_back(*run);
    if (run->end - *begin >= due && runs.size() > 1) {
      add_readings(tracks, work.readings());
      EnergyBlock block{{}, {{runs.front().begin, runs.back().end}}};
      bool known = true;
      for (std::size_t i = 0; i < tracks.size(); ++i) {
        EnergyFigures& figures = block.counters.emplace_back(
            energy_of_run(tracks[i], runs, idle[i].watts).value_or(EnergyFigures{}));
        figures.of = tracks[i].of;
        if (decides[i]) known &= figures.joules && figures.power_error <= kKnown;
      }
      if (known || run->end - *begin >= kEnergySettles + kMostEnergyTime) return block;
      due = run->end - *begin + kLeastEnergyWindow / 2;
    }
    if (run->end - paused < (run->end - run->begin < step / 4 ? step * 13 / 5 : step)) continue;
    add_readings(tracks, work.readings());
    work.pause(
        pause_before(pauses++, run->end, run->end - run->begin, last_step(tracks[first]), step));
    paused = run->end;
  }
}

EnergyBlock mean_of(const EnergyBlock& first, const EnergyBlock& second) {
  EnergyBlock mean{{}, first.windows};
  mean.windows.insert(mean.windows.end(), second.windows.begin(), second.windows.end());
  for (std::size_t i = 0; i < first.counters.size(); ++i)
    mean.counters.push_back(mean_of(first.counters[i], second.counters[i]));
  return mean;
}

EnergyReader::EnergyReader(std::span<const Device> devices, const TelemetryPlaces& places,
                           std::function<Nanos()> now) {
  for (WatchedThing& thing : find_energy(devices, places)) {
    if (!of_.empty())
      counters_.push_back(thing.source == kHost || devices[of_.size() - 1].is_cpu() ? 0
                                                                                    : of_.size());
    of_.push_back(thing.of);
    reasons_.push_back(thing.reader != nullptr ? "" : thing.reason);
    auto& reader = readers_.emplace_back();
    if (thing.reader == nullptr) continue;
    std::vector<WatchedThing> one;
    one.push_back(std::move(thing));
    reader = std::make_unique<Telemetry>(std::move(one), now);
    reader->start(kEnergyInterval);
  }
}

std::vector<TelemetryTrack> EnergyReader::take() {
  std::vector<TelemetryTrack> tracks;
  for (std::size_t i = 0; i < of_.size(); ++i)
    tracks.push_back(readers_[i] ? std::move(readers_[i]->take().front())
                                 : TelemetryTrack{of_[i], {}});
  return tracks;
}

}  // namespace mgpu
