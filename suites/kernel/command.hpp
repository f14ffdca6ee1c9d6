// The user's own check of a result: a command that reads raw files.
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
    std::string name;  // the argument's name
    std::span<const std::byte> bytes;
  };
  std::vector<One> inputs, outputs;
  std::map<std::string, std::string> values;  // values of n and the parameters
};

// Runs `command` in a shell in `folder`. {inputs} and {output} become the names of files that hold
// the bytes, in the order of the arguments; {NAME} becomes the file of one argument or the value of
// a parameter; {n} the problem's size. Returns an empty text if the exit status is 0, and the last
// line that the command wrote if it is 1. Throws Error(input), with all that the command wrote, if
// the command itself fails: it cannot be run, has another exit status, ends by a signal or a Python
// exception, or takes longer than the watch allows. Also throws Error(interrupted), and
// Error(output) if the files cannot be written.
std::string run_check(const std::string& command, const std::filesystem::path& folder,
                      const CommandFiles& files, const HostWatch& watch);

}  // namespace mgpu::kernel
