// Two results, case by case: by how much each figure changed, how well that is known, and whether
// it is a regression. Pure. How it is shown is in comparison_text.cpp.
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

// Describes a difference between the machines of two results, or between their states: a ratio
// between two machines is no regression.
struct EnvironmentDifference {
  std::string what;         // "cpu", "device 0:1 driver_version"
  std::string base, fresh;  // "-": not there
  bool decisive =
      false;  // it changes what is measured: such results are not compared unless asked to
};

// Decisive are: the devices (number, name, type, driver, platform, units, handicap), the host, the
// CPU and the cores that may be used, variables that reconfigure devices, measured or simulated,
// and settings of devices as kSettingTable has it. Only noted are kernel, os, memory and which
// cores may be used, which change on one machine.
std::vector<EnvironmentDifference> environment_differences(const Report& base, const Report& fresh);

// "cpu: Xeon 8375C -> EPYC 7763"
std::string to_string(const EnvironmentDifference& difference);

// Noise above this share is that of a busy machine, not of the work: a floor of it would let a
// slow-down of any size pass.
inline constexpr double kMostNoise = 0.25;

enum class Change { regression, improvement, same, inconclusive };
const char* to_string(Change change);

struct CompareOptions {
  double alpha = 0.01;          // of a false alarm anywhere in the table, either way
  std::optional<double> floor;  // changes up to this share count as none; by default see floor_of()
  std::vector<Compared> metrics{kAllCompared.begin(), kAllCompared.end()};
  BootstrapOptions bootstrap;
  RoundValue round_value = RoundValue::median;  // of results measured interleaved
};

// 2 %. Of CPU devices 10 % where the two were not measured interleaved: other load moves their
// medians by several percent from one run to the next, which the samples of one run do not show.
double default_floor(const Report& base, bool interleaved);

// Of one case, unless one was asked for: default_floor(), but no less than the noise that calibrate
// found for this work on either side's devices, where that is at most kMostNoise. Not interleaved:
// pairs of rounds are apart by less than measurements at different times are.
double floor_of(const RunRecord& base, const RunRecord& fresh, double least, bool interleaved);

struct ComparedSide {
  std::vector<double> values;
  double median = 0;  // of the values
  double figure = 0;  // what run and report show of this result; interleaved, the median
};

struct Confirmation {
  std::size_t runs = 0, agreed = 0;
};

struct ComparisonRow {
  std::string name, title, label;  // of the case; of its table and its row there
  std::size_t devices = 0;
  Compared metric = Compared::time;
  double floor = 0;  // changes up to this share count as none
  ComparedSide base, fresh;
  std::optional<RatioInterval>
      ratio;                         // of the figures, fresh / base; none when a side has no values
  std::optional<TestResult> test;    // none when there is too little to test
  std::optional<double> p_adjusted;  // by Holm, over all rows that were tested
  Change change = Change::inconclusive;
  std::string reason;      // why inconclusive
  std::string impossible;  // BASE or NEW where its speed-up cannot be; else empty
  std::vector<std::string> warnings;
  std::optional<Confirmation> confirmation;
  // Has the values that each resample of `ratio` drew, by side, if asked for.
  std::vector<std::map<std::string, std::vector<std::uint32_t>>> resamples;
};

struct UncomparedCase {
  std::string name, what;     // "only in BASE", "failed in NEW: ..."
  bool lost = false;          // BASE has it, NEW does not
  bool beyond_fresh = false;  // it takes more devices than NEW had to choose from
  bool without_base = false;  // both have it, BASE without figures
};

struct Comparison {
  CompareOptions options;
  double floor = 0;          // of cases whose noise is not known to be larger
  bool interleaved = false;  // one value a round, in pairs
  std::vector<EnvironmentDifference> differences;
  std::vector<ComparisonRow> rows;
  std::vector<UncomparedCase> uncompared;

  std::size_t count(Change change) const;
  std::size_t lost() const;  // cases
};

// One report a side: samples against samples by Mann and Whitney's test. Several, as many on either
// side: round k of one was measured right before or after round k of the other; values of rounds in
// pairs by Wilcoxon's. A row is a regression when p, adjusted, is below alpha, the whole interval
// of the ratio is worse by more than the floor, and the medians differ by more than the metric's
// resolution; an improvement likewise; the same when the interval lies within the floor; else
// inconclusive. With fewer than 5 values a side nothing is tested.
Comparison compare_reports(std::span<const Report> base, std::span<const Report> fresh,
                           const CompareOptions& options);

// Of interleaved measurements whose first is this one: fewer rounds could not tell any one figure
// apart, however far off it was.
std::size_t rounds_needed(const Report& base, const Report& fresh, const CompareOptions& options);

// A regression stands only when every one of `again`, comparisons with measurements made anew,
// shows it too.
void confirm(Comparison& comparison, std::span<const Comparison> again);

}  // namespace mgpu
