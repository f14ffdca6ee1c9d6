// The command line: argv -> what was asked for. Nothing is run and nothing is printed here; what values mean is for the commands.
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

// Help and --version end with a text. Throws Error(usage) for what is not understood, Error(input) for an unreadable --config.
// CLI11's own exit codes (103 to 109) never get out.
Invocation parse_command_line(std::span<const std::string> argv, std::span<const SuiteInfo> suites, const Environment& environment,
                              const std::string& version_text);

}  // namespace mgpu
