#include "lib/session/kernel_variants.hpp"

namespace mgpu {

std::string tuned_work_of(const Problem& problem) {
  std::string work = problem.suite->name;
  for (const std::string& name : problem.suite->tuned_options) {
    const auto given = problem.params.options.find(name);
    if (given != problem.params.options.end()) work += ' ' + name + '=' + given->second;
  }
  return work;
}

std::map<std::string, std::string> cached_variants(const Problem& problem,
                                                   std::span<const Device> devices,
                                                   const CalibrationStore& store,
                                                   std::vector<std::string>& warnings) {
  std::map<std::string, std::string> variants;
  if (!problem.suite->has_kernel_variants) return variants;
  for (const Device& device : devices) {
    if (const auto cached = store.load_variant(device, tuned_work_of(problem), warnings))
      variants[device.id] = cached->name;
  }
  return variants;
}

void take_variants(Workload& workload, const std::map<std::string, std::string>& variants,
                   const DeviceTraits& device, std::vector<std::string>& warnings) {
  const auto variant = variants.find(device.id);
  if (variant == variants.end()) return;
  Tunable* const tunable = workload.tunable();
  if (tunable != nullptr && tunable->prefer(device, variant->second)) return;
  warnings.push_back("device " + device.id + ": it was tuned to \"" + variant->second +
                     "\", which it does not have; tune it again");
}

}  // namespace mgpu
