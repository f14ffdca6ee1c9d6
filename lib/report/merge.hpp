// Merges results of the same devices into one. Pure.
#pragma once

#include <string>
#include <vector>

#include "lib/report/record.hpp"

namespace mgpu {

struct NamedReport {
  std::string file;
  Report report;
};

struct MergedReport {
  Report report;
  // Lists what the merged result leaves out as its files differ in it, a line each.
  std::vector<std::string> remarks;
};

// Returns a result with the runs of all files in their order. `tool` is what merged them. Facts of
// which the files disagree, such as options and calibrated figures of a device, are left out;
// clocks are those of the first file that has the device. Throws Error(input) if a file was made by
// `links`, if a case is there twice, or if files differ in what compare refuses
// (environment_differences), unless `ignore_environment`.
MergedReport merge_reports(std::vector<NamedReport> files, const ToolInfo& tool,
                           bool ignore_environment);

}  // namespace mgpu
