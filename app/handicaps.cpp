#include "app/handicaps.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>

#include "lib/base/error.hpp"
#include "lib/base/quantity.hpp"
#include "lib/base/quote.hpp"

namespace mgpu {
namespace {

constexpr double kLeastFactor = 1.01;  // smaller factors disappear in noise
constexpr double kMostFactor = 1000;

[[noreturn]] void refuse(const std::string& option, std::string_view text, std::string_view why,
                         std::string_view accepted) {
  throw Error(ErrorKind::usage,
              fmt::format("{}: {} {}; expected: {}", option, in_quotes(text), why, accepted));
}

// Parses a plain decimal number: no sign, no exponent, no "nan", nothing after it.
std::optional<double> decimal(std::string_view text) {
  double value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value) ||
      text.front() == '-')
    return std::nullopt;
  return value;
}

// Parses FACTOR[@START].
Handicap slowed(const std::string& option, const std::string& text) {
  constexpr std::string_view factors = "a factor from 1.01 to 1000, as in 0=2.5";
  constexpr std::string_view starts =
      "after the @ a share of the run below 1 (0.5) or a time (20ms)";
  Handicap handicap;
  const std::size_t at = text.find('@');
  const std::optional<double> factor = decimal(std::string_view(text).substr(0, at));
  if (!factor || *factor < kLeastFactor || *factor > kMostFactor)
    refuse(option, text, "is not a factor to slow down by", factors);
  handicap.slow = *factor;
  if (at == std::string::npos) return handicap;
  const std::string start = text.substr(at + 1);
  if (start.find_first_not_of("0123456789.") != std::string::npos) {
    handicap.slow_from_time = parse_duration(option, start);
    return handicap;
  }
  const std::optional<double> share = decimal(start);
  if (!share || *share >= 1) refuse(option, text, "says no time to start from", starts);
  handicap.slow_from_fraction = *share;
  return handicap;
}

Handicap capped(const std::string& option, const std::string& text) {
  Handicap handicap;
  handicap.memory_cap = parse_bytes(option, text);
  if (*handicap.memory_cap == 0)
    refuse(option, text, "is no memory at all", "a size, as in 0=512MiB");
  return handicap;
}

Handicap delayed(const std::string& option, const std::string& text) {
  Handicap handicap;
  handicap.delay = parse_duration(option, text);
  if (handicap.delay == Nanos{}) refuse(option, text, "is no time at all", "a time, as in 0=1ms");
  return handicap;
}

struct HandicapOption {
  std::string_view name, form;
  Handicap (*parse)(const std::string& option, const std::string& text);
  void (*set)(Handicap& to, const Handicap& from);
};

constexpr HandicapOption kOptions[] = {
    {"slow", "DEV=FACTOR or DEV=FACTOR@START", slowed,
     [](Handicap& to, const Handicap& from) {
       to.slow = from.slow;
       to.slow_from_fraction = from.slow_from_fraction;
       to.slow_from_time = from.slow_from_time;
     }},
    {"cap-memory", "DEV=SIZE", capped,
     [](Handicap& to, const Handicap& from) { to.memory_cap = from.memory_cap; }},
    {"delay", "DEV=TIME", delayed,
     [](Handicap& to, const Handicap& from) { to.delay = from.delay; }},
};

}  // namespace

std::vector<HandicapTerm> read_handicaps(const Settings& settings) {
  std::vector<HandicapTerm> terms;
  for (const HandicapOption& option : kOptions) {
    const Given* given = settings.find(option.name);
    if (given == nullptr) continue;
    for (const std::string& written : split_commas(given->value)) {
      // The last = separates the value, as in uuid=...=2.
      const std::size_t equals = written.rfind('=');
      if (equals == std::string::npos || equals == 0 || equals + 1 == written.size()) {
        refuse(given->from, written, fmt::format("is not of the form {}", option.form),
               fmt::format("{}, DEV being a rank or another term of --devices; several are "
                           "separated by commas",
                           option.form));
      }
      HandicapTerm term{given->from, written.substr(0, equals), {}, option.set, {}};
      term.devices = Selector::parse(term.device, given->from);
      term.value = option.parse(given->from, written.substr(equals + 1));
      terms.push_back(std::move(term));
    }
  }
  return terms;
}

std::vector<Handicap> handicaps_of(std::span<const HandicapTerm> terms,
                                   std::span<const Device> devices) {
  std::vector<Handicap> handicaps(devices.size());
  for (const HandicapTerm& term : terms) {
    const std::vector<std::size_t> matched = term.devices.apply(devices).chosen;
    if (matched.empty()) {
      std::vector<std::string> ids;
      for (const Device& device : devices) ids.push_back(device.id);
      throw Error(
          ErrorKind::usage,
          fmt::format(
              "{}: {} matches no device of the run; expected: rank{}, or terms that match {}",
              term.option, in_quotes(term.device),
              devices.size() == 1 ? " 0" : fmt::format("s 0 to {}", devices.size() - 1),
              joined(ids)));
    }
    for (const std::size_t index : matched) term.set(handicaps[index], term.value);
  }
  return handicaps;
}

}  // namespace mgpu
