// Parses strategies by name, as given on a command line. CMake writes the table itself.
#include "lib/plan/strategy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>

#include "lib/base/error.hpp"
#include "lib/base/quote.hpp"
#include "lib/plan/choose.hpp"

namespace mgpu {
namespace {

// Returns the expected values of a parameter, for an error message.
std::string accepted(const StrategyParam& param) {
  if (!param.choices.empty()) return fmt::format("{}", fmt::join(param.choices, ", "));
  return fmt::format("a {}number from {} to {}", param.whole ? "whole " : "", param.min, param.max);
}

// Returns the value as written, or nothing if it is not valid.
std::optional<double> read_value(const StrategyParam& param, std::string_view written) {
  if (!param.choices.empty()) {
    const auto named = std::find(param.choices.begin(), param.choices.end(), written);
    if (named == param.choices.end()) return std::nullopt;
    return static_cast<double>(named - param.choices.begin());
  }
  double value = 0;
  const auto [end, error] = std::from_chars(written.data(), written.data() + written.size(), value);
  const bool is_number =
      !written.empty() && error == std::errc{} && end == written.data() + written.size();
  const bool in_range = is_number && value >= param.min && value <= param.max;  // false for NaN
  if (!in_range || (param.whole && value != std::floor(value))) return std::nullopt;
  return value;
}

[[noreturn]] void refuse(const std::string& why) {
  throw Error(ErrorKind::usage, "--strategy: " + why);
}

StrategyChoice with_defaults(const StrategyInfo& info) {
  StrategyChoice choice{&info, {}};
  for (const StrategyParam& param : info.params) choice.params[param.name] = param.standard;
  return choice;
}

const StrategyInfo& find_strategy(std::string_view name) {
  if (name == "auto") return auto_strategy();
  std::vector<std::string> names{"all", "auto"};
  for (const StrategyInfo& info : all_strategies()) {
    if (info.name == name) return info;
    names.push_back(info.name);
  }
  refuse(fmt::format("unknown strategy {}; expected: {}{}", in_quotes(name), fmt::join(names, ", "),
                     did_you_mean(name, names)));
}

// Sets a parameter such as "chunks=32". `asked` lists the parameters set before in the same term.
void set_param(StrategyChoice& choice, std::string_view text, std::vector<std::string>& asked) {
  const std::string& strategy = choice.info->name;
  const std::size_t equals = text.find('=');
  const std::string name(text.substr(0, equals));
  const auto& params = choice.info->params;
  const auto param = std::find_if(params.begin(), params.end(),
                                  [&](const StrategyParam& p) { return p.name == name; });
  if (param == params.end()) {
    std::vector<std::string_view> names;
    for (const StrategyParam& p : params) names.push_back(p.name);
    refuse(fmt::format("{} has no parameter {}; expected: {}", strategy, in_quotes(name),
                       names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
  }
  if (std::find(asked.begin(), asked.end(), name) != asked.end())
    refuse(fmt::format("{}: {} is given twice", strategy, name));
  asked.push_back(name);

  const std::string_view written =
      equals == std::string_view::npos ? std::string_view() : text.substr(equals + 1);
  const std::optional<double> value = read_value(*param, written);
  if (!value)
    refuse(fmt::format("{}: {} cannot be {}; expected: {}", strategy, name, in_quotes(written),
                       accepted(*param)));
  choice.params[name] = *value;
}

StrategyChoice parse_term(std::string_view term) {
  std::size_t colon = term.find(':');
  StrategyChoice choice = with_defaults(find_strategy(term.substr(0, colon)));
  std::vector<std::string> asked;
  while (colon != std::string_view::npos) {
    term.remove_prefix(colon + 1);
    colon = term.find(':');
    set_param(choice, term.substr(0, colon), asked);
  }
  return choice;
}

}  // namespace

std::string StrategyParam::text(double value) const {
  return choices.empty() ? fmt::format("{}", value) : choices.at(static_cast<std::size_t>(value));
}

StrategyParam named_param(std::string name, std::vector<std::string> choices, std::string help) {
  const auto last = static_cast<double>(choices.size() - 1);
  return {std::move(name), 0, 0, last, std::move(help), true, std::move(choices)};
}

std::string StrategyChoice::label() const {
  std::string text = info->name;
  for (const StrategyParam& param : info->params) {
    const double value = params.at(param.name);
    if (value != param.standard) text += fmt::format(":{}={}", param.name, param.text(value));
  }
  return text;
}

StrategyChoice strategy_with(bool StrategyTraits::*trait) {
  const auto all = all_strategies();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const StrategyInfo& info) { return info.traits.*trait; });
  if (found == all.end()) throw Error(ErrorKind::internal, "no strategy has the trait asked for");
  return with_defaults(*found);
}

std::vector<StrategyChoice> parse_strategies(std::string_view text,
                                             std::vector<std::string>* repeated) {
  std::vector<StrategyChoice> choices;
  std::set<std::string> named;
  const auto add = [&](StrategyChoice choice) {
    const auto same = [&](const StrategyChoice& other) { return other.label() == choice.label(); };
    if (std::none_of(choices.begin(), choices.end(), same)) choices.push_back(std::move(choice));
  };
  for (bool more = true; more;) {
    const std::size_t comma = text.find(',');
    more = comma != std::string_view::npos;
    const std::string_view term = text.substr(0, comma);
    if (more) text.remove_prefix(comma + 1);
    if (term == "all") {
      for (const StrategyInfo& info : all_strategies()) add(with_defaults(info));
    } else {
      StrategyChoice choice = parse_term(term);
      if (!named.insert(choice.label()).second && repeated != nullptr)
        repeated->push_back(choice.label());
      add(std::move(choice));
    }
  }
  return choices;
}

}  // namespace mgpu
