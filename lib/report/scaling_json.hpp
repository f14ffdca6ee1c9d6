// Strong and weak scaling over nodes, as a table and as JSON (schema "scaling").
#pragma once

#include <string>
#include <vector>

#include "lib/plan/scaling.hpp"
#include "lib/report/table_writer.hpp"

namespace mgpu {

struct ScalingReport {
  std::string tool, source, suite, unit;  // unit: of rates
  double ops = 1;                         // per item, in this unit
  Items granularity = 1;
  std::vector<ScalingRow> rows;
  // Tables count the problem in this unit of the user, such as leaves.
  std::string counted = "items";
  double counted_per_item = 1;
};

std::string scaling_json(const ScalingReport& report);
std::string scaling_schema();

// Returns one table per mode with a row per strategy and number of nodes, and strong scaling next
// to weak.
std::string scaling_tables(const ScalingReport& report, const TableStyle& style);

}  // namespace mgpu
