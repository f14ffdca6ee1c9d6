// Calibration of a set of devices: loaded from the store, or measured if it is not there.
// lib/measure/calibration.hpp measures, lib/report/calibration_store.hpp caches.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/exec/backend.hpp"
#include "lib/predict/suite_rates.hpp"
#include "lib/report/documents.hpp"

namespace mgpu {

// Callback told what is about to be measured, which may take long on a slow device: "device 0:0
// NAME", "merkle on 0:0". Not called for what is cached.
using StepNotice = std::function<void(const std::string& step)>;

struct CalibrationResult {
  Calibration calibration;
  std::vector<CalibrationOrigin> origins;  // by device; none: it failed, or nothing is cached
  CalibrationOrigin link_origin = CalibrationOrigin::none, peers_origin = CalibrationOrigin::none;
  // Free memory by device when it was opened; of all devices of the set together.
  std::vector<std::optional<Bytes>> free_memory;
  std::vector<std::string> warnings;
  std::size_t failed = 0;  // devices that could not be measured
};

// Returns the cached calibration of the devices; measures and opens nothing.
CalibrationResult cached_calibration(std::span<const Device> devices,
                                     const CalibrationStore& store);

// Opens every device, measures what is not cached (everything, if `afresh`) and caches it. A device
// that fails is a warning; the host link and the links between devices, which need all devices, are
// then not measured. Blocks: see lib/measure/calibration.hpp. Returns what is known so far once the
// backend's limits say stop.
CalibrationResult calibrate(Backend& backend, std::span<const Device> devices,
                            const CalibrationStore& store, bool afresh,
                            const StepNotice& begins = {});

// Returns the rate of every suite on every device alone: cached, or measured and cached. A device
// or suite that fails adds to `warnings`.
std::vector<SuiteCalibration> calibrate_suites(Backend& backend, std::span<const Device> devices,
                                               std::span<const SuiteInfo> suites,
                                               const CalibrationStore& store, bool afresh,
                                               std::vector<std::string>& warnings,
                                               const StepNotice& begins = {});

// Measures and caches the power of each device with each suite whose rate is cached, unless it is
// known. Blocks: 8 s per device and suite. Failures add to `warnings`.
void calibrate_power(Backend& backend, std::span<const Device> devices,
                     std::span<const SuiteInfo> suites, const CalibrationStore& store,
                     std::vector<std::string>& warnings, const StepNotice& begins = {});

// Adds to `rates` the rate of the problem's suite with its options (work_of) at the reference size,
// for devices that have none: measured, and cached. A failure adds to `warnings`, but no rate.
// Blocks: seconds for each device that is measured.
void calibrate_problem(Backend& backend, std::span<const Device> devices, const Problem& problem,
                       const CalibrationStore& store, SuiteRates& rates,
                       std::vector<std::string>& warnings);

// Returns the noise floor of every suite on the set, cached or measured, in the size that `run`
// takes if none is named, by `rates`, at most `host_memory`. Noise of a busy machine (why_not_kept)
// adds to `warnings`, and is neither returned nor cached.
std::vector<NoiseCalibration> calibrate_noise(Backend& backend, std::span<const Device> devices,
                                              std::span<const SuiteInfo> suites,
                                              const SuiteRates& rates, Bytes host_memory,
                                              const CalibrationStore& store, bool afresh,
                                              std::vector<std::string>& warnings,
                                              const StepNotice& begins = {});

// Functions that add the cached noise, or the cached rates, of a problem's suite on these devices;
// they measure nothing.
void add_cached_noise(const Problem& problem, std::span<const Device> devices,
                      const CalibrationStore& store, std::map<std::string, double>& noise,
                      std::vector<std::string>& warnings);
void add_cached_rates(const Problem& problem, std::span<const Device> devices,
                      const CalibrationStore& store, SuiteRates& rates,
                      std::vector<std::string>& warnings);

}  // namespace mgpu
