// `mgpu-bench trend`: says when the results of a history changed, and has an exit code for CI.
#include <fmt/format.h>

#include "app/commands.hpp"
#include "app/environment.hpp"
#include "app/terminal.hpp"
#include "lib/base/error.hpp"
#include "lib/base/output_file.hpp"
#include "lib/base/quote.hpp"
#include "lib/history/trend.hpp"

namespace mgpu {
namespace {

TrendOptions read_trend_options(const Settings& settings) {
  TrendOptions options;
  if (const Given* floor = settings.find("floor")) options.floor = read_share(*floor, 0, 10);
  options.disturbed = settings.is_on("disturbed");
  options.points = settings.is_on("json") || settings.has("result");
  if (const Given* since = settings.find("since")) {
    options.since = since->value;
    if (since->value.size() < 4 ||
        since->value.find_first_not_of("0123456789-:TZ") != std::string::npos)
      throw Error(ErrorKind::usage,
                  fmt::format("{}: {} is no date; expected: 2026-11, 2026-11-23 or "
                              "2026-11-23T16:35:43Z",
                              since->from, in_quotes(since->value)));
  }
  const Given* metric = settings.find("metric");
  if (metric == nullptr || metric->value == "time") return options;
  std::vector<std::string> known{"time"};
  for (const MetricInfo& info : all_metrics()) known.emplace_back(info.name);
  options.metric = &all_metrics()[read_word(*metric, known) - 1];
  return options;
}

}  // namespace

ExitCode cmd_trend(const Context& context) {
  const Settings& settings = context.invocation.settings;
  const TrendOptions options = read_trend_options(settings);
  const TableStyle style = table_style(settings, context.environment);
  OutputFiles outputs;
  const Given* file = settings.find("result");
  if (file != nullptr) outputs.add(file->value, output_mode(file->value));
  const bool json = settings.is_on("json");
  if (json && outputs.take_standard_output())
    throw Error(ErrorKind::usage, "--json: another output is on standard output; expected: a file");
  const std::string& folder = context.invocation.arguments.at(0);
  const ResultHistory history = read_history(folder);
  for (const std::string& warning : history.warnings) print_error("warning: " + warning);
  if (history.series.empty())
    throw Error(ErrorKind::input, folder +
                                      ": the history has no runs yet; expected: some, which "
                                      "run --history DIR and history add DIR RESULT append");
  TrendReport report = find_trends(history, options);
  report.tool = context.tool.version;
  report.history = folder;
  const std::string text = options.points ? trend_json(report) : "";
  if (file != nullptr) outputs.at(file->value).write(text);
  if (json)
    print_json(text);
  else if (!outputs.take_standard_output())
    print_styled(trend_tables(report, style), style);
  return report.alarms() ? ExitCode::regression : ExitCode::ok;
}

}  // namespace mgpu
