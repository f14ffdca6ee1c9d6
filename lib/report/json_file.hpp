// JSON from text and from disk: the parser, which takes seconds to compile, is instantiated here
// alone. Files are read for readers whose every complaint is one line that begins with the file's
// name. Internal to lib/report.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <variant>

#include "lib/base/error.hpp"
#include "lib/report/json_build.hpp"
#include "lib/report/links_record.hpp"
#include "lib/report/record.hpp"

namespace mgpu {

// Throws Error(input) where the text is not JSON, nested deeper than 100 levels, or has a name
// twice in one object.
nlohmann::ordered_json parse_json(std::string_view text);

JsonValue parse_json_value(std::string_view text);

// Likewise, without the name: also a directory, or unreadable. `kind` is what it should be: "a
// result file".
nlohmann::ordered_json parse_json_file(const std::filesystem::path& file, const char* kind);

// What `read` makes of it; errors of either carry the file's name.
template <typename F>
auto read_json_file(const std::filesystem::path& file, const char* kind, F read) {
  try {
    return read(parse_json_file(file, kind));
  } catch (const Error& error) {
    throw Error(ErrorKind::input, file.string() + ": " + error.what());
  }
}

// Has what `report` and `compare` read: a result of `run` or a file of `links`.
using AnyResult = std::variant<Report, LinksReport>;

// Reads the file once: it may be a pipe. Throws Error(input) that names the file and what is wrong
// with it; of whatever is not a file of links, as a result.
AnyResult read_any_result(const std::filesystem::path& file);

}  // namespace mgpu
