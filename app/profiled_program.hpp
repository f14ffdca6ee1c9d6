// Runs the program of `profile` in the foreground: with this process's standard streams, the
// signals that it gets, and its exit code.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "lib/base/units.hpp"

namespace mgpu {

struct ProgramEnd {
  int code = 0;  // exit code, or 128 + the signal that killed it, as shells say
  Nanos wall{};
};

// Why a program could not be started; the codes of env.
struct CannotStart {
  int code = 127;  // 127: not found; 126: it cannot be executed
  std::string what;
};

// Runs `words`, found in the PATH if the first has no slash, with these NAME=VALUE in the
// environment. Signals that other processes send to this one are passed on to the program; those of
// the terminal it gets itself. `quiet`: with nothing on standard input, and its output discarded.
// Throws CannotStart.
ProgramEnd run_program(const std::vector<std::string>& words,
                       const std::vector<std::string>& variables, bool quiet = false);

// Returns the library of the profiling layer: next to this program in a build, or in the folder of
// libraries where it is installed. Throws Error(input) that names both places if it is in neither.
std::filesystem::path profiling_layer();

}  // namespace mgpu
