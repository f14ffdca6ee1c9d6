// Measures the power of devices at work, by a session of one case.
#include "lib/session/calibrate.hpp"
#include "lib/session/session.hpp"

namespace mgpu {
namespace {

class SilentObserver final : public SessionObserver {
 public:
  explicit SilentObserver(StopCheck stop) : stop_(std::move(stop)) {}
  void warning(std::string_view) override {}
  void progress(const Progress&) override {}
  void recorded(const Report&) override {}
  bool stop_requested() override { return stop_ && stop_(); }

 private:
  StopCheck stop_;
};

EnergyRecord energy_alone(Backend& backend, const Device& device, const Problem& problem) {
  SessionOptions options;
  options.problems = {problem};
  options.modes = {problem.suite->modes.front()};
  options.strategies = {strategy_with(&StrategyTraits::single_device)};
  options.devices = {device};
  options.device_counts = {1};
  options.stop.exactly = 1;
  options.verify = VerifyLevel::off;
  options.given_estimates.emplace().devices.resize(1);  // no probes
  options.energy = true;
  SilentObserver observer(backend.limits().stop);
  const Report report = run_session(backend, options, {}, observer);
  if (!report.complete) throw Error(ErrorKind::interrupted, "interrupted");
  for (const RunRecord& run : report.runs)
    if (run.energy) return *run.energy;
  EnergyRecord none;
  none.reason = report.runs.empty() ? "it was not measured"
                                    : report.runs.front().reason.value_or("it was not measured");
  return none;
}

}  // namespace

void calibrate_power(Backend& backend, std::span<const Device> devices,
                     std::span<const SuiteInfo> suites, const CalibrationStore& store,
                     std::vector<std::string>& warnings, const StepNotice& begins) {
  for (const SuiteInfo& suite : suites) {
    for (const Device& device : devices) {
      const Problem problem = problem_of_reference_size(default_problem(suite), device.is_cpu());
      const std::string work = work_of(problem);
      auto rate = store.load_suite(device, work, warnings);
      if (!rate || rate->busy_w > 0) continue;
      const std::string words = work_in_words(problem) + " on " + device.id;
      if (begins) begins("the power of " + words);
      try {
        const EnergyRecord energy = energy_alone(backend, device, problem);
        if (!energy.joules) {
          warnings.push_back("the power of " + words + " is not known: " + energy.reason);
          continue;
        }
        rate->busy_w = *energy.power();
        for (const EnergyFigures& one : energy.counters)
          if (one.of == (device.is_cpu() ? kHost : device.id)) rate->idle_w = one.idle_w;
        store.save_suite(device, work, *rate, warnings);
      } catch (const Error& error) {
        if (error.kind() == ErrorKind::interrupted) throw;
        warnings.push_back("the power of " + words + " is not known: " + error.what());
      }
    }
  }
}

}  // namespace mgpu
