// `mgpu-bench list`: the suites, strategies and metrics this binary knows, from the same tables
// that run uses.
#include <fmt/format.h>

#include <algorithm>

#include "app/commands.hpp"
#include "app/terminal.hpp"
#include "lib/plan/choose.hpp"
#include "lib/plan/strategy.hpp"
#include "lib/profile/metrics.hpp"
#include "lib/report/documents.hpp"
#include "lib/report/table_writer.hpp"

namespace mgpu {
namespace {

constexpr std::size_t kHang = 16;  // indent of continuation lines, to the right of the names

std::vector<ListedSuite> listed_suites(std::span<const SuiteInfo> suites) {
  std::vector<ListedSuite> listed;
  for (const SuiteInfo& suite : suites) {
    listed.push_back({suite.name,
                      suite.summary,
                      suite.size_name,
                      suite.input,
                      suite.default_size,
                      suite.quick_size,
                      suite.modes,
                      {}});
    for (const SuiteOption& option : suite.options)
      listed.back().options.push_back({option.name, option.help, option.values});
  }
  return listed;
}

std::string suites_text(std::span<const SuiteInfo> suites) {
  std::string text;
  for (const SuiteInfo& suite : suites) {
    text += fmt::format("{:<14}{}\n", suite.name, suite.summary);
    text += suite.descriptors
                ? fmt::format("{:<14}--size counts {} (default: that of the descriptor)\n", "",
                              suite.size_name)
                : fmt::format(
                      "{:<14}--size counts {} (default: chosen by measured rates, {} "
                      "without; {} with --quick)\n",
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
    ListDocument document;
    if (suites) {
      document.suites = listed_suites(context.suites);
    } else if (strategies) {
      document.strategies = listed_strategies();
    } else {
      document.metrics.assign(all_metrics().begin(), all_metrics().end());
    }
    print_json(list_json(document));
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
