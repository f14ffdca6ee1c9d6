// Reads the logs of the profiling layer (command_log.hpp) and puts those of all processes on one
// clock. Pure: takes bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/profile/command_log.hpp"
#include "lib/profile/program.hpp"

namespace mgpu {

// The records of one file, with their tails.
struct CommandLog {
  struct NamedDevice : command_log::Device {
    std::string name, vendor, driver, version, platform_name, platform_version;
  };
  struct NamedContext : command_log::Context {
    std::vector<std::uint32_t> devices;
  };
  struct NamedKernel : command_log::Kernel {
    std::string name;
  };
  struct FullCommand : command_log::Command {
    Items items = 0;  // product of the global range
    std::vector<std::uint64_t> waits;
    std::vector<command_log::MemoryUse> memory;
  };
  struct FullCall : command_log::HostCall {
    std::vector<std::uint64_t> waits;
  };
  struct CallName {
    std::uint32_t id = 0;
    std::string text;
  };

  command_log::Process process{};
  std::string host, command_line;  // arguments joined by blanks
  std::vector<command_log::Thread> threads;
  std::vector<NamedDevice> devices;
  std::vector<NamedContext> contexts;
  std::vector<command_log::Queue> queues;
  std::vector<NamedKernel> kernels;
  std::vector<command_log::Memory> memory;
  std::vector<command_log::Released> released;
  std::vector<FullCommand> commands;
  std::vector<command_log::Times> times;
  std::vector<FullCall> calls;
  std::vector<CallName> names;
  std::vector<command_log::ClockSample> clock_samples;
  std::vector<std::string> extensions;
  command_log::Cost cost{};  // the last one
  bool exited = false;       // the process ended in order
  // Why records are missing at the end; empty: the file is whole.
  std::string trouble;
};

// Returns all whole records up to the first one that is not. Throws Error(input) for a file that
// is no log of a version that this program reads. An empty file is a log without records.
CommandLog read_command_log(std::string_view bytes);

// Puts the logs of a program's processes together. Clocks of devices are fitted from bounds: a
// command begins after the call that enqueued it did, and ends before a call that waited for it
// or the layer saw it complete. Devices are the same in two processes of one host if they have the
// same UUID, PCI address or position.
ProgramRecord program_of(std::span<const CommandLog> logs);

}  // namespace mgpu
