// A descriptor's file as a tree of tables. Keys that no getter asked for are refused.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace mgpu::kernel {

// Reads TOML, or JSON of the T1 schema if the text begins with a brace. Throws Error(input) with
// the file, the line and the mistake: a line `key = # ASK: what` has no value yet.
nlohmann::json read_tree(const std::filesystem::path& file);
nlohmann::json parse_tree(const std::string& text, const std::string& name);

// One table of a descriptor. Each getter throws Error(input), naming file and key, if the value has
// another type; `finish` throws if there is a key that no getter asked for.
class Table {
 public:
  Table(const nlohmann::json& value, std::string where);

  bool has(const char* key);
  std::string text(const char* key);  // required
  std::string text(const char* key, const std::string& otherwise);
  std::string expression(const char* key);  // a text or a number, as text; required
  std::string expression(const char* key, const std::string& otherwise);
  bool flag(const char* key);
  double number(const char* key, double otherwise);
  std::uint64_t count(const char* key, std::uint64_t otherwise);
  // Returns a text or a list of texts as a list; an empty one if the key is missing.
  std::vector<std::string> texts(const char* key);
  std::vector<std::string> expressions(const char* key);  // an empty list if the key is missing
  std::optional<Table> table(const char* key);
  std::vector<Table> tables(const char* key);
  // Returns the table of a key; a word stands for the table of that `kind`. Null: it is missing.
  nlohmann::json of_kind(const char* key);
  // Returns the index of the value among `accepted`.
  std::size_t choice(const char* key, const std::vector<std::string>& accepted,
                     std::size_t otherwise);
  const nlohmann::json* value(const char* key);
  std::vector<std::string> keys() const;  // all keys; counts as asking for them
  void finish() const;

  std::string at(const char* key) const {
    return where_ + (key[0] == '\0' ? "" : where_.ends_with(": ") ? "" : ".") + key;
  }
  [[noreturn]] void refuse(const char* key, const std::string& why) const;

 private:
  const nlohmann::json* value_;
  std::string where_;  // "saxpy.toml: " or "saxpy.toml: args[2]"
  mutable std::vector<std::string> asked_;
};

}  // namespace mgpu::kernel
