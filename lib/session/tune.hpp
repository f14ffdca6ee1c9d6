// Variants to compute: where a suite has several kernels, tiles or settings for the same work, `calibrate --tune` measures all of
// them on a device, has each verified against the suite's reference, and keeps the fastest. Sessions take what is cached; without
// it, a suite's own first choice. How it is cached is lib/report/calibration_store.hpp's matter.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "lib/exec/executor.hpp"
#include "lib/report/calibration_store.hpp"
#include "lib/session/session.hpp"

namespace mgpu {

// The suite with those of its options that are tuned one by one: what is cached for other axes or data too.
std::string tuned_work_of(const Problem& problem);

// How one variant did on a device.
struct TriedVariant {
  std::string name;
  double ops_per_s = 0;  // 0: it is not eligible
  std::string why;       // not
};

// A suite's work on a device; `variant` is empty where there was nothing to choose, or nothing worked.
struct Tuning {
  std::string work, device;
  std::string unit;  // of the rates
  CachedVariant variant;
  bool measured = false;            // now; else it is what was cached
  std::vector<TriedVariant> tried;  // when measured: the default variant first
};

// Every suite that has variants, on every device, in the size `calibrate` takes: from the store, or (all, if `afresh`) measured and
// cached. What fails adds to `warnings`. Blocks: some seconds a variant.
std::vector<Tuning> tune_suites(Backend& backend, std::span<const Device> devices, std::span<const SuiteInfo> suites,
                                const CalibrationStore& store, bool afresh, std::vector<std::string>& warnings);

// The cached variant of this problem on the devices, by id; measures nothing.
std::map<std::string, std::string> cached_variants(const Problem& problem, std::span<const Device> devices,
                                                   const CalibrationStore& store, std::vector<std::string>& warnings);

// Makes the workload compute in these variants. One that it does not know adds to `warnings` and changes nothing.
void take_variants(Workload& workload, const std::map<std::string, std::string>& variants, const DeviceTraits& device,
                   std::vector<std::string>& warnings);

}  // namespace mgpu
