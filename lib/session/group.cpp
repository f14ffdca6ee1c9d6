// Cases of a group, and functions shared by its real and its simulated run.
#include "lib/session/group.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "lib/base/add_once.hpp"
#include "lib/base/stats.hpp"
#include "lib/exec/driver_call.hpp"
#include "lib/exec/leak.hpp"

namespace mgpu {

std::vector<Case> cases_of(const SessionOptions& options, std::size_t set) {
  std::vector<Case> cases;
  const auto add = [&](const StrategyChoice* choice, std::size_t first, std::size_t count) {
    Case& the_case = cases.emplace_back();
    the_case.choice = choice;
    the_case.devices.resize(count);
    std::iota(the_case.devices.begin(), the_case.devices.end(), first);
    the_case.asked = count;
  };
  for (std::size_t i = 0; i < set; ++i) add(nullptr, i, 1);
  for (const std::size_t count : options.device_counts) {
    for (const StrategyChoice& choice : options.strategies) {
      // A single-device strategy takes its samples from the fastest device alone.
      if (!choice.info->traits.single_device) add(&choice, 0, count);
    }
  }
  return cases;
}

const Case& fastest_alone(std::span<const Case> alone) {
  const Case* best = &alone.front();
  for (const Case& the_case : alone.subspan(1)) {
    if (the_case.times.empty()) continue;
    if (best->times.empty() || summarise(the_case.times).median < summarise(best->times).median)
      best = &the_case;
  }
  return *best;
}

void skip_unsampled(std::span<Case> cases, const std::string& why) {
  for (Case& the_case : cases) {
    the_case.closed = true;
    if (!the_case.samples.empty() || the_case.status != Status::ok) continue;
    the_case.status = Status::skipped;
    the_case.reason = why;
  }
}

void note_exchange(Report& report, const GroupResult& group) {
  for (const std::string& note : group.exchange_notes) {
    add_once(report.exchange_notes, note);
  }
}

const StrategyChoice& Case::strategy() const {
  static const StrategyChoice single = strategy_with(&StrategyTraits::single_device);
  return alone() ? single : *choice;
}

const char* kind_of(ErrorKind kind) {
  return kind == ErrorKind::timeout         ? "hang"
         : kind == ErrorKind::out_of_memory ? "out_of_memory"
                                            : "error";
}

void open_device(Backend& backend, SessionDevice& device) {
  device.open = backend.open(device.facts, device.handicap);
  attend(backend, device.open.get(), [&] { device.free_memory = device.open->free_memory(); });
}

std::size_t in_set(std::span<const SessionDevice> devices) {
  return static_cast<std::size_t>(std::count_if(
      devices.begin(), devices.end(), [](const SessionDevice& device) { return !device.reserve; }));
}

void report_failed(const SessionDevice& device, SessionObserver& observer) {
  observer.warning("device " + device.facts.id + " " + device.facts.name +
                   " disabled: " + device.lost_why);
}

std::vector<std::string> ids_of(std::span<const SessionDevice> devices,
                                std::span<const std::size_t> which) {
  std::vector<std::string> ids;
  for (const std::size_t i : which) ids.push_back(devices[i].facts.id);
  return ids;
}

GroupWorkload::~GroupWorkload() {
  if (!memory_in_use) return;
  leak(std::move(pinned));
  leak(std::move(workload));
}

}  // namespace mgpu
