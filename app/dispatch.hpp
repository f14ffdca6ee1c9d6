// From a command that was understood to its exit code: what main() has in common with tests that
// run commands in process.
#pragma once

#include <functional>

#include "app/commands.hpp"

namespace mgpu {

// Runs the command of context.invocation, which has one.
ExitCode run_command(const Context& context);

// Runs `work` and returns its exit code. The only place where every exception ends: it prints the
// error, and returns that error's exit code.
int exit_code_of(const std::function<ExitCode()>& work);

}  // namespace mgpu
