// Figures of a program's record: its kernels, its copies, where its threads waited, and the
// iterations that it repeats. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/base/stats.hpp"
#include "lib/profile/program.hpp"

namespace mgpu {

// The launches of one kernel on one device.
struct KernelFigures {
  std::string name;
  DeviceIndex device;
  Nanos total{};    // sum over the launches
  Summary launch;   // of the time of one
  Items items = 0;  // work-items of all launches
};

// The copies of one direction of a device, or inside it (label "copy", "fill").
struct CopyFigures {
  DeviceIndex device;
  CommandKind kind = CommandKind::upload;
  std::string label;
  std::uint64_t copies = 0, pageable = 0;
  Nanos total{};
  Bytes bytes = 0, smallest = 0;
};

// Calls of one function that waited for commands of one kind.
struct WaitFigures {
  std::string call;  // "clFinish"
  std::string what;  // what ended last of what it waited for: a kernel, "upload", "download"
  std::uint64_t calls = 0;
  Nanos total{};
};

// Builds after the first command.
struct BuildFigures {
  std::uint64_t count = 0;
  Nanos total{};
};

// A sequence of commands that a queue repeats.
struct IterationFigures {
  DeviceIndex device;                 // of the queue
  std::vector<std::string> commands;  // of one iteration: kernels, "upload", "download", "copy"
  std::size_t count = 0;
  Summary time;             // from the begin of one to that of the next
  std::size_t shown = 0;    // the one nearest the median, from 0
  Nanos begin{}, length{};  // of it
};

// The sums are sorted, the largest first.
std::vector<KernelFigures> kernel_figures(const ProgramRecord& record);
std::vector<CopyFigures> copy_figures(const ProgramRecord& record);
std::vector<WaitFigures> wait_figures(const ProgramRecord& record);
BuildFigures build_figures(const ProgramRecord& record);

// Finds the sequence that the busiest queue repeats at least three times in a row and that covers
// most of its commands; none: there is none that covers half of them.
std::optional<IterationFigures> find_iterations(const ProgramRecord& record);

}  // namespace mgpu
