#include "app/help_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "lib/base/add_once.hpp"
#include "lib/report/table_writer.hpp"

namespace mgpu {
namespace {

constexpr unsigned kWidth = 80;
constexpr std::size_t kColumn = 26;  // column where the help of an option begins
// Largest number of options shown at once; a command with more shows the important ones first.
constexpr std::size_t kMostAtOnce = 14;

std::string prose(const std::string& text) { return wrapped_prose(text, {kWidth, false, true}, 0); }

// Formats one entry: its name, and its help to the right, or below if the name is too long.
std::string entry(const std::string& name, const std::string& help) {
  const bool fits = name.size() + 4 <= kColumn;
  const std::string indent(kColumn, ' ');
  const std::string lines = wrapped_prose(indent + help + '\n', {kWidth, false, true}, kColumn);
  const std::string head = "  " + name;
  return fits ? head + lines.substr(head.size()) : head + '\n' + lines;
}

std::string option_name(const OptionText& option) {
  return fmt::format("{}--{}{}", option.letter.empty() ? "" : "-" + option.letter + ", ",
                     option.name, option.value.empty() ? "" : " " + option.value);
}

// Breaks a command that is too long into lines that end in a backslash.
std::string broken_command(const std::string& command) {
  std::string out, rest = command;
  while (rest.size() > kWidth) {
    const std::size_t at = rest.rfind(' ', kWidth - 2);
    if (at == std::string::npos || at < kColumn) break;
    out += rest.substr(0, at) + " \\\n";
    rest = "      " + rest.substr(at + 1);
  }
  return out + rest + '\n';
}

// Formats a footer. Lines that begin with two blanks are examples, whose explanation follows three
// or more blanks; everything else is prose.
std::string footer_text(const std::string& footer) {
  std::istringstream lines(footer);
  std::string out;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("  ")) {
      out += prose(line + '\n');
      continue;
    }
    const std::size_t gap = line.find("   ", 2);
    if (line.size() <= kWidth || gap == std::string::npos) {
      out += broken_command(line);
    } else {
      out += broken_command(line.substr(0, gap)) + "      # " +
             line.substr(line.find_first_not_of(' ', gap)) + '\n';
    }
  }
  return out;
}

std::string option_groups(const std::vector<OptionText>& options) {
  std::vector<std::string> groups;
  for (const OptionText& option : options) add_once(groups, option.group);
  std::string text;
  for (const std::string& group : groups) {
    text += fmt::format("\n{}:\n", group);
    for (const OptionText& option : options)
      if (option.group == group) text += entry(option_name(option), option.help);
  }
  return text;
}

std::string usage_line(const CommandText& command, std::span<const std::string> chosen) {
  std::string line = "\nUsage: mgpu-bench " + command.name + " [OPTION]...";
  if (!chosen.empty()) return fmt::format("{} {}\n", line, fmt::join(chosen, " "));
  for (const ArgumentText& argument : command.arguments)
    line += argument.required ? " " + argument.name : " [" + argument.name + "]...";
  return line + '\n';
}

// Returns the options that do not depend on a suite, without those that the suites replace and, if
// not `all`, without less important ones of many.
std::vector<OptionText> common_options(const CommandText& command,
                                       const std::vector<OptionText>& of_suites, bool all) {
  std::vector<OptionText> shown;
  std::copy_if(
      command.options.begin(), command.options.end(), std::back_inserter(shown),
      [&](const OptionText& option) {
        const bool replaced = std::any_of(of_suites.begin(), of_suites.end(),
                                          [&](const auto& o) { return o.name == option.name; });
        return !replaced && (all || command.options.size() <= kMostAtOnce || option.important);
      });
  return shown;
}

}  // namespace

std::string overview_text(const CommandLineText& line) {
  std::string text = prose(line.help + '\n');
  text += "\nUsage: mgpu-bench COMMAND [OPTION]... [ARGUMENT]...\n\nCommands:\n";
  for (const CommandText& command : line.commands)
    text += fmt::format("  {:<12}{}\n", command.name, command.help);
  text += "\nOptions:\n";
  text += entry("-h, --help", "Print this help; mgpu-bench help COMMAND prints that of a command");
  text += entry("--help-all", "Print the help of every command");
  text += entry("--version", "Print the version of the tool and of its result file");
  return text + '\n' + footer_text(line.footer);
}

std::string command_text(const CommandText& command, std::span<const std::string> chosen,
                         std::span<const SuiteText> suites, bool all) {
  std::string text = prose(command.help + ".\n");
  std::vector<OptionText> of_suites;
  for (const SuiteText& suite : suites) {
    const bool is_chosen = std::find(chosen.begin(), chosen.end(), suite.name) != chosen.end();
    if (!is_chosen && !(all && chosen.empty() && command.has_suites)) continue;
    of_suites.insert(of_suites.end(), suite.options.begin(), suite.options.end());
    if (is_chosen)
      text += prose(
          fmt::format("\n{}: {}. --size counts {}.\n", suite.name, suite.help, suite.size_name));
  }
  text += usage_line(command, chosen);
  for (const ArgumentText& argument : command.arguments)
    if (chosen.empty()) text += "\n" + entry(argument.name, argument.help);
  const std::vector<OptionText> common =
      common_options(command, chosen.empty() ? std::vector<OptionText>() : of_suites, all);
  text += chosen.empty() ? option_groups(common) + option_groups(of_suites)
                         : option_groups(of_suites) + option_groups(common);
  if (!all && common.size() < command.options.size())
    text += prose(fmt::format("\nAll options: mgpu-bench help {} --all\n", command.name));
  if (command.has_suites && chosen.empty() && !all)
    text += prose(fmt::format("Those of a suite, such as {}: mgpu-bench help {} {}\n",
                              suites.front().name, command.name, suites.front().name));
  if (!chosen.empty() || command.footer.empty()) return text;
  return text + '\n' + footer_text(command.footer);
}

}  // namespace mgpu
