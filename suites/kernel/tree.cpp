#include "suites/kernel/tree.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <sstream>

#include "lib/base/error.hpp"
#include "lib/base/quote.hpp"
#include "lib/base/text_file.hpp"
#include "suites/kernel/descriptor.hpp"

namespace mgpu::kernel {
namespace {

using Json = nlohmann::json;

constexpr int kDeepest = 16;  // nested tables; descriptors need four levels

Json json_of(const toml::node& node) {
  if (const auto* table = node.as_table()) {
    Json object = Json::object();
    for (const auto& [key, value] : *table) object[std::string(key.str())] = json_of(value);
    return object;
  }
  if (const auto* array = node.as_array()) {
    Json list = Json::array();
    for (const auto& value : *array) list.push_back(json_of(value));
    return list;
  }
  if (const auto value = node.as_string()) return value->get();
  if (const auto value = node.as_integer()) return value->get();
  if (const auto value = node.as_floating_point()) return value->get();
  if (const auto value = node.as_boolean()) return value->get();
  return nullptr;  // dates, which no key uses
}

std::string kind_of(const Json& value) {
  if (value.is_object()) return "a table";
  if (value.is_array()) return "a list";
  if (value.is_string()) return in_quotes(value.get<std::string>());
  if (value.is_null()) return "a date";
  return value.dump();
}

// Refuses lines such as `n = # ASK: the size`, which init writes for what it cannot know.
void refuse_unanswered(const std::string& text, const std::string& name) {
  constexpr std::string_view kAsk = "# ASK:";
  std::size_t number = 0, first = 0, count = 0;
  std::string key, question;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const std::size_t ask = line.find(kAsk);
    const std::size_t equals = ask == std::string::npos ? ask : line.find('=');
    if (equals >= ask || line.find_first_not_of(" \t", equals + 1) != ask || count++ > 0) continue;
    first = number;
    key = line.substr(0, line.find_last_not_of(" \t", equals - 1) + 1);
    question = line.substr(std::min(line.find_first_not_of(" ", ask + kAsk.size()), line.size()));
  }
  if (count == 0) return;
  const std::string more = count == 1 ? "" : fmt::format(" ({} keys have no value yet)", count);
  throw Error(ErrorKind::input, fmt::format("{}:{}: {} has no value; expected: {}{}", name, first,
                                            key, question, more));
}

bool too_deep(const Json& value, int left) {
  if (!value.is_structured()) return false;
  return left == 0 || std::any_of(value.begin(), value.end(),
                                  [&](const Json& inner) { return too_deep(inner, left - 1); });
}

}  // namespace

Json parse_tree(const std::string& text, const std::string& name) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  Json tree;
  if (first != std::string::npos && text[first] == '{') {
    const auto callback = [&](int depth, Json::parse_event_t, Json&) {
      if (depth > 4 * kDeepest) throw Error(ErrorKind::input, name + ": is nested too deeply");
      return true;
    };
    try {
      tree = Json::parse(text, callback);
    } catch (const Json::exception& error) {
      const std::string what = error.what();
      throw Error(ErrorKind::input, name + ": " + what.substr(what.find("] ") + 2));
    }
    if (!is_t1(tree))
      throw Error(ErrorKind::input, name +
                                        ": descriptors in JSON are not read any more; expected: "
                                        "the same keys in TOML, or a file of the T1 schema");
  } else {
    refuse_unanswered(text, name);
    try {
      tree = json_of(toml::parse(text));
    } catch (const toml::parse_error& error) {
      throw Error(ErrorKind::input, name + ":" + std::to_string(error.source().begin.line) + ": " +
                                        std::string(error.description()));
    }
  }
  if (tree.empty()) throw Error(ErrorKind::input, name + ": describes nothing");
  if (too_deep(tree, kDeepest)) throw Error(ErrorKind::input, name + ": is nested too deeply");
  return tree;
}

Json read_tree(const std::filesystem::path& file) {
  if (file.extension() == ".cl")
    throw Error(ErrorKind::input,
                fmt::format("{0} is a kernel; expected: its descriptor, a TOML file such as "
                            "mgpu-bench init {0} prints",
                            file.string()));
  std::string text;
  try {
    text = read_text_file(file);
  } catch (const Error& error) {
    throw Error(error.kind(), file.string() + ": " + error.what());
  }
  return parse_tree(text, file.string());
}

Table::Table(const Json& value, std::string where) : value_(&value), where_(std::move(where)) {
  if (!value.is_object())
    throw Error(ErrorKind::input, where_ + " is " + kind_of(value) + "; expected: a table");
}

void Table::refuse(const char* key, const std::string& why) const {
  throw Error(ErrorKind::input, at(key) + " " + why);
}

const Json* Table::value(const char* key) {
  asked_.emplace_back(key);
  const auto found = value_->find(key);
  return found == value_->end() ? nullptr : &*found;
}

bool Table::has(const char* key) { return value(key) != nullptr; }

std::string Table::text(const char* key, const std::string& otherwise) {
  const Json* found = value(key);
  if (found == nullptr) return otherwise;
  if (!found->is_string()) refuse(key, "is " + kind_of(*found) + "; expected: a text");
  return found->get<std::string>();
}

std::string Table::text(const char* key) {
  if (!has(key)) refuse(key, "is missing");
  return text(key, "");
}

namespace {

std::optional<std::string> as_expression(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number()) return value.dump();
  return std::nullopt;
}

}  // namespace

std::string Table::expression(const char* key, const std::string& otherwise) {
  const Json* found = value(key);
  if (found == nullptr) return otherwise;
  const auto read = as_expression(*found);
  if (!read) refuse(key, "is " + kind_of(*found) + "; expected: a number or an expression");
  return *read;
}

std::string Table::expression(const char* key) {
  if (!has(key)) refuse(key, "is missing");
  return expression(key, "");
}

bool Table::flag(const char* key) {
  const Json* found = value(key);
  if (found == nullptr) return false;
  if (!found->is_boolean()) refuse(key, "is " + kind_of(*found) + "; expected: true, false");
  return found->get<bool>();
}

double Table::number(const char* key, double otherwise) {
  const Json* found = value(key);
  if (found == nullptr) return otherwise;
  if (!found->is_number()) refuse(key, "is " + kind_of(*found) + "; expected: a number");
  return found->get<double>();
}

std::uint64_t Table::count(const char* key, std::uint64_t otherwise) {
  const Json* found = value(key);
  if (found == nullptr) return otherwise;
  const bool count = found->is_number_integer() &&
                     (found->is_number_unsigned() || found->get<std::int64_t>() >= 0);
  if (!count) refuse(key, "is " + kind_of(*found) + "; expected: a count");
  return found->get<std::uint64_t>();
}

std::vector<std::string> Table::texts(const char* key) {
  const Json* found = value(key);
  if (found == nullptr) return {};
  if (found->is_string()) return {found->get<std::string>()};
  const bool texts =
      found->is_array() &&
      std::all_of(found->begin(), found->end(), [](const Json& one) { return one.is_string(); });
  if (!texts) refuse(key, "is " + kind_of(*found) + "; expected: a text, or a list of texts");
  return found->get<std::vector<std::string>>();
}

std::vector<std::string> Table::expressions(const char* key) {
  const Json* found = value(key);
  if (found == nullptr) return {};
  std::vector<std::string> all;
  for (const Json& one : found->is_array() ? *found : Json::array({*found})) {
    const auto read = as_expression(one);
    if (!read) refuse(key, "has " + kind_of(one) + "; expected: numbers and expressions");
    all.push_back(*read);
  }
  return all;
}

std::optional<Table> Table::table(const char* key) {
  const Json* found = value(key);
  if (found == nullptr) return std::nullopt;
  return Table(*found, at(key));
}

Json Table::of_kind(const char* key) {
  const Json* found = value(key);
  if (found == nullptr) return nullptr;
  if (found->is_string()) return {{"kind", *found}};
  if (!found->is_object())
    refuse(key, "is " + kind_of(*found) + "; expected: a word, or a table with kind = \"WORD\"");
  return *found;
}

std::vector<Table> Table::tables(const char* key) {
  const Json* found = value(key);
  std::vector<Table> all;
  if (found == nullptr) return all;
  if (!found->is_array()) refuse(key, "is " + kind_of(*found) + "; expected: a list of tables");
  for (std::size_t i = 0; i < found->size(); ++i)
    all.emplace_back((*found)[i], at(key) + "[" + std::to_string(i) + "]");
  return all;
}

std::size_t Table::choice(const char* key, const std::vector<std::string>& accepted,
                          std::size_t otherwise) {
  if (!has(key)) return otherwise;
  const std::string given = text(key);
  const auto found = std::find(accepted.begin(), accepted.end(), given);
  if (found != accepted.end()) return static_cast<std::size_t>(found - accepted.begin());
  std::string list;
  for (const std::string& one : accepted) list += (list.empty() ? "" : ", ") + one;
  refuse(key, "is " + in_quotes(given) + "; expected: " + list + did_you_mean(given, accepted));
}

std::vector<std::string> Table::keys() const {
  std::vector<std::string> all;
  for (const auto& [key, ignored] : value_->items()) {
    all.push_back(key);
    asked_.push_back(key);
  }
  return all;
}

void Table::finish() const {
  for (const auto& [key, ignored] : value_->items()) {
    if (std::find(asked_.begin(), asked_.end(), key) != asked_.end()) continue;
    std::vector<std::string> known = asked_;
    std::sort(known.begin(), known.end());
    known.erase(std::unique(known.begin(), known.end()), known.end());
    std::string list;
    for (const std::string& one : known) list += (list.empty() ? "" : ", ") + one;
    throw Error(ErrorKind::input, at("") + (where_.ends_with(": ") ? "" : ": ") +
                                      "there is no key " + in_quotes(key) +
                                      did_you_mean(key, known) + "; expected: " + list);
  }
}

}  // namespace mgpu::kernel
