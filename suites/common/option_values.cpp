#include "suites/common/option_values.hpp"

#include <charconv>

#include "lib/base/quote.hpp"

namespace mgpu {

std::uint32_t count_of_option(const SuiteParams& params, const char* option, std::uint64_t most) {
  const std::string& text = params.options.at(option);
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  if (value >= 1 && value <= most) return static_cast<std::uint32_t>(value);
  throw refused_option(option, in_quotes(text) + "; expected: 1 to " + std::to_string(most));
}

std::optional<double> number_in(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size()) return value;
  return std::nullopt;
}

}  // namespace mgpu
