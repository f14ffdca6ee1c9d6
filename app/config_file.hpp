// The TOML of --config: lines of `key = value`, bare or under [run]. Text in, text out; what keys
// there are is in app/option_table.cpp.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace mgpu {

struct ConfigEntry {
  std::string section, key;  // as written; section: of the last [header], and of a dotted key
  std::string value;         // of a string its text, of a list its elements with commas between, of
                             // anything else as written
  std::size_t line = 0;
};

// Reads TOML 1.0 without lists of tables or of lists. Throws Error(input) 'line 3: "THE LINE":
// WHY'.
std::vector<ConfigEntry> parse_config(std::string_view text);

// Returns a string of TOML on one line that parse_config() reads back as `text`; what terminals
// obey is escaped. Throws Error(usage) for text that is no UTF-8.
std::string config_string(std::string_view text);

}  // namespace mgpu
