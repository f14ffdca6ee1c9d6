// The runs of a report that belong into one table, and how they are called there. Internal to lib/report.
#pragma once

#include <string>
#include <vector>

#include "lib/report/record.hpp"

namespace mgpu {

// Runs of one suite, parameters and mode, in the order of the report.
struct RunGroup {
  std::string title;  // "merkle leaves=100000, resident"
  std::vector<const RunRecord*> runs;
  std::vector<std::string> labels;  // "dynamic", or "dynamic:chunks=32" where two differ only by that
  const RunRecord* best = nullptr;  // the fastest that is ok, the first of equals; null when none is
};

std::string group_title(const RunRecord& run);

// The groups point into `report`.
std::vector<RunGroup> group_runs(const Report& report);

}  // namespace mgpu
