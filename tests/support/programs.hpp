// Records of programs built by hand, and logs of them as the profiling layer writes them. Times are
// plain numbers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "lib/profile/command_log.hpp"
#include "lib/profile/program.hpp"

namespace mgpu::test {

// One thread of one process, which enqueues commands on queues of alike devices.
class ProgramBuilder {
 public:
  explicit ProgramBuilder(std::size_t devices, std::size_t queues_per_device = 1) {
    record_.processes.push_back({1, "host", "program"});
    record_.threads.push_back({0, 1});
    for (std::uint32_t d = 0; d < devices; ++d) {
      ProgramDevice& device = record_.devices.emplace_back();
      device.device.id = "0:" + std::to_string(d);
      device.device.name = "GPU";
      device.has_queue = true;
      for (std::size_t q = 0; q < queues_per_device; ++q) record_.queues.push_back({{d}, 0, true});
    }
  }

  // Adds a call from `begin` to `end` that enqueues a command; returns the command's index.
  std::uint32_t command(std::uint32_t queue, CommandKind kind, std::int64_t begin, std::int64_t end,
                        std::int64_t started, std::int64_t ended, bool blocks = false) {
    ProgramCommand c;
    c.device = record_.queues[queue].device;
    c.queue = queue;
    c.call = static_cast<std::uint32_t>(record_.calls.size());
    c.kind = kind;
    if (kind == CommandKind::compute) {
      c.label = Name("kernel");
      c.items = 100;
    } else {
      c.bytes = 1 << 20;
    }
    c.queued = c.submitted = Nanos{begin};
    c.started = Nanos{started};
    c.ended = Nanos{ended};
    HostCall call;
    call.kind = blocks ? CallKind::wait : CallKind::enqueue;
    call.name = Name("clEnqueue");
    call.begin = Nanos{begin};
    call.end = Nanos{end};
    const auto index = static_cast<std::uint32_t>(record_.commands.size());
    if (blocks) call.waited.push_back(index);
    record_.calls.push_back(call);
    record_.commands.push_back(c);
    record_.makespan = std::max({record_.makespan, c.ended, call.end});
    return index;
  }
  void kernel(std::uint32_t queue, std::int64_t begin, std::int64_t end, std::int64_t started,
              std::int64_t ended) {
    command(queue, CommandKind::compute, begin, end, started, ended);
  }
  void wait(std::int64_t begin, std::int64_t end, std::vector<std::uint32_t> commands) {
    call(CallKind::wait, "clFinish", begin, end);
    record_.calls.back().waited = std::move(commands);
    record_.makespan = std::max(record_.makespan, Nanos{end});
  }
  void call(CallKind kind, const char* name, std::int64_t begin, std::int64_t end) {
    record_.calls.push_back({0, kind, Name(name), Nanos{begin}, Nanos{end}});
  }
  ProgramRecord& record() { return record_; }

 private:
  ProgramRecord record_;
};

// Writes a log record by record.
class LogBuilder {
 public:
  LogBuilder() {
    command_log::FileHeader header{};
    std::memcpy(header.magic, command_log::kMagic, sizeof header.magic);
    header.version = command_log::kVersion;
    header.size = sizeof header;
    bytes_.append(reinterpret_cast<const char*>(&header), sizeof header);
  }

  template <typename Record>
  void add(command_log::Kind kind, Record record, std::string tail = {}) {
    tail.resize((tail.size() + 7) / 8 * 8);
    record.header.kind = kind;
    record.header.fixed = sizeof record;
    record.header.size = static_cast<std::uint32_t>(sizeof record + tail.size());
    bytes_.append(reinterpret_cast<const char*>(&record), sizeof record);
    bytes_ += tail;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

template <typename T>
std::string tail_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

// Returns the log of a process with one device whose clock is `offset` behind the host's: kernels
// of 1,000 ns, each followed by a blocking read of 500 ns, from host time 1,000,000 on.
inline std::string simple_log(std::size_t iterations, std::uint64_t offset) {
  namespace raw = command_log;
  LogBuilder log;
  raw::Process process{};
  process.pid = 7;
  process.start_ns = 900'000;
  process.mpi_rank = process.mpi_size = -1;
  process.times = 1;
  process.host_bytes = 4;
  process.command_line_bytes = 9;
  log.add(raw::Kind::process, process, std::string("host") + std::string("prog\0-x\0\0", 9));
  raw::Thread thread{};
  thread.id = 1;
  thread.tid = 70;
  log.add(raw::Kind::thread, thread);
  raw::Device device{};
  device.id = 1;
  device.platform = device.index = 1;
  device.type = 4;
  device.name_bytes = 3;
  log.add(raw::Kind::device, device, "GPU");
  raw::Context context{};
  context.id = 2;
  context.device_count = 1;
  log.add(raw::Kind::context, context, tail_of<std::uint32_t>({1}));
  raw::Queue queue{};
  queue.id = 3;
  queue.context = 2;
  queue.device = 1;
  queue.times = 1;
  log.add(raw::Kind::queue, queue);
  raw::Kernel kernel{};
  kernel.id = 5;
  kernel.name_bytes = 5;
  log.add(raw::Kind::kernel, kernel, "scale");
  raw::Memory memory{};
  memory.id = 6;
  memory.context = 2;
  memory.bytes = 4096;
  log.add(raw::Kind::memory, memory);
  std::uint64_t number = 0, at = 1'000'000;
  const auto add_command = [&](std::uint32_t type, std::uint64_t end, bool blocks,
                               std::uint64_t started, std::uint64_t ended) {
    raw::Command command{};
    command.number = ++number;
    command.begin_ns = at;
    command.end_ns = end;
    command.queue = 3;
    command.type = type;
    command.thread = 1;
    command.flags = static_cast<std::uint8_t>(raw::kTimesFollow | (blocks ? raw::kBlocking : 0));
    command.memory_count = 1;
    std::string tail;
    if (blocks) {
      command.bytes = 4096;
      command.host_memory = raw::HostMemory::pageable;
    } else {
      command.kernel = 5;
      command.dimensions = 1;
      tail = tail_of<std::uint64_t>({0, 64, 8});
    }
    log.add(raw::Kind::command, command,
            tail + tail_of<raw::MemoryUse>({raw::MemoryUse{6, 3, 0, 4096}}));
    raw::Times times{};
    times.number = number;
    times.seen_ns = ended + 400;
    times.queued = at - offset;
    times.start = started - offset;
    times.end = ended - offset;
    log.add(raw::Kind::times, times);
  };
  for (std::size_t k = 0; k < iterations; ++k) {
    add_command(0x11F0, at + 50, false, at + 100, at + 1100);
    at += 60;
    add_command(0x11F3, at + 1600, true, at + 1050, at + 1550);
    at += 1700;
  }
  return log.bytes();
}

}  // namespace mgpu::test
