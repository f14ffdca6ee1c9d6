// What a case is called where results meet: comparisons match by it, dashboards list by it.
#pragma once

#include <string>

#include "lib/report/record.hpp"

namespace mgpu {

std::string param_text(const ParamValue& value);
// For people: numbers as one types them, 2^26.
std::string param_shown(const ParamValue& value);

// Suite, parameters, strategy with its parameters, number of devices asked for and mode:
// "merkle/leaves:100000/seed:1/dynamic:chunks=16/devices:2/resident". Two runs of one report have
// the same name only when they are the same case: a set is always the first n devices.
std::string case_name(const RunRecord& run);
// Likewise, for lists of values over time: "devices:7of8" where one of 8 had been lost, as 7
// devices are no point of the line of 8.
std::string series_name(const RunRecord& run);

// "dynamic:chunks=16"; parameters at their defaults are left out, as -s leaves them out: a new one
// makes no new case of an old one.
std::string strategy_label(const RunRecord& run);

}  // namespace mgpu
