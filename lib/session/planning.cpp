#include "lib/session/planning.hpp"

#include <algorithm>

#include "lib/base/error.hpp"
#include "lib/session/suite_rates.hpp"

namespace mgpu {
namespace {

[[noreturn]] void not_calibrated(const Device& device, const std::string& work) {
  throw Error(ErrorKind::usage, "plan: nothing is known of " + work + " on device " + device.id +
                                    "; measure it first: mgpu-bench calibrate, with the same devices and options");
}

// What the cached figures say, in the words of a plan. A CPU copies with the cores that compute.
DeviceEstimate estimate_of(const Device& device, const SuiteRate& rate, const Capability& capability, const ItemCost& cost,
                           Mode mode) {
  DeviceEstimate estimate;
  double per_item = cost.ops / rate.ops_per_s;
  estimate.launch = rate.slice;
  estimate.fixed = rate.fixed;
  estimate.score = device.score;
  estimate.on_cpu = device.is_cpu();
  if (mode.transfers() && device.is_cpu()) {
    if (capability.pinned_up > 0) per_item += cost.in_bytes / capability.pinned_up;
    if (capability.pinned_down > 0) per_item += cost.out_bytes / capability.pinned_down;
  } else if (mode.transfers()) {
    estimate.up = capability.pinned_up;
    estimate.down = capability.pinned_down;
    estimate.transfer = capability.launch;
  }
  estimate.items_per_s = 1 / per_item;
  return estimate;
}

}  // namespace

std::vector<PlannedCase> plan_problem(Backend& backend, const SessionOptions& options) {
  const Problem& problem = options.problems.front();
  const std::string work = work_of(problem);
  for (std::size_t i = 0; i < options.devices.size(); ++i) {
    const bool known = i < options.calibration.devices.size() && options.calibration.devices[i];
    if (!known || !options.suite_rates.contains({work, options.devices[i].id})) not_calibrated(options.devices[i], work);
  }
  const std::unique_ptr<Workload> workload = make_workload(problem, options.devices);
  std::vector<std::unique_ptr<OpenDevice>> open;
  for (const Device& device : options.devices) open.push_back(backend.open(device));
  std::vector<PlannedCase> planned;
  workload->expect(open.size());
  for (const Mode mode : options.modes) {
    PlannedCase& one = planned.emplace_back();
    one.mode = mode;
    for (std::size_t i = 0; i < open.size(); ++i) {
      const Device& device = options.devices[i];
      const Capacity capacity = workload->capacity(open[i]->resources().traits(), mode);
      const SuiteRate& rate = options.suite_rates.at({work, device.id});
      DeviceEstimate estimate = estimate_of(device, rate, *options.calibration.devices[i], workload->cost(mode), mode);
      estimate.fits = capacity.fits;
      estimate.pipeline = capacity.pipeline;
      estimate.free_memory = open[i]->free_memory();
      one.devices.push_back(estimate);
    }
    const Shape& shape = workload->shape();
    PlanRequest request{shape.items, shape.granularity, mode, workload->cost(mode), one.devices, 0, 0, workload->merge_estimate()};
    const bool all_cpus = std::all_of(options.devices.begin(), options.devices.end(), [](const Device& d) { return d.is_cpu(); });
    if (const auto& link = options.calibration.link; link && !all_cpus) {
      request.link_up = link->up;
      request.link_down = link->down;
    }
    one.choice = choose_plan(request);
  }
  return planned;
}

}  // namespace mgpu
