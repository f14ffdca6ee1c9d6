#include "lib/session/planning.hpp"

#include <algorithm>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/plan/exchange.hpp"
#include "lib/predict/predictor.hpp"
#include "lib/predict/suite_rates.hpp"

namespace mgpu {
namespace {

// Devices of the same kind are equally fast.
bool is_same_kind(const Device& a, const Device& b) {
  return a.name == b.name && a.platform == b.platform && a.compute_units == b.compute_units &&
         a.global_memory == b.global_memory;
}

// Returns the rate of the device, or of one of its kind; null if there is none.
const SuiteRate* rate_of(const SessionOptions& options, const std::string& work,
                         const Device& device) {
  const auto own = options.suite_rates.find({work, device.id});
  if (own != options.suite_rates.end()) return &own->second;
  for (const Device& other : options.devices) {
    const auto rate = options.suite_rates.find({work, other.id});
    if (is_same_kind(device, other) && rate != options.suite_rates.end()) return &rate->second;
  }
  return nullptr;
}

}  // namespace

std::optional<Uncalibrated> first_uncalibrated(const SessionOptions& options) {
  const std::string work = work_of(options.problems.front());
  for (std::size_t i = 0; i < options.devices.size(); ++i) {
    const Device& device = options.devices[i];
    const auto& known = options.calibration.devices;
    const bool has_capability = i < known.size() && known[i];
    if (!has_capability || rate_of(options, work, device) == nullptr)
      return Uncalibrated{device.id, !has_capability};
  }
  return std::nullopt;
}

std::vector<PlannedCase> plan_problem(Backend& backend, const SessionOptions& options) {
  const Problem& problem = options.problems.front();
  const std::string work = work_of(problem);
  if (const auto missing = first_uncalibrated(options))
    throw Error(ErrorKind::usage,
                "plan: " + work + " has not been measured on device " + missing->device);
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
      device.rate = rate_of(options, work, *device.facts);
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
