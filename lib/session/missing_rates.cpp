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

// Selects the problem that rates are measured with, and the devices.
struct RateRequest {
  const Problem& problem;
  const std::map<std::string, std::string>& variants;
  std::optional<std::uint64_t> size = {};  // none: the reference size
  bool one_of_a_kind = false;              // only of the first of equal devices
  bool with_host = false;
  VerifyLevel verify = VerifyLevel::full;
  std::size_t turns = 0;
};

ReferenceSizeWork make_work(Backend& backend, const RateRequest& request, bool cpus, Bytes room) {
  ReferenceSizeWork work = request.size
                               ? work_of_size(backend, request.problem, *request.size, cpus)
                               : work_of_reference_size(backend, request.problem, cpus, room);
  work.verify = request.verify;
  return work;
}

// Tells whether no device before this one is of its kind and in use.
bool is_first_of_kind(std::span<const SessionDevice> devices, const SessionDevice& device) {
  return std::none_of(devices.begin(), devices.end(), [&](const SessionDevice& other) {
    return &other < &device && !other.lost && other.open && same_kind(other.facts, device.facts);
  });
}

// Measures the rates of devices that have none. Throws Error(interrupted).
void measure_rates(Backend& backend, Executor& executor, const RateRequest& request,
                   std::span<SessionDevice> devices, bool cpus, SuiteRates& rates,
                   const RateFailed& failed) {
  const std::string work = request.size ? work_of(problem_of_reference_size(request.problem, cpus))
                                        : work_of(request.problem);
  const auto missing = [&](const SessionDevice& device) {
    return !device.lost && device.open && device.facts.is_cpu() == cpus &&
           !rates.contains({work, device.facts.id}) &&
           (!request.one_of_a_kind || is_first_of_kind(devices, device));
  };
  if (std::none_of(devices.begin(), devices.end(), missing)) return;
  ReferenceSizeWork reference;
  Bytes room = ~Bytes{0};
  for (const SessionDevice& device : devices) {
    if (missing(device)) room = std::min(room, room_on(device.facts));
  }
  const auto measure = [&](SessionDevice& device) {
    if (reference.workloads.empty()) reference = make_work(backend, request, cpus, room);
    std::vector<std::string> ignored;  // the session has already warned
    for (const auto& workload : reference.workloads)
      take_variants(*workload, request.variants, device.open->resources().traits(), ignored);
    std::optional<SuiteRate> rate;
    attend(backend, device.open.get(), [&] {
      rate = measure_rate_at_reference_size(backend, executor, reference, *device.open,
                                            request.with_host, request.turns);
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
  if (request.one_of_a_kind) {
    for (const SessionDevice& device : devices) {
      const auto like = std::find_if(devices.begin(), devices.end(), [&](const SessionDevice& d) {
        return same_kind(d.facts, device.facts) && rates.contains({work, d.facts.id});
      });
      if (like != devices.end())
        rates.emplace(std::pair(work, device.facts.id), rates.at({work, like->facts.id}));
    }
  }
  if (!cpus || reference.workloads.empty()) return;
  SessionDevice* at = nullptr;
  try {
    measure_contention_of(backend, executor, *reference.workloads.front(), work, devices, rates,
                          request.turns, at);
  } catch (const Error& error) {
    after(error, at != nullptr ? std::span(at, 1) : devices);
  }
}

}  // namespace

void measure_missing_rates(Backend& backend, Executor& executor, const Problem& problem,
                           const std::map<std::string, std::string>& variants,
                           std::span<SessionDevice> devices, SuiteRates& rates,
                           const RateFailed& failed, std::size_t turns) {
  const RateRequest request{.problem = problem, .variants = variants, .turns = turns};
  try {
    for (const bool cpus : {false, true})
      measure_rates(backend, executor, request, devices, cpus, rates, failed);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::interrupted) throw;
  }
}

std::uint64_t size_by_trials(Backend& backend, Executor& executor, const Problem& problem,
                             const std::map<std::string, std::string>& variants,
                             std::span<SessionDevice> devices, const SizeLimits& limits,
                             VerifyLevel verify, SuiteRates& rates, const RateFailed& failed) {
  constexpr int kMostTrials = 4;
  constexpr double kRepresentative = 8;  // a trial this much shorter than the aim tells the rate
  constexpr std::size_t kTurns = 3;
  std::vector<Device> facts;
  for (const SessionDevice& device : devices) facts.push_back(device.facts);
  // Small problems keep a CPU busy, but not a GPU.
  const bool only_cpus =
      std::all_of(facts.begin(), facts.end(), [](const Device& d) { return d.is_cpu(); });
  const auto own = own_problem(problem);
  const std::uint64_t quick = own ? own->quick_size : problem.suite->quick_size;
  const std::uint64_t least = only_cpus ? 1 : quick;
  std::uint64_t size = only_cpus ? problem_of_reference_size(problem, true).params.size : quick;
  SuiteRates found;
  for (int trial = 0;; ++trial) {
    SuiteRates now;
    const RateRequest request{.problem = problem,
                              .variants = variants,
                              .size = size,
                              .one_of_a_kind = true,
                              .with_host = true,
                              .verify = verify,
                              .turns = kTurns};
    for (const bool cpus : {false, true})
      measure_rates(backend, executor, request, devices, cpus, now, failed);
    if (!now.empty()) found = std::move(now);
    const std::vector<SizedDevice> sized = sized_devices(problem, facts, found);
    if (sized.empty()) break;
    const ChosenSize chosen = choose_size(problem, sized, limits);
    const bool known = time_of_size(problem, size, sized) * kRepresentative >= limits.aim;
    // The host may have compiled kernels in the first trial, or take as long for larger problems:
    // boxes of lbm are verified in 0.2 s, however many cells there are.
    const bool doubtful = trial == 0 && chosen.limit == SizeLimit::host_time;
    const bool last = (!doubtful && (chosen.size <= size || known)) || trial + 1 == kMostTrials;
    size = std::max(chosen.size, doubtful ? next_size(problem, size) : least);
    if (last) break;
  }
  rates = std::move(found);
  return size;
}

void forget_cpus(std::span<const SessionDevice> devices, SuiteRates& rates) {
  for (const SessionDevice& device : devices) {
    if (device.facts.is_cpu())
      std::erase_if(rates, [&](const auto& rate) { return rate.first.second == device.facts.id; });
  }
}

}  // namespace mgpu
