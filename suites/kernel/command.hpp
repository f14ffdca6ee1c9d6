// A user's own check of a result: a command that reads raw files.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

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
// the value of a parameter, {n} by the problem's size. Empty: its exit status is 0. Else what it
// said last, or that it cannot be run. Throws Error(output) where the files cannot be written.
std::string run_check(const std::string& command, const std::filesystem::path& folder,
                      const CommandFiles& files);

}  // namespace mgpu::kernel
