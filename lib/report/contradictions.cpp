#include "lib/report/contradictions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mgpu {

namespace {

class Contradictions {
 public:
  void time(const std::string& field, Nanos is, Nanos made) {
    if (std::chrono::abs(is - made) > Nanos{1})  // older versions rounded differently
      lines.push_back(fmt::format("{}: {}; its samples have {}", field, is.count(), made.count()));
  }

  void number(const std::string& field, std::optional<double> is, double made) {
    if (!is || !std::isfinite(*is) || !std::isfinite(made)) return;
    if (std::abs(*is - made) > 1e-6 * std::abs(made))
      lines.push_back(fmt::format("{}: {}; its times make {:.9g}", field, *is, made));
  }

  std::vector<std::string> lines;
};

// Checks the speed-up. That of a set of one device is 1; before version 3 it was relative to
// another measurement of the same device.
void check_speedup(const RunRecord& run, Contradictions& found) {
  double least = 0, speeds = 0;
  for (const PerDevice& p : run.per_device) {
    if (!p.alone || *p.alone <= Nanos{}) return;
    const double tau = seconds(*p.alone);
    least = speeds > 0 ? std::min(least, tau) : tau;
    speeds += 1 / tau;
  }
  if (run.per_device.empty() || (run.per_device.size() == 1 && run.metrics.speedup == 1.0)) return;
  const double time = seconds(run.time.median);
  found.number("metrics.speedup", run.metrics.speedup, least / time);
  found.number("metrics.ideal_speedup", run.metrics.ideal_speedup, least * speeds);
  found.number("metrics.efficiency", run.metrics.efficiency, 1 / (time * speeds));
}

}  // namespace

std::vector<std::string> contradictions(const RunRecord& run) {
  Contradictions found;
  if (run.status != Status::ok || run.samples.empty()) return {};
  const Summary made = summarise(run.samples);
  if (run.time.n != made.n)
    found.lines.push_back(fmt::format("time_ns.n: {}; it has {} samples", run.time.n, made.n));
  found.time("time_ns.min", run.time.min, made.min);
  found.time("time_ns.median", run.time.median, made.median);
  found.time("time_ns.mean", run.time.mean, made.mean);
  found.time("time_ns.ci95[0]", run.time.ci95_low, made.ci95_low);
  found.time("time_ns.ci95[1]", run.time.ci95_high, made.ci95_high);
  if (run.rate > 0) found.number("rate.value", run.rate, run.work.ops / seconds(run.time.median));
  for (std::size_t i = 0; i < run.per_device.size(); ++i) {
    const PerDevice& p = run.per_device[i];
    if (p.alone && !p.alone_samples.empty())
      found.time(fmt::format("per_device[{}].alone_ns", i), *p.alone,
                 summarise(p.alone_samples).median);
  }
  check_speedup(run, found);
  return found.lines;
}

}  // namespace mgpu
