// The figures of a case that two results are compared by, one value per sample. What differs
// between two sets of them is in lib/report/comparison.hpp.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/report/record.hpp"

namespace mgpu {

enum class Compared { time, speedup, efficiency, imbalance };
inline constexpr std::array kAllCompared = {Compared::time, Compared::speedup, Compared::efficiency,
                                            Compared::imbalance};

struct ComparedInfo {
  Compared metric;
  const char* name;
  const char* unit;
  bool higher_is_better;
  double resolution;  // of a median, in its unit: smaller changes are not seen
  const char* definition;
};
const ComparedInfo& info(Compared metric);

// One value per sample: of all metrics, those of sample k were taken in one round.
//   time        ns
//   speedup     time of the fastest device alone in that round / time; 1 for one device
//   efficiency  speedup / ideal_speedup of that round
//   imbalance   longest / mean busy time; 1 is perfect. imbalance_percent is (this - 1) * 100,
//   which has no ratio at 0
// A file without the samples of devices (older than those) gives the one value it has. None where
// undefined.
std::vector<double> case_values(const RunRecord& run, Compared metric);

// The figure that run and report show: of the medians where it is made of times, else the median of
// the values above. None where undefined.
std::optional<double> case_figure(const RunRecord& run, Compared metric);

// What stands for a round: the median of its values, or what its least times give. Other load only
// ever adds to a time, so that on a shared machine the least of a round moves far less than its
// median; but what slows only some samples down it does not show.
enum class RoundValue { median, minimum };

struct CaseValues {
  std::string name;                // lib/report/case_name.hpp
  std::string title;               // of its table
  const RunRecord* run = nullptr;  // the first of this name
  std::string trouble;             // why it has no values: "failed: ..."; empty when it has
  std::array<std::vector<double>, kAllCompared.size()> values;
  std::vector<std::string> warnings;  // and what is to be known of its faults
};

// One report: each case with the values of its samples. Several are rounds: each case has one value
// per report, in their order; NaN where a round has none. In the order of the first report. They
// point into `reports`.
std::vector<CaseValues> collect_cases(std::span<const Report> reports, RoundValue round_value);

}  // namespace mgpu
