// Findings of a verification in result files.
#pragma once

#include "lib/base/findings.hpp"
#include "lib/report/json_build.hpp"
#include "lib/report/json_reader.hpp"

namespace mgpu {

JsonValue findings_json(const Findings& findings);

// Throws Error(input) that begins with the field.
Findings read_findings(const JsonReader& j);

}  // namespace mgpu
