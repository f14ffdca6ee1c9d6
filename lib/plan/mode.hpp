// Mode: the transfers that a sample includes besides computing.
#pragma once

#include <string>
#include <string_view>

namespace mgpu {

// Mode of a sample. Suites list their modes (SuiteInfo::modes): all have these two, and some have
// further ones in which other data are resident. A mode is identified by its name.
struct Mode {
  // Words of small letters with underscores between; valid until the process ends.
  std::string_view name;
  // Whether all inputs are on every device before a sample; else it uploads some or all of them.
  bool inputs_resident = true;
  // Whether outputs stay on the devices, except for what is merged; else a sample downloads them.
  bool outputs_resident = true;

  static const Mode resident, end_to_end;

  bool transfers() const { return !(inputs_resident && outputs_resident); }
  friend bool operator==(const Mode& a, const Mode& b) { return a.name == b.name; }
};

inline constexpr Mode Mode::resident{"resident", true, true};
// Data are in host memory before and after.
inline constexpr Mode Mode::end_to_end{"end_to_end", false, false};

std::string to_string(const Mode& mode);     // "end_to_end", as in files
std::string words_of(const Mode& mode);      // "end to end", as in tables and messages
std::string option_value(const Mode& mode);  // "end-to-end", as --mode takes it

// Returns the mode with this name, read from a file without asking its suite. Of modes other than
// the two above only the name, and the fact that samples transfer something, may be used. Throws
// Error(input) for what is not a name.
Mode mode_named(std::string_view name);

}  // namespace mgpu
