// Runs another program as a child that cannot hold this process up and does not outlive it.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "lib/base/units.hpp"

namespace mgpu {

struct ChildCommand {
  std::vector<std::string> words;        // the path of the program, and its arguments
  std::vector<std::string> environment;  // NAME=VALUE; empty: that of this process
  std::filesystem::path folder;          // where it runs; empty: where this process does
  Nanos limit{};                         // how long it may take; 0: no limit
  std::function<bool()> stop;            // asked every 10 ms: true ends the child; null: never
};

struct ChildEnd {
  enum class How { exited, killed, timed_out, stopped } how = How::exited;
  int code = 0;                // its exit status; not `exited`: the signal that ended it, if any
  std::string output, errors;  // the last MiB of what it wrote to each
};

// Runs the command to its end with nothing on standard input. At the limit, or when `stop` says so,
// the process group of the child gets SIGTERM, a second later SIGKILL. When the child ends, what is
// left of its group is killed; when this process ends, however it does, the kernel kills the child.
// Throws Error(input) when the program cannot be run, Error(internal) when its exit status cannot
// be read.
ChildEnd run_child_process(const ChildCommand& command);

}  // namespace mgpu
