// Options of a session.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/device/capability.hpp"
#include "lib/device/handicap.hpp"
#include "lib/device/peer_links.hpp"
#include "lib/exec/wait.hpp"
#include "lib/measure/telemetry_sources.hpp"
#include "lib/plan/strategy.hpp"
#include "lib/predict/size_choice.hpp"
#include "lib/predict/suite_rates.hpp"
#include "lib/report/journal.hpp"
#include "lib/session/stop_rule.hpp"

namespace mgpu {

// Share of each sample that another device computes again: none, the part of one device (a
// different one for each sample), all parts.
enum class IntegrityLevel { off, sample, full };

// State that earlier, interrupted runs of the same session left.
struct Continued {
  std::uint32_t run = 2;   // number of the run that continues them
  std::size_t groups = 0;  // finished groups: their rows are in the report at the start
  std::map<std::size_t, GroupJournal> under_way;  // unfinished groups, by number
};

// A device that another look at the machine finds.
struct FoundDevice {
  std::string identity, id, name;  // identity_of()
};

struct SessionOptions {
  std::vector<Problem> problems;
  // If given, problems have no sizes: each is made short, and gets a size within these limits just
  // before it is measured.
  std::optional<SizeLimits> sizes_within;
  bool only_builds = false;  // kernels are built for the driver's cache; nothing is measured
  std::vector<Mode> modes;
  std::vector<StrategyChoice> strategies;
  std::vector<Device> devices;  // the set, in the order of the selection
  Calibration calibration;      // of that set, as far as it is known
  bool first_use = false;       // no GPU of it was calibrated before: kernels are still to be built
  SuiteRates suite_rates;       // rates on that set, as far as they are known
  // Noise floors of suites with their options on that set, as far as they are known.
  std::map<std::string, double> noise;
  // Kernel variant by problem and device id; missing: the default.
  std::vector<std::map<std::string, std::string>> variants;
  std::vector<Handicap> handicaps;  // by device; empty: none is throttled
  // Numbers n of devices, the first n of the set each; from 1 to devices.size().
  std::vector<std::size_t> device_counts;
  StopRule stop;
  // Samples that each case of a group takes at least, whatever they cost, by group_name().
  std::map<std::string, std::size_t> fewest_samples;
  VerifyLevel verify = VerifyLevel::full;
  IntegrityLevel integrity = IntegrityLevel::off;
  std::uint64_t seed = 1;
  // Time after which a device that completes nothing counts as failed, so that its work goes to the
  // others. None: the limit of WaitLimits, or 20 times the predicted time of the case if that is
  // more.
  std::optional<Nanos> case_timeout;
  Nanos build_timeout = WaitLimits{}.build;  // limit of builds and of opening a device
  std::optional<PeerPath> peer;     // how devices exchange data; none: the best path that they have
  std::optional<Device> reserve;    // takes over when no device of the set is left
  double usable_cores = 0;          // cores of this machine that the process may use; 0: not known
  std::optional<Nanos> time_limit;  // limit of the session: cases not begun by then are skipped
  std::optional<Nanos> live_every;  // interval of live metrics; none: there are none
  std::optional<TelemetryPlaces> telemetry;  // none: turned off
  bool energy = false;                       // each case is also executed to measure its energy
  Objective objective = Objective::time;     // of the strategy auto
  // Estimates of the devices that strategies are given instead of measured ones; none: devices are
  // probed. `fits` and `pipeline` are the smaller of these and the workload's; 0: the workload's.
  std::optional<SetEstimates> given_estimates;
  // File to which the workload's result is written (one problem only).
  std::optional<std::filesystem::path> result_file;
  std::optional<Continued> continued;  // none: this is the first run
  // Looks for devices again before each group but the first. Null: the set stays as it is.
  std::function<std::vector<FoundDevice>()> find_devices;
};

}  // namespace mgpu
