// Numbers in the cells of tables, and one unit for a whole column of them, so that they can be
// compared by eye. Internal to lib/report.
#pragma once

#include <optional>
#include <string>

namespace mgpu {

struct Scale {
  double factor = 1;
  std::string prefix;  // "ms"; of a rate "G", to stand before its unit
  int decimals = 0;
  std::string format(double value) const;
};

// By the smallest value, which keeps three significant digits where four decimals allow it.
Scale time_scale(double smallest_ns);
// Decimals by the smallest value, unit by the largest.
Scale rate_scale(double smallest, double largest);

// The value times the factor; "-" where it is not known, or not finite.
std::string number_cell(const std::optional<double>& value, int decimals, double factor = 1);

}  // namespace mgpu
