// Compares two results, case by case: by how much each figure changed, how well that is known, and
// whether it is a regression. Pure. comparison_text.cpp prints it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/base/bootstrap.hpp"
#include "lib/base/significance.hpp"
#include "lib/report/case_values.hpp"
#include "lib/report/record.hpp"

namespace mgpu {

// A difference between the machines of two results, or between their states: a ratio between two
// machines is no regression.
struct EnvironmentDifference {
  std::string field;        // "cpu", "driver_version"
  std::string what;         // the same, of a device with its id: "device 0:1 driver_version"
  std::string base, fresh;  // "-": missing
  // It changes what is measured: such results are compared only on request.
  bool decisive = false;
};

// Returns the differences. Decisive are: the devices (number, name, type, driver, platform, units,
// throttle), the host, the CPU and the usable cores, variables that reconfigure devices, measured
// or simulated, and the settings of devices that kSettingTable calls decisive. Kernel, os, memory
// and which cores are usable, which card of a model it is, and options such as warmup are only
// noted: they change on one machine.
std::vector<EnvironmentDifference> environment_differences(const Report& base, const Report& fresh);

// Removes parameters that only one report's suites know from its cases, if they have the default
// that the report recorded: a new option of a suite is no other case.
void drop_new_defaults(Report& base, Report& fresh);

// Returns "cpu: Xeon 8375C -> EPYC 7763".
std::string to_string(const EnvironmentDifference& difference);

// The most noise that is used as a floor. More is that of a busy machine, not of the work, and a
// floor of it would let a slow-down of any size pass.
inline constexpr double kMostNoise = 0.25;

enum class Change { regression, improvement, same, inconclusive, informative };
const char* to_string(Change change);

struct CompareOptions {
  double alpha = 0.01;          // probability of any false alarm in the table, in either direction
  std::optional<double> floor;  // ignored relative change; none: see floor_of()
  std::vector<Compared> metrics{kAllCompared.begin(), kAllCompared.end()};
  // Metrics that are judged; the others inform. All derive from the same samples: each of them more
  // would only make every verdict harder to reach.
  std::vector<Compared> judged{Compared::time};
  BootstrapOptions bootstrap;
  // Reports are rounds, condensed so: round k of BASE was measured right before or after round k of
  // NEW. None: they are runs.
  std::optional<RoundValue> rounds;
};

// Returns 2 %; for CPU devices that were not measured interleaved 10 %: other load moves their
// medians by several percent from one run to the next, which the samples of one run do not show.
double default_floor(const Report& base, bool interleaved);

// Returns the floor of one case if the options have none: `least`, but not interleaved at least the
// noise that calibrate found for this work on either side's devices, if at most kMostNoise. Paired
// rounds differ by less than measurements at different times.
double floor_of(const RunRecord& base, const RunRecord& fresh, double least, bool interleaved);

struct ComparedSide {
  std::vector<double> values;
  double median = 0;  // median of the values
  // The figure that run and report show; interleaved, the median; of several runs, the geometric
  // mean of their medians.
  double figure = 0;
  std::vector<double> runs;  // medians, unless interleaved
};

struct Confirmation {
  std::size_t runs = 0, agreed = 0;
};

// Names a case by its parts.
struct CaseParts {
  std::string suite, strategy;
  ParamMap params, strategy_params;
  std::vector<std::string> devices;
  Mode mode;
};

struct ComparisonRow {
  std::string name, title, label;  // names of the case, of its table, and of its row there
  CaseParts parts;
  std::size_t devices = 0;
  Compared metric = Compared::time;
  double floor = 0;  // ignored relative change
  ComparedSide base, fresh;
  // fresh / base of the figures; none when a side has no values.
  std::optional<RatioInterval> ratio;
  std::optional<TestResult> test;    // none: informative, or fewer than 3 values in all
  std::optional<double> p_adjusted;  // adjusted by Holm, over all judged rows
  bool judged = false, few = false;  // few: too few values for a test of ranks
  Change change = Change::inconclusive;
  std::string reason;      // why inconclusive
  std::string impossible;  // of a side's speed-up: why it cannot be ranked; empty: it can
  std::string load;        // why a change may come from other programs; empty: it does not
  bool withheld = false;   // a regression but for these
  bool suspect = false;    // inconclusive, and slower by more than the floor as far as is known
  std::vector<std::string> warnings;
  std::optional<Confirmation> confirmation;
  // Values that each resample of `ratio` drew, by side, if requested.
  std::vector<std::map<std::string, std::vector<std::uint32_t>>> resamples;
};

struct UncomparedCase {
  std::string name, what;     // "only in BASE", "failed in NEW: ..."
  bool lost = false;          // BASE has figures of it, NEW has not
  bool beyond_fresh = false;  // it takes more devices than NEW has
  bool without_base = false;  // both have it, BASE without figures
};

struct Comparison {
  CompareOptions options;
  double floor = 0;          // floor of cases without known larger noise
  std::size_t needed = 0;    // values per side with which ranks can decide any judged row
  bool interleaved = false;  // one value per round, in pairs
  std::vector<EnvironmentDifference> differences;
  std::vector<ComparisonRow> rows;
  std::vector<std::size_t> shown;  // indices of the rows that are printed, in that order
  std::vector<UncomparedCase> uncompared;

  std::size_t count(Change change) const;
  std::size_t suspects() const;  // number of rows
  std::size_t lost() const;      // number of cases
  // Tells whether no row has a verdict, as all have too few values.
  bool undecidable() const;
};

// Compares the reports. With one report per side, samples are tested with Mann and Whitney's test.
// With several on a side, which are runs, the medians of runs are tested with Student's test of
// logarithms: samples of one run share what differs between runs. The spread of runs is taken from
// all cases together, or from the case itself if that is more. With rounds, as many on either side,
// pairs of their values are tested with Wilcoxon's test. A row is a regression when the adjusted p
// is below alpha, the whole interval of the ratio is worse by more than the floor, and the medians
// differ by more than the metric's resolution; an improvement if the same holds for better. It is
// the same when the interval lies within the floor, else inconclusive. A row that has fewer than 5
// values on a side, or so few that no adjusted p can be below alpha, is tested with Student's test
// of logarithms: it is a regression only if every value of NEW is also slower than every value of
// BASE by more than the floor. A speed-up that `run` does not rank is inconclusive, and so is a
// change if rounds were not interleaved and a side was measured while other programs used a quarter
// of the cores: samples of one result share that load, so that their spread does not show it.
Comparison compare_reports(std::span<const Report> base, std::span<const Report> fresh,
                           const CompareOptions& options);

// Returns how many interleaved rounds are needed, given the first one: with fewer, no figure is
// distinguishable however much it changed.
std::size_t rounds_needed(const Report& base, const Report& fresh, const CompareOptions& options);

// Judges rows that are regressions or suspect by comparisons of `again`, which are re-measurements:
// a regression stays one if all show it, be it under load; a suspect row becomes one if all show a
// regression. It is none if the runs differ by as much: a BASE that was measured in a fast run
// would alarm for ever. If one shows that the row is not slower, it is no longer suspect.
void confirm(Comparison& comparison, std::span<const Comparison> again);

}  // namespace mgpu
