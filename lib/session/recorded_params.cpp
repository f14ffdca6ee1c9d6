#include "lib/session/recorded_params.hpp"

#include <charconv>

#include "lib/session/options.hpp"

namespace mgpu {
namespace {

ParamMap default_params_of(const SuiteInfo& suite) {
  Problem problem{&suite, {}};
  problem.params.size = suite.default_size;
  problem.params.seed = SessionOptions{}.seed;
  for (const SuiteOption& option : suite.options)
    if (option.kind != SuiteOption::Kind::flag)
      problem.params.options[option.name] = option.values.front();
  const std::map<std::string, std::string> open = problem.params.options;
  if (suite.optional.resolve != nullptr) suite.optional.resolve(problem.params);
  ParamMap params = recorded_params(problem);
  params.erase(suite.size_name);
  for (const auto& [name, value] : problem.params.options) {
    const auto before = open.find(name);
    const bool kept = before != open.end() && before->second == value;
    if (kept || !std::holds_alternative<std::int64_t>(params.at(name))) continue;
    if (before != open.end() && before->second == kSameAsSize) {
      params[name] = before->second;
    } else {
      params.erase(name);
    }
  }
  return params;
}

}  // namespace

ParamMap recorded_params(const Problem& problem) {
  ParamMap params;
  params[problem.suite->size_name] = static_cast<std::int64_t>(problem.params.size);
  for (const auto& [name, value] : problem.params.options) params[name] = value;
  for (const SuiteOption& option : problem.suite->options) {
    const auto given = problem.params.options.find(option.name);
    if (option.kind != SuiteOption::Kind::count || given == problem.params.options.end()) continue;
    std::int64_t value = 0;
    const std::string& text = given->second;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc() && end == text.data() + text.size()) params[option.name] = value;
  }
  if (problem.params.input) {
    std::string files = problem.params.input->string();
    for (const auto& file : problem.params.more_inputs) files += "," + file.string();
    params["input"] = files;
  } else {
    params["seed"] = static_cast<std::int64_t>(problem.params.seed);
  }
  return params;
}

std::map<std::string, ParamMap> default_params(std::span<const Problem> problems) {
  std::map<std::string, ParamMap> all;
  for (const Problem& problem : problems)
    if (!all.contains(problem.suite->name))
      all[problem.suite->name] = default_params_of(*problem.suite);
  return all;
}

}  // namespace mgpu
