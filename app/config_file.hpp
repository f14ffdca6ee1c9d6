// The TOML of --config: lines of `key = value`, bare or under [run]. Text in, text out;
// app/option_table.cpp has the keys.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace mgpu {

struct ConfigEntry {
  // Section: the last [header], with the prefix of a dotted key. Both as the file writes them.
  std::string section, key;
  // Text of a string; elements of a list, separated by commas; else the value as written.
  std::string value;
  std::size_t line = 0;
};

// Reads TOML 1.0 without lists of tables or of lists. Throws Error(input) 'line 3: "THE LINE":
// WHY'.
std::vector<ConfigEntry> parse_config(std::string_view text);

// Returns a TOML string on one line that parse_config() reads back as `text`, with control
// characters escaped. Throws Error(usage) for text that is not UTF-8.
std::string config_string(std::string_view text);

}  // namespace mgpu
