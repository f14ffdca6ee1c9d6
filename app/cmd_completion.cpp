// `mgpu-bench completion`: the scripts in app/texts, filled in with tables of this binary's
// commands and options. The scripts ask the program at completion time for names that differ
// between machines (devices) or are many (suites, strategies).
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "app/commands.hpp"
#include "app/terminal.hpp"
#include "app/texts.hpp"
#include "lib/report/record_json.hpp"

namespace mgpu {
namespace {

constexpr const char* kResults = "file *.json* last";  // saved results, compressed or not

// Returns the kind of value that an option takes: "switch" (none), "file GLOB [WORD]...", "export
// KIND..." (KIND=FILE), "devices", "handicap" (DEV=...), "strategies", "suites", "words WORD..." or
// "any".
std::string taken_by(const OptionText& option) {
  if (option.value.empty()) return "switch";
  if (option.name == "devices") return "devices";
  if (option.name == "strategy") return "strategies";
  if (option.name == "suites") return "suites";
  if (option.value.starts_with("DEV=")) return "handicap";
  if (option.value == "RESULT") return kResults;
  const std::string words = fmt::format("{}", fmt::join(option.words, " "));
  if (option.value == "KIND=FILE") return "export " + words;
  if (option.value == "FILE") {
    const bool toml = option.name == "config" || option.name == "kernel";
    return fmt::format("file {}{}{}", toml ? "*.toml" : "*", words.empty() ? "" : " ", words);
  }
  return words.empty() ? "any" : "words " + words;
}

std::string joined_names(const auto& entries) {
  std::vector<std::string> names;
  for (const auto& entry : entries) names.push_back(entry.name);
  return fmt::format("{}", fmt::join(names, " "));
}

// Returns the kind of value that the words of a command are.
std::string argument_of(const CommandText& command, const CommandLineText& line) {
  if (command.arguments.empty()) return "switch";
  const std::string& name = command.arguments.front().name;
  if (name == "SUITE") return "suites";
  if (name == "WHAT")
    return fmt::format("words suites strategies metrics results {}", joined_names(line.suites));
  if (name == "ACTION") return "file * add list show exclude ack";
  if (name == "SHELL") return "words bash zsh fish";
  if (name == "COMMAND")
    return fmt::format("words {} {}", joined_names(line.commands), joined_names(line.suites));
  for (const char* reader : {"report", "compare", "merge", "trace"})
    if (command.name == reader) return kResults;
  if (command.name == "init") return "file *.cl";
  if (name != "NAME") return "file *";
  return fmt::format("words {}", fmt::join(schema_names(), " "));
}

// Tells whether suites have this option with values of their own.
bool is_replaced(const OptionText& option, const CommandText& command,
                 const CommandLineText& line) {
  return command.has_suites &&
         std::any_of(line.suites.begin(), line.suites.end(), [&](const SuiteText& suite) {
           return std::any_of(suite.options.begin(), suite.options.end(),
                              [&](const OptionText& own) { return own.name == option.name; });
         });
}

std::string commands_with_suites(const CommandLineText& line) {
  std::vector<std::string> names;
  for (const CommandText& command : line.commands)
    if (command.has_suites) names.push_back(command.name);
  return fmt::format("{}", fmt::join(names, " | "));
}

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

// Returns a line per option that takes a value, `'run -n' | 'run --samples') takes='any' ;;`, for a
// command or a suite of this name.
std::string bash_values(const std::string& name, const std::vector<OptionText>& options) {
  std::string values;
  for (const OptionText& option : options) {
    const std::string taken = taken_by(option);
    if (taken == "switch") continue;
    const std::string letter =
        option.letter.empty() ? "" : fmt::format("'{} -{}' | ", name, option.letter);
    values += fmt::format("    {}'{} --{}') takes='{}' ;;\n", letter, name, option.name, taken);
  }
  return values;
}

std::string bash_words(const std::vector<OptionText>& options) {
  std::string words;
  for (const OptionText& option : options)
    words += fmt::format("{}{}--{}", words.empty() ? "" : " ",
                         option.letter.empty() ? "" : "-" + option.letter + " ", option.name);
  return words;
}

std::map<std::string, std::string> bash_tables(const CommandLineText& line) {
  std::string options, values, suite_options, suite_values;
  for (const CommandText& command : line.commands) {
    options += fmt::format("    {}) words='{}' ;;\n", command.name, bash_words(command.options));
    values += bash_values(command.name, command.options) +
              fmt::format("    '{} ') takes='{}' ;;\n", command.name, argument_of(command, line));
  }
  for (const SuiteText& suite : line.suites) {
    suite_options +=
        fmt::format("      {}) words+=' {}' ;;\n", suite.name, bash_words(suite.options));
    suite_values += bash_values(suite.name, suite.options);
  }
  return {{"OPTIONS", options},
          {"VALUES", values},
          {"SUITE_OPTIONS", suite_options},
          {"SUITE_VALUES", suite_values},
          {"WITH_SUITES", commands_with_suites(line)},
          {"SUITES", joined_names(line.suites)},
          {"COMMANDS", joined_names(line.commands)}};
}

// Returns the text for a description of _arguments, in which a bare colon ends a part.
std::string with_colons(std::string text) {
  for (std::size_t at = 0; (at = text.find(':', at)) != std::string::npos; at += 2)
    text.insert(at, 1, '\\');
  return text;
}

// Returns the action of _arguments. A space before a function name stops _arguments from adding its
// own options to the call.
std::string zsh_action(const std::string& taken) {
  if (taken == "file *") return "_files";
  if (taken.starts_with("file "))  // the glob in quotes, so that it stays one
    return fmt::format(" _mgpu_bench_files \"{}\"{}", taken.substr(5, taken.find(' ', 5) - 5),
                       taken.substr(std::min(taken.find(' ', 5), taken.size())));
  if (taken.starts_with("export ") || taken == "handicap") return " _mgpu_bench_" + taken;
  if (taken == "any") return " ";
  if (taken.starts_with("words ")) return " _mgpu_bench_words " + with_colons(taken.substr(6));
  return " _mgpu_bench_names " + taken;
}

std::string zsh_quoted(std::string_view text) { return in_single_quotes(text, R"('\'')"); }

// Parts of the specification of an option for _arguments: "--size=", "[HELP]:VALUE:", the action.
struct ZshOption {
  std::string name, description, action;
};

ZshOption zsh_parts(const OptionText& option) {
  const std::string taken = taken_by(option);
  std::string help = brief(option.help);
  std::replace(help.begin(), help.end(), '[', '(');
  std::replace(help.begin(), help.end(), ']', ')');
  if (taken == "switch") return {"--" + option.name, "[" + help + "]", ""};
  return {fmt::format("--{}=", option.name), fmt::format("[{}]:{}:", help, option.value),
          zsh_action(taken)};
}

std::string zsh_option(const OptionText& option) {
  const ZshOption parts = zsh_parts(option);
  const bool takes = !parts.action.empty();
  const std::string both = option.letter.empty() ? parts.name
                                                 : fmt::format("{{-{}{},{}}}", option.letter,
                                                               takes ? "+" : "", parts.name);
  return fmt::format("'*'{}{}", both, zsh_quoted(parts.description + parts.action));
}

std::map<std::string, std::string> zsh_tables(const CommandLineText& line) {
  std::string options, commands, of_suites;
  for (const CommandText& command : line.commands) {
    commands += fmt::format("    {}\n", zsh_quoted(command.name + ":" + command.help));
    options += fmt::format("        {})\n          _arguments -s", command.name);
    for (const OptionText& option : command.options)
      if (!is_replaced(option, command, line)) options += " \\\n            " + zsh_option(option);
    if (command.has_suites) options += " \\\n            $own";
    const std::string argument = argument_of(command, line);
    if (argument != "switch")
      options += fmt::format(" \\\n            '*:{}:{}'", command.arguments.front().name,
                             zsh_action(argument));
    options += " ;;\n";
  }
  for (const SuiteText& suite : line.suites) {
    of_suites += fmt::format("      {})\n", suite.name);
    for (const OptionText& option : suite.options) {
      const ZshOption parts = zsh_parts(option);
      of_suites +=
          fmt::format("        _mgpu_bench_add {} {} {}\n", option.name,
                      zsh_quoted("*" + parts.name + parts.description), zsh_quoted(parts.action));
    }
    of_suites += "        ;;\n";
  }
  return {{"OPTIONS", options},
          {"COMMANDS", commands},
          {"SUITE_OPTIONS", of_suites},
          {"SUITES", joined_names(line.suites)},
          {"WITH_SUITES", commands_with_suites(line)}};
}

std::string fish_action(const std::string& taken) {
  if (taken == "switch") return "";
  if (taken == "file *") return " -r -F";
  if (taken.starts_with("file ")) {
    std::string words = taken.substr(5);
    const std::string glob = words.substr(0, words.find(' '));
    words.erase(0, glob.size());
    std::string ending = glob.substr(1);  // "*.json*": of any ending that begins so
    while (ending.ends_with('*')) ending.pop_back();
    return fmt::format(" -x -a '(__mgpu_bench_files {}{})'", ending, words);
  }
  if (taken == "any") return " -x";
  std::string words = "(__mgpu_bench_names " + taken + ")";
  if (taken == "handicap") words = "(__mgpu_bench_names devices)=";
  if (taken.starts_with("export ")) {
    std::string kinds = taken.substr(7);
    for (std::size_t at = 0; (at = kinds.find(' ', at)) != std::string::npos; at += 2)
      kinds.insert(at, 1, '=');
    return fmt::format(" -r -F -a '{}='", kinds);
  }
  if (taken.starts_with("words ")) words = taken.substr(6);
  return fmt::format(" -x -a '(__mgpu_bench_list {})'", words);
}

// Returns the line for an option where `when` holds.
std::string fish_option(const std::string& when, const OptionText& option) {
  return fmt::format("{}{} -l {}{} -d {}\n", when,
                     option.letter.empty() ? "" : " -s " + option.letter, option.name,
                     fish_action(taken_by(option)), in_single_quotes(brief(option.help), R"(\')"));
}

std::map<std::string, std::string> fish_tables(const CommandLineText& line) {
  std::string options, commands;
  for (const CommandText& command : line.commands) {
    commands += fmt::format("complete -c mgpu-bench -n __mgpu_bench_needs_command -a {} -d {}\n",
                            command.name, in_single_quotes(command.help, R"(\')"));
    const std::string when = "complete -c mgpu-bench -n '__mgpu_bench_is " + command.name;
    for (const OptionText& option : command.options)
      if (!is_replaced(option, command, line)) options += fish_option(when + "'", option);
    for (const SuiteText& suite : line.suites)
      for (const OptionText& option : suite.options)
        if (command.has_suites) options += fish_option(when + " " + suite.name + "'", option);
    const std::string argument = argument_of(command, line);
    if (argument == "file *") options += when + "' -F\n";
    if (argument != "file *" && argument != "switch") {
      const std::string action = fish_action(argument);
      options += when + "' -f" + action.substr(action.find(" -a")) + "\n";
    }
  }
  return {{"OPTIONS", options}, {"COMMANDS", commands}, {"SUITES", joined_names(line.suites)}};
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
