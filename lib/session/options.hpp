// All that a session is asked for.
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
#include "lib/predict/suite_rates.hpp"
#include "lib/report/journal.hpp"
#include "lib/session/stop_rule.hpp"

namespace mgpu {

// Whose part of a sample is computed again by another device: nobody's, that of one device (another
// one for each sample), everybody's.
enum class IntegrityLevel { off, sample, full };

// What earlier, interrupted runs of the same session left.
struct Continued {
  std::uint32_t run = 2;   // the number of the run that goes on
  std::size_t groups = 0;  // finished: their rows are in the report that is begun with
  std::map<std::size_t, GroupJournal> under_way;  // others, by number
};

struct SessionOptions {
  std::vector<Problem> problems;
  std::vector<Mode> modes;
  std::vector<StrategyChoice> strategies;
  std::vector<Device> devices;  // the set, in the order of the selection
  Calibration calibration;      // of that set, as far as it is known
  SuiteRates suite_rates;       // likewise
  std::map<std::string, double>
      noise;  // likewise: how far medians of a suite with its options lie apart on them
  std::vector<std::map<std::string, std::string>>
      variants;  // of each problem, by device id: how it is computed; missing: the default
  std::vector<Handicap> handicaps;  // of each of them; empty: none has any
  std::vector<std::size_t>
      device_counts;  // the first n devices each; none of them 0 or above devices.size()
  StopRule stop;
  VerifyLevel verify = VerifyLevel::full;
  IntegrityLevel integrity = IntegrityLevel::off;
  std::uint64_t seed = 1;
  // A device that completes nothing for this long is lost, and its work goes to the others; none:
  // as WaitLimits has it, or 20 times what was predicted for the case where that is more.
  std::optional<Nanos> case_timeout;
  Nanos build_timeout = WaitLimits{}.build;  // likewise, of one that is opened or built for
  std::optional<PeerPath> peer;     // how devices exchange data; none: the best that they have
  std::optional<Device> reserve;    // steps in when no device of the set is left
  double usable_cores = 0;          // of this machine, by the process; 0: not known
  std::optional<Nanos> time_limit;  // of the session: cases not begun by then are skipped
  std::optional<TelemetryPlaces> telemetry;  // none: it was turned off
  // What strategies are given of each device of the session, where it need not be measured; none:
  // it is. `fits` and `pipeline` are what the workload says, at most these; 0: as it says.
  std::optional<SetEstimates> given_estimates;
  std::optional<std::filesystem::path>
      result_file;                     // the workload's result is written here (one problem only)
  std::optional<Continued> continued;  // none: this is the first run
};

}  // namespace mgpu
