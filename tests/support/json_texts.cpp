#include "tests/support/json_texts.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "lib/base/error.hpp"
#include "lib/base/output_file.hpp"
#include "lib/report/record_json.hpp"
#include "lib/report/scenario_json.hpp"
#include "tests/support/golden.hpp"

namespace mgpu::test {
namespace {

using Json = nlohmann::ordered_json;

std::string stripped(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(' ') + 1 - begin));
}

Edit edit_of(std::string_view row) {
  const std::size_t blank = std::min(row.find(' '), row.size());
  return {std::string(row.substr(0, blank)), stripped(row.substr(blank))};
}

void apply(Json& json, const Edit& edit) {
  const Json::json_pointer at(edit.at);
  if (!edit.value.empty()) {
    json[at] = Json::parse(edit.value);
  } else if (Json& holder = json.at(at.parent_pointer()); holder.is_array()) {
    holder.erase(std::stoul(at.back()));
  } else {
    REQUIRE(holder.erase(at.back()) == 1);
  }
}

}  // namespace

std::vector<std::string> rows_of(std::string_view table) {
  std::vector<std::string> rows;
  while (!table.empty()) {
    const std::size_t end = std::min(table.find('\n'), table.size());
    if (std::string row = stripped(table.substr(0, end)); !row.empty()) rows.push_back(row);
    table.remove_prefix(std::min(end + 1, table.size()));
  }
  return rows;
}

std::vector<Edit> edits_of(std::string_view table) {
  std::vector<Edit> edits;
  for (const std::string& row : rows_of(table)) edits.push_back(edit_of(row));
  return edits;
}

std::string edited(const std::string& json, const std::vector<Edit>& edits) {
  Json changed = Json::parse(json);
  for (const Edit& edit : edits) apply(changed, edit);
  return changed.dump();
}

std::string edited(const std::string& json, std::string_view table) {
  return edited(json, edits_of(table));
}

std::string json_at(const std::string& json, std::string_view pointer) {
  const Json whole = Json::parse(json);
  const Json::json_pointer at{std::string(pointer)};
  return whole.contains(at) ? whole.at(at).dump() : "";
}

bool same_json(std::string_view a, std::string_view b) {
  return nlohmann::json::parse(a) == nlohmann::json::parse(b);
}

void check_json(const std::string& json, std::string_view table) {
  const Json whole = Json::parse(json);
  for (const Edit& row : edits_of(table)) {
    CAPTURE(row.at);
    const Json::json_pointer at(row.at);
    REQUIRE(whole.contains(at) == !row.value.empty());
    if (row.value.empty()) continue;
    const Json &is = whole.at(at), expected = Json::parse(row.value);
    CAPTURE(is.dump());
    if (expected.is_number_float()) {
      CHECK(is.get<double>() == doctest::Approx(expected.get<double>()).epsilon(1e-9));
    } else {
      CHECK((is == expected));
    }
  }
}

std::string path_of(std::string_view pointer) {
  std::string path;
  while (!pointer.empty()) {
    pointer.remove_prefix(1);
    const std::string_view token = pointer.substr(0, pointer.find('/'));
    const bool number = token.find_first_not_of("0123456789") == std::string_view::npos;
    path +=
        number ? '[' + std::string(token) + ']' : (path.empty() ? "" : ".") + std::string(token);
    pointer.remove_prefix(token.size());
  }
  return path;
}

Report report_from_text(const std::string& text) { return report_from_json(Json::parse(text)); }

Scenario scenario_from_text(const std::string& text) {
  return scenario_from_json(Json::parse(text));
}

std::string refusal_of_file(const std::string& text, void (*read)(const std::string& file)) {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "file.json").string();
  write_file_atomically(file, text);
  try {
    read(file);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    const std::string what = error.what();
    CHECK(what.starts_with(file + ": "));
    CHECK(what.find('\n') == std::string::npos);
    return what.substr(std::min(file.size() + 2, what.size()));
  }
  return "";
}

std::string refusal_of_result(const std::string& text) {
  return refusal_of_file(text, [](const std::string& file) { read_report(file); });
}

std::string refusal_of_scenario(const std::string& text) {
  return refusal_of_file(text, [](const std::string& file) { read_scenario(file); });
}

void check_refusals(const std::string& json, std::string (*refusal)(const std::string& text),
                    std::string_view table) {
  CHECK(refusal(json) == "");
  for (const std::string& row : rows_of(table)) {
    CAPTURE(row);
    const std::size_t arrow = std::min(row.find(" => "), row.size());
    const Edit edit = edit_of(row.substr(0, arrow));
    const std::string message = refusal(edited(json, {edit}));
    CAPTURE(message);
    std::string_view parts = std::string_view(row).substr(std::min(arrow + 3, row.size()));
    for (bool first = true; first || !parts.empty(); first = false) {
      const std::string part = stripped(parts.substr(0, parts.find(" & ")));
      parts.remove_prefix(std::min(parts.find(" & "), parts.size()));
      parts.remove_prefix(std::min<std::size_t>(3, parts.size()));
      if (first) {
        CHECK(message.starts_with(part.empty() ? path_of(edit.at) : part));
      } else {
        CHECK(message.find(part) != std::string::npos);
      }
    }
  }
}

}  // namespace mgpu::test
