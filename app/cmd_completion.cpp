// `mgpu-bench completion`: the scripts in app/texts, filled in with tables of this binary's
// commands and options. The scripts ask the program at completion time for names that differ
// between machines (devices) or are many (suites, strategies).
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "app/commands.hpp"
#include "app/terminal.hpp"
#include "app/texts.hpp"
#include "lib/report/exports.hpp"
#include "lib/report/record_json.hpp"

namespace mgpu {
namespace {

// Returns the kind of value that an option takes: "switch" (none), "file", "export" (KIND=FILE),
// "devices", "handicap" (DEV=...), "strategies", "words a b c" or "any".
std::string taken_by(const OptionText& option) {
  if (option.value.empty()) return "switch";
  if (option.name == "devices" || option.name == "device-filter") return "devices";
  if (option.name == "strategy" || option.name == "load-balancing-strategy") return "strategies";
  if (option.name == "suites") return "suites";
  if (option.value == "KIND=FILE") return "export";
  if (option.value.starts_with("DEV=")) return "handicap";
  if (option.value == "FILE" || option.value == "RESULT") return "file";
  return option.words.empty() ? "any" : fmt::format("words {}", fmt::join(option.words, " "));
}

std::string argument_of(const CommandText& command, const CommandLineText& line) {
  if (command.argument.empty()) return "switch";
  if (command.argument == "SUITE") return "suites";
  if (command.argument == "WHAT") return "words suites strategies metrics";
  if (command.argument == "SHELL") return "words bash zsh fish";
  if (command.argument == "COMMAND") {
    std::vector<std::string> names;
    for (const CommandText& one : line.commands) names.push_back(one.name);
    return fmt::format("words {}", fmt::join(names, " "));
  }
  if (command.argument != "NAME") return "file";
  return fmt::format("words {}", fmt::join(schema_names(), " "));
}

std::string export_words() { return fmt::format("{}", fmt::join(export_kinds(), " ")); }

// Returns the beginning of a help text: a menu has little room next to a word.
std::string brief(const std::string& help) {
  constexpr std::size_t most = 72;
  std::string text = help.substr(0, help.find(" (default"));
  if (text.size() <= most) return text;
  text.resize(text.rfind(' ', most));
  return text + "...";
}

std::string in_single_quotes(std::string_view text, std::string_view quote_inside) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string(quote_inside) : std::string(1, c);
  return quoted + "'";
}

std::map<std::string, std::string> bash_tables(const CommandLineText& line) {
  std::string options, values, commands;
  for (const CommandText& command : line.commands) {
    std::string flags;
    for (const OptionText& option : command.options) {
      flags += fmt::format("{}{}--{}", flags.empty() ? "" : " ",
                           option.letter.empty() ? "" : "-" + option.letter + " ", option.name);
      const std::string taken = taken_by(option);
      if (taken == "switch") continue;
      if (!option.letter.empty())
        values += fmt::format("    '{} -{}' | ", command.name, option.letter);
      values += fmt::format("{}'{} --{}') takes='{}' ;;\n", option.letter.empty() ? "    " : "",
                            command.name, option.name, taken);
    }
    options += fmt::format("    {}) words='{}' ;;\n", command.name, flags);
    values += fmt::format("    '{} ') takes='{}' ;;\n", command.name, argument_of(command, line));
    commands += (commands.empty() ? "" : " ") + command.name;
  }
  return {{"OPTIONS", options},
          {"VALUES", values},
          {"COMMANDS", commands},
          {"EXPORTS", export_words()}};
}

// Returns the action of _arguments. A space before a function name stops _arguments from adding its
// own options to the call.
std::string zsh_action(const std::string& taken) {
  if (taken == "file") return "_files";
  if (taken == "export" || taken == "handicap") return " _mgpu_bench_" + taken;
  if (taken == "any") return " ";
  if (taken.starts_with("words ")) return " _mgpu_bench_words " + taken.substr(6);
  return " _mgpu_bench_names " + taken;
}

std::map<std::string, std::string> zsh_tables(const CommandLineText& line) {
  const auto quoted = [](std::string_view text) { return in_single_quotes(text, R"('\'')"); };
  std::string options, commands;
  for (const CommandText& command : line.commands) {
    commands += fmt::format("    {}\n", quoted(command.name + ":" + command.help));
    options += fmt::format("        {})\n          _arguments -s", command.name);
    for (const OptionText& option : command.options) {
      const std::string taken = taken_by(option);
      const bool takes = taken != "switch";
      std::string help = brief(option.help);
      std::replace(help.begin(), help.end(), '[', '(');
      std::replace(help.begin(), help.end(), ']', ')');
      const std::string value = takes ? fmt::format(":{}:{}", option.value, zsh_action(taken)) : "";
      const std::string name = fmt::format("--{}{}", option.name, takes ? "=" : "");
      const std::string both = option.letter.empty() ? name
                                                     : fmt::format("{{-{}{},{}}}", option.letter,
                                                                   takes ? "+" : "", name);
      options += fmt::format(" \\\n            '*'{}{}", both, quoted("[" + help + "]" + value));
    }
    const std::string argument = argument_of(command, line);
    if (argument != "switch")
      options += fmt::format(" \\\n            '*:{}:{}'", command.argument, zsh_action(argument));
    options += " ;;\n";
  }
  return {{"OPTIONS", options}, {"COMMANDS", commands}, {"EXPORTS", export_words()}};
}

std::string fish_action(const std::string& taken) {
  if (taken == "switch") return "";
  if (taken == "file") return " -r -F";
  if (taken == "any") return " -x";
  std::string words = "(__mgpu_bench_names " + taken + ")";
  if (taken == "handicap") words = "(__mgpu_bench_names devices)=";
  if (taken == "export") return fmt::format(" -r -F -a '{}='", fmt::join(export_kinds(), "= "));
  if (taken.starts_with("words ")) words = taken.substr(6);
  return fmt::format(" -x -a '(__mgpu_bench_list {})'", words);
}

std::map<std::string, std::string> fish_tables(const CommandLineText& line) {
  const auto quoted = [](std::string_view text) { return in_single_quotes(text, R"(\')"); };
  std::string options, commands;
  for (const CommandText& command : line.commands) {
    commands += fmt::format("complete -c mgpu-bench -n __mgpu_bench_needs_command -a {} -d {}\n",
                            command.name, quoted(command.help));
    const std::string when =
        fmt::format("complete -c mgpu-bench -n '__mgpu_bench_is {}'", command.name);
    for (const OptionText& option : command.options) {
      options += fmt::format("{}{} -l {}{} -d {}\n", when,
                             option.letter.empty() ? "" : " -s " + option.letter, option.name,
                             fish_action(taken_by(option)), quoted(brief(option.help)));
    }
    const std::string argument = argument_of(command, line);
    if (argument == "file") options += when + " -F\n";
    if (argument != "file" && argument != "switch") {
      const std::string action = fish_action(argument);
      options += when + " -f" + action.substr(action.find(" -a")) + "\n";
    }
  }
  return {{"OPTIONS", options}, {"COMMANDS", commands}};
}

}  // namespace

ExitCode cmd_completion(const Context& context) {
  static const std::vector<std::string> shells{"bash", "zsh", "fish"};
  const std::string& shell =
      shells[read_word({context.invocation.arguments.at(0), "completion"}, shells)];
  const CommandLineText line = describe_command_line(context.suites);
  std::map<std::string, std::string> tables;
  if (shell == "bash") {
    tables = bash_tables(line);
  } else if (shell == "zsh") {
    tables = zsh_tables(line);
  } else {
    tables = fish_tables(line);
  }
  print_data(filled_text("completion." + shell + ".in", tables));
  return ExitCode::ok;
}

}  // namespace mgpu
