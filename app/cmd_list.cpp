// `mgpu-bench list`: the suites, strategies and metrics this binary knows, from the same tables
// that run uses.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/commands.hpp"
#include "app/terminal.hpp"
#include "lib/plan/choose.hpp"
#include "lib/plan/strategy.hpp"
#include "lib/profile/metrics.hpp"
#include "lib/report/json_build.hpp"
#include "lib/report/json_text.hpp"
#include "lib/report/table_writer.hpp"

namespace mgpu {
namespace {

constexpr std::size_t kHang = 16;  // lines that are broken go on behind the names

JsonValue suites_json(std::span<const SuiteInfo> suites) {
  JsonValue list = json_list();
  for (const SuiteInfo& suite : suites) {
    JsonValue options = json_list();
    for (const SuiteOption& option : suite.options) {
      append(options, json_object({{"name", option.name},
                                   {"values", option.values},
                                   {"default", option.values.at(0)},
                                   {"help", option.help}}));
    }
    JsonValue modes = json_list();
    for (const Mode& mode : suite.modes) append(modes, to_string(mode));
    append(list, json_object({{"name", suite.name},
                              {"summary", suite.summary},
                              {"size_counts", suite.size_name},
                              {"default_size", suite.default_size},
                              {"quick_size", suite.quick_size},
                              {"modes", std::move(modes)},
                              {"input", suite.input},
                              {"options", std::move(options)}}));
  }
  return list;
}

JsonValue strategies_json() {
  JsonValue list = json_list();
  for (const StrategyInfo& strategy : listed_strategies()) {
    JsonValue params = json_list();
    for (const StrategyParam& p : strategy.params) {
      if (p.choices.empty()) {
        append(params, json_object({{"name", p.name},
                                    {"default", p.standard},
                                    {"min", p.min},
                                    {"max", p.max},
                                    {"help", p.help}}));
      } else {
        append(params, json_object({{"name", p.name},
                                    {"default", p.text(p.standard)},
                                    {"choices", p.choices},
                                    {"help", p.help}}));
      }
    }
    append(list, json_object({{"name", strategy.name},
                              {"summary", strategy.summary},
                              {"params", std::move(params)}}));
  }
  return list;
}

JsonValue metrics_json() {
  JsonValue list = json_list();
  for (const MetricInfo& metric : all_metrics()) {
    append(list, json_object({{"name", metric.name},
                              {"unit", metric.unit},
                              {"higher_is_better", metric.higher_is_better},
                              {"optional", metric.optional},
                              {"definition", metric.definition}}));
  }
  return list;
}

std::string suites_text(std::span<const SuiteInfo> suites) {
  std::string text;
  for (const SuiteInfo& suite : suites) {
    text += fmt::format("{:<14}{}\n", suite.name, suite.summary);
    text += fmt::format(
        "{:<14}--size counts {} (default: chosen by measured rates, {} where there are none; {} "
        "with --quick)\n",
        "", suite.size_name, suite.default_size, suite.quick_size);
    text += fmt::format("{:<14}--input takes {}\n", "", suite.input);
    std::vector<std::string> modes;
    for (const Mode& mode : suite.modes) modes.push_back(option_value(mode));
    text += fmt::format("{:<14}--mode {}\n", "", fmt::join(modes, "|"));
    for (const SuiteOption& option : suite.options) {
      const bool flag = option.kind == SuiteOption::Kind::flag;
      text +=
          fmt::format("{:<14}--{}{}: {}\n", "", option.name,
                      flag ? "" : fmt::format(" {}", fmt::join(option.values, "|")), option.help);
    }
  }
  return text;
}

std::string strategies_text() {
  std::string text;
  for (const StrategyInfo& strategy : listed_strategies()) {
    text += fmt::format("{:<14}{}\n", strategy.name, strategy.summary);
    for (const StrategyParam& p : strategy.params)
      text += fmt::format("{:<14}{}\n", "", strategy_param_text(strategy, p));
  }
  return text;
}

std::string metrics_text() {
  std::size_t width = 0;
  for (const MetricInfo& metric : all_metrics())
    width = std::max(width, std::string_view(metric.name).size());
  std::string text;
  for (const MetricInfo& metric : all_metrics()) {
    text += fmt::format("{:<{}}  {:<3} {:<6}  {}\n", metric.name, width, metric.unit,
                        metric.higher_is_better ? "higher" : "lower", metric.definition);
  }
  return text;
}

}  // namespace

std::vector<StrategyInfo> listed_strategies() {
  std::vector<StrategyInfo> listed(all_strategies().begin(), all_strategies().end());
  listed.push_back(auto_strategy());
  return listed;
}

std::string strategy_param_text(const StrategyInfo& strategy, const StrategyParam& p) {
  const std::string range = p.choices.empty() ? fmt::format("{} to {}", p.min, p.max)
                                              : fmt::format("{}", fmt::join(p.choices, "|"));
  return fmt::format("{}:{}={} ({}): {}", strategy.name, p.name, p.text(p.standard), range, p.help);
}

ExitCode cmd_list(const Context& context) {
  const std::string what = context.invocation.arguments.at(0);
  static const std::vector<std::string> accepted{"suites", "strategies", "metrics"};
  read_word({what, "list"}, accepted);
  const bool suites = what == "suites", strategies = what == "strategies";
  if (context.invocation.settings.is_on("json")) {
    JsonValue list = suites       ? suites_json(context.suites)
                     : strategies ? strategies_json()
                                  : metrics_json();
    print_json(indented_json(json_object(
        {{"schema", "mgpu-bench/list"}, {"schema_version", 2}, {what, std::move(list)}})));
  } else {
    const std::string text = suites       ? suites_text(context.suites)
                             : strategies ? strategies_text()
                                          : metrics_text();
    print(
        wrapped_prose(text, table_style(context.invocation.settings, context.environment), kHang));
  }
  return ExitCode::ok;
}

}  // namespace mgpu
