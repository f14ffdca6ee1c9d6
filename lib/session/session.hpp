// A session: problems x modes x strategies x device counts on one set of devices, measured, verified and recorded. The one place
// where all layers meet; session.cpp reads from top to bottom like the run it makes. Without argv and without printing: it runs on
// the fake backend as it does on OpenCL.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "lib/device/capability.hpp"
#include "lib/device/handicap.hpp"
#include "lib/exec/backend.hpp"
#include "lib/exec/telemetry_sources.hpp"
#include "lib/plan/strategy.hpp"
#include "lib/report/journal.hpp"
#include "lib/report/record.hpp"
#include "lib/workload/workload.hpp"

namespace mgpu {

struct StopRule {
  std::size_t exactly = 0;  // -n: this many samples, whatever they show; 0: the rule below
  std::size_t least = 10;
  Nanos least_time = std::chrono::milliseconds(500);
  double half_width = 0.01;                   // of the 95 % interval of the median, relative to it
  Nanos most_time = std::chrono::seconds(5);  // a case, by its samples alone
  std::size_t most = 5000;                    // samples: of a few microseconds, others would take minutes for half a second of them
  std::size_t warmup = 1;

  static StopRule quick();  // 3 samples, 1 s
  bool satisfied(std::span<const Nanos> samples) const;
};

struct Problem {
  const SuiteInfo* suite = nullptr;
  SuiteParams params;
};
// To be solved by these devices.
std::unique_ptr<Workload> make_workload(const Problem& problem, std::span<const Device> devices);

// By suite with its options, and by device id.
using SuiteRates = std::map<std::pair<std::string, std::string>, SuiteRate>;

// Of each sample, whose part is computed again by another device: nobody's, one device's in turn, everybody's.
enum class IntegrityLevel { off, sample, full };

// What earlier runs of the same session left, who did not end by themselves.
struct Continued {
  std::uint32_t run = 2;                          // the number of the run that goes on
  std::size_t groups = 0;                         // finished: their rows are in the report that is begun with
  std::map<std::size_t, GroupJournal> under_way;  // others, by number
};

struct SessionOptions {
  std::vector<Problem> problems;
  std::vector<Mode> modes;
  std::vector<StrategyChoice> strategies;
  std::vector<Device> devices;          // the set, in the order of the selection
  Calibration calibration;              // of that set, as far as it is known
  SuiteRates suite_rates;               // likewise
  std::map<std::string, double> noise;  // likewise: how far medians of a suite with its options lie apart on them
  std::vector<std::map<std::string, std::string>>
      variants;                            // of each problem, by device id: how it is computed; missing: the default
  std::vector<Handicap> handicaps;         // of each of them; empty: none has any
  std::vector<std::size_t> device_counts;  // the first n devices each; none of them 0 or above devices.size()
  StopRule stop;
  VerifyLevel verify = VerifyLevel::full;
  IntegrityLevel integrity = IntegrityLevel::off;
  std::uint64_t seed = 1;
  // A device that completes nothing for this long is lost, and its work goes to the others; none: as WaitLimits has it, or 20 times
  // what was predicted for the case where that is more.
  std::optional<Nanos> case_timeout;
  Nanos build_timeout = WaitLimits{}.build;  // likewise, of one that is opened or built for
  std::optional<Device> reserve;             // steps in when no device of the set is left
  std::optional<Nanos> time_limit;           // of the session: cases not begun by then are skipped
  std::optional<TelemetryPlaces> telemetry;  // none: it was turned off
  // What strategies are given of each device of the session, where it need not be measured; none: it is. `fits` and `pipeline` are
  // what the workload says, at most these; 0: as it says.
  std::optional<SetEstimates> given_estimates;
  std::optional<std::filesystem::path> result_file;  // the workload's result is written here (one problem only)
  std::optional<Continued> continued;                // none: this is the first run
};

// Where a session is: in the cases of one problem and mode.
struct Progress {
  std::string what;                   // "merkle resident"
  std::size_t done = 0, total = 0;    // its cases
  std::size_t group = 0, groups = 1;  // its index, from 0, and how many there are
  std::optional<Nanos> left = {};     // of the whole session, roughly; none: not known yet
};

// Told what happens, on the session's thread.
class SessionObserver {
 public:
  virtual ~SessionObserver() = default;
  virtual void warning(std::string_view text) = 0;
  virtual void output_failed(std::string_view text) {
    warning(text);
  }                                                     // SessionOptions::result_file was not written, and will not be
  virtual void progress(const Progress& progress) = 0;  // often: throttle when printing
  virtual void recorded(const Report& so_far) = 0;      // after the cases of one problem and mode: save it
  virtual bool stop_requested() = 0;                    // asked between samples, and now and then in them: Ctrl-C
  virtual void noted(const JournalEntry&, Nanos) {}     // between samples, at this time: for the journal
  virtual void finished(std::size_t) {}                 // so many groups: the next report recorded has all of their rows
};

// Fills devices, runs and complete; tool and environment are the caller's (`begun` holds them), as are, where the session goes on,
// the runs and faults of the groups that are finished, and the devices of earlier runs. Failures of cases are rows with a
// status, never exceptions. Throws Error(no_device) when no device could be opened, Error(input) when the journal is of other
// cases.
Report run_session(Backend& backend, const SessionOptions& options, Report begun, SessionObserver& observer);

}  // namespace mgpu
