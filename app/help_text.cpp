#include "app/help_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "lib/report/table_writer.hpp"

namespace mgpu {
namespace {

constexpr unsigned kWidth = 80;
constexpr std::size_t kColumn = 26;  // column where the help of an option begins
// Largest number of options shown at once; a command with more shows the important ones first.
constexpr std::size_t kMostAtOnce = 14;

// Formats one entry: its name, and its help to the right, or below if the name is too long.
std::string entry(const std::string& name, const std::string& help) {
  const bool fits = name.size() + 4 <= kColumn;
  const std::string indent(kColumn, ' ');
  const std::string prose = wrapped_prose(indent + help + '\n', {kWidth, false, true}, kColumn);
  const std::string head = "  " + name;
  return fits ? head + prose.substr(head.size()) : head + '\n' + prose;
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
      out += wrapped_prose(line + '\n', {kWidth, false, true}, 0);
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

std::string option_groups(const std::vector<OptionText>& options, bool headings) {
  std::vector<std::string> groups;
  for (const OptionText& option : options)
    if (std::find(groups.begin(), groups.end(), option.group) == groups.end())
      groups.push_back(option.group);
  std::string text;
  for (const std::string& group : headings ? groups : std::vector<std::string>{"Options"}) {
    text += fmt::format("\n{}:\n", group);
    for (const OptionText& option : options)
      if (!headings || option.group == group) text += entry(option_name(option), option.help);
  }
  return text;
}

}  // namespace

std::string overview_text(const CommandLineText& line) {
  std::string text = wrapped_prose(line.help + '\n', {kWidth, false, true}, 0);
  text += "\nUsage: mgpu-bench COMMAND [OPTION]... [ARGUMENT]...\n\nCommands:\n";
  for (const CommandText& command : line.commands)
    text += fmt::format("  {:<12}{}\n", command.name, command.help);
  text += "\nOptions:\n";
  text += entry("-h, --help", "Print this help; mgpu-bench help COMMAND prints that of a command");
  text += entry("--help-all", "Print the help of every command");
  text += entry("--version", "Print the version of the tool and of its result file");
  return text + '\n' + footer_text(line.footer);
}

std::string command_text(const CommandText& command, bool all) {
  std::string text = wrapped_prose(command.help + ".\n", {kWidth, false, true}, 0);
  const std::string argument = command.argument.empty()    ? ""
                               : command.argument_required ? " " + command.argument
                                                           : " [" + command.argument + "]...";
  text += fmt::format("\nUsage: mgpu-bench {} [OPTION]...{}\n", command.name, argument);
  if (!command.argument.empty()) text += "\n" + entry(command.argument, command.argument_help);
  std::vector<OptionText> shown;
  std::copy_if(command.options.begin(), command.options.end(), std::back_inserter(shown),
               [&](const OptionText& option) {
                 return all || command.options.size() <= kMostAtOnce || option.important;
               });
  text += option_groups(shown, shown.size() == command.options.size());
  if (shown.size() < command.options.size())
    text += wrapped_prose(fmt::format("\n{} more options: mgpu-bench {} --help-all\n",
                                      command.options.size() - shown.size(), command.name),
                          {kWidth, false, true}, 0);
  return command.footer.empty() ? text : text + '\n' + footer_text(command.footer);
}

}  // namespace mgpu
