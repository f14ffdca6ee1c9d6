// See the header.
#include "lib/session/suite_rates.hpp"

#include <algorithm>

#include "lib/session/group.hpp"
#include "lib/session/probe.hpp"

namespace mgpu {
namespace {

// Whatever changes the work of an item; its size and its data do not.
std::string key_of(const Problem& problem) {
  std::string key = problem.suite->name;
  for (const auto& [name, value] : problem.params.options) key += ' ' + name + '=' + value;
  return key;
}

bool needs_rate(const SessionDevice& device) { return !device.lost && !device.facts.is_cpu(); }

double rate_of(Backend& backend, Executor& executor, Workload& workload, OpenDevice& device, std::optional<Nanos> timeout) {
  const Capacity capacity = workload.capacity(device.resources().traits(), Mode::resident);
  if (capacity.fits < workload.shape().items) return 0;
  const auto program = workload.program(device.resources(), DeviceIndex{0}, Mode::resident, capacity);
  program->load(device.stream());
  settle(backend, device, device.submit(), timeout);
  const Member member{&device, program.get()};
  const Probe probe = run_probe(backend, executor, workload, {&member, 1}, {.share = 1, .most = capacity.fits}, timeout);
  if (probe.devices.empty() || !(probe.devices.front().compute.per_item_s > 0)) return 0;
  return workload.shape().cost.ops / probe.devices.front().compute.per_item_s;
}

}  // namespace

double SuiteRates::find(const Problem& problem, const std::string& device) const {
  const auto at = rates_.find({key_of(problem), device});
  return at == rates_.end() ? 0 : at->second;
}

void SuiteRates::set(const Problem& problem, const std::string& device, double ops_per_s) {
  rates_[{key_of(problem), device}] = ops_per_s;
}

void measure_suite_rates(Backend& backend, Executor& executor, const Problem& problem, std::span<SessionDevice> devices,
                         std::optional<Nanos> timeout, SuiteRates& rates) {
  const auto missing = [&](const SessionDevice& device) {
    return needs_rate(device) && !(rates.find(problem, device.facts.id) > 0);
  };
  if (std::none_of(devices.begin(), devices.end(), missing)) return;
  SuiteParams params = problem.params;
  params.size = problem.suite->default_size;
  params.input.reset();
  try {
    const std::unique_ptr<Workload> workload = problem.suite->make(params);
    for (SessionDevice& device : devices) {
      if (missing(device)) rates.set(problem, device.facts.id, rate_of(backend, executor, *workload, *device.open, timeout));
    }
  } catch (const Error&) {
    // Not this suite at this size, or not on this device: predictions do without.
  }
}

}  // namespace mgpu
