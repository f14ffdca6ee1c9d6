#include "lib/report/json_file.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "lib/base/quote.hpp"
#include "lib/base/text_file.hpp"
#include "lib/report/check.hpp"
#include "lib/report/json_build.hpp"
#include "lib/report/json_reader.hpp"
#include "lib/report/profile_report.hpp"
#include "lib/report/record_json.hpp"
#include "lib/report/scenario_json.hpp"

namespace mgpu {

namespace {

// No file of this tool nests a tenth as deep. The parser and code that walks its result recurse,
// one stack frame per level.
constexpr std::size_t kMostLevels = 100;

[[noreturn]] void refuse_repeated(std::string_view text, std::string_view key) {
  const auto lines = std::count(text.begin(), text.begin() + (key.data() - text.data()), '\n');
  throw Error(ErrorKind::input, "line " + std::to_string(lines + 1) + ": the name " +
                                    in_quotes(std::string(key)) +
                                    " is there twice in one object; expected: once");
}

// Checks the nesting of a text up to the first syntax error.
class Nesting {
 public:
  explicit Nesting(std::string_view text) : text_(text) {}

  // Throws Error(input) if lists and objects are nested deeper than kMostLevels, or if an object
  // repeats a name: parsers differ in which of the values counts.
  void check() {
    for (std::size_t at = 0; at < text_.size(); ++at) {
      const char c = text_[at];
      if (c == '"') {
        const std::size_t begin = at + 1;
        for (++at; at < text_.size() && text_[at] != '"'; ++at)
          if (text_[at] == '\\') ++at;
        take_string(text_.substr(begin, at - std::min(begin, at)));
      } else if (c == '[' || c == '{') {
        open(c == '{');
      } else if ((c == ']' || c == '}') && depth_ > 0) {
        close();
      } else if (c == ',' && depth_ > 0) {
        levels_[depth_ - 1].name_next = levels_[depth_ - 1].object;
      }
    }
  }

 private:
  struct Level {
    bool object = false, name_next = false;
    std::vector<std::string_view> names;
  };

  void open(bool object) {
    if (depth_ == kMostLevels)
      throw Error(ErrorKind::input, "lists and objects in it are nested deeper than " +
                                        std::to_string(kMostLevels) + " levels");
    Level& level = levels_[depth_++];
    level.object = level.name_next = object;
    level.names.clear();
  }

  void take_string(std::string_view string) {
    if (depth_ == 0 || !levels_[depth_ - 1].name_next) return;
    levels_[depth_ - 1].name_next = false;
    levels_[depth_ - 1].names.push_back(string);
  }

  void close() {
    std::vector<std::string_view>& names = levels_[--depth_].names;
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice != names.end()) refuse_repeated(text_, std::max(*twice, twice[1], later));
  }

  static bool later(std::string_view a, std::string_view b) { return a.data() < b.data(); }

  std::string_view text_;
  std::size_t depth_ = 0;
  std::array<Level, kMostLevels> levels_;
};

// Removes the name of the library's error from its message.
std::string plain_message(const std::string& what) {
  const std::size_t end = what.find("] ");
  return end == std::string::npos ? what : what.substr(end + 2);
}

}  // namespace

nlohmann::ordered_json parse_json(std::string_view text) {
  if (text.empty()) throw Error(ErrorKind::input, "is empty");
  Nesting(text).check();
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

// Whole documents: converts between nlohmann values or files and the writers and readers of
// lib/report, which only know JsonValue and JsonReader.

nlohmann::ordered_json to_json(const Report& report) {
  return std::move(report_value(report).json());
}

std::string to_json_text(const Report& report) { return json_text(report_value(report)); }

Report report_from_json(nlohmann::ordered_json json) { return read_report_value(JsonReader(json)); }

Report read_report(const std::filesystem::path& file) {
  return read_json_file(file, "a result file", [](nlohmann::ordered_json json) {
    return report_from_json(std::move(json));
  });
}

ProfileReport profile_from_json(nlohmann::ordered_json json) {
  return read_profile_value(JsonReader(json));
}

ProfileReport read_profile(const std::filesystem::path& file) {
  return read_json_file(file, "a profile", [](nlohmann::ordered_json json) {
    return profile_from_json(std::move(json));
  });
}

CheckDocument read_check(const std::filesystem::path& file) {
  return read_json_file(file, "a file of check", [](const nlohmann::ordered_json& json) {
    return read_check_value(JsonReader(json));
  });
}

Scenario scenario_from_json(nlohmann::ordered_json json) {
  return read_scenario_value(JsonReader(json));
}

Scenario read_scenario(const std::filesystem::path& file) {
  return read_json_file(file, "a scenario file", [](nlohmann::ordered_json json) {
    return scenario_from_json(std::move(json));
  });
}

}  // namespace mgpu
