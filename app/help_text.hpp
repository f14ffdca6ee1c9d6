// The texts of --help: laid out for 80 columns, the most needed options first.
#pragma once

#include <string>

#include "app/cli.hpp"

namespace mgpu {

std::string overview_text(const CommandLineText& line);
// Returns the help of a command. `all`: every option; else, if there are many, the important ones,
// and how to see the others.
std::string command_text(const CommandText& command, bool all);

}  // namespace mgpu
