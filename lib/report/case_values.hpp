// The figures by which two results of a case are compared, one value per sample.
// lib/report/comparison.hpp compares them.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/report/record.hpp"

namespace mgpu {

enum class Compared { time, speedup, efficiency, imbalance, energy };
inline constexpr std::array kAllCompared = {Compared::time, Compared::speedup, Compared::efficiency,
                                            Compared::imbalance, Compared::energy};

struct ComparedInfo {
  Compared metric;
  const char* name;
  const char* unit;
  bool higher_is_better;
  double resolution;  // smallest change of a median that counts, in its unit
  const char* definition;
};
const ComparedInfo& info(Compared metric);

// Returns one value per sample; for all metrics, those of sample k were taken in one round.
//   time        ns
//   speedup     time of the fastest single device in that round / time; 1 for one device
//   efficiency  speedup / ideal_speedup of that round
//   energy      of a run, in J, in each part of the block that measured it
//   imbalance   longest / mean busy time; 1 is perfect. imbalance_percent, (this - 1) * 100, has no
//               ratio at 0
// An older file without single-device samples gives its one value. Empty if undefined.
std::vector<double> case_values(const RunRecord& run, Compared metric);

// Returns the figure that run and report show: for metrics of times the one of the medians, else
// the median of the values above. None if undefined.
std::optional<double> case_figure(const RunRecord& run, Compared metric);

// How a round is condensed: to the median of its values, or to the value from its least times.
// Other load only adds to a time, so that on a shared machine the least of a round varies far less
// than its median; but it does not show what slows down only some samples.
enum class RoundValue { median, minimum };

struct CaseValues {
  std::string name;                // lib/report/case_name.hpp
  std::string title;               // title of its table
  const RunRecord* run = nullptr;  // the first run of this name
  std::string trouble;             // why it has no values: "failed: ..."; else empty
  std::array<std::vector<double>, kAllCompared.size()> values;
  std::array<std::vector<double>, kAllCompared.size()> by_run;  // medians, unless of rounds
  std::vector<std::string> warnings;                            // including notes on its faults
};

// Returns the name of a case that the report has more than once.
std::optional<std::string> repeated_case(const Report& report);

// Collects the cases, each of which a report may have once. Reports are runs, and each case has the
// values of the samples of all; or they are rounds that are condensed so: then each case has one
// value per report, in their order; NaN if a round has none. Cases are in the order of the first
// report and point into `reports`.
std::vector<CaseValues> collect_cases(std::span<const Report> reports,
                                      std::optional<RoundValue> rounds);

}  // namespace mgpu
