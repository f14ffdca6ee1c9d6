// Strong and weak scaling over nodes, as a table and as JSON (schema "scaling").
#pragma once

#include <string>
#include <vector>

#include "lib/plan/scaling.hpp"
#include "lib/report/table_writer.hpp"

namespace mgpu {

struct ScalingReport {
  std::string tool, source, suite, unit;  // unit: of rates
  double ops = 1;                         // of an item, in it
  Items granularity = 1;
  std::vector<ScalingRow> rows;
};

std::string scaling_json(const ScalingReport& report);
std::string scaling_schema();

// One a mode: a row a strategy and number of nodes, with strong scaling beside weak.
std::string scaling_tables(const ScalingReport& report, const TableStyle& style);

}  // namespace mgpu
