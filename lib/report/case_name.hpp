// Names of cases, by which comparisons match them and dashboards list them.
#pragma once

#include <string>

#include "lib/report/record.hpp"

namespace mgpu {

std::string param_text(const ParamValue& value);
// Returns the value for people: numbers as one types them, 2^26.
std::string param_shown(const ParamValue& value);

// Returns suite, parameters, strategy with its parameters, number of requested devices and mode:
// "merkle/leaves:100000/seed:1/dynamic:chunks=16/devices:2/resident". Two runs of one report have
// the same name only if they are the same case: a set is always the first n devices.
std::string case_name(const RunRecord& run);
// Returns suite, parameters and mode, which the cases of one table share.
std::string group_name(const RunRecord& run);
// Returns the case's name for lists of values over time: "devices:7of8" if one of 8 had failed,
// because 7 devices are no point on the line of 8.
std::string series_name(const RunRecord& run);

// Returns "dynamic:chunks=16". Omits parameters at their defaults, as -s does, so that a new
// parameter does not rename old cases.
std::string strategy_label(const RunRecord& run);

}  // namespace mgpu
