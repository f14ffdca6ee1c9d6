// Reads JSON from text and from disk: the parser, which takes seconds to compile, is instantiated
// here alone. Errors in files are one line that begins with the file's name. Internal to
// lib/report.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "lib/base/error.hpp"
#include "lib/report/json_build.hpp"

namespace mgpu {

// Parses a text. Throws Error(input) if it is not JSON, is nested deeper than 100 levels, or
// repeats a name in one object.
nlohmann::ordered_json parse_json(std::string_view text);

JsonValue parse_json_value(std::string_view text);

// Parses a file. Throws Error(input) without the file's name, also for a directory or an unreadable
// file. `kind` is the expected content: "a result file".
nlohmann::ordered_json parse_json_file(const std::filesystem::path& file, const char* kind);

// Returns read(the file's JSON); errors of both carry the file's name.
template <typename F>
auto read_json_file(const std::filesystem::path& file, const char* kind, F read) {
  try {
    return read(parse_json_file(file, kind));
  } catch (const Error& error) {
    throw Error(ErrorKind::input, file.string() + ": " + error.what());
  }
}

}  // namespace mgpu
