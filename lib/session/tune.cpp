#include "lib/session/tune.hpp"

#include <algorithm>
#include <chrono>

#include "lib/base/error.hpp"
#include "lib/exec/driver_call.hpp"
#include "lib/exec/leak.hpp"
#include "lib/predict/probe.hpp"
#include "lib/predict/suite_rates.hpp"
#include "lib/session/kernel_variants.hpp"

namespace mgpu {
namespace {

// Runs of every variant, interleaved: the best counts, as other load can only slow it down.
constexpr std::size_t kRounds = 3;
constexpr double kWorthwhile = 1.02;  // a smaller gain over the default variant is noise
// Share of the best rate; below it a variant is measured only once.
constexpr double kHopeless = 0.8;

// Returns the problems of a suite that are tuned: every value of its tuned options.
std::vector<Problem> problems_of(const SuiteInfo& suite, bool cpu) {
  std::vector<Problem> all{{&suite, {}}};
  for (const std::string& name : suite.tuned_options) {
    const auto option = std::find_if(suite.options.begin(), suite.options.end(),
                                     [&](const auto& o) { return o.name == name; });
    std::vector<Problem> more;
    for (const Problem& problem : all) {
      for (const std::string& value : option->values) {
        more.push_back(problem);
        more.back().params.options[name] = value;
      }
    }
    all = std::move(more);
  }
  for (Problem& problem : all) problem = problem_of_reference_size(problem, cpu);
  return all;
}

class Tuner {
 public:
  Tuner(Backend& backend, Executor& executor, Workload& workload, OpenDevice& device)
      : backend_(backend), executor_(executor), workload_(workload), device_(device) {}

  std::vector<TriedVariant> run(const std::vector<std::string>& variants) {
    std::vector<TriedVariant> tried;
    for (const std::string& variant : variants) tried.push_back({variant, 0, {}});
    for (std::size_t round = 0; round < kRounds; ++round) {
      for (TriedVariant& variant : tried) {
        if (round == 0 || variant.ops_per_s > kHopeless * best_) measure(variant, round == 0);
      }
    }
    return tried;
  }

 private:
  void measure(TriedVariant& variant, bool first) {
    const DeviceTraits& traits = device_.resources().traits();
    try {
      workload_.tunable()->prefer(traits, variant.name);
      std::string wrong, took;
      const auto look = [&](DeviceProgram& program) {
        took = program.kernel_variant();
        if (first) wrong = verify(program);
      };
      const auto rate = measure_suite_rate(backend_, executor_, workload_, device_, look);
      if (!rate) return refuse(variant, "it does not fit");
      if (rate->in_part) return refuse(variant, "all of the problem would take more than 10 s");
      if (took != variant.name) return refuse(variant, "it does not work");
      if (!wrong.empty()) return refuse(variant, "it is wrong: " + wrong);
      variant.ops_per_s = std::max(variant.ops_per_s, rate->ops_per_s);
      best_ = std::max(best_, variant.ops_per_s);
    } catch (const Error& error) {
      const bool over =
          error.kind() == ErrorKind::timeout || error.kind() == ErrorKind::interrupted;
      if (over || !try_drain(backend_, device_)) throw;
      refuse(variant, error.what());
    }
  }

  // Compares the program's last result with the suite's reference. Returns the mistake; empty: it
  // is right.
  std::string verify(DeviceProgram& program) {
    complete(backend_, device_, program.publish(device_.stream()));
    merge_after_probe(backend_, device_, workload_, program);
    const Verdict verdict = workload_.verify(VerifyLevel::full, 1);
    return verdict.status == Verdict::Status::failed ? verdict.message : std::string();
  }

  static void refuse(TriedVariant& variant, const std::string& why) {
    variant.ops_per_s = 0;
    variant.why = why;
  }

  Backend& backend_;
  Executor& executor_;
  Workload& workload_;
  OpenDevice& device_;
  double best_ = 0;
};

// Returns the fastest variant, or the default unless another is clearly faster.
CachedVariant chosen(const std::vector<TriedVariant>& tried) {
  const auto best = std::max_element(tried.begin(), tried.end(), [](const auto& a, const auto& b) {
    return a.ops_per_s < b.ops_per_s;
  });
  if (best == tried.end() || best->ops_per_s == 0) return {};
  const TriedVariant& taken =
      best->ops_per_s < kWorthwhile * tried.front().ops_per_s ? tried.front() : *best;
  return {taken.name, taken.ops_per_s};
}

// Tunes the suite on a device. Returns false if it failed and may still be using the workload.
bool tune_device(Backend& backend, Executor& executor, Workload& workload, const Device& device,
                 Tuning& tuning, const CalibrationStore& store,
                 std::vector<std::string>& warnings) {
  std::unique_ptr<OpenDevice> open;
  try {
    open = backend.open(device);
    Tunable* const tunable = workload.tunable();
    if (tunable == nullptr) return true;
    const std::vector<std::string> variants = tunable->kernel_variants(open->resources().traits());
    if (variants.size() < 2) return true;
    attend(backend, open.get(),
           [&] { tuning.tried = Tuner(backend, executor, workload, *open).run(variants); });
    tuning.measured = true;
    tuning.variant = chosen(tuning.tried);
    if (!tuning.variant.name.empty())
      store.save_variant(device, tuning.work, tuning.variant, warnings);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::interrupted) throw;
    warnings.push_back(tuning.work + " is not tuned on " + device.id + ": " + error.what());
    if (open && !try_drain(backend, *open)) {
      leak(std::move(open));
      return false;
    }
  }
  return true;
}

// Returns the result for another device of the same kind: equal devices are tuned once.
const Tuning* alike(const std::vector<Tuning>& all, std::span<const Device> devices,
                    const Device& device, const std::string& work) {
  for (const Tuning& tuning : all) {
    if (tuning.work != work || tuning.tried.empty()) continue;
    const auto other = std::find_if(devices.begin(), devices.end(),
                                    [&](const Device& d) { return d.id == tuning.device; });
    if (other->platform == device.platform && other->name == device.name &&
        other->compute_units == device.compute_units &&
        other->driver_version == device.driver_version)
      return &tuning;
  }
  return nullptr;
}

}  // namespace

std::vector<Tuning> tune_suites(Backend& backend, std::span<const Device> devices,
                                std::span<const SuiteInfo> suites, const CalibrationStore& store,
                                bool afresh, std::vector<std::string>& warnings,
                                const StepNotice& begins) {
  std::vector<Tuning> all;
  Executor executor(backend, 1);
  for (const SuiteInfo& suite : suites) {
    if (!suite.has_kernel_variants) continue;
    for (const bool cpus : {false, true}) {
      for (const Problem& problem : problems_of(suite, cpus)) {
        std::unique_ptr<Workload> workload;
        for (const Device& device : devices) {
          if (device.is_cpu() != cpus) continue;
          Tuning tuning{tuned_work_of(problem), device.id, {}, {}, false, {}};
          const Tuning* like = alike(all, devices, device, tuning.work);
          const auto cached =
              afresh ? std::nullopt : store.load_variant(device, tuning.work, warnings);
          if (!workload) {
            workload = suite.make(problem.params);
            const WaitLimits& limits = backend.limits();
            workload->set_host_watch({limits.stop, nullptr, limits.answer + limits.build});
          }
          const Shape& shape = workload->shape();  // the same unit as in rates of suites
          tuning.unit = shape.work_unit.empty() ? shape.rate_unit : shape.work_unit;
          if (cached) {
            tuning.variant = *cached;
          } else if (like != nullptr) {
            tuning.variant = like->variant;
            tuning.measured = true;
            if (!tuning.variant.name.empty())
              store.save_variant(device, tuning.work, tuning.variant, warnings);
          } else {
            if (begins) begins("kernels of " + tuning.work + " on " + device.id);
            if (!tune_device(backend, executor, *workload, device, tuning, store, warnings))
              leak(std::move(workload));
          }
          if (cached || tuning.measured) all.push_back(std::move(tuning));
        }
      }
    }
  }
  return all;
}

}  // namespace mgpu
