// run --hot-plug: looks for devices again while a run goes on, and replaces this process by one
// that can use those that appeared. Drivers list the devices of a process once, when it begins.
#pragma once

#include <functional>
#include <vector>

#include "app/commands.hpp"
#include "lib/session/options.hpp"

namespace mgpu {

// Returns a function that lists, by `mgpu-bench devices` in a child process, the devices that the
// settings select; if the child fails, it returns `devices`. Throws Error(usage) if the settings or
// the devices exclude it.
std::function<std::vector<FoundDevice>()> finder_of_devices(const Settings& settings,
                                                            const std::vector<Device>& devices);

// Replaces this process by the same command, which resumes the run of `result_file`. Returns only
// if that fails.
void begin_again(const Context& context, const std::filesystem::path& result_file);

}  // namespace mgpu
