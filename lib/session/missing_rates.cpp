#include "lib/session/missing_rates.hpp"

#include <algorithm>
#include <utility>

#include "lib/exec/driver_call.hpp"
#include "lib/exec/leak.hpp"
#include "lib/session/kernel_variants.hpp"

namespace mgpu {
namespace {

// Handles an error of a device. Marks one that hung, or may still be at work, failed, leaks it, and
// returns false.
bool keep_or_lose(Backend& backend, SessionDevice& device, const Error& error, bool hung) {
  if (!hung && try_drain(backend, *device.open)) return true;
  device.lost = true;
  device.hung = error.kind() != ErrorKind::device;
  device.lost_why = error.what();
  ++device.failures;
  leak(std::move(device.open));
  return false;
}

// Tells whether the device failed; other errors only mean that it cannot do this problem.
bool is_fault(const Error& error) {
  return error.kind() == ErrorKind::device || error.kind() == ErrorKind::timeout;
}

// Measures the contention of all CPUs that have a rate, at once. `at`: the one that failed; null:
// none did.
void measure_contention_of(Backend& backend, Executor& executor, Workload& workload,
                           const std::string& work, std::span<SessionDevice> devices,
                           SuiteRates& rates, std::size_t turns, SessionDevice*& at) {
  std::vector<CpuAtWork> cpus;
  std::vector<SessionDevice*> who;
  for (SessionDevice& device : devices) {
    const auto rate = rates.find({work, device.facts.id});
    if (device.lost || !device.facts.is_cpu() || rate == rates.end()) continue;
    cpus.push_back({device.open.get(), &rate->second});
    who.push_back(&device);
  }
  std::optional<std::size_t> failed;
  try {
    attend(backend, nullptr,
           [&] { measure_contention(backend, executor, workload, cpus, failed, turns); });
  } catch (const Error&) {
    if (failed) at = who[*failed];
    throw;
  }
}

// Measures the rates of devices that have none. Throws Error(interrupted).
void measure_rates(Backend& backend, Executor& executor, const Problem& problem,
                   const std::map<std::string, std::string>& variants,
                   std::span<SessionDevice> devices, bool cpus, SuiteRates& rates,
                   const RateFailed& failed, std::size_t turns) {
  const std::string work = work_of(problem);
  const auto missing = [&](const SessionDevice& device) {
    return !device.lost && device.open && device.facts.is_cpu() == cpus &&
           !rates.contains({work, device.facts.id});
  };
  if (std::none_of(devices.begin(), devices.end(), missing)) return;
  ReferenceSizeWork reference;
  Bytes room = ~Bytes{0};
  for (const SessionDevice& device : devices) {
    if (missing(device)) room = std::min(room, room_on(device.facts));
  }
  const auto measure = [&](SessionDevice& device) {
    if (reference.workloads.empty())
      reference = work_of_reference_size(backend, problem, cpus, room);
    std::vector<std::string> ignored;  // the session has already warned
    for (const auto& workload : reference.workloads)
      take_variants(*workload, variants, device.open->resources().traits(), ignored);
    std::optional<SuiteRate> rate;
    attend(backend, device.open.get(), [&] {
      rate =
          measure_rate_at_reference_size(backend, executor, reference, *device.open, false, turns);
    });
    if (!rate) return;
    if (device.handicap.slows_always()) {  // rates are those of unthrottled devices
      const double slow = device.handicap.slow;
      rate->ops_per_s *= slow;
      rate->slice = from_seconds(seconds(rate->slice) / slow);
      rate->fewer = from_seconds(seconds(rate->fewer) / slow);
    }
    rates[{work, device.facts.id}] = *rate;
  };
  // Handles an error: those of `asked` that do not become idle are marked failed.
  const auto after = [&](const Error& error, std::span<SessionDevice> asked) {
    bool any = false;
    for (SessionDevice& device : asked) {
      if (device.lost || !device.open) continue;
      const bool its_own = asked.size() == 1 && is_fault(error);
      const bool kept =
          keep_or_lose(backend, device, error, its_own && error.kind() == ErrorKind::timeout);
      any |= !kept;
      if (error.kind() != ErrorKind::interrupted && (!kept || its_own)) failed(device, error);
    }
    if (any) leak(std::exchange(reference, {}).workloads);
    if (error.kind() == ErrorKind::interrupted) throw error;
  };
  for (SessionDevice& device : devices) {
    if (!missing(device)) continue;
    try {
      measure(device);
    } catch (const Error& error) {
      // The work does not fit at this size, or the device failed: predictions do without.
      after(error, {&device, 1});
    }
  }
  if (!cpus || reference.workloads.empty()) return;
  SessionDevice* at = nullptr;
  try {
    measure_contention_of(backend, executor, *reference.workloads.front(), work, devices, rates,
                          turns, at);
  } catch (const Error& error) {
    after(error, at != nullptr ? std::span(at, 1) : devices);
  }
}

}  // namespace

void measure_missing_rates(Backend& backend, Executor& executor, const Problem& problem,
                           const std::map<std::string, std::string>& variants,
                           std::span<SessionDevice> devices, SuiteRates& rates,
                           const RateFailed& failed, std::size_t turns) {
  try {
    for (const bool cpus : {false, true})
      measure_rates(backend, executor, problem, variants, devices, cpus, rates, failed, turns);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::interrupted) throw;
  }
}

void forget_cpus(std::span<const SessionDevice> devices, SuiteRates& rates) {
  for (const SessionDevice& device : devices) {
    if (device.facts.is_cpu())
      std::erase_if(rates, [&](const auto& rate) { return rate.first.second == device.facts.id; });
  }
}

}  // namespace mgpu
