// A fault as JSON: in result files and in journals. Internal to lib/report.
#pragma once

#include "lib/report/json_build.hpp"
#include "lib/report/json_reader.hpp"
#include "lib/report/record.hpp"

namespace mgpu {

JsonValue fault_json(const Fault& fault);
// `disturbed`: how many disturbed samples there are that it may be of. Throws Error(input).
Fault read_fault(const JsonReader& json, std::size_t disturbed);

}  // namespace mgpu
