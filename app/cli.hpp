// The command line: argv -> what was asked for. Nothing is run and nothing is printed here; what
// values mean is for the commands.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "app/settings.hpp"

namespace mgpu {

struct Invocation {
  std::string command;  // "devices", "list", ...; empty: print `text` and end well (help, version)
  std::string text;
  Settings settings;                   // from all layers
  std::vector<std::string> arguments;  // the words that are not options
  std::vector<std::string> warnings;
};

// Help and --version end with a text. Throws Error(usage) for what is not understood, Error(input)
// for an unreadable --config. CLI11's own exit codes (103 to 109) never get out.
Invocation parse_command_line(std::span<const std::string> argv, std::span<const SuiteInfo> suites,
                              const Environment& environment, const std::string& version_text);

// What the command line understands, in words: what the manual page and the completions are made
// from, so that they never lag behind.
struct OptionText {
  std::string letter, name;        // without dashes; letter may be empty
  std::string value;               // what it takes: "FILE"; empty for a switch
  std::string help, group;         // help in one line
  std::vector<std::string> words;  // values to complete it with; empty: none are known
  bool important =
      false;  // most people need it: the help of a command with many options has these first
};
struct CommandText {
  std::string name, help, footer;
  std::string argument,
      argument_help;  // the words that are not options: "SUITE"; empty when there are none
  bool argument_required = false;
  std::vector<OptionText> options;
};
struct CommandLineText {
  std::string help, footer;
  std::vector<CommandText> commands;
};
CommandLineText describe_command_line(std::span<const SuiteInfo> suites);

}  // namespace mgpu
