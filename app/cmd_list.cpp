// `mgpu-bench list`: the suites, strategies and metrics this binary knows, from the same tables
// that run uses, and the saved results.
#include <fmt/format.h>

#include <algorithm>

#include "app/commands.hpp"
#include "app/saved_results.hpp"
#include "app/terminal.hpp"
#include "lib/base/error.hpp"
#include "lib/base/quantity.hpp"
#include "lib/plan/choose.hpp"
#include "lib/plan/strategy.hpp"
#include "lib/profile/metrics.hpp"
#include "lib/report/documents.hpp"
#include "lib/report/record_json.hpp"
#include "lib/report/table_writer.hpp"
#include "lib/report/text_table.hpp"

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

// Says what --size counts, and what its default is.
std::string size_text(const SuiteInfo& suite) {
  return fmt::format(
      "--size N,..: {} (default: {})", suite.size_name,
      suite.descriptors ? "n of the descriptor, with --quick its quick"
                        : fmt::format("about 100 ms on the fastest device, {} if no rate is known; "
                                      "with --quick {}",
                                      suite.default_size, suite.quick_size));
}

std::string suites_text(std::span<const SuiteInfo> suites) {
  std::string text;
  for (const SuiteInfo& suite : suites) {
    text += fmt::format("{:<14}{}\n{:<14}{}\n", suite.name, suite.summary, "", size_text(suite));
    for (const OptionSpec& option : suite_options(suite))
      text += fmt::format("{:<14}{}{}: {}\n", "", flag_of(option),
                          option.value_name.empty() ? "" : " " + option.value_name, option.help);
  }
  return text;
}

std::string strategies_text(std::span<const StrategyInfo> strategies) {
  std::string text;
  for (const StrategyInfo& strategy : strategies) {
    text += fmt::format("{:<14}{}\n", strategy.name, strategy.summary);
    for (const StrategyParam& p : strategy.params)
      text += fmt::format("{:<14}{}\n", "", strategy_param_text(strategy, p));
  }
  return text;
}

std::string metrics_text(std::span<const MetricInfo> metrics) {
  std::size_t width = 0;
  for (const MetricInfo& metric : metrics)
    width = std::max(width, std::string_view(metric.name).size());
  std::string text;
  for (const MetricInfo& metric : metrics) {
    text += fmt::format("{:<{}}  {:<3} {:<6}  {}\n", metric.name, width, metric.unit,
                        metric.higher_is_better ? "higher" : "lower", metric.definition);
  }
  return text;
}

// Returns the saved results, the newest first.
std::vector<ListedResult> saved_list(const std::filesystem::path& folder) {
  std::vector<ListedResult> listed;
  for (const std::filesystem::path& file : saved_results(folder, false)) {
    ListedResult one;
    one.name = listed.empty() ? "last" : fmt::format("last~{}", listed.size());
    one.file = file.string();
    try {
      const Report report = read_report(file);
      std::vector<std::string> suites;
      for (const RunRecord& run : report.runs) {
        if (std::find(suites.begin(), suites.end(), run.suite) == suites.end())
          suites.push_back(run.suite);
        for (const Nanos sample : run.samples) one.measured += sample;
      }
      one.started = report.started;
      one.what = fmt::format("{}", fmt::join(suites, "+"));
      one.cases = report.runs.size();
      one.complete = report.complete;
      if (const auto commit = report.labels.find("commit"); commit != report.labels.end())
        one.commit = commit->second;
    } catch (const Error& error) {
      one.trouble = error.what();
      if (one.trouble.starts_with(one.file + ": ")) one.trouble.erase(0, one.file.size() + 2);
    }
    listed.push_back(std::move(one));
  }
  return listed;
}

std::string results_text(const std::vector<ListedResult>& results,
                         const std::filesystem::path& folder, const TableStyle& style) {
  std::vector<TextRow> rows;
  for (const ListedResult& one : results) {
    const std::string file = std::filesystem::path(one.file).filename().string();
    if (!one.trouble.empty()) {
      rows.push_back({{one.name, printable(one.trouble)}});
      continue;
    }
    rows.push_back(
        {{one.name, printable(one.started.substr(0, 16)), printable(one.what),
          fmt::format("{}{}", one.cases, one.complete ? "" : " (interrupted)"),
          format_duration(one.measured), printable(one.commit.substr(0, 10)), printable(file)}});
  }
  std::vector<std::string> hidden;
  return draw_table({{"name", "", false},
                     {"started (UTC)", "", false},
                     {"suites", "", false, 0, true},
                     {"cases", "", true, 40},
                     {"measured", "", true, 50},
                     {"commit", "", false, 30},
                     {"file", "", false, 20}},
                    std::move(rows), style.width, style.color, hidden) +
         hidden_line(hidden, "a wider terminal, or --json", style.width) +
         fmt::format("The newest {} are saved, in {}\n", kMostSaved, printable(folder.string()));
}

// Returns the entries with these names, in their own order; all if there are no names. Throws
// Error(usage) for a name that no entry has.
template <typename Entry>
std::vector<Entry> with_names(std::span<const Entry> entries, std::span<const std::string> names,
                              const std::string& what) {
  std::vector<std::string> known;
  for (const Entry& entry : entries) known.emplace_back(entry.name);
  for (const std::string& name : names) read_word({name, "list " + what}, known);
  std::vector<Entry> chosen;
  std::copy_if(entries.begin(), entries.end(), std::back_inserter(chosen), [&](const Entry& entry) {
    return names.empty() || std::find(names.begin(), names.end(), entry.name) != names.end();
  });
  return chosen;
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
  const Settings& settings = context.invocation.settings;
  const std::string what = context.invocation.arguments.at(0);
  static const std::vector<std::string> accepted{"suites", "strategies", "metrics", "results"};
  read_word({what, "list"}, accepted);
  const auto names = std::span(context.invocation.arguments).subspan(1);
  ListDocument document;
  std::string text;
  if (what == "results") {
    if (!names.empty())
      throw Error(ErrorKind::usage, fmt::format("list results: {} is one argument too many",
                                                in_quotes(names.front())));
    const std::filesystem::path folder = state_directory(context.environment);
    document.results = saved_list(folder);
    if (!settings.is_on("json")) {
      const TableStyle style = table_style(settings, context.environment);
      print(results_text(*document.results, folder, style));
      return ExitCode::ok;
    }
  } else if (what == "suites") {
    const auto suites = with_names(context.suites, names, what);
    document.suites = listed_suites(suites);
    text = suites_text(suites);
  } else if (what == "strategies") {
    const std::vector<StrategyInfo> all = listed_strategies();
    document.strategies = with_names(std::span(all), names, what);
    text = strategies_text(document.strategies);
  } else {
    document.metrics = with_names(all_metrics(), names, what);
    text = metrics_text(document.metrics);
  }
  TableStyle style = table_style(settings, context.environment);
  style.wraps = true;
  if (settings.is_on("json"))
    print_json(list_json(document));
  else
    print(wrapped_prose(text, style, kHang));
  return ExitCode::ok;
}

}  // namespace mgpu
