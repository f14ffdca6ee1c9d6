// A user's own check of a result: a command that reads raw files.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "lib/workload/host_watch.hpp"

namespace mgpu::kernel {

struct CommandFiles {
  struct One {
    std::string name;  // of the argument
    std::span<const std::byte> bytes;
  };
  std::vector<One> inputs, outputs;
  std::map<std::string, std::string> values;  // of n and the parameters
};

// Runs `command` by the shell in `folder`, with {inputs} and {output} replaced by the names of
// files that hold the bytes, in the order of the arguments, {NAME} by that of one argument or by
// the value of a parameter, {n} by the problem's size. Returns nothing where its exit status is 0,
// and where it is 1 the last line that it wrote. Throws Error(input), with all that it wrote, where
// the command itself fails: it cannot be run, has another exit status, ends by a signal or by an
// exception of Python, or takes longer than the watch allows; Error(interrupted); Error(output)
// where the files cannot be written.
std::string run_check(const std::string& command, const std::filesystem::path& folder,
                      const CommandFiles& files, const HostWatch& watch);

}  // namespace mgpu::kernel
