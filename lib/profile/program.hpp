// What a program did with OpenCL: calls of its threads and commands of its devices, on one clock.
// `profile` makes it from the logs of the layer and analyses it. Plain data, and pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/name.hpp"
#include "lib/base/units.hpp"
#include "lib/device/capability.hpp"
#include "lib/device/device.hpp"
#include "lib/profile/clock_map.hpp"
#include "lib/profile/timeline.hpp"

namespace mgpu {

// Kinds of calls. wait: may block until commands have ended. flush: lets commands begin.
enum class CallKind { enqueue, wait, flush, build, other };
const char* to_string(CallKind kind);

struct HostCall {
  std::uint32_t thread = 0;  // in ProgramRecord::threads
  CallKind kind = CallKind::other;
  Name name;  // "clFinish"
  Nanos begin{}, end{};
  // Commands whose end it waited for, by their index.
  std::vector<std::uint32_t> waited{};
};

struct ProgramCommand {
  DeviceIndex device;
  std::uint32_t queue = 0, call = 0;  // indexes; call: the one that enqueued it
  CommandKind kind = CommandKind::compute;
  bool marker = false;        // a marker or barrier: orders others, and does nothing itself
  bool first_launch = false;  // of a kernel: drivers may build it only then
  bool stamped = true;        // has time stamps; else it is in no timeline
  Name label;                 // name of the kernel; "copy", "fill"; empty for transfers
  Bytes bytes = 0;            // size of a transfer
  std::uint32_t memory = 0;   // what a transfer writes or reads, a number; 0: not known
  Items items = 0;            // work-items of a kernel
  bool pageable = false;      // a transfer from or to memory that is not known to be pinned
  Nanos queued{}, submitted{}, started{}, ended{};
  // Commands that it waited for besides the previous one of its queue, by their index.
  std::vector<std::uint32_t> after{};
};

struct ProgramQueue {
  DeviceIndex device;
  std::uint32_t process = 0;
  bool in_order = true;
};

struct ProgramThread {
  std::uint32_t process = 0;
  std::uint64_t id = 0;
};

struct ProgramProcess {
  std::uint64_t id = 0;
  std::string host, program;
  std::optional<std::uint32_t> rank{};  // in an MPI job
  // Why the log is not whole; empty: the process ended by itself and its log has everything.
  std::string trouble{};
  // Cost of the layer: its calls, and its time in them; 0: not known.
  std::uint64_t recorded_calls = 0;
  Nanos recording{};
};

// Memory of a device that the program allocated, for buffers, images and SVM.
struct ProgramMemory {
  Bytes peak = 0, at_end = 0;
  std::uint64_t allocations = 0;
};

struct ProgramDevice {
  Device device;
  ClockMap clock;
  ProgramMemory memory{};
  bool has_queue = false;
  std::string unstamped{};  // why its commands have no time stamps; empty: they have
  // Measured apart from the program; rates and times that are 0 are not known.
  Capability capability{};
};

struct ProgramRecord {
  std::vector<ProgramProcess> processes;
  std::vector<ProgramThread> threads;
  std::vector<ProgramDevice> devices;
  std::vector<ProgramQueue> queues;
  // In order of begin. Times are since the first command was enqueued.
  std::vector<HostCall> calls;
  std::vector<ProgramCommand> commands;  // in the order in which they were enqueued
  Nanos makespan{};  // until the last command or call that waited for one had ended
  Nanos before{};    // from the start of the first process until the first command
  struct Builds {
    std::uint64_t count = 0;
    Nanos time{};  // of all calls, also before the first command
  } builds{};
  std::vector<std::string> remarks{};  // on what is missing
};

// Returns the part of the record in [from, from + length), with times since `from`: commands that
// began in it and calls that began in it. Commands and calls at its end are cut.
ProgramRecord part_of(const ProgramRecord& record, Nanos from, Nanos length);

// Returns the timeline of the devices: their commands, and spans in which commands were in flight,
// from the call that enqueued each until its end, or none was (idle).
Timeline timeline_of(const ProgramRecord& record);

// Returns a part of a timeline, with times since `from`; commands at its ends are cut.
Timeline part_of(const Timeline& timeline, Nanos from, Nanos length);

}  // namespace mgpu
