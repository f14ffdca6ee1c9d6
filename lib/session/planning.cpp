#include "lib/session/planning.hpp"

#include <algorithm>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/plan/exchange.hpp"
#include "lib/predict/predictor.hpp"
#include "lib/predict/suite_rates.hpp"

namespace mgpu {
namespace {

[[noreturn]] void not_calibrated(const Device& device, const std::string& work) {
  throw Error(ErrorKind::usage,
              "plan: device " + device.id + " has not been measured with " + work +
                  "; do so first: mgpu-bench calibrate, with the same devices and options");
}

}  // namespace

std::vector<PlannedCase> plan_problem(Backend& backend, const SessionOptions& options) {
  const Problem& problem = options.problems.front();
  const std::string work = work_of(problem);
  for (std::size_t i = 0; i < options.devices.size(); ++i) {
    const bool known = i < options.calibration.devices.size() && options.calibration.devices[i];
    if (!known || !options.suite_rates.contains({work, options.devices[i].id}))
      not_calibrated(options.devices[i], work);
  }
  const std::unique_ptr<Workload> workload = make_workload(problem, options.devices);
  std::vector<std::unique_ptr<OpenDevice>> open;
  for (const Device& device : options.devices) open.push_back(backend.open(device));
  std::vector<PlannedCase> planned;
  if (SizedByDevices* const sized = workload->sized_by_devices())
    sized->set_device_count(open.size());
  const auto& link = options.calibration.link;
  for (const Mode mode : options.modes) {
    std::vector<KnownDevice> known;
    for (std::size_t i = 0; i < open.size(); ++i) {
      KnownDevice& device = known.emplace_back();
      device.facts = &options.devices[i];
      device.capability = &*options.calibration.devices[i];
      device.rate = &options.suite_rates.at({work, device.facts->id});
      device.capacity = workload->capacity(open[i]->resources().traits(), mode);
      device.free_memory = open[i]->free_memory();
    }
    Predictor predictor(*workload, mode, std::move(known), open.size(), link ? &*link : nullptr,
                        nullptr);
    predictor.time_merge(backend);
    const PeerLinks& links = options.calibration.peers;
    PeerExchange* const exchange = workload->exchange();
    const Exchanged exchanged = exchange != nullptr ? exchange->exchanged(mode) : Exchanged{};
    const std::vector<PeerPath> paths = paths_of(links);
    const auto is_asked = [&](PeerPath path) { return !options.peer || path == *options.peer; };
    // Iterative work has no choice but to exchange.
    if (exchanged.rounds > 0 ? std::all_of(paths.begin(), paths.end(), is_asked)
                             : exchanged.any() && is_worth_exchanging(paths, options.peer))
      predictor.set_exchange(
          exchange_estimate(exchanged, links,
                            std::any_of(options.handicaps.begin(), options.handicaps.end(),
                                        [](const Handicap& h) { return h.stalls(); })));
    const SetEstimates estimates = predictor.estimate_from_calibration();
    planned.push_back({mode, estimates.devices, choose_plan(predictor.request(estimates))});
  }
  return planned;
}

}  // namespace mgpu
