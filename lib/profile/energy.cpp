#include "lib/profile/energy.hpp"

#include <algorithm>
#include <cmath>

#include "lib/base/significance.hpp"

namespace mgpu {
namespace {

// Point of the energy used so far.
struct UsedEnergy {
  Nanos at{};
  double joules = 0;
};

// Returns where the counter advanced: between the last reading of a value and the first of the
// next.
std::vector<UsedEnergy> counter_steps(const TelemetryTrack& track) {
  std::vector<UsedEnergy> steps;
  const TelemetryReading* before = nullptr;
  for (const TelemetryReading& reading : track.readings) {
    if (!std::isfinite(reading.energy_j)) continue;
    if (before != nullptr && reading.energy_j != before->energy_j)
      steps.push_back({before->at + (reading.at - before->at) / 2, reading.energy_j});
    before = &reading;
  }
  return steps;
}

std::vector<UsedEnergy> integral_of_power(const TelemetryTrack& track) {
  std::vector<UsedEnergy> used;
  double before = 0;
  for (const TelemetryReading& reading : track.readings) {
    const double watts = reading[Gauge::power];
    if (!std::isfinite(watts)) continue;
    const double joules =
        used.empty()
            ? 0
            : used.back().joules + (before + watts) / 2 * seconds(reading.at - used.back().at);
    used.push_back({reading.at, joules});
    before = watts;
  }
  return used;
}

// Returns the energy used until then, on a line between two points.
double used_until(std::span<const UsedEnergy> used, Nanos at) {
  auto after = std::lower_bound(used.begin(), used.end(), at,
                                [](const UsedEnergy& point, Nanos t) { return point.at < t; });
  after = std::clamp(after, used.begin() + 1, used.end() - 1);
  const UsedEnergy &a = *(after - 1), &b = *after;
  return a.joules + (b.joules - a.joules) * (seconds(at - a.at) / seconds(b.at - a.at));
}

// Returns the runs that the points enclose.
std::span<const TimeWindow> enclosed(std::span<const UsedEnergy> used,
                                     std::span<const TimeWindow> runs) {
  if (used.size() < 2) return {};
  while (!runs.empty() && runs.front().begin < used.front().at) runs = runs.subspan(1);
  while (!runs.empty() && runs.back().end > used.back().at) runs = runs.first(runs.size() - 1);
  return runs;
}

Nanos mean_time(std::span<const TimeWindow> runs) {
  Nanos sum{};
  for (const TimeWindow& run : runs) sum += run.end - run.begin;
  return sum / static_cast<std::int64_t>(runs.size());
}

// Returns the energy of one of the runs, without that of the pauses between them.
double mean_energy(std::span<const UsedEnergy> used, std::span<const TimeWindow> runs,
                   double idle_w) {
  const Nanos begin = runs.front().begin, end = runs.back().end;
  const auto count = static_cast<double>(runs.size());
  return (used_until(used, end) - used_until(used, begin) - idle_w * seconds(end - begin)) / count +
         idle_w * seconds(mean_time(runs));
}

Nanos step_of(std::span<const UsedEnergy> steps) {
  return (steps.back().at - steps.front().at) / static_cast<std::int64_t>(steps.size() - 1);
}

// Returns half of the 95 % interval of the mean of parts of a block. `step`: of the counter, as a
// share of the block: of a single run that is all that is known.
double half_width_of(std::span<const double> parts, double mean, double step) {
  double squares = 0;
  const auto n = static_cast<double>(parts.size());
  if (parts.size() < 2) return step / 2 * std::abs(mean);
  for (const double part : parts) squares += (part - mean) * (part - mean);
  return student_quantile(0.05, n - 1) * std::sqrt(squares / (n * (n - 1)));
}

// Adds the energy of the runs, and its error by that of up to 8 parts of them.
void add_energy_of(std::span<const UsedEnergy> used, std::span<const TimeWindow> runs,
                   EnergyFigures& figures) {
  constexpr std::size_t kParts = 8;
  figures.joules = mean_energy(used, runs, figures.idle_w);
  figures.runs = runs.size();
  figures.run = mean_time(runs);
  std::vector<double> powers;
  const std::size_t count = std::min(kParts, runs.size());
  for (std::size_t k = 0; k < count; ++k) {
    const std::size_t from = k * runs.size() / count, to = (k + 1) * runs.size() / count;
    const auto part = runs.subspan(from, to - from);
    figures.parts.push_back(mean_energy(used, part, figures.idle_w));
    powers.push_back(figures.parts.back() / seconds(mean_time(part)));
  }
  const double step = seconds(step_of(used)) / seconds(runs.back().end - runs.front().begin);
  // Systematic errors of the method are at least a percent.
  figures.half_width = std::max(half_width_of(figures.parts, *figures.joules, step),
                                kEnergyKnown * std::abs(*figures.joules));
  const double power = *figures.joules / seconds(figures.run);
  figures.power_error = half_width_of(powers, power, step) / std::abs(power);
}

}  // namespace

std::optional<IdlePower> idle_power(const TelemetryTrack& track) {
  const auto rate = [](const std::vector<UsedEnergy>& used) {
    return (used.back().joules - used.front().joules) / seconds(used.back().at - used.front().at);
  };
  if (const auto steps = counter_steps(track); steps.size() > 2)
    return IdlePower{rate(steps), step_of(steps)};
  if (const auto power = integral_of_power(track); power.size() > 1)
    return IdlePower{rate(power), {}};
  return std::nullopt;
}

std::optional<EnergyFigures> energy_of_run(const TelemetryTrack& track,
                                           std::span<const TimeWindow> runs, double idle_w) {
  const auto steps = counter_steps(track), power = integral_of_power(track);
  const bool counted = steps.size() > 2;
  const auto& used = counted ? steps : power;
  const auto whole = enclosed(used, runs);
  if (whole.empty()) return std::nullopt;
  EnergyFigures figures;
  figures.of = track.of;
  figures.idle_w = idle_w;
  add_energy_of(used, whole, figures);
  if (!counted) return figures;
  figures.step = step_of(steps);
  if (const auto seen = enclosed(power, runs); !seen.empty())
    figures.by_power = mean_energy(power, seen, idle_w);
  return figures;
}

EnergyFigures mean_of(const EnergyFigures& first, const EnergyFigures& second) {
  EnergyFigures mean = first;
  mean.parts.insert(mean.parts.end(), second.parts.begin(), second.parts.end());
  mean.runs += second.runs;
  mean.run = (first.run + second.run) / 2;
  mean.power_error = std::hypot(first.power_error, second.power_error) / 2;
  const auto halves = [](std::optional<double> a, std::optional<double> b) {
    return a && b ? std::optional((*a + *b) / 2) : std::nullopt;
  };
  mean.by_power = halves(first.by_power, second.by_power);
  mean.joules = halves(first.joules, second.joules);
  if (mean.joules)
    mean.half_width =
        std::max(half_width_of(mean.parts, *mean.joules, 0), kEnergyKnown * std::abs(*mean.joules));
  return mean;
}

Nanos pause_before(std::size_t n, Nanos now, Nanos run, std::optional<Nanos> stepped, Nanos step) {
  // Multiples of the golden ratio, modulo 1, are spread most evenly.
  constexpr double kGolden = 0.6180339887498949;
  if (run < step / 4)
    return from_seconds(std::fmod(static_cast<double>(n * n) * kGolden, 1.0) * seconds(run));
  const double target = std::fmod(static_cast<double>(n) * kGolden, 1.0);
  const double since = stepped ? std::fmod(seconds(now - *stepped) / seconds(step), 1.0) : 0;
  return from_seconds(std::fmod(target - since + 1, 1.0) * seconds(step));
}

std::optional<Nanos> last_step(const TelemetryTrack& track) {
  const TelemetryReading* after = nullptr;
  for (auto reading = track.readings.rbegin(); reading != track.readings.rend(); ++reading) {
    if (!std::isfinite(reading->energy_j)) continue;
    if (after != nullptr && reading->energy_j != after->energy_j) return after->at;
    after = &*reading;
  }
  return std::nullopt;
}

Nanos energy_window(Nanos step) { return std::max(kLeastEnergyWindow, 10 * step); }

}  // namespace mgpu
