// `mgpu-bench manual`: the manual page as roff. Its prose is in app/texts/mgpu-bench.1.in;
// commands, options, variables, strategies and metrics come from the same tables as --help and
// `mgpu-bench list`.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "app/commands.hpp"
#include "app/saved_results.hpp"
#include "app/terminal.hpp"
#include "app/texts.hpp"
#include "lib/base/add_once.hpp"
#include "lib/profile/metrics.hpp"

namespace mgpu {
namespace {

// Escapes text for roff, so that it is printed as typed: backslashes, hyphens (else typographic
// ones, which no shell takes), quotes, ^ and ~, and dots at the begin of a line.
std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool first = out.empty() || out.back() == '\n';
    if (first && (c == '.' || c == '\'')) out += "\\&";
    switch (c) {
      case '\\':
        out += "\\e";
        break;
      case '-':
        out += "\\-";
        break;
      case '\'':
        out += "\\(aq";
        break;
      case '`':
        out += "\\(ga";
        break;
      case '^':
        out += "\\(ha";
        break;
      case '~':
        out += "\\(ti";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string option_entry(const OptionText& option) {
  const std::string letter =
      option.letter.empty() ? "" : "\\fB\\-" + roff(option.letter) + "\\fR, ";
  const std::string value = option.value.empty() ? "" : " \\fI" + roff(option.value) + "\\fR";
  return fmt::format(".TP\n{}\\fB\\-\\-{}\\fR{}\n{}\n", letter, roff(option.name), value,
                     roff(option.help));
}

// Formats the options by group, in the order in which the groups first appear.
std::string option_entries(const std::vector<OptionText>& options) {
  std::vector<std::string> groups;
  for (const OptionText& option : options) {
    add_once(groups, option.group);
  }
  std::string text;
  for (const std::string& group : groups) {
    text += fmt::format(".PP\n{}:\n", roff(group));
    for (const OptionText& option : options) {
      if (option.group == group) text += option_entry(option);
    }
  }
  return text;
}

std::string command_section(const CommandText& command) {
  std::string arguments, entries;
  for (const ArgumentText& argument : command.arguments) {
    const std::string name = "\\fI" + roff(argument.name) + "\\fR";
    arguments += argument.required ? " " + name : " [" + name + "]...";
    entries += fmt::format(".TP\n{}\n{}\n", name, roff(argument.help));
  }
  std::string text =
      fmt::format(".SS \"{}\"\n\\fBmgpu\\-bench {}\\fR [\\fIOPTION\\fR]...{}\n.PP\n{}.\n{}",
                  roff(command.name), roff(command.name), arguments, roff(command.help), entries);
  text += option_entries(command.options);
  if (command.has_suites) text += ".PP\nThe options of each suite are listed under\n.BR SUITES .\n";
  std::string examples = command.footer;
  while (examples.ends_with('\n')) examples.pop_back();
  if (!examples.empty()) {
    const std::size_t first = examples.find('\n') + 1;  // after "Examples:"
    text += fmt::format(".PP\nExamples:\n.PP\n.nf\n{}\n.fi\n", roff(examples.substr(first)));
  }
  return text;
}

// Formats each suite with its options, as `mgpu-bench list suites` does.
std::string suite_entries(const CommandLineText& line) {
  std::string text;
  for (const SuiteText& suite : line.suites) {
    text += fmt::format(".SS \"{}\"\n{}.\n\\fB\\-\\-size\\fR counts {}.\n", roff(suite.name),
                        roff(suite.help), roff(suite.size_name));
    for (const OptionText& option : suite.options) text += option_entry(option);
  }
  return text;
}

// Formats each strategy with its parameters, as `mgpu-bench list strategies` does.
std::string strategy_entries() {
  std::string text;
  for (const StrategyInfo& strategy : listed_strategies()) {
    text += fmt::format(".TP\n\\fB{}\\fR\n{}.\n", roff(strategy.name), roff(strategy.summary));
    for (const StrategyParam& p : strategy.params)
      text += fmt::format(".br\n{}.\n", roff(strategy_param_text(strategy, p)));
  }
  return text;
}

// Formats each metric with its definition, as `mgpu-bench list metrics` does.
std::string metric_entries() {
  std::string text;
  for (const MetricInfo& metric : all_metrics()) {
    text += fmt::format(".TP\n\\fB{}\\fR\n{}. Unit {}; {} is better.\n", roff(metric.name),
                        roff(metric.definition), roff(metric.unit),
                        metric.higher_is_better ? "higher" : "lower");
  }
  return text;
}

}  // namespace

ExitCode cmd_manual(const Context& context) {
  const CommandLineText line = describe_command_line(context.suites);
  std::string commands, variables, device_names;
  for (const CommandText& command : line.commands) commands += command_section(command);
  for (const OptionSpec& option : run_options(context.suites)) {
    if (option.is_hidden()) continue;
    variables += fmt::format("{}\\fB{}\\fR", variables.empty() ? "" : ",\n", variable_of(option));
  }
  variables += ",\n\\fBMGPU_BENCH_CONFIG\\fR.\n";
  for (const std::string& name : device_variable_names()) {
    device_names += fmt::format("{}\\fB{}\\fR", device_names.empty() ? "" : ",\n", name);
  }
  print_data(filled_text("mgpu-bench.1.in", {{"VERSION", context.tool.version},
                                             {"HELP", roff(line.help) + "\n"},
                                             {"COMMANDS", commands},
                                             {"SUITES", suite_entries(line)},
                                             {"STRATEGIES", strategy_entries()},
                                             {"METRICS", metric_entries()},
                                             {"VARIABLES", variables},
                                             {"MOST_SAVED", std::to_string(kMostSaved)},
                                             {"DEVICE_VARIABLES", device_names}}));
  return ExitCode::ok;
}

}  // namespace mgpu
