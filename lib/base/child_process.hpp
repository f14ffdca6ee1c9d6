// Runs another program as a child that cannot hold this process up and does not outlive it.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "lib/base/units.hpp"

namespace mgpu {

struct ChildCommand {
  std::vector<std::string> words;        // path of the program, and its arguments
  std::vector<std::string> environment;  // NAME=VALUE; empty: inherits this process's
  std::filesystem::path folder;          // working directory; empty: this process's
  Nanos limit{};                         // time limit; 0: none
  std::function<bool()> stop;            // asked every 10 ms: true ends the child; null: never
};

struct ChildEnd {
  enum class How { exited, killed, timed_out, stopped } how = How::exited;
  int code = 0;                // exit status; if not `exited`, the signal that ended it, if any
  std::string output, errors;  // the last MiB that it wrote to each
};

// Runs the command to its end with nothing on standard input. At the limit, or when `stop` returns
// true, the child's process group gets SIGTERM, and SIGKILL a second later. When the child ends,
// the rest of its group is killed; when this process ends, for whatever reason, the kernel kills
// the child. Throws Error(input) when the program cannot be run, Error(internal) when its exit
// status cannot be read.
ChildEnd run_child_process(const ChildCommand& command);

}  // namespace mgpu
