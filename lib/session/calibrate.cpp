#include "lib/session/calibrate.hpp"

#include <algorithm>
#include <utility>

#include "lib/base/add_once.hpp"
#include "lib/base/error.hpp"
#include "lib/exec/driver_call.hpp"
#include "lib/exec/leak.hpp"
#include "lib/measure/calibration.hpp"
#include "lib/predict/size_choice.hpp"
#include "lib/predict/suite_rates.hpp"
#include "lib/session/kernel_variants.hpp"
#include "lib/session/noise.hpp"
#include "lib/session/peer_links.hpp"
#include "lib/session/watch.hpp"

namespace mgpu {
namespace {

// Removes repeated warnings: eight GPUs under a new driver give one, not eight.
void drop_repeats(std::vector<std::string>& lines) {
  std::vector<std::string> seen;
  for (std::string& line : lines) {
    add_once(seen, std::move(line));
  }
  lines = std::move(seen);
}

// Takes the host link of a lone device from its own calibration.
void take_link_of_one(CalibrationResult& result, std::span<const Device> devices) {
  const auto& only = result.calibration.devices.front();
  if (!only) return;
  result.calibration.link =
      LinkCapability{{devices.front().id}, only->pinned_up, only->pinned_down};
  result.link_origin = result.origins.front();
}

void announce(const StepNotice& begins, const std::string& step) {
  if (begins) begins(step);
}

class Calibrator {
 public:
  Calibrator(Backend& backend, std::span<const Device> devices, const CalibrationStore& store,
             const StepNotice& begins, CalibrationResult& result)
      : backend_(backend), devices_(devices), store_(store), begins_(begins), result_(result) {}

  void run() {
    for (const Device& device : devices_) open(device);
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      if (open_[i] && !result_.calibration.devices[i]) measure(i);
    }
    if (devices_.size() < 2 || result_.failed > 0) return;
    if (!result_.calibration.link)
      measure_together("the host link of all devices", "the devices are not calibrated together",
                       [&] { measure_host_link(); });
    if (result_.calibration.peers.empty() && all_open())
      measure_together("links between the devices", "links between the devices are not calibrated",
                       [&] { measure_peers(); });
  }

 private:
  void open(const Device& device) {
    open_.push_back(nullptr);
    try {
      open_.back() = backend_.open(device);
      attend(backend_, open_.back().get(),
             [&] { result_.free_memory[open_.size() - 1] = open_.back()->free_memory(); });
    } catch (const Error& error) {
      fail(open_.size() - 1, error);
    }
  }

  void fail(std::size_t index, const Error& error) {
    if (open_[index] && !try_drain(backend_, *open_[index])) leak(std::move(open_[index]));
    open_[index].reset();
    if (error.kind() == ErrorKind::interrupted) throw error;
    const Device& device = devices_[index];
    ++result_.failed;
    result_.warnings.push_back("device " + device.id + " " + device.name +
                               " is not calibrated: " + error.what());
  }

  void measure(std::size_t index) {
    announce(begins_, "device " + devices_[index].id + " " + devices_[index].name);
    try {
      Capability measured;
      attend(backend_, open_[index].get(),
             [&] { measured = measure_capability(backend_, *open_[index]); });
      result_.calibration.devices[index] = measured;
      result_.origins[index] = CalibrationOrigin::measured;
      store_.save(devices_[index], measured, result_.warnings);
    } catch (const Error& error) {
      fail(index, error);
    }
  }

  bool all_open() const {
    return std::all_of(open_.begin(), open_.end(),
                       [](const auto& device) { return device != nullptr; });
  }

  std::vector<OpenDevice*> all() const {
    std::vector<OpenDevice*> all;
    for (const auto& device : open_) all.push_back(device.get());
    return all;
  }

  void measure_host_link() {
    LinkCapability link = measure_link(backend_, all());
    for (const Device& device : devices_) link.devices.push_back(device.id);
    store_.save_link(devices_, link, result_.warnings);
    result_.calibration.link = std::move(link);
    result_.link_origin = CalibrationOrigin::measured;
  }

  void measure_peers() {
    result_.calibration.peers = measure_peer_links(backend_, all());
    result_.peers_origin = CalibrationOrigin::measured;
    store_.save_peers(devices_, result_.calibration.peers, result_.warnings);
  }

  // Measures something on all devices at once. `failed`: what is unknown if that fails.
  template <class Measure>
  void measure_together(const char* what, const char* failed, const Measure& measure) {
    announce(begins_, what);
    try {
      attend(backend_, nullptr, measure);
    } catch (const Error& error) {
      for (auto& device : open_) {
        if (!try_drain(backend_, *device)) leak(std::move(device));
      }
      if (error.kind() == ErrorKind::interrupted) throw;
      result_.warnings.push_back(std::string(failed) + ": " + error.what());
    }
  }

  Backend& backend_;
  std::span<const Device> devices_;
  const CalibrationStore& store_;
  const StepNotice& begins_;
  CalibrationResult& result_;
  std::vector<std::unique_ptr<OpenDevice>> open_;  // null: the device failed
};

CalibrationResult nothing_known(std::size_t devices) {
  CalibrationResult result;
  result.calibration.devices.resize(devices);
  result.origins.resize(devices, CalibrationOrigin::none);
  result.free_memory.resize(devices);
  return result;
}

}  // namespace

CalibrationResult cached_calibration(std::span<const Device> devices,
                                     const CalibrationStore& store) {
  CalibrationResult result = nothing_known(devices.size());
  for (std::size_t i = 0; i < devices.size(); ++i) {
    result.calibration.devices[i] = store.load(devices[i], result.warnings);
    if (result.calibration.devices[i]) result.origins[i] = CalibrationOrigin::cached;
  }
  if (devices.size() == 1) {
    take_link_of_one(result, devices);
  } else {
    result.calibration.link = store.load_link(devices, result.warnings);
    if (result.calibration.link) result.link_origin = CalibrationOrigin::cached;
    result.calibration.peers = store.load_peers(devices, result.warnings);
    if (!result.calibration.peers.empty()) result.peers_origin = CalibrationOrigin::cached;
  }
  drop_repeats(result.warnings);
  return result;
}

CalibrationResult calibrate(Backend& backend, std::span<const Device> devices,
                            const CalibrationStore& store, bool afresh, const StepNotice& begins) {
  CalibrationResult result =
      afresh ? nothing_known(devices.size()) : cached_calibration(devices, store);
  try {
    Calibrator(backend, devices, store, begins, result).run();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::interrupted) throw;
  }
  if (devices.size() == 1) take_link_of_one(result, devices);
  drop_repeats(result.warnings);
  return result;
}

namespace {

SessionOptions host_only() {
  SessionOptions options;
  options.telemetry = TelemetryPlaces{};
  return options;
}

// Largest share of the cores that other programs may use while a rate is measured. A rate is a
// median of many launches, and tolerates more load than a noise floor does.
constexpr double kMostLoad = 0.75;

// Measures one suite on the devices of a kind (CPUs or others) that have no rate yet.
void measure_suite(Backend& backend, Executor& executor, std::span<const Device> devices,
                   std::span<SuiteCalibration> rows, const Problem& problem, bool cpus,
                   const CalibrationStore& store, std::vector<std::string>& warnings,
                   const StepNotice& begins) {
  ReferenceSizeWork work;
  Bytes room = ~Bytes{0};
  for (const Device& device : devices) {
    if (device.is_cpu() == cpus) room = std::min(room, room_on(device));
  }
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (rows[i].rate || devices[i].is_cpu() != cpus) continue;
    announce(begins, work_in_words(problem) + " on " + devices[i].id);
    std::unique_ptr<OpenDevice> open;
    try {
      if (work.workloads.empty()) work = work_of_reference_size(backend, problem, cpus, room);
      open = backend.open(devices[i]);
      const auto variants = cached_variants(problem, devices.subspan(i, 1), store, warnings);
      for (const auto& workload : work.workloads)
        take_variants(*workload, variants, open->resources().traits(), warnings);
      TelemetryRecord ignored;
      Watch watch(backend, host_only(), ignored);
      attend(backend, open.get(), [&] {
        rows[i].rate = measure_rate_at_reference_size(backend, executor, work, *open, true);
      });
      if (!rows[i].rate) continue;
      rows[i].origin = CalibrationOrigin::measured;
      if (rows[i].rate->in_part)
        warnings.push_back("the rate of " + work_in_words(problem) + " on " + devices[i].id +
                           " is that of a part of the reference problem, not verified: all of it "
                           "would take more than 10 s");
      if (const auto load = other_load_above(watch.take(), kMostLoad)) {
        rows[i].rate->busy = true;
        warnings.push_back("the rate of " + work_in_words(problem) + " on " + devices[i].id +
                           " is a first estimate, measured again next time: " + *load);
      }
      store.save_suite(devices[i], rows[i].work, *rows[i].rate, warnings);
    } catch (const Error& error) {
      if (open && !try_drain(backend, *open)) {
        leak(std::move(open));
        leak(std::exchange(work, {}).workloads);
      }
      const bool of_the_user = error.kind() == ErrorKind::input || error.kind() == ErrorKind::usage;
      if (error.kind() == ErrorKind::interrupted || of_the_user) throw;
      warnings.push_back(work_in_words(problem) + " is not calibrated on " + devices[i].id + ": " +
                         error.what());
    }
  }
}

}  // namespace

std::vector<SuiteCalibration> calibrate_suites(Backend& backend, std::span<const Device> devices,
                                               std::span<const SuiteInfo> suites,
                                               const CalibrationStore& store, bool afresh,
                                               std::vector<std::string>& warnings,
                                               const StepNotice& begins) {
  std::vector<SuiteCalibration> all;
  Executor executor(backend, 1);
  for (const SuiteInfo& suite : suites) {
    const std::size_t first = all.size();
    for (const Device& device : devices) {
      SuiteCalibration& row = all.emplace_back();
      row.work = work_of(problem_of_reference_size(default_problem(suite), device.is_cpu()));
      row.device = device.id;
      if (!afresh) row.rate = store.load_suite(device, row.work, warnings);
      if (row.rate && row.rate->busy) row.rate.reset();
      if (row.rate) row.origin = CalibrationOrigin::cached;
    }
    for (const bool cpus : {false, true}) {
      const Problem problem = problem_of_reference_size(default_problem(suite), cpus);
      measure_suite(backend, executor, devices, std::span(all).subspan(first), problem, cpus, store,
                    warnings, begins);
    }
  }
  drop_repeats(warnings);
  return all;
}

void calibrate_problem(Backend& backend, std::span<const Device> devices, const Problem& problem,
                       const CalibrationStore& store, SuiteRates& rates,
                       std::vector<std::string>& warnings) {
  Executor executor(backend, 1);
  std::vector<SuiteCalibration> rows(devices.size());
  for (std::size_t i = 0; i < devices.size(); ++i) {
    rows[i] = {work_of(problem_of_reference_size(problem, devices[i].is_cpu())), devices[i].id,
               std::nullopt};
    if (const auto known = rates.find({rows[i].work, devices[i].id}); known != rates.end())
      rows[i].rate = known->second;
  }
  for (const bool cpus : {false, true})
    measure_suite(backend, executor, devices, rows, problem, cpus, store, warnings, {});
  for (const SuiteCalibration& row : rows)
    if (row.rate) rates[{row.work, row.device}] = *row.rate;
  drop_repeats(warnings);
}

std::vector<NoiseCalibration> calibrate_noise(Backend& backend, std::span<const Device> devices,
                                              std::span<const SuiteInfo> suites,
                                              const SuiteRates& rates, Bytes host_memory,
                                              const CalibrationStore& store, bool afresh,
                                              std::vector<std::string>& warnings,
                                              const StepNotice& begins) {
  std::vector<NoiseCalibration> all;
  for (const SuiteInfo& suite : suites) {
    const Problem like = default_problem(suite);
    const std::vector<SizedDevice> known = sized_devices(like, devices, rates);
    SizeLimits limits;
    limits.host_memory = host_memory / 2;
    limits.devices = devices.size();
    const auto own = own_problem(like);
    const Problem problem =
        problem_of_size(like, own             ? own->size
                              : known.empty() ? suite.default_size
                                              : choose_size(like, known, limits).size);
    NoiseCalibration& row = all.emplace_back();
    row.work = work_of(problem);
    if (!afresh) row.share = store.load_noise(devices, row.work, warnings);
    if (row.share) {
      row.origin = CalibrationOrigin::cached;
      continue;
    }
    announce(begins, "the noise of " + work_in_words(problem));
    try {
      const std::optional<Noise> noise = measure_noise(backend, problem, devices);
      if (!noise) continue;
      if (const auto why = why_not_kept(*noise)) {
        warnings.push_back("the noise of " + work_in_words(problem) + " was not cached: " + *why +
                           "; calibrate on an idle machine");
        continue;
      }
      row.share = noise->share;
      row.origin = CalibrationOrigin::measured;
      store.save_noise(devices, row.work, *row.share, warnings);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::interrupted) throw;
      warnings.push_back("the noise of " + work_in_words(problem) +
                         " is not known: " + error.what());
    }
  }
  drop_repeats(warnings);
  return all;
}

void add_cached_noise(const Problem& problem, std::span<const Device> devices,
                      const CalibrationStore& store, std::map<std::string, double>& noise,
                      std::vector<std::string>& warnings) {
  const std::string work = work_of(problem);
  if (const auto share = store.load_noise(devices, work, warnings)) noise[work] = *share;
  drop_repeats(warnings);
}

void add_cached_rates(const Problem& problem, std::span<const Device> devices,
                      const CalibrationStore& store, SuiteRates& rates,
                      std::vector<std::string>& warnings) {
  const std::string work = work_of(problem);
  for (const Device& device : devices) {
    if (rates.contains({work, device.id})) continue;
    const auto rate = store.load_suite(device, work, warnings);
    if (!rate) continue;
    if (rate->busy)
      warnings.push_back("the rate of " + work_in_words(problem) + " on " + device.id +
                         " was measured while other programs used most of the cores; mgpu-bench "
                         "calibrate measures it again");
    rates[{work, device.id}] = *rate;
  }
  drop_repeats(warnings);
}

}  // namespace mgpu
