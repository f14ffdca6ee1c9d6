// Runs the kernels of users' descriptors in processes of their own.
#pragma once

#include "app/commands.hpp"
#include "app/run_request.hpp"

namespace mgpu {

// Lets suites with descriptors try a kernel on a CPU in another process first. That process is this
// program with `run --build-only` on the first CPU, and its result is remembered by problem. Only
// main() calls this: another program, such as a test, has no command `run`.
void try_kernels_elsewhere(const Invocation& invocation, std::span<const SuiteInfo> suites);

// Runs the request's problems of descriptors, at a small size unless one was given, on the device
// that Oclgrind simulates. Throws Error(usage) if a suite has no descriptors, Error(input) with the
// first access outside of the arguments, its file and its line, and Error(unsupported) if Oclgrind
// is not installed or cannot run the kernel.
ExitCode check_memory(const Context& context, const RunRequest& request);

}  // namespace mgpu
