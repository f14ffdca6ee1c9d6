// What is wrong with a command line, in one line: the option, its value, what is accepted, and what
// may have been meant.
#pragma once

#include <CLI/CLI.hpp>
#include <span>
#include <string>

namespace mgpu {

// "there is no command "merkel"; accepted: ...; did you mean ...?"
std::string no_command(const std::string& name, const CLI::App& app);

// Throws Error(usage) with what CLI11 says, reworded where that is clearer, and the help to read.
[[noreturn]] void refuse(const CLI::ParseError& error, const CLI::App& app,
                         std::span<const std::string> argv);

// Throws Error(usage) where the first word is no command: "mgpu-bench merkel --help" is no call for
// help.
void refuse_unknown_command(const CLI::App& app, std::span<const std::string> words);

// Throws Error(usage) for "-size 4", which would be read as "--strategy ize" and a suite "4".
void refuse_long_names_behind_one_dash(const CLI::App& app, std::span<const std::string> words);

}  // namespace mgpu
