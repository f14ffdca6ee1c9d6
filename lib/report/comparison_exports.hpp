// Exports a comparison to what CI services read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lib/report/comparison_text.hpp"

namespace mgpu {

// Returns the kinds of exports:
//   junit           a test case per judged row: regressions, and cases that NEW lost, are failures;
//                   rows that are slower without a verdict are errors
//   github          a line per regression (::error) and per row that is slower without a verdict
//                   (::warning), which GitHub Actions shows as annotations when a job prints it
//   gitlab-metrics  times of NEW and their ratios to BASE in the text format of OpenMetrics, for
//                   artifacts:reports:metrics of GitLab
//   codequality     a finding per regression or slower row in Code Climate's JSON, for
//                   artifacts:reports:codequality of GitLab
std::vector<std::string_view> comparison_export_kinds();

// Throws Error(internal) for an unknown kind.
std::string exported(std::string_view kind, const Comparison& comparison,
                     const ComparisonSources& sources);

}  // namespace mgpu
