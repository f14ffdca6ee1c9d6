// What a sample includes besides computing.
#pragma once

#include <string>
#include <string_view>

namespace mgpu {

// Suites list the modes they have (SuiteInfo::modes): all have these two, and may have others of
// their own, for what else stays where. A mode is known by its name.
struct Mode {
  std::string_view
      name;  // words of small letters with underscores between; lives as long as the process
  bool inputs_resident =
      true;  // all of them are on every device before a sample; else it uploads some, or all
  bool outputs_resident =
      true;  // they stay on the devices, but for what is merged; else a sample downloads them

  static const Mode resident, end_to_end;

  bool transfers() const { return !(inputs_resident && outputs_resident); }
  friend bool operator==(const Mode& a, const Mode& b) { return a.name == b.name; }
};

inline constexpr Mode Mode::resident{"resident", true, true};
inline constexpr Mode Mode::end_to_end{"end_to_end", false,
                                       false};  // data is in host memory before and after

std::string to_string(const Mode& mode);     // "end_to_end", as files say it
std::string words_of(const Mode& mode);      // "end to end", as tables and messages do
std::string option_value(const Mode& mode);  // "end-to-end", as --mode takes it

// Of a name in a file, where the suite is not asked: of a mode of its own only the name, and that
// samples transfer something, are to be used. Throws Error(input) for what is not a name.
Mode mode_named(std::string_view name);

}  // namespace mgpu
