// The result file: Report <-> JSON of schema "mgpu-bench/result".
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/output_file.hpp"
#include "lib/report/record.hpp"

namespace mgpu {

// Writes keys in the order of the schema; non-finite numbers become null; invalid UTF-8 is
// replaced.
nlohmann::ordered_json to_json(const Report& report);
std::string to_json_text(const Report& report);

// Throws Error(input) that names the file and what is wrong with it: not JSON, another schema, a
// newer schema_version, a missing field.
Report read_report(const std::filesystem::path& file);
Report report_from_json(nlohmann::ordered_json json);

// Returns the JSON Schema of result files, as text. Scripts read the copy result.schema.json.
std::string result_schema();

// Returns the names of the published JSON Schemas in alphabetical order: "calibrate", "compare",
// ...
std::vector<std::string> schema_names();
// Returns one of them as text. Throws Error(usage) for another name.
std::string schema_text(std::string_view name);

}  // namespace mgpu
