#include "lib/session/noise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lib/plan/strategy.hpp"
#include "lib/report/comparison.hpp"
#include "lib/session/group.hpp"
#include "lib/session/watch.hpp"

namespace mgpu {
namespace {

constexpr std::size_t kTimes = 8, kFewestMedians = 4, kSamples = 5;
constexpr Nanos kMostTime = std::chrono::seconds(20);

// Reports nothing, and stops the group when a device fails: there is no figure then.
class LossObserver final : public SessionObserver {
 public:
  LossObserver(const std::vector<SessionDevice>& devices, StopCheck stop)
      : devices_(devices), stop_(std::move(stop)) {}
  void warning(std::string_view) override {}
  void progress(const Progress&) override {}
  void recorded(const Report&) override {}
  bool stop_requested() override { return !lost().empty() || (stop_ && stop_()); }
  // Returns why the first failed device failed; empty: none did.
  std::string lost() const {
    for (const SessionDevice& device : devices_)
      if (device.lost) return "device " + device.facts.id + ": " + device.lost_why;
    return {};
  }

 private:
  const std::vector<SessionDevice>& devices_;
  StopCheck stop_;
};

// Returns the first fault of a device in the group; empty: there is none.
std::string first_fault(const GroupResult& group) {
  for (const Fault& fault : group.faults) return "device " + fault.device + ": " + fault.what;
  for (const Case& the_case : group.cases)
    for (const Fault& fault : the_case.faults) return "device " + fault.device + ": " + fault.what;
  return {};
}

SessionOptions options_of(const Problem& problem, std::span<const Device> devices) {
  SessionOptions options;
  options.problems = {problem};
  options.devices.assign(devices.begin(), devices.end());
  options.device_counts = {devices.size()};
  if (devices.size() > 1) options.strategies = {strategy_with(&StrategyTraits::equal_shares)};
  options.stop.exactly = kSamples;
  options.verify = VerifyLevel::off;
  options.telemetry = TelemetryPlaces{};
  // Estimates of nothing: no probes and no predictions.
  options.given_estimates = SetEstimates{std::vector<DeviceEstimate>(devices.size()), 0, 0, {}};
  return options;
}

}  // namespace

std::optional<double> noise_of(const std::vector<std::vector<Nanos>>& kinds) {
  std::vector<double> apart;
  for (const std::vector<Nanos>& medians : kinds) {
    if (medians.size() < kFewestMedians) continue;
    for (std::size_t a = 0; a < medians.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        const auto [least, most] = std::minmax(medians[a], medians[b]);
        if (least > Nanos{}) apart.push_back(seconds(most) / seconds(least) - 1);
      }
    }
  }
  if (apart.empty()) return std::nullopt;
  std::sort(apart.begin(), apart.end());
  return apart[static_cast<std::size_t>(std::ceil(0.95 * static_cast<double>(apart.size()))) - 1];
}

std::optional<std::string> why_not_kept(const Noise& noise) {
  if (noise.share <= kMostNoise && !noise.load) return std::nullopt;
  std::string why = fmt::format("repeated medians differed by {:.0f} %", noise.share * 100);
  if (noise.share > kMostNoise) why += fmt::format(" (limit {:.0f} %)", kMostNoise * 100);
  if (noise.load) why += "; " + *noise.load;
  return why;
}

std::optional<Noise> measure_noise(Backend& backend, const Problem& problem,
                                   std::span<const Device> devices) {
  const SessionOptions options = options_of(problem, devices);
  std::vector<SessionDevice> open(devices.size());
  for (std::size_t i = 0; i < devices.size(); ++i) {
    open[i].facts = devices[i];
    open_device(backend, open[i]);
  }
  GroupWorkload used;
  used.workload = make_workload(problem, devices);
  const Mode mode = problem.suite->modes.front();
  Executor executor(backend, devices.size());
  LossObserver observer(open, backend.limits().stop);
  const SuiteRates rates;  // empty: nothing is predicted
  TelemetryRecord watched;
  Watch watch(backend, options, watched);
  std::vector<std::vector<Nanos>> kinds;
  const Nanos begin = backend.now();
  for (std::size_t time = 0; time < kTimes; ++time) {
    if (time >= kFewestMedians && backend.now() - begin > kMostTime) break;
    Digests digests;
    const GroupResult group = run_group({backend, executor, options, problem, mode, *used.workload,
                                         used.memory_in_use, open, rates, digests, observer});
    if (const std::string fault = first_fault(group); !fault.empty())
      throw Error(ErrorKind::device, fault);
    if (const std::string lost = observer.lost(); !lost.empty())
      throw Error(ErrorKind::device, lost);
    if (observer.stop_requested()) throw Error(ErrorKind::interrupted, "stopped");
    kinds.resize(group.cases.size());
    for (std::size_t k = 0; k < group.cases.size(); ++k)
      if (!group.cases[k].times.empty()) kinds[k].push_back(summarise(group.cases[k].times).median);
  }
  const std::optional<double> share = noise_of(kinds);
  if (!share) return std::nullopt;
  return Noise{*share,
               other_load(watch.take(), std::all_of(devices.begin(), devices.end(),
                                                    [](const Device& d) { return d.is_cpu(); }))};
}

}  // namespace mgpu
