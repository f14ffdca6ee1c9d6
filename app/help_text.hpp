// The texts of --help: laid out for 80 columns, the most needed options first.
#pragma once

#include <span>
#include <string>

#include "app/cli.hpp"

namespace mgpu {

std::string overview_text(const CommandLineText& line);
// Returns the help of a command. `chosen`: names of the suites whose options it shows, too. `all`:
// every option, without `chosen` those of all suites, too; else, if there are many, the important
// ones, and how to see the others.
std::string command_text(const CommandText& command, std::span<const std::string> chosen,
                         std::span<const SuiteText> suites, bool all);

}  // namespace mgpu
