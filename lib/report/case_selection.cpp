#include "lib/report/case_selection.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/add_once.hpp"
#include "lib/base/error.hpp"
#include "lib/base/quantity.hpp"
#include "lib/base/quote.hpp"
#include "lib/report/case_name.hpp"

namespace mgpu {

namespace {

struct CaseTerm {
  std::string text, name;
  std::vector<std::string> values;
};

// Property of a case, besides its parameters. `texts`: all that match, the first for messages.
struct Property {
  const char* name;
  std::vector<std::string> (*texts)(const RunRecord& run);
};
using Texts = std::vector<std::string>;
constexpr Property kProperties[] = {
    {"suite", [](const RunRecord& run) { return Texts{run.suite}; }},
    {"strategy",
     [](const RunRecord& run) {
       return Texts{strategy_label(run), run.strategy};
     }},
    {"mode",
     [](const RunRecord& run) {
       return Texts{option_value(run.mode), to_string(run.mode)};
     }},
    {"devices", [](const RunRecord& run) { return Texts{std::to_string(run.devices.size())}; }},
    {"status", [](const RunRecord& run) { return Texts{to_string(run.status)}; }}};

// Returns the texts of a property or parameter; none: the case does not have it.
Texts texts_of(const RunRecord& run, const std::string& name) {
  for (const Property& property : kProperties)
    if (name == property.name) return property.texts(run);
  const auto found = run.params.find(name);
  if (found == run.params.end()) return {};
  return {param_shown(found->second), param_text(found->second)};
}

// Parses a count in any notation; none: another text.
std::optional<std::uint64_t> count_of(const std::string& text) {
  try {
    return parse_count("", text);
  } catch (const Error&) {
    return std::nullopt;
  }
}

bool has_value(const RunRecord& run, const std::string& name, const std::string& value) {
  const Texts texts = texts_of(run, name);
  const std::optional<std::uint64_t> count = count_of(value);
  return std::any_of(texts.begin(), texts.end(), [&](const std::string& text) {
    return text == value || (count && text == std::to_string(*count));
  });
}

// Tells whether the case has one of the values, or all of them as one text with commas.
bool matches(const RunRecord& run, const CaseTerm& term) {
  return has_value(run, term.name, fmt::format("{}", fmt::join(term.values, ","))) ||
         std::any_of(term.values.begin(), term.values.end(),
                     [&](const std::string& value) { return has_value(run, term.name, value); });
}

// Returns NAME if the text begins with NAME=.
std::optional<std::string> name_of(std::string_view text) {
  constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
  const std::size_t end = text.find_first_not_of(kLetters);
  if (end == 0 || end == std::string_view::npos || text[end] != '=') return std::nullopt;
  return std::string(text.substr(0, end));
}

std::vector<CaseTerm> parse_terms(std::string_view from, std::string_view text) {
  std::vector<CaseTerm> terms;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    const std::string part(text.substr(begin, comma - begin));
    begin = comma + 1;
    const std::optional<std::string> name = name_of(part);
    if (name) terms.push_back({"", *name, {}});
    const std::string value = name ? part.substr(name->size() + 1) : part;
    if (terms.empty() || value.empty())
      throw Error(ErrorKind::usage, fmt::format("{}: {} is not understood; expected: NAME=VALUE or "
                                                "NAME=VALUE,VALUE, as in suite=merkle or "
                                                "strategy=equal,dynamic",
                                                from, in_quotes(part)));
    CaseTerm& term = terms.back();
    term.text += (name ? "" : ",") + part;
    term.values.push_back(value);
  }
  return terms;
}

// Throws if the report has no case with the name, or none with one of the values.
void check(std::string_view from, const CaseTerm& term, const Report& report) {
  std::vector<std::string> names, values;
  for (const Property& property : kProperties) names.emplace_back(property.name);
  for (const RunRecord& run : report.runs) {
    for (const auto& [name, value] : run.params) add_once(names, name);
    const Texts texts = texts_of(run, term.name);
    if (!texts.empty()) add_once(values, texts.front());
  }
  if (std::find(names.begin(), names.end(), term.name) == names.end())
    throw Error(
        ErrorKind::usage,
        fmt::format("{}: {}: no case has the name {}; expected: {}{}", from, in_quotes(term.text),
                    in_quotes(term.name), fmt::join(names, ", "), did_you_mean(term.name, names)));
  const auto known = [&](const std::string& value) {
    return std::any_of(report.runs.begin(), report.runs.end(),
                       [&](const RunRecord& run) { return has_value(run, term.name, value); });
  };
  if (known(fmt::format("{}", fmt::join(term.values, ",")))) return;
  for (const std::string& value : term.values)
    if (!known(value))
      throw Error(ErrorKind::usage, fmt::format("{}: {}: no case has {} {}; expected: {}{}", from,
                                                in_quotes(term.text), term.name, in_quotes(value),
                                                first_few(values), did_you_mean(value, values)));
}

}  // namespace

void select_cases(std::string_view from, std::string_view text, Report& report) {
  const std::vector<CaseTerm> terms = parse_terms(from, text);
  if (report.runs.empty()) return;
  for (const CaseTerm& term : terms) check(from, term, report);
  std::erase_if(report.runs, [&](const RunRecord& run) {
    return !std::all_of(terms.begin(), terms.end(),
                        [&](const CaseTerm& term) { return matches(run, term); });
  });
  if (report.runs.empty())
    throw Error(ErrorKind::usage,
                fmt::format("{}: no case has all of {}; expected: terms that one case meets", from,
                            in_quotes(text)));
}

}  // namespace mgpu
