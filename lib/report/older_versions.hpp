// Files that earlier versions of the tool wrote: what they name otherwise is given today's names,
// before anything is read. Internal to lib/report.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace mgpu {

// A result file of schema_version 1 or 2 becomes one of 3; of any other version, or where it is no
// such thing, it stays as it is.
void bring_result_up_to_date(nlohmann::ordered_json& result);

// Scenarios carry no version: names of before are understood beside today's.
void bring_scenario_up_to_date(nlohmann::ordered_json& scenario);

}  // namespace mgpu
