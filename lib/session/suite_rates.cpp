#include "lib/session/suite_rates.hpp"

#include <algorithm>
#include <cmath>
#include <thread>
#include <utility>

#include "lib/exec/leak.hpp"
#include "lib/session/group.hpp"
#include "lib/session/kernel_variants.hpp"
#include "lib/session/probe.hpp"

namespace mgpu {
namespace {

// On an H200 the line through 2^18 and 2^20 terms of msm says what 2^22 take, within 1 %; 2^16 take 20 % more than it says.
constexpr std::uint64_t kSmaller = 4;
constexpr double kMostContention = 2;  // more is not the others' doing
constexpr double kSteeper = 1.3;       // than the average of the larger: noise beyond that

// Programs on some devices. After an error, those whose device may still be at work are leaked.
class Programs {
 public:
  explicit Programs(Backend& backend) : backend_(backend) {}
  void add(Workload& workload, OpenDevice& device, const Capacity& capacity) {
    all_.push_back(workload.program(device.resources(), Mode::resident, capacity));
    members_.push_back({&device, all_.back().get()});
  }
  std::span<const Member> members() const { return members_; }
  template <class Run>
  void guard(const Run& run) {
    try {
      run();
    } catch (...) {
      for (std::size_t i = 0; i < all_.size(); ++i) {
        if (!try_drain(backend_, *members_[i].device)) leak(std::move(all_[i]));
      }
      throw;
    }
  }

 private:
  Backend& backend_;
  std::vector<std::unique_ptr<DeviceProgram>> all_;
  std::vector<Member> members_;
};

Probe refuse_faults(Probe probe) {
  for (const DeviceFault& fault : probe.faults) throw Error(fault.kind, fault.what);
  return probe;
}

void load(Backend& backend, const Member& member) {
  member.program->load(member.device->stream());
  finish_batch(backend, *member.device, member.device->submit());
}

}  // namespace

std::string work_of(const Problem& problem) {
  std::string work = problem.suite->name;
  for (const SuiteOption& option : problem.suite->options) {
    const auto given = problem.params.options.find(option.name);
    if (option.kind == SuiteOption::Kind::name && given != problem.params.options.end())
      work += ' ' + option.name + '=' + given->second;
  }
  return work;
}

Problem problem_of_reference_size(const Problem& like, bool cpu, Bytes most) {
  const SuiteInfo& suite = *like.suite;
  if (cpu) {
    Problem reference = problem_of_size(like, suite.full_size_cpu > 0 ? suite.full_size_cpu : suite.quick_size);
    reference.params.cpus = true;
    return reference;
  }
  Problem reference = problem_of_size(like, suite.full_size > 0 ? suite.full_size : suite.default_size);
  if (suite.host_bytes == nullptr || reference.params.size == 0) return reference;
  while (suite.host_bytes(reference.params) < suite.full_bytes) {
    Problem larger = problem_of_size(like, 2 * reference.params.size);
    if (suite.host_bytes(larger.params) > most) break;
    reference = std::move(larger);
  }
  return reference;
}

Bytes room_on(const Device& device) { return std::min(device.max_allocation, device.global_memory / 4); }

Problem problem_of_size(const Problem& like, std::uint64_t size) {
  const SuiteInfo& suite = *like.suite;
  Problem problem{&suite, {}};
  problem.params.size = size;
  problem.params.host_threads = std::max(1u, std::thread::hardware_concurrency());
  for (const SuiteOption& option : suite.options) {
    const auto given = like.params.options.find(option.name);
    const bool taken_over = option.kind == SuiteOption::Kind::name && given != like.params.options.end();
    problem.params.options[option.name] = taken_over ? given->second : option.values.front();
  }
  if (suite.resolve != nullptr) suite.resolve(problem.params);
  return problem;
}

std::optional<SuiteRate> measure_suite_rate(Backend& backend, Executor& executor, Workload& workload, OpenDevice& device,
                                            const std::function<void(DeviceProgram&)>& look) {
  const Capacity capacity = workload.capacity(device.resources().traits(), Mode::resident);
  if (capacity.fits < workload.shape().items) return std::nullopt;
  Programs programs(backend);
  programs.add(workload, device, capacity);
  const ProbeSize whole_problem{1, capacity.fits, {}};
  Probe probe;
  programs.guard([&] {
    load(backend, programs.members().front());
    refuse_faults(run_probe(backend, executor, workload, programs.members(), {0.05, capacity.fits, {}}));  // warms up
    probe = refuse_faults(run_probe(backend, executor, workload, programs.members(), whole_problem));
    if (look && !probe.devices.empty()) look(*programs.members().front().program);
  });
  if (probe.devices.empty()) return std::nullopt;
  const double ops = workload.cost(Mode::resident).ops;  // of one device: known from the executor
  const DeviceEstimate estimate = estimate_of(probe, 0, workload.shape().cost, Mode::resident, {});
  if (!(estimate.items_per_s > 0)) return std::nullopt;
  const Nanos whole = probe.devices.front().kernels.at_large;
  SuiteRate rate;
  rate.ops_per_s = ops * estimate.items_per_s;
  rate.slice = estimate.launch;
  rate.fixed = estimate.fixed;
  if (!(device.resources().traits().cpu || workload.shape().parts_cost_less) || whole <= Nanos{}) return rate;
  // The whole as it is. A line through it and a part of it says something else: parts leave cores of a CPU idle, which makes it
  // flatter; fewer terms of msm share a bucket, which makes it steeper.
  rate.ops = ops * static_cast<double>(probe.items);
  rate.ops_per_s = rate.ops / seconds(whole);
  rate.fixed = probe.fixed;
  rate.whole = whole;
  return rate;
}

SuiteRate line_through(const SuiteRate& smaller, SuiteRate larger) {
  const double longer = seconds(larger.whole), shorter = seconds(smaller.whole), more = larger.ops - smaller.ops;
  if (!(more > 0) || !(longer > shorter)) return larger;  // noise
  const double rate = std::min(more / (longer - shorter), kSteeper * larger.ops_per_s);
  larger.slice = from_seconds(std::max(0.0, longer - larger.ops / rate));
  larger.ops_per_s = std::max(rate, larger.ops_per_s);
  larger.fewer_ops = smaller.ops;
  larger.fewer = smaller.whole;
  if (smaller.fixed > Nanos{} && larger.fixed > smaller.fixed)
    larger.fixed_grows =
        std::min(1.0, std::log(seconds(larger.fixed) / seconds(smaller.fixed)) / std::log(larger.ops / smaller.ops));
  return larger;
}

ReferenceSizeWork work_of_reference_size(const Problem& like, bool cpu, Bytes most) {
  const Problem reference = problem_of_reference_size(like, cpu, most);
  ReferenceSizeWork work;
  work.push_back(reference.suite->make(reference.params));
  if (!work.front()->shape().parts_cost_less) return work;
  Problem smaller = problem_of_size(like, std::max<std::uint64_t>(1, reference.params.size / kSmaller));
  smaller.params.cpus = cpu;
  work.push_back(smaller.suite->make(smaller.params));
  return work;
}

std::optional<SuiteRate> measure_rate_at_reference_size(Backend& backend, Executor& executor, const ReferenceSizeWork& work,
                                                        OpenDevice& device) {
  std::optional<SuiteRate> rate = measure_suite_rate(backend, executor, *work.front(), device);
  if (!rate) return rate;
  const Shape& shape = work.front()->shape();
  rate->unit = shape.work_unit.empty() ? shape.rate_unit : shape.work_unit;
  if (work.size() == 1) return rate;
  if (const auto smaller = measure_suite_rate(backend, executor, *work.back(), device)) rate = line_through(*smaller, *rate);
  return rate;
}

namespace {

// After an error: a device that hung, or may still be at work, is lost, with all that it was given. True: it is not.
bool keep_or_lose(Backend& backend, SessionDevice& device, const Error& error, bool hung) {
  if (!hung && try_drain(backend, *device.open)) return true;
  device.lost = true;
  device.hung = error.kind() != ErrorKind::device;
  device.lost_why = error.what();
  ++device.failures;
  leak(std::move(device.open));
  return false;
}

// Of a device, where others only say that this problem is none for it.
bool is_fault(const Error& error) { return error.kind() == ErrorKind::device || error.kind() == ErrorKind::timeout; }

// CPUs share memory, and some of them power: each executes the whole, all at once. When one fails, its rate is as if nobody else
// were at work: predictions do without, and the cases will say what is wrong. `at`: which one failed; null: none did.
void measure_contention(Backend& backend, Executor& executor, Workload& workload, const std::string& work,
                        std::span<SessionDevice> devices, SuiteRates& rates, SessionDevice*& at) {
  Programs programs(backend);
  std::vector<SuiteRate*> alone;
  std::vector<SessionDevice*> who;
  for (SessionDevice& device : devices) {
    const auto rate = rates.find({work, device.facts.id});
    if (device.lost || !device.facts.is_cpu() || rate == rates.end()) continue;
    const Capacity capacity = workload.capacity(device.open->resources().traits(), Mode::resident);
    if (capacity.fits < workload.shape().items) continue;
    programs.add(workload, *device.open, capacity);
    alone.push_back(&rate->second);
    who.push_back(&device);
  }
  if (alone.size() < 2) return;
  Probe probe;
  programs.guard([&] {
    for (std::size_t i = 0; i < who.size(); ++i) {
      at = who[i];
      load(backend, programs.members()[i]);
    }
    at = nullptr;
    probe = run_probe(backend, executor, workload, programs.members(), {1, workload.shape().items, {}});
    if (!probe.faults.empty()) at = who[probe.faults.front().device.value];
    refuse_faults(probe);
  });
  for (std::size_t i = 0; i < probe.devices.size(); ++i) {
    if (alone[i]->whole <= Nanos{}) continue;
    alone[i]->contended = std::clamp(seconds(probe.devices[i].kernels.at_large) / seconds(alone[i]->whole), 1.0, kMostContention);
  }
}

// Of the devices that have none. Throws Error(interrupted).
void measure_rates(Backend& backend, Executor& executor, const Problem& problem, const std::map<std::string, std::string>& variants,
                   std::span<SessionDevice> devices, bool cpus, SuiteRates& rates, const RateFailed& failed) {
  const std::string work = work_of(problem);
  const auto missing = [&](const SessionDevice& device) {
    return !device.lost && device.open && device.facts.is_cpu() == cpus && !rates.contains({work, device.facts.id});
  };
  if (std::none_of(devices.begin(), devices.end(), missing)) return;
  ReferenceSizeWork reference;
  Bytes room = ~Bytes{0};
  for (const SessionDevice& device : devices) {
    if (missing(device)) room = std::min(room, room_on(device.facts));
  }
  const auto measure = [&](SessionDevice& device) {
    if (reference.empty()) reference = work_of_reference_size(problem, cpus, room);
    std::vector<std::string> ignored;  // the session has warned already
    for (const auto& workload : reference) take_variants(*workload, variants, device.open->resources().traits(), ignored);
    auto rate = measure_rate_at_reference_size(backend, executor, reference, *device.open);
    if (!rate) return;
    if (device.handicap.slows_always()) {  // rates are those of devices as they are
      const double slow = device.handicap.slow;
      rate->ops_per_s *= slow;
      rate->slice = from_seconds(seconds(rate->slice) / slow);
      rate->fewer = from_seconds(seconds(rate->fewer) / slow);
    }
    rates[{work, device.facts.id}] = *rate;
  };
  // Each of `asked` is asked whether it is still at work; those that do not say no are lost.
  const auto after = [&](const Error& error, std::span<SessionDevice> asked) {
    bool any = false;
    for (SessionDevice& device : asked) {
      if (device.lost || !device.open) continue;
      const bool its_own = asked.size() == 1 && is_fault(error);
      const bool kept = keep_or_lose(backend, device, error, its_own && error.kind() == ErrorKind::timeout);
      any |= !kept;
      if (error.kind() != ErrorKind::interrupted && (!kept || its_own)) failed(device, error);
    }
    if (any) leak(std::exchange(reference, {}));
    if (error.kind() == ErrorKind::interrupted) throw error;
  };
  for (SessionDevice& device : devices) {
    if (!missing(device)) continue;
    try {
      measure(device);
    } catch (const Error& error) {  // not at this size, or a device fails: predictions do without
      after(error, {&device, 1});
    }
  }
  if (!cpus || reference.empty()) return;
  SessionDevice* at = nullptr;
  try {
    measure_contention(backend, executor, *reference.front(), work, devices, rates, at);
  } catch (const Error& error) {
    after(error, at != nullptr ? std::span(at, 1) : devices);
  }
}

}  // namespace

void measure_missing_rates(Backend& backend, Executor& executor, const Problem& problem,
                           const std::map<std::string, std::string>& variants, std::span<SessionDevice> devices, SuiteRates& rates,
                           const RateFailed& failed) {
  try {
    for (const bool cpus : {false, true}) measure_rates(backend, executor, problem, variants, devices, cpus, rates, failed);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::interrupted) throw;
  }
}

void forget_cpus(std::span<const SessionDevice> devices, SuiteRates& rates) {
  for (const SessionDevice& device : devices) {
    if (device.facts.is_cpu()) std::erase_if(rates, [&](const auto& rate) { return rate.first.second == device.facts.id; });
  }
}

}  // namespace mgpu
