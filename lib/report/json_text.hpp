// JSON as text a person can scroll through: objects indented, lists of numbers on one line, tables
// one row a line.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace mgpu {

// Invalid UTF-8 is replaced by U+FFFD; non-finite numbers are written as null.
std::string json_text(const nlohmann::ordered_json& json);
// nlohmann's own layout, every value on its own line: for documents without tables, printed by
// commands.
std::string indented_json(const nlohmann::ordered_json& json);
// All on one line.
std::string flat_json(const nlohmann::ordered_json& json);
// A string with quotes and escapes, appended to `out`.
void append_json_string(std::string& out, std::string_view text);

}  // namespace mgpu
