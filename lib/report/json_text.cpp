// Layout of JSON text. nlohmann's own indentation gives every number its own line: 100,000 commands
// would be a million lines.
#include "lib/report/json_text.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace mgpu {

namespace {

using Json = nlohmann::ordered_json;

// Small flat objects stay on one line.
bool short_enough(const std::string& text, std::size_t depth) {
  return text.size() + 2 * depth <= 120;
}

void write(const Json& j, std::size_t depth, std::string& out) {
  const auto new_line = [&](std::size_t d) { out.append("\n").append(2 * d, ' '); };
  const bool nested = j.is_structured() && std::any_of(j.begin(), j.end(), [](const Json& e) {
                        return e.is_structured();
                      });
  if (j.empty() || !j.is_structured() || (j.is_array() && !nested)) {
    out += flat_json(j);
    return;
  }
  const bool object = j.is_object();
  if (object && !nested) {
    const std::string line = flat_json(j);
    if (short_enough(line, depth)) {
      out += line;
      return;
    }
  }
  out += object ? '{' : '[';
  bool first = true;
  for (const auto& [key, value] : j.items()) {
    if (!first) out += ',';
    first = false;
    new_line(depth + 1);
    if (object) {
      append_json_string(out, key);
      out += ": ";
    }
    write(value, depth + 1, out);
  }
  new_line(depth);
  out += object ? '}' : ']';
}

}  // namespace

std::string indented_json(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string flat_json(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void append_json_string(std::string& out, std::string_view text) {
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    return c >= ' ' && c < 127 && c != '"' && c != '\\';
  });
  if (plain)
    out.append(1, '"').append(text).append(1, '"');
  else
    out += flat_json(Json(text));
}

std::string json_text(const nlohmann::ordered_json& json) {
  std::string out;
  write(json, 0, out);
  out += '\n';
  return out;
}

}  // namespace mgpu
