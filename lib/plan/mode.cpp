// Implements the written forms of modes.
#include "lib/plan/mode.hpp"

#include <algorithm>

#include "lib/base/error.hpp"
#include "lib/base/name.hpp"

namespace mgpu {
namespace {

std::string with(const Mode& mode, char between) {
  std::string text(mode.name);
  std::replace(text.begin(), text.end(), '_', between);
  return text;
}

}  // namespace

std::string to_string(const Mode& mode) { return std::string(mode.name); }

std::string words_of(const Mode& mode) { return with(mode, ' '); }

std::string option_value(const Mode& mode) { return with(mode, '-'); }

Mode mode_named(std::string_view name) {
  for (const Mode& mode : {Mode::resident, Mode::end_to_end}) {
    if (mode.name == name) return mode;
  }
  const auto in_a_name = [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; };
  constexpr std::size_t most = 64;  // names are kept until the process ends
  if (name.empty() || name.size() > most || !std::all_of(name.begin(), name.end(), in_a_name))
    throw Error(ErrorKind::input,
                "a mode's name is up to 64 small letters, with underscores between words");
  return {Name(name).text(), false, false};
}

}  // namespace mgpu
