// Numbers in the cells of tables, with one unit per column, so that they can be compared by eye.
// Internal to lib/report.
#pragma once

#include <optional>
#include <string>

namespace mgpu {

struct Scale {
  double factor = 1;
  std::string prefix;  // "ms"; of a rate "G", before its unit
  int decimals = 0;
  std::string format(double value) const;
};

// Returns the unit for the smallest value, with three significant digits if four decimals suffice.
Scale time_scale(double smallest_ns);
Scale energy_scale(double smallest_j);
// Returns decimals for the smallest value and the unit for the largest.
Scale rate_scale(double smallest, double largest);

// Returns the value times the factor; "-" if it is unknown or not finite.
std::string number_cell(const std::optional<double>& value, int decimals, double factor = 1);

}  // namespace mgpu
