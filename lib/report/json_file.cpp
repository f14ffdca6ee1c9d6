#include "lib/report/json_file.hpp"

#include <cstddef>
#include <nlohmann/json.hpp>

#include "lib/base/text_file.hpp"

namespace mgpu {
namespace {

// No file of ours nests a tenth as deep. The parser itself and what walks through its result
// recurse, a stack frame a level.
constexpr std::size_t kMostLevels = 100;

// Levels of lists and objects, as far as the text is JSON: what follows a mistake does not matter.
bool too_deep(std::string_view text) {
  std::size_t level = 0;
  bool in_string = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (in_string) {
      if (c == '\\') ++at;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++level > kMostLevels) return true;
    } else if ((c == ']' || c == '}') && level > 0) {
      --level;
    }
  }
  return false;
}

// The library's message names itself first; the rest is for people.
std::string plain_message(const std::string& what) {
  const std::size_t end = what.find("] ");
  return end == std::string::npos ? what : what.substr(end + 2);
}

}  // namespace

nlohmann::ordered_json parse_json(std::string_view text) {
  if (text.empty()) throw Error(ErrorKind::input, "is empty");
  if (too_deep(text))
    throw Error(ErrorKind::input, "lists and objects in it are nested deeper than " +
                                      std::to_string(kMostLevels) + " levels");
  try {
    return nlohmann::ordered_json::parse(text);
  } catch (const nlohmann::json::exception& e) {
    throw Error(ErrorKind::input, "not JSON, or cut off: " + plain_message(e.what()));
  }
}

JsonValue parse_json_value(std::string_view text) { return JsonValue(parse_json(text)); }

nlohmann::ordered_json parse_json_file(const std::filesystem::path& file, const char* kind) {
  std::error_code error;
  if (std::filesystem::is_directory(file, error))
    throw Error(ErrorKind::input, std::string("is a directory, not ") + kind);
  return parse_json(read_text_file(file));
}

}  // namespace mgpu
