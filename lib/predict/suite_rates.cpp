#include "lib/predict/suite_rates.hpp"

#include <algorithm>
#include <cmath>
#include <thread>
#include <utility>

#include "lib/exec/leak.hpp"
#include "lib/predict/probe.hpp"

namespace mgpu {
namespace {

// Ratio of the sizes of superlinear work that a line is drawn through. On an H200 the line through
// 2^18 and 2^20 terms of msm predicts 2^22 within 1 %; 2^16 terms take 20 % more than it predicts.
constexpr std::uint64_t kSmaller = 4;
constexpr double kMostContention = 2;  // a larger factor is not caused by the other devices
// Limit relative to the average rate of the larger problem: more is noise.
constexpr double kSteeper = 1.3;

constexpr Nanos kLongest = std::chrono::seconds(10);  // limit of one execution of the whole problem

// Returns how long the kernels of all items would take, extrapolated from a part of them.
Nanos time_of_all(const Probe& part, const Shape& shape) {
  if (part.devices.empty() || part.items == 0) return {};
  return from_seconds(seconds(part.devices.front().kernels.at_large) /
                      static_cast<double>(part.items) * static_cast<double>(shape.items));
}

// Programs on some devices. After an error, programs whose device may still be at work are leaked.
class Programs {
 public:
  explicit Programs(Backend& backend) : backend_(backend) {}
  void add(Workload& workload, OpenDevice& device, const Capacity& capacity) {
    all_.push_back(workload.program(device.resources(), Mode::resident, capacity));
    members_.push_back({&device, all_.back().get()});
  }
  std::span<const Participant> participants() const { return members_; }
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
  std::vector<Participant> members_;
};

Probe refuse_faults(Probe probe) {
  for (const DeviceFault& fault : probe.faults) throw Error(fault.kind, fault.what);
  return probe;
}

void load(Backend& backend, const Participant& participant) {
  participant.program->load(participant.device->stream());
  finish_batch(backend, *participant.device, participant.device->submit());
}

}  // namespace

std::string work_of(const Problem& problem) {
  std::string work = problem.suite->name;
  for (const SuiteOption& option : problem.suite->options) {
    const auto given = problem.params.options.find(option.name);
    if (option.kind == SuiteOption::Kind::name && given != problem.params.options.end())
      work += ' ' + option.name + '=' + given->second;
  }
  if (const auto own = own_problem(problem)) work += ' ' + own->work;
  return work;
}

std::string work_in_words(const Problem& problem) {
  using Kind = SuiteOption::Kind;
  std::string words = problem.suite->name;
  for (const SuiteOption& option : problem.suite->options) {
    const auto given = problem.params.options.find(option.name);
    const bool matters = option.kind == Kind::name || problem.suite->descriptors;
    if (matters && given != problem.params.options.end() && given->second != option.values.front())
      words += " --" + option.name + ' ' + given->second;
  }
  return words;
}

namespace {

std::uint64_t full_size_of_cpus(const SuiteInfo& suite) {
  return suite.full_size_cpu > 0 ? suite.full_size_cpu : suite.quick_size;
}
std::uint64_t full_size_of_gpus(const SuiteInfo& suite) {
  return suite.full_size > 0 ? suite.full_size : suite.default_size;
}

Problem of_reference_size(const Problem& like, bool cpu, Bytes most) {
  const SuiteInfo& suite = *like.suite;
  if (const auto own = own_problem(like)) {
    Problem reference = problem_of_size(like, cpu ? own->quick_size : own->size);
    reference.params.cpus = cpu;
    return reference;
  }
  Problem reference =
      problem_of_size(like, cpu ? full_size_of_cpus(suite) : full_size_of_gpus(suite));
  reference.params.cpus = cpu;
  if (suite.optional.full_size_of != nullptr)
    reference.params.size = suite.optional.full_size_of(reference.params);
  if (cpu) return reference;
  if (suite.host_bytes == nullptr || reference.params.size == 0) return reference;
  while (suite.host_bytes(reference.params) < suite.full_bytes) {
    Problem larger = problem_of_size(like, 2 * reference.params.size);
    if (suite.host_bytes(larger.params) > most) break;
    reference = std::move(larger);
  }
  return reference;
}

}  // namespace

Problem problem_of_reference_size(const Problem& like, bool cpu, Bytes most) {
  Problem reference = of_reference_size(like, cpu, most);
  if (like.suite->optional.make_short != nullptr) like.suite->optional.make_short(reference.params);
  return reference;
}

Bytes room_on(const Device& device) {
  return std::min(device.max_allocation, device.global_memory / 4);
}

Problem problem_of_size(const Problem& like, std::uint64_t size) {
  Problem problem = default_problem(*like.suite);
  problem.params.size = size;
  for (const SuiteOption& option : like.suite->options) {
    const auto given = like.params.options.find(option.name);
    // Distinguishes work.
    const bool tells = option.kind == SuiteOption::Kind::name || like.suite->descriptors;
    if (tells && given != like.params.options.end())
      problem.params.options[option.name] = given->second;
  }
  if (like.suite->optional.resolve != nullptr) like.suite->optional.resolve(problem.params);
  return problem;
}

Problem default_problem(const SuiteInfo& suite) {
  Problem problem{&suite, {}};
  problem.params.host_threads = std::max(1u, std::thread::hardware_concurrency());
  for (const SuiteOption& option : suite.options)
    problem.params.options[option.name] = option.values.front();
  return problem;
}

std::optional<SuiteRate> measure_suite_rate(Backend& backend, Executor& executor,
                                            Workload& workload, OpenDevice& device,
                                            const std::function<void(DeviceProgram&)>& look,
                                            std::size_t turns) {
  const Capacity capacity = workload.capacity(device.resources().traits(), Mode::resident);
  if (capacity.fits < workload.shape().items) return std::nullopt;
  Programs programs(backend);
  programs.add(workload, device, capacity);
  ProbeSize part{0.05, capacity.fits, {}}, whole_problem{1, capacity.fits, {}, 0, 0, true};
  part.most_turns = whole_problem.most_turns = turns;
  Probe probe;
  bool in_part = false;
  programs.guard([&] {
    load(backend, programs.participants().front());
    probe = refuse_faults(run_probe(backend, executor, workload, programs.participants(), part));
    in_part = time_of_all(probe, workload.shape()) > kLongest;
    if (in_part) return;
    probe = refuse_faults(
        run_probe(backend, executor, workload, programs.participants(), whole_problem));
    if (look && !probe.devices.empty()) look(*programs.participants().front().program);
  });
  if (probe.devices.empty()) return std::nullopt;
  const double ops =
      cost_of(workload, Mode::resident).ops;  // on one device, as the executor set it
  const DeviceEstimate estimate = estimate_of(probe, 0, workload.shape().cost, Mode::resident, {});
  if (!(estimate.items_per_s > 0)) return std::nullopt;
  const Nanos whole = probe.devices.front().kernels.at_large;
  SuiteRate rate;
  rate.ops_per_s = ops * estimate.items_per_s;
  rate.slice = estimate.launch;
  rate.fixed = estimate.fixed;
  rate.in_part = in_part;
  if (!(device.resources().traits().cpu || workload.shape().superlinear) || whole <= Nanos{})
    return rate;
  // The rate is that of the whole problem. A line through it and a part of it is misleading: parts
  // leave cores of a CPU idle, which makes it flatter; parts of superlinear work cost less, which
  // makes it steeper.
  rate.ops = ops * static_cast<double>(probe.items);
  rate.ops_per_s = rate.ops / seconds(whole);
  rate.fixed = probe.fixed;
  rate.whole = whole;
  return rate;
}

SuiteRate line_through(const SuiteRate& smaller, SuiteRate larger) {
  const double longer = seconds(larger.whole), shorter = seconds(smaller.whole),
               more = larger.ops - smaller.ops;
  if (!(more > 0) || !(longer > shorter)) return larger;  // noise
  const double rate = std::min(more / (longer - shorter), kSteeper * larger.ops_per_s);
  larger.slice = from_seconds(std::max(0.0, longer - larger.ops / rate));
  larger.ops_per_s = std::max(rate, larger.ops_per_s);
  larger.fewer_ops = smaller.ops;
  larger.fewer = smaller.whole;
  if (smaller.fixed > Nanos{} && larger.fixed > smaller.fixed)
    larger.fixed_grows = std::min(1.0, std::log(seconds(larger.fixed) / seconds(smaller.fixed)) /
                                           std::log(larger.ops / smaller.ops));
  return larger;
}

namespace {

void add_workload(Backend& backend, const Problem& problem, ReferenceSizeWork& work) {
  const Nanos begin = backend.now();
  work.workloads.push_back(problem.suite->make(problem.params));
  const WaitLimits& limits = backend.limits();
  work.workloads.back()->set_host_watch({limits.stop, nullptr, limits.answer + limits.build});
  work.preparing = backend.now() - begin;
}

}  // namespace

ReferenceSizeWork work_of_reference_size(Backend& backend, const Problem& like, bool cpu,
                                         Bytes most) {
  ReferenceSizeWork work;
  const Problem reference = problem_of_reference_size(like, cpu, most);
  add_workload(backend, reference, work);
  if (!work.workloads.front()->shape().superlinear) return work;
  Problem smaller =
      problem_of_size(like, std::max<std::uint64_t>(1, reference.params.size / kSmaller));
  smaller.params.cpus = cpu;
  add_workload(backend, smaller, work);
  return work;
}

ReferenceSizeWork work_of_size(Backend& backend, const Problem& like, std::uint64_t size,
                               bool cpu) {
  Problem problem = problem_of_size(like, size);
  problem.params.cpus = cpu;
  if (like.suite->optional.make_short != nullptr) like.suite->optional.make_short(problem.params);
  ReferenceSizeWork work;
  add_workload(backend, problem, work);
  return work;
}

namespace {

// Verifies the last result of the program with the suite's reference, which is computed for it.
void verify(Backend& backend, OpenDevice& device, Workload& workload, DeviceProgram& program,
            VerifyLevel level) {
  complete(backend, device, program.publish(device.stream()));
  merge_after_probe(backend, device, workload, program);
  const Verdict verdict = workload.verify(level, 1);
  if (verdict.status == Verdict::Status::failed)
    throw Error(ErrorKind::device, "computed a wrong result: " + verdict.message);
}

}  // namespace

std::optional<SuiteRate> measure_rate_at_reference_size(Backend& backend, Executor& executor,
                                                        ReferenceSizeWork& work, OpenDevice& device,
                                                        bool with_host, std::size_t turns) {
  Workload& last = *work.workloads.back();
  const auto measure_host = [&](DeviceProgram& program) {
    const Nanos begin = backend.now();
    verify(backend, device, last, program, work.verify);
    const double spent = seconds(work.preparing + backend.now() - begin);
    if (spent > 0)
      work.host_ops_per_s =
          cost_of(last, Mode::resident).ops * static_cast<double>(last.shape().items) / spent;
  };
  // The reference is computed once, so that only the first caller measures its time.
  std::function<void(DeviceProgram&)> look;
  if (with_host && work.host_ops_per_s == 0) look = measure_host;
  const bool only = work.workloads.size() == 1;
  const Shape& shape = work.workloads.front()->shape();
  std::optional<SuiteRate> rate =
      measure_suite_rate(backend, executor, *work.workloads.front(), device,
                         only ? look : std::function<void(DeviceProgram&)>(), turns);
  if (!rate) return rate;
  rate->unit = shape.work_unit.empty() ? shape.rate_unit : shape.work_unit;
  if (!only) {
    if (const auto smaller = measure_suite_rate(backend, executor, last, device, look, turns))
      rate = line_through(*smaller, *rate);
  }
  rate->host_ops_per_s = work.host_ops_per_s;
  return rate;
}

void measure_contention(Backend& backend, Executor& executor, Workload& workload,
                        std::span<const CpuAtWork> cpus, std::optional<std::size_t>& failed,
                        std::size_t turns) {
  Programs programs(backend);
  std::vector<SuiteRate*> rates;
  std::vector<std::size_t> who;
  for (std::size_t i = 0; i < cpus.size(); ++i) {
    const Capacity capacity =
        workload.capacity(cpus[i].device->resources().traits(), Mode::resident);
    if (capacity.fits < workload.shape().items) continue;
    programs.add(workload, *cpus[i].device, capacity);
    rates.push_back(cpus[i].rate);
    who.push_back(i);
  }
  if (who.size() < 2) return;
  Probe probe;
  programs.guard([&] {
    for (std::size_t i = 0; i < who.size(); ++i) {
      failed = who[i];
      load(backend, programs.participants()[i]);
    }
    failed.reset();
    probe = run_probe(backend, executor, workload, programs.participants(),
                      {1, workload.shape().items, {}, 0, turns});
    if (!probe.faults.empty()) failed = who[probe.faults.front().device.value];
    refuse_faults(probe);
  });
  for (std::size_t i = 0; i < probe.devices.size(); ++i) {
    if (rates[i]->whole <= Nanos{}) continue;
    rates[i]->contended =
        std::clamp(seconds(probe.devices[i].kernels.at_large) / seconds(rates[i]->whole), 1.0,
                   kMostContention);
  }
}

}  // namespace mgpu
