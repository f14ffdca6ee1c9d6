// Maps a parsed command to its exit code; shared by main() and by tests that run commands in
// process.
#pragma once

#include <functional>
#include <optional>

#include "app/commands.hpp"

namespace mgpu {

// Runs the command of context.invocation, which must not be empty.
ExitCode run_command(const Context& context);

// Runs `work` and returns its exit code. Every exception ends here: its error is printed, and its
// exit code is returned, or `failed` if that is given.
int exit_code_of(const std::function<ExitCode()>& work, std::optional<ExitCode> failed = {});

}  // namespace mgpu
