// What --help prints: laid out for 80 columns, with the options that most people need first.
#pragma once

#include <string>

#include "app/cli.hpp"

namespace mgpu {

std::string overview_text(const CommandLineText& line);
// `all`: every option; else, of a command with many, those that most people need, and how to see
// the others.
std::string command_text(const CommandText& command, bool all);

}  // namespace mgpu
