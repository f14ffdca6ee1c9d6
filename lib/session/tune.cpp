// See the header.
#include "lib/session/tune.hpp"

#include <algorithm>
#include <chrono>

#include "lib/base/error.hpp"
#include "lib/exec/leak.hpp"
#include "lib/session/probe.hpp"
#include "lib/session/suite_rates.hpp"

namespace mgpu {
namespace {

constexpr std::size_t kRounds = 3;    // each way so often, in turn: the best counts, as other load only ever slows
constexpr double kWorthwhile = 1.02;  // less than that over the usual way is noise
constexpr double kHopeless = 0.8;     // of the best so far: measured once, no more

// The problems of a suite that are tuned: every value of its tuned options.
std::vector<Problem> problems_of(const SuiteInfo& suite, bool cpu) {
  std::vector<Problem> all{{&suite, {}}};
  for (const std::string& name : suite.tuned_options) {
    const auto option = std::find_if(suite.options.begin(), suite.options.end(), [&](const auto& o) { return o.name == name; });
    std::vector<Problem> more;
    for (const Problem& problem : all) {
      for (const std::string& value : option->values) {
        more.push_back(problem);
        more.back().params.options[name] = value;
      }
    }
    all = std::move(more);
  }
  for (Problem& problem : all) problem = usual_problem(problem, cpu);
  return all;
}

class Tuner {
 public:
  Tuner(Backend& backend, Executor& executor, Workload& workload, OpenDevice& device)
      : backend_(backend), executor_(executor), workload_(workload), device_(device) {}

  std::vector<TriedWay> run(const std::vector<std::string>& ways) {
    std::vector<TriedWay> tried;
    for (const std::string& way : ways) tried.push_back({way, 0, {}});
    for (std::size_t round = 0; round < kRounds; ++round) {
      for (TriedWay& way : tried) {
        if (round == 0 || way.ops_per_s > kHopeless * best_) measure(way, round == 0);
      }
    }
    return tried;
  }

 private:
  void measure(TriedWay& way, bool first) {
    const DeviceTraits& traits = device_.resources().traits();
    try {
      workload_.prefer(traits, way.way);
      std::string wrong, took;
      const auto look = [&](DeviceProgram& program) {
        took = program.way();
        if (first) wrong = verify(program);
      };
      const auto rate = measure_suite_rate(backend_, executor_, workload_, device_, look);
      if (!rate) return refuse(way, "it does not fit");
      if (took != way.way) return refuse(way, "it does not work");
      if (!wrong.empty()) return refuse(way, "it is wrong: " + wrong);
      way.ops_per_s = std::max(way.ops_per_s, rate->ops_per_s);
      best_ = std::max(best_, way.ops_per_s);
    } catch (const Error& error) {
      const bool over = error.kind() == ErrorKind::timeout || error.kind() == ErrorKind::interrupted;
      if (over || !try_drain(backend_, device_)) throw;
      refuse(way, error.what());
    }
  }

  // What the program computed last, against the suite's reference.
  std::string verify(DeviceProgram& program) {
    program.publish(device_.stream());
    settle(backend_, device_, device_.submit());
    program.published();
    workload_.merge();  // a probe's sample ends before
    const Verdict verdict = workload_.verify(VerifyLevel::full, 1);
    return verdict.status == Verdict::Status::passed ? std::string() : verdict.message;
  }

  static void refuse(TriedWay& way, const std::string& why) {
    way.ops_per_s = 0;
    way.why = why;
  }

  Backend& backend_;
  Executor& executor_;
  Workload& workload_;
  OpenDevice& device_;
  double best_ = 0;
};

// The fastest; the usual one unless another is clearly faster.
KeptWay chosen(const std::vector<TriedWay>& tried) {
  const auto best =
      std::max_element(tried.begin(), tried.end(), [](const auto& a, const auto& b) { return a.ops_per_s < b.ops_per_s; });
  if (best == tried.end() || best->ops_per_s == 0) return {};
  const TriedWay& taken = best->ops_per_s < kWorthwhile * tried.front().ops_per_s ? tried.front() : *best;
  return {taken.way, taken.ops_per_s};
}

// False: it failed, and may still be at work on the workload.
bool tune_device(Backend& backend, Executor& executor, Workload& workload, const Device& device, Tuning& tuning,
                 const CalibrationStore& store, std::vector<std::string>& warnings) {
  std::unique_ptr<OpenDevice> open;
  try {
    open = backend.open(device);
    const std::vector<std::string> ways = workload.ways(open->resources().traits());
    if (ways.size() < 2) return true;
    tuning.tried = Tuner(backend, executor, workload, *open).run(ways);
    tuning.measured = true;
    tuning.way = chosen(tuning.tried);
    if (!tuning.way.way.empty()) store.save_way(device, tuning.work, tuning.way, warnings);
  } catch (const Error& error) {
    warnings.push_back(tuning.work + " is not tuned on " + device.id + ": " + error.what());
    if (open && !try_drain(backend, *open)) {
      leak(std::move(open));
      return false;
    }
  }
  return true;
}

// What was measured just now on another device of the same kind: eight of them are tuned as one.
const Tuning* alike(const std::vector<Tuning>& all, std::span<const Device> devices, const Device& device,
                    const std::string& work) {
  for (const Tuning& tuning : all) {
    if (tuning.work != work || tuning.tried.empty()) continue;
    const auto other = std::find_if(devices.begin(), devices.end(), [&](const Device& d) { return d.id == tuning.device; });
    if (other->platform == device.platform && other->name == device.name && other->compute_units == device.compute_units &&
        other->driver_version == device.driver_version)
      return &tuning;
  }
  return nullptr;
}

}  // namespace

std::string tuned_work_of(const Problem& problem) {
  std::string work = problem.suite->name;
  for (const std::string& name : problem.suite->tuned_options) {
    const auto given = problem.params.options.find(name);
    if (given != problem.params.options.end()) work += ' ' + name + '=' + given->second;
  }
  return work;
}

std::vector<Tuning> tune_suites(Backend& backend, std::span<const Device> devices, std::span<const SuiteInfo> suites,
                                const CalibrationStore& store, bool afresh, std::vector<std::string>& warnings) {
  std::vector<Tuning> all;
  Executor executor(backend, 1);
  for (const SuiteInfo& suite : suites) {
    if (!suite.has_ways) continue;
    for (const bool cpus : {false, true}) {
      for (const Problem& problem : problems_of(suite, cpus)) {
        std::unique_ptr<Workload> workload;
        for (const Device& device : devices) {
          if (device.is_cpu() != cpus) continue;
          Tuning tuning{tuned_work_of(problem), device.id, {}, {}, false, {}};
          const Tuning* like = alike(all, devices, device, tuning.work);
          const auto kept = afresh ? std::nullopt : store.load_way(device, tuning.work, warnings);
          if (!workload) workload = suite.make(problem.params);
          tuning.unit = workload->shape().rate_unit;
          if (kept) {
            tuning.way = *kept;
          } else if (like != nullptr) {
            tuning.way = like->way;
            tuning.measured = true;
            if (!tuning.way.way.empty()) store.save_way(device, tuning.work, tuning.way, warnings);
          } else if (!tune_device(backend, executor, *workload, device, tuning, store, warnings)) {
            leak(std::move(workload));
          }
          if (kept || tuning.measured) all.push_back(std::move(tuning));
        }
      }
    }
  }
  return all;
}

std::map<std::string, std::string> kept_ways(const Problem& problem, std::span<const Device> devices, const CalibrationStore& store,
                                             std::vector<std::string>& warnings) {
  std::map<std::string, std::string> ways;
  if (!problem.suite->has_ways) return ways;
  for (const Device& device : devices) {
    if (const auto kept = store.load_way(device, tuned_work_of(problem), warnings)) ways[device.id] = kept->way;
  }
  return ways;
}

void take_ways(Workload& workload, const std::map<std::string, std::string>& ways, const DeviceTraits& device,
               std::vector<std::string>& warnings) {
  const auto way = ways.find(device.id);
  if (way == ways.end() || workload.prefer(device, way->second)) return;
  warnings.push_back("device " + device.id + ": it was tuned to \"" + way->second + "\", which it does not have; tune it again");
}

}  // namespace mgpu
