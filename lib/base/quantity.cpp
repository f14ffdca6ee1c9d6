// Parsing and printing of quantities. Parsing is exact integer arithmetic: "1.1GiB" is refused
// because it is not a whole number of bytes.
#include "lib/base/quantity.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <span>

#include "lib/base/error.hpp"
#include "lib/base/quote.hpp"

namespace mgpu {
namespace {

struct Unit {
  std::string_view suffix;
  std::uint64_t factor;
};

constexpr std::uint64_t kKi = 1024, kMi = kKi * 1024, kGi = kMi * 1024;
constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr Unit kCountUnits[] = {{"", 1},     {"k", 1000}, {"M", 1'000'000}, {"G", 1'000'000'000},
                                {"Ki", kKi}, {"Mi", kMi}, {"Gi", kGi}};
constexpr Unit kByteUnits[] = {{"", 1},      {"KiB", kKi},      {"MiB", kMi},         {"GiB", kGi},
                               {"kB", 1000}, {"MB", 1'000'000}, {"GB", 1'000'000'000}};
constexpr Unit kTimeUnits[] = {{"ns", 1},      {"us", 1000},        {"ms", 1'000'000},
                               {"s", kSecond}, {"m", 60 * kSecond}, {"h", 3600 * kSecond}};

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The text that is parsed, and how messages describe it.
struct Quantity {
  std::string_view option, text, kind, accepted;

  [[noreturn]] void refuse(std::string_view why) const {
    throw Error(ErrorKind::usage, fmt::format("{}: {} is not {} ({}); expected: {}", option,
                                              in_quotes(text), kind, why, accepted));
  }
};

// Removes the leading digits of `rest` and returns them.
std::string_view take_digits(std::string_view& rest) {
  std::size_t n = 0;
  while (n < rest.size() && is_digit(rest[n])) ++n;
  const std::string_view digits = rest.substr(0, n);
  rest.remove_prefix(n);
  return digits;
}

std::optional<std::uint64_t> to_integer(std::string_view digits) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t value = 0;
  for (const char c : digits) {
    const auto digit = static_cast<std::uint64_t>(c - '0');
    if (value > (most - digit) / 10) return std::nullopt;
    value = value * 10 + digit;
  }
  return value;
}

// Returns 0.<digits> * factor, or nothing if that is not whole. From the last digit up, each step
// must divide by ten exactly.
std::optional<std::uint64_t> whole_part_of(std::string_view digits, std::uint64_t factor) {
  std::uint64_t carry = 0;
  for (std::size_t i = digits.size(); i-- > 0;) {
    carry += static_cast<std::uint64_t>(digits[i] - '0') * factor;
    if (carry % 10 != 0) return std::nullopt;
    carry /= 10;
  }
  return carry;
}

// Returns 10^n for "e<n>" or "E<n>", such as the end of "1.5e6"; nothing for other text and for
// powers beyond 10^18, of which a fraction could overflow.
std::optional<std::uint64_t> power_of_ten(std::string_view text) {
  if (text.empty() || (text.front() != 'e' && text.front() != 'E')) return std::nullopt;
  std::string_view rest = text.substr(1);
  const std::string_view digits = take_digits(rest);
  const std::optional<std::uint64_t> exponent = to_integer(digits);
  if (digits.empty() || !rest.empty() || !exponent || *exponent > 18) return std::nullopt;
  std::uint64_t power = 1;
  for (std::uint64_t k = 0; k < *exponent; ++k) power *= 10;
  return power;
}

// Parses digits, perhaps a fraction, and a unit; an exponent may replace the unit if the unit may
// be left out.
std::uint64_t parse(const Quantity& quantity, std::span<const Unit> units, std::uint64_t most) {
  std::string_view rest = quantity.text;
  if (rest.empty()) quantity.refuse("empty");
  const std::string_view digits = take_digits(rest);
  if (digits.empty()) quantity.refuse("it must begin with a digit");
  std::string_view fraction;
  if (!rest.empty() && rest.front() == '.') {
    rest.remove_prefix(1);
    fraction = take_digits(rest);
    if (fraction.empty()) quantity.refuse("no digit after the point");
  }
  std::optional<std::uint64_t> factor;
  for (const Unit& unit : units) {
    if (unit.suffix == rest) factor = unit.factor;
    if (unit.suffix.empty() && !factor) factor = power_of_ten(rest);
  }
  if (!factor)
    quantity.refuse(rest.empty() ? "a unit is required"
                                 : fmt::format("unknown unit {}", in_quotes(rest)));

  const std::optional<std::uint64_t> whole = to_integer(digits);
  if (!whole || *whole > most / *factor) quantity.refuse("too large");
  const std::optional<std::uint64_t> part = whole_part_of(fraction, *factor);
  if (!part) quantity.refuse("not a whole number of the smallest unit");
  if (*part > most - *whole * *factor) quantity.refuse("too large");
  return *whole * *factor + *part;
}

// Formats a value in [0, 999.5) with three significant digits; at the bounds rounding carries into
// one more digit.
std::string three_digits(double value) {
  if (value < 0.9995) return fmt::format("{:.3g}", value);
  return fmt::format("{:.{}f}", value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0);
}

struct Step {
  std::string_view unit;
  double size;
};

// Formats the value in the first unit in which it is below 999.5, or in the last. Whole values in
// the first unit are printed without decimals.
std::string format_scaled(double value, std::span<const Step> steps) {
  if (!std::isfinite(value)) return fmt::format("{} {}", value, steps.front().unit);
  const double size = std::abs(value);
  std::size_t i = 0;
  while (i + 1 < steps.size() && size / steps[i].size >= 999.5) ++i;
  const double scaled = size / steps[i].size;
  const bool plain = scaled >= 999.5 || (i == 0 && scaled == std::floor(scaled));
  const std::string digits = plain ? fmt::format("{:.0f}", scaled) : three_digits(scaled);
  return fmt::format("{}{}{}{}", value < 0 ? "-" : "", digits, steps[i].unit.empty() ? "" : " ",
                     steps[i].unit);
}

}  // namespace

std::uint64_t parse_count(std::string_view option, std::string_view text) {
  const Quantity quantity{option, text, "a count", "for example 100000, 1e6, 2^20, 1M or 64Ki"};
  if (text.substr(0, 2) != "2^")
    return parse(quantity, kCountUnits, std::numeric_limits<std::uint64_t>::max());
  std::string_view rest = text.substr(2);
  const std::string_view digits = take_digits(rest);
  if (digits.empty() || !rest.empty()) quantity.refuse("a power of two is written 2^20");
  const std::optional<std::uint64_t> exponent = to_integer(digits);
  if (!exponent || *exponent > 63) quantity.refuse("too large");
  return std::uint64_t{1} << *exponent;
}

Bytes parse_bytes(std::string_view option, std::string_view text) {
  const Quantity quantity{option, text, "a size", "for example 4096, 64KiB, 64MiB, 1GiB or 64MB"};
  return parse(quantity, kByteUnits, std::numeric_limits<Bytes>::max());
}

Nanos parse_duration(std::string_view option, std::string_view text) {
  const Quantity quantity{option, text, "a duration", "for example 10us, 500ms, 1.5s, 3m or 1h"};
  const auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return Nanos{static_cast<std::int64_t>(parse(quantity, kTimeUnits, most))};
}

std::string format_duration(Nanos t) {
  static constexpr Step steps[] = {{"ns", 1},  {"us", 1e3}, {"ms", 1e6},
                                   {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}};
  return format_scaled(static_cast<double>(t.count()), steps);
}

std::string format_bytes(double bytes) {
  static constexpr Step steps[] = {{"B", 1},        {"KiB", 0x1p10}, {"MiB", 0x1p20},
                                   {"GiB", 0x1p30}, {"TiB", 0x1p40}, {"PiB", 0x1p50}};
  return format_scaled(bytes, steps);
}

std::string format_si(double value) {
  static constexpr Step steps[] = {{"", 1},     {"k", 1e3},  {"M", 1e6}, {"G", 1e9},
                                   {"T", 1e12}, {"P", 1e15}, {"E", 1e18}};
  return format_scaled(value, steps);
}

std::string format_count(std::uint64_t count) {
  if (count < 1024 || !std::has_single_bit(count)) return std::to_string(count);
  return fmt::format("2^{}", std::bit_width(count) - 1);
}

std::string format_counted(std::uint64_t count, std::string_view name) {
  if (!name.ends_with('s')) return std::string(name) + ' ' + format_count(count);
  constexpr std::string_view leaves = "leaves";
  const std::string_view one = name == leaves ? "leaf" : name.substr(0, name.size() - 1);
  return format_count(count) + ' ' + std::string(count == 1 ? one : name);
}

}  // namespace mgpu
