// Merges values from several layers. cli.cpp handles CLI11, config_file.cpp reads TOML.
#include "app/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <set>

#include "app/config_file.hpp"
#include "lib/base/add_once.hpp"
#include "lib/base/error.hpp"
#include "lib/base/quantity.hpp"
#include "lib/base/quote.hpp"
#include "lib/base/text_file.hpp"

namespace mgpu {
namespace {

std::vector<ConfigEntry> config_entries(const std::string& file) {
  try {
    return parse_config(read_text_file(file));
  } catch (const Error& error) {
    throw Error(ErrorKind::input, fmt::format("--config {}: {}", file, error.what()));
  }
}

// Returns the name of the option that `option` is an alias of, as the layer of `given` writes it.
std::string name_now(const OptionSpec& option, const Given& given) {
  OptionSpec now = option;
  now.name = option.alias_of;
  return given.layer == Given::Layer::flag          ? flag_of(now)
         : given.layer == Given::Layer::environment ? variable_of(now)
                                                    : now.name;
}

}  // namespace

std::string flag_of(const OptionSpec& option) { return "--" + option.name; }

std::string variable_of(const OptionSpec& option) {
  std::string name = "MGPU_BENCH_" + option.name;
  for (char& c : name)
    c = c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

const Given* Settings::find(std::string_view name) const {
  const auto found = given_.find(name);
  return found == given_.end() ? nullptr : &found->second;
}

void Settings::offer(const OptionSpec& option, Given given) {
  if (!option.refusal.empty()) throw Error(ErrorKind::usage, given.from + ": " + option.refusal);
  const std::string& name = option.alias_of.empty() ? option.name : option.alias_of;
  const Given* there = find(name);
  if (there != nullptr && there->layer == given.layer) {
    throw Error(ErrorKind::usage,
                fmt::format("{}: another name of {}, which is given too; give one of them",
                            given.from, there->from));
  }
  if (!option.unit.empty())
    given.value = std::to_string(parse_count(given.from, given.value)) + option.unit;
  if (!option.alias_of.empty() && option.is_former)
    notices_.push_back(fmt::format("{} is now {}{}; the old name is removed in the next version",
                                   given.from, name_now(option, given),
                                   option.unit.empty() ? "" : " (" + given.value + ")"));
  given_.try_emplace(name, std::move(given));
}

bool Settings::is_on(std::string_view name) const {
  const Given* given = find(name);
  return given != nullptr && read_flag(*given);
}

bool read_flag(const Given& given) {
  std::string value = given.value;
  std::transform(value.begin(), value.end(), value.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (value == "true" || value == "on" || value == "yes" || value == "1") return true;
  if (value == "false" || value == "off" || value == "no" || value == "0") return false;
  throw Error(ErrorKind::usage, fmt::format("{}: {} is not a boolean; expected: true, false",
                                            given.from, in_quotes(given.value)));
}

std::uint64_t read_count(const Given& given, std::uint64_t least) {
  const std::uint64_t count = parse_count(given.from, given.value);
  if (count >= least) return count;
  throw Error(ErrorKind::usage, fmt::format("{}: {} is too small; expected: {} or more", given.from,
                                            in_quotes(given.value), least));
}

std::vector<std::uint64_t> read_counts(const Given& given, std::uint64_t least) {
  std::vector<std::uint64_t> values;
  for (const std::string& text : split_commas(given.value)) {
    const std::uint64_t value = read_count({text, given.from}, least);
    add_once(values, value);
  }
  return values;
}

Nanos read_time(const Given& given) {
  const Nanos time = parse_duration(given.from, given.value);
  if (time > Nanos{}) return time;
  throw Error(ErrorKind::usage,
              fmt::format("{}: {} is no time at all", given.from, in_quotes(given.value)));
}

double read_share(const Given& given, double least, double most) {
  const std::string& text = given.value;
  const bool percent = text.ends_with('%');
  double value = 0;
  const char* last = text.data() + text.size() - (percent ? 1 : 0);
  const auto [end, error] = std::from_chars(text.data(), last, value);
  value /= percent ? 100 : 1;
  if (text.empty() || error != std::errc() || end != last || !(value >= least) || !(value <= most))
    throw Error(ErrorKind::usage,
                fmt::format("{}: {} is not a share; expected: {} to {}, or in percent: 2%",
                            given.from, in_quotes(text), least, most));
  return value;
}

std::size_t read_word(const Given& given, std::span<const std::string> accepted) {
  const auto found = std::find(accepted.begin(), accepted.end(), given.value);
  if (found != accepted.end()) return static_cast<std::size_t>(found - accepted.begin());
  throw Error(ErrorKind::usage,
              fmt::format("{}: {} is unknown; expected: {}{}", given.from, in_quotes(given.value),
                          joined(accepted), did_you_mean(given.value, accepted)));
}

std::string choose(const Settings& settings, std::string_view name,
                   const std::vector<std::string>& accepted) {
  const Given* given = settings.find(name);
  return accepted[given == nullptr ? 0 : read_word(*given, accepted)];
}

void offer_environment(Settings& settings, std::span<const OptionSpec> options,
                       const Environment& environment) {
  for (const OptionSpec& option : options) {
    const std::string variable = variable_of(option);
    if (const auto value = environment.get(variable)) {
      settings.offer(option, {*value, variable, Given::Layer::environment});
    }
  }
}

std::vector<std::string> unknown_variables(std::span<const OptionSpec> options,
                                           const Environment& environment) {
  std::vector<std::string> known{"MGPU_BENCH_CONFIG"}, warnings;
  for (const OptionSpec& option : options) known.push_back(variable_of(option));
  for (const std::string& name : environment.names_with_prefix("MGPU_BENCH_")) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    warnings.push_back(
        fmt::format("{} is set, but there is no such option{}", name, did_you_mean(name, known)));
  }
  return warnings;
}

void offer_config(Settings& settings, std::span<const OptionSpec> options,
                  const std::string& file) {
  std::vector<std::string> known;
  std::set<std::string> seen;
  for (const OptionSpec& option : options)
    if (!option.is_hidden()) known.push_back(option.name);
  for (const ConfigEntry& entry : config_entries(file)) {
    std::string name = entry.key;
    std::replace(name.begin(), name.end(), '_', '-');
    const auto option = std::find_if(options.begin(), options.end(),
                                     [&](const OptionSpec& o) { return o.name == name; });
    const bool in_run = entry.section.empty() || entry.section == "run";
    if (!in_run || option == options.end()) {
      const std::string full = entry.section.empty() ? entry.key : entry.section + "." + entry.key;
      throw Error(
          ErrorKind::usage,
          fmt::format("--config {}: line {}: unknown key {}{}; expected, bare or "
                      "under [run]: a long option name of run, without dashes (see "
                      "mgpu-bench help run --all)",
                      file, entry.line, in_quotes(full), in_run ? did_you_mean(name, known) : ""));
    }
    if (!seen.insert(name).second)
      throw Error(ErrorKind::usage, fmt::format("--config {}: line {}: {} is set twice", file,
                                                entry.line, in_quotes(name)));
    settings.offer(*option, {entry.value, file + ": " + entry.key, Given::Layer::config});
  }
}

std::string as_config(const Settings& settings, std::span<const OptionSpec> options) {
  std::string text = "# Options for mgpu-bench run --config; all others have their defaults.\n";
  for (const OptionSpec& option : options) {
    const Given* given = option.alias_of.empty() && option.name != "dump-config"
                             ? settings.find(option.name)
                             : nullptr;
    if (given == nullptr) continue;
    const std::string value = option.kind == OptionSpec::Kind::flag
                                  ? (settings.is_on(option.name) ? "true" : "false")
                                  : config_string(given->value);
    text += fmt::format("{} = {}\n", option.name, value);
  }
  return text;
}

std::string joined(std::span<const std::string> words) {
  return fmt::format("{}", fmt::join(words, ", "));
}

std::vector<std::string> split_commas(std::string_view text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0;;) {
    const std::size_t comma = text.find(',', begin);
    parts.emplace_back(text.substr(begin, comma - begin));
    if (comma == std::string_view::npos) return parts;
    begin = comma + 1;
  }
}

}  // namespace mgpu
