// The JSON kinds of lib/report/exports.hpp. Internal to lib/report.
#pragma once

#include <string>

#include "lib/report/record.hpp"

namespace mgpu {

std::string export_googlecpp(const Report& report);
std::string export_bmf(const Report& report);

}  // namespace mgpu
