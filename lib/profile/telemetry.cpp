#include "lib/profile/telemetry.hpp"

#include <algorithm>
#include <utility>

namespace mgpu {
namespace {

constexpr std::pair<std::uint32_t, const char*> kThrottleWords[] = {
    {throttle::power_cap, "power cap"},
    {throttle::thermal, "thermal"},
    {throttle::power_brake, "power brake"},
    {throttle::hardware, "hardware slowdown"},
    {throttle::sync_boost, "sync boost"}};

using Readings = std::span<const TelemetryReading>;

Nanos distance(Nanos a, Nanos b) { return a < b ? b - a : a - b; }

Readings::iterator first_from(Readings readings, Nanos at) {
  return std::lower_bound(readings.begin(), readings.end(), at,
                          [](const TelemetryReading& r, Nanos t) { return r.at < t; });
}

Readings describing(Readings readings, const TimeWindow& sample, Nanos reach) {
  const auto first = first_from(readings, sample.begin);
  auto last = first;
  while (last != readings.end() && last->at <= sample.end) ++last;
  if (first != last) return {first, last};
  const Nanos middle = sample.begin + (sample.end - sample.begin) / 2;
  const auto after = first_from(readings, middle);
  auto nearest = after;
  if (after == readings.end() ||
      (after != readings.begin() &&
       distance(std::prev(after)->at, middle) <= distance(after->at, middle))) {
    if (after == readings.begin()) return {};
    nearest = std::prev(after);
  }
  if (distance(nearest->at, middle) > reach) return {};
  return {nearest, nearest + 1};
}

struct WeightedMean {
  double sum = 0, weight = 0, min = 0, max = 0;
  void add(double value, double w) {
    min = weight > 0 ? std::min(min, value) : value;
    max = weight > 0 ? std::max(max, value) : value;
    sum += value * w;
    weight += w;
  }
};

}  // namespace

std::vector<std::string> throttle_words(std::uint32_t bits) {
  std::vector<std::string> words;
  for (const auto& [bit, word] : kThrottleWords)
    if ((bits & bit) != 0) words.emplace_back(word);
  return words;
}

std::uint32_t throttle_bits(const std::vector<std::string>& words) {
  std::uint32_t bits = 0;
  for (const auto& [bit, word] : kThrottleWords)
    if (std::find(words.begin(), words.end(), word) != words.end()) bits |= bit;
  return bits;
}

TelemetryFigures summarise_telemetry(const TelemetryTrack& track,
                                     std::span<const TimeWindow> samples, Nanos reach) {
  TelemetryFigures figures;
  figures.of = track.of;
  std::array<WeightedMean, kGauges> means;
  for (const TimeWindow& sample : samples) {
    const Readings readings = describing(track.readings, sample, reach);
    std::uint32_t bits = 0;
    for (const TelemetryReading& reading : readings) {
      const double weight =
          std::max(1e-9, seconds(sample.end - sample.begin)) / static_cast<double>(readings.size());
      for (std::size_t g = 0; g < kGauges; ++g)
        if (std::isfinite(reading.values[g])) means[g].add(reading.values[g], weight);
      bits |= reading.throttle;
      figures.readings += reading.at >= sample.begin && reading.at <= sample.end;
    }
    figures.throttle |= bits;
    figures.throttled_samples += bits != 0;
  }
  for (std::size_t g = 0; g < kGauges; ++g)
    if (means[g].weight > 0)
      figures.gauges[g] = GaugeFigures{
          means[g].min, std::clamp(means[g].sum / means[g].weight, means[g].min, means[g].max),
          means[g].max};
  return figures;
}

std::vector<TelemetryReading> readings_of_sample(const TelemetryTrack& track,
                                                 const TimeWindow& sample, Nanos reach) {
  const Readings found = describing(track.readings, sample, reach);
  std::vector<TelemetryReading> readings(found.begin(), found.end());
  for (TelemetryReading& reading : readings)
    reading.at =
        std::clamp(reading.at, sample.begin, std::max(sample.begin, sample.end)) - sample.begin;
  return readings;
}

const TelemetryReading* throttling_begun(const TelemetryTrack& track, const TimeWindow& sample) {
  const Readings all(track.readings);
  for (auto reading = first_from(all, sample.begin);
       reading != all.end() && reading->at <= sample.end; ++reading)
    if (reading->throttle != 0)
      return reading != all.begin() && (reading - 1)->throttle == 0 ? &*reading : nullptr;
  return nullptr;
}

}  // namespace mgpu
