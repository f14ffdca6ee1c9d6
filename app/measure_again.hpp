// `compare --confirm`: measures cases that regressed once more, with the options of their run.
#pragma once

#include "app/commands.hpp"
#include "lib/report/comparison.hpp"

namespace mgpu {

// Runs the cases of `fresh` that regressed in `comparison`, with this program and the options of
// the run that made `fresh`. Throws Error(input) if `fresh` was not made by run.
Report measure_again(const Context& context, const Report& fresh, const Comparison& comparison);

// Returns the words after `run` that made the report: suites and options, except those of files.
// Throws Error(input) if another command made it.
std::vector<std::string> words_of_run(const Context& context, const Report& report);

}  // namespace mgpu
