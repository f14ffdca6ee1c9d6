// Calibration of a set of devices: from the store where it holds one, measured where it does not.
// How it is measured is in lib/measure/calibration.hpp, how it is cached in
// lib/report/calibration_store.hpp.
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

// Is told what is about to be measured, which may take long on a slow device: "device 0:0 NAME",
// "merkle on 0:0". What is cached is not announced.
using StepNotice = std::function<void(const std::string& step)>;

struct CalibrationResult {
  Calibration calibration;
  std::vector<CalibrationOrigin> origins;  // by device; none: it failed, or nothing is cached
  CalibrationOrigin link_origin = CalibrationOrigin::none, peers_origin = CalibrationOrigin::none;
  std::vector<std::optional<Bytes>>
      free_memory;  // by device, when opened; of all devices of the set together
  std::vector<std::string> warnings;
  std::size_t failed = 0;  // devices that could not be measured
};

// What is cached of them; measures nothing and opens nothing.
CalibrationResult cached_calibration(std::span<const Device> devices,
                                     const CalibrationStore& store);

// Opens every device, measures what is not cached (everything, if `afresh`) and caches it. A device
// that fails is a warning, and then nothing is measured of all together: the host link, and links
// between devices. Blocks: see lib/measure/calibration.hpp. Once the backend's limits say stop,
// what is known by then is all.
CalibrationResult calibrate(Backend& backend, std::span<const Device> devices,
                            const CalibrationStore& store, bool afresh,
                            const StepNotice& begins = {});

// Of every suite on every device, alone: from the store, or measured and cached. A device or suite
// that fails adds to `warnings`.
std::vector<SuiteCalibration> calibrate_suites(Backend& backend, std::span<const Device> devices,
                                               std::span<const SuiteInfo> suites,
                                               const CalibrationStore& store, bool afresh,
                                               std::vector<std::string>& warnings,
                                               const StepNotice& begins = {});

// Adds to `rates` what the problem's suite with its options (work_of) reaches at its reference
// size, and its host, for devices of which nothing is there: measured, and cached. What fails adds
// to `warnings`, and no rate. Blocks: seconds for each device that is measured.
void calibrate_problem(Backend& backend, std::span<const Device> devices, const Problem& problem,
                       const CalibrationStore& store, SuiteRates& rates,
                       std::vector<std::string>& warnings);

// That of a busy machine (why_not_kept) is neither returned nor cached, but said in `warnings`.
// In the size that `run` takes where none is named, by `rates`, at most `host_memory`.
std::vector<NoiseCalibration> calibrate_noise(Backend& backend, std::span<const Device> devices,
                                              std::span<const SuiteInfo> suites,
                                              const SuiteRates& rates, Bytes host_memory,
                                              const CalibrationStore& store, bool afresh,
                                              std::vector<std::string>& warnings,
                                              const StepNotice& begins = {});

// What is cached of a problem's suite, its noise on this set too; measures nothing.
void add_cached_noise(const Problem& problem, std::span<const Device> devices,
                      const CalibrationStore& store, std::map<std::string, double>& noise,
                      std::vector<std::string>& warnings);
void add_cached_rates(const Problem& problem, std::span<const Device> devices,
                      const CalibrationStore& store, SuiteRates& rates,
                      std::vector<std::string>& warnings);

}  // namespace mgpu
