// Reads records one by one with a bounds check each, then resolves what they refer to.
#include "lib/profile/log_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/printable.hpp"

namespace mgpu {

namespace {

namespace raw = command_log;

// The bytes of one record: its struct, then a tail that is taken piece by piece.
class RecordBytes {
 public:
  RecordBytes(std::string_view bytes, const raw::RecordHeader& header)
      : fixed_(bytes.substr(0, header.fixed)), tail_(bytes.substr(header.fixed)) {}

  template <typename T>
  void get(T& record) const {
    std::memcpy(&record, fixed_.data(), std::min(fixed_.size(), sizeof(T)));
  }

  std::string text(std::uint32_t length) {
    if (length > tail_.size()) throw Error(ErrorKind::input, "");
    const std::string_view text = tail_.substr(0, length);
    tail_.remove_prefix(length);
    return std::string(text);
  }

  template <typename T>
  std::vector<T> list(std::uint64_t count) {
    if (count > tail_.size() / sizeof(T)) throw Error(ErrorKind::input, "");
    std::vector<T> values(count);
    if (count > 0) std::memcpy(values.data(), tail_.data(), count * sizeof(T));
    tail_.remove_prefix(count * sizeof(T));
    return values;
  }

 private:
  std::string_view fixed_, tail_;
};

// Returns arguments, each of which ends with a zero byte, joined by blanks.
std::string joined_arguments(std::string text) {
  while (!text.empty() && text.back() == '\0') text.pop_back();
  std::replace(text.begin(), text.end(), '\0', ' ');
  return text;
}

template <typename T>
T& add(std::vector<T>& records, const RecordBytes& bytes) {
  T& record = records.emplace_back();
  bytes.get(record);
  return record;
}

void read_full_command(RecordBytes& bytes, CommandLog& log) {
  CommandLog::FullCommand command;
  bytes.get(static_cast<raw::Command&>(command));
  bytes.list<std::uint64_t>(command.dimensions);  // offset
  const auto global = bytes.list<std::uint64_t>(command.dimensions);
  bytes.list<std::uint64_t>(command.dimensions);  // local
  command.items = global.empty() ? 0 : 1;
  for (const std::uint64_t size : global) command.items = saturating_multiply(command.items, size);
  command.waits = bytes.list<std::uint64_t>(command.wait_count);
  command.memory = bytes.list<raw::MemoryUse>(command.memory_count);
  log.commands.push_back(std::move(command));
}

void read_named_device(RecordBytes& bytes, CommandLog& log) {
  CommandLog::NamedDevice device;
  bytes.get(static_cast<raw::Device&>(device));
  device.name = bytes.text(device.name_bytes);
  device.vendor = bytes.text(device.vendor_bytes);
  device.driver = bytes.text(device.driver_bytes);
  device.version = bytes.text(device.version_bytes);
  device.platform_name = bytes.text(device.platform_name_bytes);
  device.platform_version = bytes.text(device.platform_version_bytes);
  log.devices.push_back(std::move(device));
}

// Adds one record. Throws Error(input) if its tail is shorter than it says.
void read_log_record(raw::Kind kind, RecordBytes bytes, CommandLog& log) {
  switch (kind) {
    case raw::Kind::process:
      bytes.get(log.process);
      log.host = bytes.text(log.process.host_bytes);
      log.command_line = joined_arguments(bytes.text(log.process.command_line_bytes));
      break;
    case raw::Kind::thread:
      add(log.threads, bytes);
      break;
    case raw::Kind::device:
      read_named_device(bytes, log);
      break;
    case raw::Kind::context: {
      CommandLog::NamedContext context;
      bytes.get(static_cast<raw::Context&>(context));
      context.devices = bytes.list<std::uint32_t>(context.device_count);
      log.contexts.push_back(std::move(context));
      break;
    }
    case raw::Kind::queue:
      add(log.queues, bytes);
      break;
    case raw::Kind::kernel: {
      CommandLog::NamedKernel kernel;
      bytes.get(static_cast<raw::Kernel&>(kernel));
      kernel.name = bytes.text(kernel.name_bytes);
      log.kernels.push_back(std::move(kernel));
      break;
    }
    case raw::Kind::memory:
      add(log.memory, bytes);
      break;
    case raw::Kind::released:
      add(log.released, bytes);
      break;
    case raw::Kind::command:
      read_full_command(bytes, log);
      break;
    case raw::Kind::times:
      add(log.times, bytes);
      break;
    case raw::Kind::host_call: {
      CommandLog::FullCall call;
      bytes.get(static_cast<raw::HostCall&>(call));
      call.waits = bytes.list<std::uint64_t>(call.wait_count);
      log.calls.push_back(std::move(call));
      break;
    }
    case raw::Kind::name: {
      raw::Name name{};
      bytes.get(name);
      log.names.push_back({name.id, bytes.text(name.bytes)});
      break;
    }
    case raw::Kind::clock_sample:
      add(log.clock_samples, bytes);
      break;
    case raw::Kind::cost:
      bytes.get(log.cost);
      break;
    case raw::Kind::exit:
      log.exited = true;
      break;
    case raw::Kind::extension: {
      raw::Extension extension{};
      bytes.get(extension);
      log.extensions.push_back(bytes.text(extension.bytes));
      break;
    }
    default:  // of a newer layer, or not needed here
      break;
  }
}

}  // namespace

CommandLog read_command_log(std::string_view bytes) {
  CommandLog log;
  if (bytes.empty()) {
    log.trouble = "the log is empty: the process ended before it used OpenCL";
    return log;
  }
  raw::FileHeader header{};
  if (bytes.size() < sizeof header ||
      std::memcmp(bytes.data(), raw::kMagic, sizeof raw::kMagic) != 0)
    throw Error(ErrorKind::input, "is no log of the profiling layer");
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.version != raw::kVersion)
    throw Error(ErrorKind::input,
                fmt::format("is a log of version {}; expected: version {}, of the profiling layer "
                            "of this version",
                            header.version, raw::kVersion));
  std::size_t at = header.size;
  const auto damaged = [&](const char* why) {
    log.trouble = fmt::format("the log ends at byte {} of {}, {}", at, bytes.size(), why);
  };
  while (at < bytes.size()) {
    raw::RecordHeader record{};
    if (bytes.size() - at < sizeof record) {
      damaged("inside a record: the process was killed");
      break;
    }
    std::memcpy(&record, bytes.data() + at, sizeof record);
    if (record.fixed < sizeof record || record.size < record.fixed || record.size % 8 != 0) {
      damaged("where it is damaged");
      break;
    }
    if (record.size > bytes.size() - at) {
      damaged("inside a record: the process was killed");
      break;
    }
    try {
      read_log_record(record.kind, {bytes.substr(at, record.size), record}, log);
    } catch (const Error&) {
      damaged("where it is damaged");
      break;
    }
    at += record.size;
  }
  return log;
}

namespace {

// Types of commands, as OpenCL numbers them.
enum class CommandType : std::uint32_t {
  kernel = 0x11F0,
  task = 0x11F1,
  native = 0x11F2,
  read = 0x11F3,
  write = 0x11F4,
  copy = 0x11F5,
  read_image = 0x11F6,
  write_image = 0x11F7,
  copy_image = 0x11F8,
  copy_image_to_buffer = 0x11F9,
  copy_buffer_to_image = 0x11FA,
  map = 0x11FB,
  map_image = 0x11FC,
  unmap = 0x11FD,
  marker = 0x11FE,
  acquire_gl = 0x11FF,
  release_gl = 0x1200,
  read_rect = 0x1201,
  write_rect = 0x1202,
  copy_rect = 0x1203,
  barrier = 0x1205,
  migrate = 0x1206,
  fill = 0x1207,
  fill_image = 0x1208,
  svm_free = 0x1209,
  svm_copy = 0x120A,
  svm_fill = 0x120B,
  svm_map = 0x120C,
  svm_unmap = 0x120D,
  svm_migrate = 0x120E,
};

struct TypeInfo {
  CommandType type;
  const char* call;
  CommandKind kind;
  const char* label;  // of commands that are neither kernels nor transfers
};
constexpr TypeInfo kTypes[] = {
    {CommandType::kernel, "clEnqueueNDRangeKernel", CommandKind::compute, ""},
    {CommandType::task, "clEnqueueTask", CommandKind::compute, ""},
    {CommandType::native, "clEnqueueNativeKernel", CommandKind::compute, "native kernel"},
    {CommandType::read, "clEnqueueReadBuffer", CommandKind::download, ""},
    {CommandType::write, "clEnqueueWriteBuffer", CommandKind::upload, ""},
    {CommandType::copy, "clEnqueueCopyBuffer", CommandKind::compute, "copy"},
    {CommandType::read_image, "clEnqueueReadImage", CommandKind::download, ""},
    {CommandType::write_image, "clEnqueueWriteImage", CommandKind::upload, ""},
    {CommandType::copy_image, "clEnqueueCopyImage", CommandKind::compute, "copy"},
    {CommandType::copy_image_to_buffer, "clEnqueueCopyImageToBuffer", CommandKind::compute, "copy"},
    {CommandType::copy_buffer_to_image, "clEnqueueCopyBufferToImage", CommandKind::compute, "copy"},
    {CommandType::map, "clEnqueueMapBuffer", CommandKind::download, ""},
    {CommandType::map_image, "clEnqueueMapImage", CommandKind::download, ""},
    {CommandType::unmap, "clEnqueueUnmapMemObject", CommandKind::upload, ""},
    {CommandType::marker, "clEnqueueMarkerWithWaitList", CommandKind::compute, "marker"},
    {CommandType::acquire_gl, "clEnqueueAcquireGLObjects", CommandKind::compute, "acquire"},
    {CommandType::release_gl, "clEnqueueReleaseGLObjects", CommandKind::compute, "release"},
    {CommandType::read_rect, "clEnqueueReadBufferRect", CommandKind::download, ""},
    {CommandType::write_rect, "clEnqueueWriteBufferRect", CommandKind::upload, ""},
    {CommandType::copy_rect, "clEnqueueCopyBufferRect", CommandKind::compute, "copy"},
    {CommandType::barrier, "clEnqueueBarrierWithWaitList", CommandKind::compute, "barrier"},
    {CommandType::migrate, "clEnqueueMigrateMemObjects", CommandKind::upload, ""},
    {CommandType::fill, "clEnqueueFillBuffer", CommandKind::compute, "fill"},
    {CommandType::fill_image, "clEnqueueFillImage", CommandKind::compute, "fill"},
    {CommandType::svm_free, "clEnqueueSVMFree", CommandKind::compute, "free"},
    {CommandType::svm_copy, "clEnqueueSVMMemcpy", CommandKind::compute, "copy"},
    {CommandType::svm_fill, "clEnqueueSVMMemFill", CommandKind::compute, "fill"},
    {CommandType::svm_map, "clEnqueueSVMMap", CommandKind::download, ""},
    {CommandType::svm_unmap, "clEnqueueSVMUnmap", CommandKind::upload, ""},
    {CommandType::svm_migrate, "clEnqueueSVMMigrateMem", CommandKind::upload, ""}};

const TypeInfo& info_of(std::uint32_t type) {
  static constexpr TypeInfo other{CommandType::native, "an enqueueing call", CommandKind::compute,
                                  "other"};
  for (const TypeInfo& info : kTypes)
    if (static_cast<std::uint32_t>(info.type) == type) return info;
  return other;
}

bool is_marker(const TypeInfo& info) {
  return info.type == CommandType::marker || info.type == CommandType::barrier;
}

CallKind kind_of_call(std::string_view name) {
  if (name == "clFinish" || name == "clWaitForEvents") return CallKind::wait;
  if (name == "clFlush") return CallKind::flush;
  if (name == "clBuildProgram" || name == "clCompileProgram" || name == "clLinkProgram")
    return CallKind::build;
  return CallKind::other;
}

DeviceType type_of(std::uint64_t bits) {
  constexpr std::uint64_t kCpu = 2, kGpu = 4, kAccelerator = 8;
  return (bits & kGpu) != 0           ? DeviceType::gpu
         : (bits & kCpu) != 0         ? DeviceType::cpu
         : (bits & kAccelerator) != 0 ? DeviceType::accelerator
                                      : DeviceType::custom;
}

std::string uuid_text(const std::uint8_t (&uuid)[16]) {
  std::string text;
  for (std::size_t k = 0; k < 16; ++k) {
    if (k == 4 || k == 6 || k == 8 || k == 10) text += '-';
    text += fmt::format("{:02x}", uuid[k]);
  }
  return text;
}

Device device_of(const CommandLog::NamedDevice& logged, const std::string& id) {
  Device device;
  device.id = id;
  device.name = logged.name;
  device.vendor = logged.vendor;
  device.driver_version = logged.driver;
  device.device_version = logged.version;
  device.platform = logged.platform_name;
  device.platform_version = logged.platform_version;
  device.type = type_of(logged.type);
  device.global_memory = logged.memory_bytes;
  device.compute_units = logged.compute_units;
  device.clock_mhz = logged.clock_mhz;
  device.host_unified_memory = logged.host_unified != 0;
  if (logged.has_pci != 0)
    device.pci = fmt::format("{:04x}:{:02x}:{:02x}.{:x}", logged.pci_domain, logged.pci_bus,
                             logged.pci_device, logged.pci_function);
  if (logged.has_uuid != 0) device.uuid = uuid_text(logged.uuid);
  return device;
}

// Returns the id of a device as `devices` lists it: "0:1", or "0:1.2" for a part.
std::string id_of(const CommandLog& log, const CommandLog::NamedDevice& device,
                  const std::set<std::uint32_t>& used) {
  if (device.parent == 0)
    return fmt::format("{}:{}", std::max(device.platform, 1u) - 1, std::max(device.index, 1u) - 1);
  std::size_t number = 0;
  const CommandLog::NamedDevice* parent = nullptr;
  for (const CommandLog::NamedDevice& other : log.devices) {
    if (other.parent == device.parent && other.id < device.id && used.contains(other.id)) ++number;
    if (other.id == device.parent && other.id < device.id) parent = &other;
  }
  const std::string whole = parent != nullptr ? id_of(log, *parent, used) : "?";
  return fmt::format("{}.{}", whole, number);
}

// Returns the devices of queues and contexts.
std::set<std::uint32_t> used_devices(const CommandLog& log) {
  std::set<std::uint32_t> used;
  for (const raw::Queue& queue : log.queues) used.insert(queue.device);
  for (const CommandLog::NamedContext& context : log.contexts)
    used.insert(context.devices.begin(), context.devices.end());
  return used;
}

// Returns a time of a host's clock on that of the first process, so near 0 that the difference of
// any two fits.
Nanos host_time(std::uint64_t ns, Nanos later) {
  const Nanos time{static_cast<std::int64_t>(std::min<std::uint64_t>(ns, INT64_MAX))};
  return std::clamp(saturating_add(time, later), -kFarthest, kFarthest);
}

// Bounds of a device's clock.
struct Probes {
  std::vector<ClockProbe> sure;
  // From stamps of the moment when a command was enqueued, which most drivers take in the call.
  std::vector<ClockProbe> queued;
};

// Turns the log of one process into a part of the record.
class ProcessReader {
 public:
  // `later`: what is added to its host times to be on the clock of the first process.
  ProcessReader(const CommandLog& log, Nanos later, const std::string& host_prefix,
                ProgramRecord& record, std::map<std::string, std::uint32_t>& known_devices)
      : log_(log),
        later_(later),
        record_(record),
        process_(static_cast<std::uint32_t>(record.processes.size())) {
    add_process();
    add_devices(host_prefix, known_devices);
    add_threads();
    add_queues();
    add_commands();
    add_calls();
    add_memory();
  }

  // Adds bounds of the clocks of its devices.
  void add_probes(std::vector<Probes>& probes) const {
    for (const raw::ClockSample& sample : log_.clock_samples)
      if (const auto device = devices_.find(sample.device); device != devices_.end())
        probes[device->second].sure.push_back(
            {host(sample.before_ns), host(sample.after_ns), sample.device_ns, sample.device_ns});
    std::vector<Nanos> seen(record_.commands.size(), Nanos::max());
    for (const HostCall& call : record_.calls)
      for (const std::uint32_t command : call.waited)
        seen[command] = std::min(seen[command], call.end);
    for (const Stamped& stamped : stamped_) {
      const Nanos by = std::min(seen[stamped.command], stamped.seen);
      const ProgramCommand& command = record_.commands[stamped.command];
      const HostCall& call = record_.calls[command.call];
      const raw::Times& times = stamped.times;
      Probes& of_device = probes[command.device.value];
      if (by > Nanos{} && by < Nanos::max())
        of_device.sure.push_back({call.begin, by, times.start, times.end});
      if (times.queued > 0 && times.queued <= times.start)
        of_device.queued.push_back({call.begin, call.end, times.queued, times.queued});
    }
  }

  // Sets the times of its commands, once the clocks are known.
  void set_times() {
    for (const Stamped& stamped : stamped_) {
      ProgramCommand& command = record_.commands[stamped.command];
      const ClockMap& clock = record_.devices[command.device.value].clock;
      command.started = clock.to_host(stamped.times.start);
      command.ended = clock.to_host(stamped.times.end);
    }
  }

 private:
  struct Stamped {
    std::uint32_t command = 0;
    Nanos seen{};
    raw::Times times{};
  };

  Nanos host(std::uint64_t ns) const { return host_time(ns, later_); }

  void add_process() {
    ProgramProcess process;
    process.id = log_.process.pid;
    process.host = log_.host;
    process.program = log_.command_line;
    if (log_.process.mpi_rank >= 0)
      process.rank = static_cast<std::uint32_t>(log_.process.mpi_rank);
    process.trouble = log_.trouble;
    process.recorded_calls = log_.cost.calls;
    process.recording = Nanos{static_cast<std::int64_t>(log_.cost.layer_ns)};
    record_.processes.push_back(process);
  }

  void add_devices(const std::string& prefix, std::map<std::string, std::uint32_t>& known_devices) {
    const std::set<std::uint32_t> used = used_devices(log_);
    for (const CommandLog::NamedDevice& logged : log_.devices) {
      if (!used.contains(logged.id)) continue;
      const std::string id = prefix + id_of(log_, logged, used);
      Device device = device_of(logged, id);
      const std::string identity = prefix + (logged.parent == 0 ? identity_of(device) : device.id);
      const auto [known, is_new] =
          known_devices.try_emplace(identity, static_cast<std::uint32_t>(record_.devices.size()));
      if (is_new) record_.devices.push_back({std::move(device), {}});
      devices_[logged.id] = known->second;
    }
  }

  void add_threads() {
    for (const raw::Thread& thread : log_.threads) {
      threads_[thread.id] = static_cast<std::uint32_t>(record_.threads.size());
      record_.threads.push_back({process_, thread.tid});
    }
  }

  // Returns the thread; adds those whose own record is lost.
  std::uint32_t thread(std::uint32_t id) {
    const auto [found, is_new] =
        threads_.try_emplace(id, static_cast<std::uint32_t>(record_.threads.size()));
    if (is_new) record_.threads.push_back({process_, 0});
    return found->second;
  }

  void add_queues() {
    constexpr std::uint64_t kOutOfOrder = 1;
    for (const raw::Queue& queue : log_.queues) {
      const auto device = devices_.find(queue.device);
      if (device == devices_.end()) continue;
      queues_[queue.id] = static_cast<std::uint32_t>(record_.queues.size());
      record_.queues.push_back({{device->second}, process_, (queue.used & kOutOfOrder) == 0});
      record_.devices[device->second].has_queue = true;
      if (queue.times == 0)
        record_.devices[device->second].unstamped = "its queue has no time stamps";
    }
  }

  void add_commands() {
    std::unordered_map<std::uint32_t, std::string> kernels;
    for (const CommandLog::NamedKernel& kernel : log_.kernels) kernels[kernel.id] = kernel.name;
    std::vector<const CommandLog::FullCommand*> commands;
    for (const CommandLog::FullCommand& command : log_.commands) commands.push_back(&command);
    std::sort(commands.begin(), commands.end(),
              [](const auto* a, const auto* b) { return a->number < b->number; });
    for (const CommandLog::FullCommand* logged : commands) {
      const auto queue = queues_.find(logged->queue);
      if (logged->status != 0 || queue == queues_.end()) continue;
      const TypeInfo& info = info_of(logged->type);
      const bool blocks = (logged->flags & raw::kBlocking) != 0;
      ProgramCommand command;
      command.device = record_.queues[queue->second].device;
      command.queue = queue->second;
      command.call = static_cast<std::uint32_t>(record_.calls.size());
      command.kind = info.kind;
      command.marker = is_marker(info);
      command.stamped = false;
      const auto kernel = kernels.find(logged->kernel);
      command.label =
          Name(kernel != kernels.end() && logged->kernel != 0 ? printable(kernel->second)
                                                              : std::string(info.label));
      command.bytes = logged->bytes;
      if (command.kind != CommandKind::compute && !logged->memory.empty())
        command.memory = logged->memory.front().memory;
      command.items = info.type == CommandType::task ? 1 : logged->items;
      command.first_launch = logged->kernel != 0 && launched_.insert(logged->kernel).second;
      command.pageable = logged->host_memory == raw::HostMemory::pageable;
      const auto index = static_cast<std::uint32_t>(record_.commands.size());
      for (const std::uint64_t number : logged->waits)
        if (const auto other = numbers_.find(number); other != numbers_.end())
          command.after.push_back(other->second);
      order_barriers(*logged, info, index, command);
      HostCall& call = record_.calls.emplace_back();
      call.thread = thread(logged->thread);
      call.kind = blocks ? CallKind::wait : CallKind::enqueue;
      call.name = Name(info.call);
      call.begin = host(logged->begin_ns);
      call.end = std::max(call.begin, host(logged->end_ns));
      if (blocks) call.waited.push_back(index);
      numbers_[logged->number] = index;
      command.queued = command.submitted = command.started = command.ended = call.begin;
      record_.commands.push_back(std::move(command));
      for (const raw::MemoryUse& use : logged->memory)
        memory_devices_[use.memory].insert(record_.commands.back().device.value);
    }
    for (const raw::Times& times : log_.times) {
      const auto command = numbers_.find(times.number);
      if (command == numbers_.end()) continue;
      ++ended_;
      if (times.status != 0 || times.error != 0 || times.end < times.start) continue;
      record_.commands[command->second].stamped = true;
      stamped_.push_back({command->second, host(times.seen_ns), times});
    }
    incomplete_ = log_.process.times == 0 ? 0 : numbers_.size() - std::min(numbers_.size(), ended_);
    if (log_.process.times == 0)
      record_.remarks.push_back("time stamps of devices were turned off");
    else if (incomplete_ > 0)
      record_.remarks.push_back(fmt::format(
          "{} command{} of process {} had not ended when its log ended, and {} left out",
          incomplete_, incomplete_ == 1 ? "" : "s", log_.process.pid,
          incomplete_ == 1 ? "is" : "are"));
  }

  // In an out-of-order queue a barrier waits for all commands before it, and those after it for it.
  void order_barriers(const CommandLog::FullCommand& logged, const TypeInfo& info,
                      std::uint32_t index, ProgramCommand& command) {
    if (record_.queues[command.queue].in_order) return;
    Unordered& queue = unordered_[command.queue];
    if (queue.barrier) command.after.push_back(*queue.barrier);
    if (command.marker && (logged.flags & raw::kNoWaitList) != 0)
      command.after.insert(command.after.end(), queue.since.begin(), queue.since.end());
    if (info.type == CommandType::barrier) {
      queue.barrier = index;
      queue.since.clear();
    } else {
      queue.since.push_back(index);
    }
  }

  void add_calls() {
    std::unordered_map<std::uint32_t, Name> names;
    for (const CommandLog::CallName& name : log_.names) names[name.id] = Name(printable(name.text));
    Nanos first = Nanos::max();
    for (const auto& [number, command] : numbers_)
      first = std::min(first, record_.calls[record_.commands[command].call].begin);
    for (const CommandLog::FullCall& logged : log_.calls) {
      HostCall call;
      call.thread = thread(logged.thread);
      call.name = names[logged.name];
      call.kind = kind_of_call(call.name.text());
      call.begin = host(logged.begin_ns);
      call.end = std::max(call.begin, host(logged.end_ns));
      if (call.kind == CallKind::build) {
        ++record_.builds.count;
        record_.builds.time = saturating_add(record_.builds.time, call.end - call.begin);
        if (call.begin < first) call.kind = CallKind::other;  // nothing waits for it yet
      }
      for (const std::uint64_t number : logged.waits)
        if (const auto command = numbers_.find(number); command != numbers_.end())
          call.waited.push_back(command->second);
      if (call.waited.empty() && call.name == "clFinish") wait_for_all(logged.object, call);
      record_.calls.push_back(std::move(call));
    }
  }

  // Lists the commands of a queue that were enqueued before a call and since the last such call.
  void wait_for_all(std::uint32_t object, HostCall& call) {
    const auto queue = queues_.find(object);
    if (queue == queues_.end()) return;
    if (of_queue_.empty()) {
      for (const auto& [number, command] : numbers_) by_number_.emplace_back(number, command);
      std::sort(by_number_.begin(), by_number_.end());
      for (const auto& [number, command] : by_number_)
        of_queue_[record_.commands[command].queue].push_back(command);
    }
    const std::vector<std::uint32_t>& all = of_queue_[queue->second];
    const auto end = std::partition_point(all.begin(), all.end(), [&](std::uint32_t command) {
      return record_.calls[record_.commands[command].call].begin < call.begin;
    });
    if (record_.queues[queue->second].in_order) {
      if (end != all.begin()) call.waited.push_back(*(end - 1));
      return;
    }
    std::size_t& done = finished_[queue->second];
    const auto count = static_cast<std::size_t>(end - all.begin());
    for (std::size_t k = std::min(done, count); k < count; ++k) call.waited.push_back(all[k]);
    done = std::max(done, count);
  }

  // Adds up memory on the devices that used it.
  void add_memory() {
    std::unordered_map<std::uint32_t, std::uint64_t> released;
    for (const raw::Released& release : log_.released) released[release.id] = release.time_ns;
    struct Step {
      std::uint64_t at;
      std::int64_t bytes;
    };
    std::map<std::uint32_t, std::vector<Step>> steps;  // by device
    for (const raw::Memory& memory : log_.memory) {
      const auto used = memory_devices_.find(memory.id);
      if (memory.parent != 0 || used == memory_devices_.end()) continue;
      const auto bytes =
          static_cast<std::int64_t>(std::min<std::uint64_t>(memory.bytes, INT64_MAX / 1024));
      for (const std::uint32_t device : used->second) {
        steps[device].push_back({memory.time_ns, bytes});
        const auto gone = released.find(memory.id);
        if (gone != released.end()) steps[device].push_back({gone->second, -bytes});
        ++record_.devices[device].memory.allocations;
      }
    }
    for (auto& [device, changes] : steps) {
      std::stable_sort(changes.begin(), changes.end(),
                       [](const Step& a, const Step& b) { return a.at < b.at; });
      std::int64_t now = 0, most = 0;
      for (const Step& step : changes) most = std::max(most, now = now + step.bytes);
      record_.devices[device].memory.peak += static_cast<Bytes>(most);
      record_.devices[device].memory.at_end += static_cast<Bytes>(std::max<std::int64_t>(now, 0));
    }
  }

  struct Unordered {
    std::optional<std::uint32_t> barrier;
    std::vector<std::uint32_t> since;  // commands since it
  };

  const CommandLog& log_;
  Nanos later_;
  ProgramRecord& record_;
  std::uint32_t process_;
  std::unordered_map<std::uint32_t, std::uint32_t> devices_, threads_, queues_;  // by id
  std::unordered_map<std::uint64_t, std::uint32_t> numbers_;  // commands by number
  std::set<std::uint32_t> launched_;                          // kernels
  std::unordered_map<std::uint32_t, std::set<std::uint32_t>> memory_devices_;
  std::unordered_map<std::uint32_t, Unordered> unordered_;
  std::vector<std::pair<std::uint64_t, std::uint32_t>> by_number_;
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> of_queue_;
  std::unordered_map<std::uint32_t, std::size_t> finished_;
  std::vector<Stamped> stamped_;
  std::size_t ended_ = 0, incomplete_ = 0;
};

// Fits a device's clock from bounds at the beginning and at the end.
ClockMap fit_ends(std::vector<ClockProbe> probes) {
  constexpr Nanos kDriftShows = std::chrono::seconds(1);
  constexpr std::int64_t kParts = 8;
  if (probes.empty()) return {};
  std::sort(probes.begin(), probes.end(),
            [](const ClockProbe& a, const ClockProbe& b) { return a.host_before < b.host_before; });
  const Nanos first = probes.front().host_before, last = probes.back().host_before;
  if (last - first < kDriftShows) return fit_clock(probes, {});
  const Nanos part = (last - first) / kParts;
  const auto begun = std::partition_point(probes.begin(), probes.end(), [&](const auto& probe) {
    return probe.host_before <= first + part;
  });
  const auto ending = std::partition_point(probes.begin(), probes.end(), [&](const auto& probe) {
    return probe.host_before < last - part;
  });
  return fit_clock(std::span(probes).first(static_cast<std::size_t>(begun - probes.begin())),
                   std::span(probes).subspan(static_cast<std::size_t>(ending - probes.begin())));
}

// Fits a device's clock. Uses stamps of enqueuing if they agree with the sure bounds and make the
// clock better known.
ClockMap clock_of(const Probes& probes) {
  const ClockMap sure = fit_ends(probes.sure);
  std::vector<ClockProbe> all = probes.sure;
  all.insert(all.end(), probes.queued.begin(), probes.queued.end());
  const ClockMap closer = fit_ends(std::move(all));
  if (probes.sure.empty() || probes.queued.empty()) return closer;
  const Nanos apart = std::chrono::abs(
      saturating_subtract(closer.to_host(sure.reference_device), sure.reference_host));
  return closer.uncertainty < sure.uncertainty && apart <= sure.uncertainty ? closer : sure;
}

// Times further than this from the first command, 116 days, which only a broken clock gives, are
// cut, as are those of result files.
constexpr Nanos kLongest{10'000'000'000'000'000};

// Replaces the clock of the host by the time since the first command was enqueued, and drops calls
// outside of the time of the commands.
void begin_at_first_command(ProgramRecord& record, Nanos started) {
  Nanos zero = Nanos::max();
  for (const ProgramCommand& command : record.commands)
    zero = std::min(zero, record.calls[command.call].begin);
  if (record.commands.empty()) zero = started;
  record.before = std::clamp(zero - started, Nanos{}, kLongest);
  for (ProgramCommand& c : record.commands) {
    for (Nanos* time : {&c.queued, &c.submitted, &c.started, &c.ended})
      *time = std::clamp(saturating_subtract(*time, zero), -kLongest, kLongest);
    if (!c.stamped) c.marker = true;
    if (!c.marker) record.makespan = std::max(record.makespan, c.ended);
  }
  for (HostCall& call : record.calls) {
    call.begin = std::clamp(saturating_subtract(call.begin, zero), -kLongest, kLongest);
    call.end = std::clamp(saturating_subtract(call.end, zero), call.begin, kLongest);
    if (call.kind == CallKind::wait || call.kind == CallKind::enqueue)
      record.makespan = std::max(record.makespan, call.end);
  }
  // A transfer that was to return at once, and took until the command had ended, waited for it.
  for (std::uint32_t k = 0; k < record.commands.size(); ++k) {
    const ProgramCommand& c = record.commands[k];
    HostCall& call = record.calls[c.call];
    if (call.kind == CallKind::enqueue && !c.marker && c.kind != CommandKind::compute &&
        call.end >= c.ended && c.ended > c.started)
      call.waited.push_back(k);
  }
}

// Sorts calls by their begin and leaves out those before the first command and after the last.
void sort_calls(ProgramRecord& record) {
  std::vector<std::uint32_t> order, now(record.calls.size());
  for (std::uint32_t k = 0; k < record.calls.size(); ++k)
    if (record.calls[k].begin >= Nanos{} && record.calls[k].begin <= record.makespan)
      order.push_back(k);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return record.calls[a].begin < record.calls[b].begin;
  });
  std::vector<HostCall> calls;
  for (std::uint32_t k = 0; k < order.size(); ++k) {
    now[order[k]] = k;
    calls.push_back(std::move(record.calls[order[k]]));
  }
  record.calls = std::move(calls);
  for (ProgramCommand& command : record.commands) command.call = now[command.call];
}

}  // namespace

ProgramRecord program_of(std::span<const CommandLog> logs) {
  ProgramRecord record;
  std::map<std::string, std::uint32_t> known_devices;
  std::vector<ProcessReader> readers;
  std::vector<std::string> hosts;
  Nanos started = Nanos::max();
  const CommandLog* first = nullptr;
  for (const CommandLog& log : logs) {
    if (log.process.pid == 0) continue;  // not even the first record is whole
    if (first == nullptr) first = &log;
    if (std::find(hosts.begin(), hosts.end(), log.host) == hosts.end()) hosts.push_back(log.host);
    // Hosts have clocks of their own; the time of day is all that they share.
    const auto offset = [](const CommandLog& of) {
      return of.process.realtime_ns - of.process.start_ns;
    };
    const Nanos later{
        log.host == first->host ? 0 : static_cast<std::int64_t>(offset(log) - offset(*first))};
    const std::size_t host =
        static_cast<std::size_t>(std::find(hosts.begin(), hosts.end(), log.host) - hosts.begin());
    readers.emplace_back(log, later, host == 0 ? "" : fmt::format("{}/", host), record,
                         known_devices);
    started = std::min(started, host_time(log.process.start_ns, later));
  }
  if (readers.empty()) return record;
  std::vector<Probes> probes(record.devices.size());
  for (const ProcessReader& reader : readers) reader.add_probes(probes);
  for (std::size_t d = 0; d < probes.size(); ++d) record.devices[d].clock = clock_of(probes[d]);
  for (ProcessReader& reader : readers) reader.set_times();
  begin_at_first_command(record, started);
  sort_calls(record);
  if (hosts.size() > 1)
    record.remarks.push_back(
        fmt::format("{} hosts: their clocks were compared by the time of day only", hosts.size()));
  return record;
}

}  // namespace mgpu
