// `mgpu-bench run` as a child process: compare uses it to measure interleaved, with another build
// or other settings, and to measure again.
#pragma once

#include <string>
#include <vector>

#include "lib/report/record.hpp"

namespace mgpu {

// Splits a text of the command line into words at blanks; '...' and "..." quote. Throws
// Error(usage) for an open quote.
std::vector<std::string> split_words(const std::string& from, const std::string& text);

// Returns the environment of this process with these NAME=VALUE instead of its own.
std::vector<std::string> environment_with(const std::vector<std::string>& variables);

// One build with its settings.
struct ChildProgram {
  std::vector<std::string> variables;  // NAME=VALUE, added to those of this process
  std::string program;                 // path of the program
  std::vector<std::string> options;    // options of run
  std::string text;                    // the text that was parsed
};

// Parses "[NAME=VALUE ...] [PROGRAM] [OPTION ...]"; without a program it is this one. Throws
// Error(usage) when the program cannot be run.
ChildProgram parse_child(const std::string& from, const std::string& text);

// Runs PROGRAM run WORDS... OPTIONS... and returns its result, failed cases included. The child
// gets SIGTERM once this process is asked to stop, and ends with it; Error(interrupted) is thrown
// then. Throws Error(device), with the last line the child wrote, when it made no result.
Report run_child(const ChildProgram& child, const std::vector<std::string>& words);

}  // namespace mgpu
