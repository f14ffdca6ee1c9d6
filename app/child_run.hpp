// `mgpu-bench run` as a child process: what compare needs to measure interleaved, with another
// build or other settings, and to measure anew.
#pragma once

#include <string>
#include <vector>

#include "lib/report/record.hpp"

namespace mgpu {

// A text of the command line as words: blanks separate them, '...' and "..." quote. Throws
// Error(usage) for an open quote.
std::vector<std::string> split_words(const std::string& from, const std::string& text);

// One build with its settings.
struct ChildProgram {
  std::vector<std::string> variables;  // NAME=VALUE, beside those of this process
  std::string program;                 // a path
  std::vector<std::string> options;    // of run
  std::string text;                    // as written
};

// "[NAME=VALUE ...] [PROGRAM] [OPTION ...]": without a program, this one. Throws Error(usage) when
// the program cannot be run.
ChildProgram parse_child(const std::string& from, const std::string& text);

// PROGRAM run WORDS... OPTIONS... into a file of its own, and what it measured. Failed cases are in
// it. The child gets SIGTERM once this process is asked to stop, and ends with it. Throws
// Error(interrupted) then, and Error(device), with the last line the child wrote, when it made no
// result.
Report run_child(const ChildProgram& child, const std::vector<std::string>& words);

}  // namespace mgpu
