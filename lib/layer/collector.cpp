#include "lib/layer/collector.hpp"

#include <time.h>

#include <algorithm>
#include <cstring>

#include "lib/layer/recorder.hpp"

namespace mgpu::layer {

using namespace command_log;

namespace {

constexpr std::size_t kFlushBytes = 256 * 1024;
// Commands that may be incomplete at once. The layer gives up the times of further ones, so that a
// command that never completes cannot fill the memory.
constexpr std::size_t kMostPending = 256 * 1024;

// The first commands, and then one of so many, are asked for the moment when they were queued,
// which bounds clocks.
constexpr std::uint64_t kQueuedFirst = 1024, kQueuedSampling = 16;

// Returns a command's status; an error of the question is one of the command.
cl_int status_of(cl_event event) {
  cl_int status = CL_COMPLETE;
  const cl_int error = next->clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status,
                                            &status, nullptr);
  return error == CL_SUCCESS ? status : error;
}

}  // namespace

std::uint64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec);
}

void Collector::put(const void* record, std::size_t bytes) {
  const auto* from = static_cast<const std::byte*>(record);
  out_.insert(out_.end(), from, from + bytes);
  if (out_.size() >= kFlushBytes) flush();
}

void Collector::flush() {
  file_.append(out_);
  out_.clear();
}

void Collector::append(std::span<const std::byte> record) {
  const std::lock_guard lock(drain_mutex_);
  put(record.data(), record.size());
  flush();
}

std::shared_ptr<ThreadState> Collector::add_thread() {
  auto thread = std::make_shared<ThreadState>();
  const std::lock_guard lock(drain_mutex_);
  thread->id = ++last_thread_;
  threads_.push_back(thread);
  return thread;
}

bool Collector::drain() {
  const std::lock_guard lock(drain_mutex_);
  bool any = false;
  for (std::size_t t = 0; t < threads_.size(); ++t) {
    ThreadState& thread = *threads_[t];
    const bool ended = thread.ended.load(std::memory_order_acquire);  // before the ring is emptied
    thread.ring.drain([&](const Entry& entry, const std::byte* record) {
      any = true;
      take(entry, record);
    });
    if (!ended) continue;
    cost_.calls += thread.calls;
    cost_.layer_ns += thread.layer_ns;
    cost_.waits += thread.waits;
    cost_.polls += thread.polls;
    threads_.erase(threads_.begin() + static_cast<std::ptrdiff_t>(t--));
  }
  flush();
  return any;
}

void Collector::take(const Entry& entry, const std::byte* record) {
  RecordHeader header;
  std::memcpy(&header, record, sizeof header);
  const std::uint32_t name =
      header.kind == Kind::host_call ? name_of(static_cast<const char*>(entry.handle)) : 0;
  const std::size_t at = out_.size();
  out_.insert(out_.end(), record, record + header.size);
  std::byte* copy = out_.data() + at;
  switch (header.kind) {
    case Kind::command:
      take_command(entry, copy);
      break;
    case Kind::host_call:
      reinterpret_cast<HostCall*>(copy)->name = name;
      break;
    case Kind::memory:
      take_memory(*reinterpret_cast<const Memory*>(copy));
      break;
    case Kind::released:
      release_region_of(reinterpret_cast<const Released*>(copy)->id);
      break;
    case Kind::device:
      if (entry.handle != nullptr) {
        auto* handle = static_cast<cl_device_id>(const_cast<void*>(entry.handle));
        new_clocks_.emplace_back(handle, reinterpret_cast<const Device*>(copy)->id);
      }
      break;
    default:
      break;
  }
  if (out_.size() >= kFlushBytes) flush();
}

void Collector::take_command(const Entry& entry, std::byte* record) {
  auto& command = *reinterpret_cast<Command*>(record);
  ++cost_.commands;
  if (command.status == CL_SUCCESS && command.host_pointer != 0) {
    const std::uint64_t place = command.host_pointer;
    const auto map = [&](HostMemory kind) {
      const auto [at, is_new] = regions_.try_emplace(place, Region{command.bytes, 0, 0, kind});
      at->second.bytes = std::max(at->second.bytes, command.bytes);
      ++at->second.uses;
    };
    switch (command.type) {
      case CL_COMMAND_MAP_BUFFER:
      case CL_COMMAND_MAP_IMAGE:
        map(HostMemory::pinned);
        break;
      case CL_COMMAND_UNMAP_MEM_OBJECT:
        if (const auto at = regions_.find(place); at != regions_.end()) {
          command.bytes = at->second.bytes;
          if (at->second.uses > 0 && --at->second.uses == 0 && at->second.memory == 0)
            regions_.erase(at);
        }
        break;
      default:
        command.host_memory = host_memory_of(place);
        break;
    }
  }
  if (entry.handle == nullptr) return;
  auto* event = static_cast<cl_event>(const_cast<void*>(entry.handle));
  if (incoming_.size() < kMostPending) {
    incoming_.push_back({{event, command.number}, command.queue, (entry.flags & kInOrder) != 0});
    return;
  }
  // The poll is stuck in a driver: the event is left as it is.
  Times times{};
  times.header = {Kind::times, sizeof times, sizeof times};
  times.number = command.number;
  times.error = kGivenUp;
  ++cost_.given_up;
  put(&times, sizeof times);
}

void Collector::take_memory(const Memory& memory) {
  if (memory.host_pointer == 0) return;
  const auto kind = memory.type == MemoryType::svm ? HostMemory::svm : HostMemory::pinned;
  regions_[memory.host_pointer] = Region{memory.bytes, memory.id, 0, kind};
  region_of_memory_[memory.id] = memory.host_pointer;
}

void Collector::release_region_of(std::uint32_t memory) {
  const auto found = region_of_memory_.find(memory);
  if (found == region_of_memory_.end()) return;
  const auto region = regions_.find(found->second);
  if (region != regions_.end() && region->second.memory == memory) regions_.erase(region);
  region_of_memory_.erase(found);
}

HostMemory Collector::host_memory_of(std::uint64_t pointer) const {
  auto after = regions_.upper_bound(pointer);
  if (after == regions_.begin()) return HostMemory::pageable;
  const auto& [begin, region] = *--after;
  return pointer - begin < region.bytes ? region.kind : HostMemory::pageable;
}

std::uint32_t Collector::name_of(const char* call) {
  const auto [at, is_new] = names_.try_emplace(call, names_.size() + 1);
  if (!is_new) return at->second;
  const std::size_t length = std::strlen(call), padded = (length + 7) / 8 * 8;
  Name name{};
  name.header = {Kind::name, sizeof name, static_cast<std::uint32_t>(sizeof name + padded)};
  name.id = at->second;
  name.bytes = static_cast<std::uint32_t>(length);
  const auto* bytes = reinterpret_cast<const std::byte*>(&name);
  out_.insert(out_.end(), bytes, bytes + sizeof name);
  out_.resize(out_.size() + padded);
  std::memcpy(out_.data() + out_.size() - padded, call, length);
  return at->second;
}

std::size_t Collector::poll() {
  const std::lock_guard lock(poll_mutex_);
  return poll_all();
}

std::size_t Collector::poll_all() {
  {
    const std::lock_guard lock(drain_mutex_);
    taken_.swap(incoming_);
    clocks_.insert(clocks_.end(), new_clocks_.begin(), new_clocks_.end());
    new_clocks_.clear();
  }
  for (const Incoming& incoming : taken_) {
    if (pending_ < kMostPending) {
      PendingQueue& queue = queues_[incoming.queue];
      queue.in_order = incoming.in_order;
      queue.commands.push_back(incoming.command);
      ++pending_;
    } else if (!finish(incoming.command, false)) {
      Times times{};
      times.number = incoming.command.number;
      times.error = kGivenUp;
      add_times(times);
      next->clReleaseEvent(incoming.command.event);
    }
  }
  taken_.clear();
  for (auto at = queues_.begin(); at != queues_.end();) {
    auto& commands = at->second.commands;
    const std::size_t before = commands.size();
    if (at->second.in_order) {  // all before one that has ended have ended
      const auto running = std::partition_point(
          commands.begin(), commands.end(),
          [](const Pending& command) { return status_of(command.event) <= CL_COMPLETE; });
      auto left = commands.begin();
      while (left != running && finish(*left, true)) ++left;
      commands.erase(commands.begin(), left);
    } else {
      std::erase_if(commands, [&](const Pending& command) { return finish(command, false); });
    }
    pending_ -= before - commands.size();
    at = commands.empty() ? queues_.erase(at) : std::next(at);
  }
  const std::lock_guard lock(drain_mutex_);
  for (const Times& times : times_) {
    cost_.timed += times.error == 0 && times.status == CL_SUCCESS;
    cost_.given_up += times.error == kGivenUp;
    put(&times, sizeof times);
  }
  cost_.incomplete = pending_;
  times_.clear();
  flush();
  return pending_;
}

void Collector::add_times(const Times& times) {
  times_.push_back(times);
  times_.back().header = {Kind::times, sizeof times, sizeof times};
}

// Adds the times of the command and gives its event back. Returns false, and does nothing, if it is
// incomplete. Asks for its status only if that matters: drivers take a lock for each question, and
// the program's calls need it, too.
bool Collector::finish(const Pending& pending, bool has_ended) {
  Times times{};
  times.number = pending.number;
  if (!has_ended) times.status = status_of(pending.event);
  if (times.status > CL_COMPLETE) return false;
  times.seen_ns = now_ns();
  const std::pair<cl_profiling_info, std::uint64_t*> stamps[] = {
      {CL_PROFILING_COMMAND_START, &times.start},
      {CL_PROFILING_COMMAND_END, &times.end},
      {CL_PROFILING_COMMAND_QUEUED, &times.queued}};
  const bool bounds = pending.number <= kQueuedFirst || pending.number % kQueuedSampling == 0;
  const std::size_t asked = bounds ? 3 : 2;
  for (const auto& [what, stamp] : std::span(stamps).first(asked)) {
    if (times.error != CL_SUCCESS || times.status != CL_COMPLETE) break;
    times.error = next->clGetEventProfilingInfo(pending.event, what, sizeof *stamp, stamp, nullptr);
  }
  if (has_ended && times.error != CL_SUCCESS) return finish(pending, false);
  next->clReleaseEvent(pending.event);
  add_times(times);
  return true;
}

bool Collector::holds(cl_event event) const {
  return std::any_of(queues_.begin(), queues_.end(), [&](const auto& queue) {
    return std::any_of(queue.second.commands.begin(), queue.second.commands.end(),
                       [&](const Pending& pending) { return pending.event == event; });
  });
}

void Collector::sample_clocks() {
  const std::lock_guard lock(poll_mutex_);
  std::erase_if(clocks_, [&](const auto& clock) {
    ClockSample sample{};
    sample.header = {Kind::clock_sample, sizeof sample, sizeof sample};
    sample.device = clock.second;
    cl_ulong host = 0, device = 0;
    sample.before_ns = now_ns();
    if (next->clGetDeviceAndHostTimer(clock.first, &device, &host) != CL_SUCCESS) return true;
    sample.after_ns = now_ns();
    sample.device_ns = device;
    append(std::as_bytes(std::span(&sample, 1)));
    return false;
  });
}

void Collector::write_cost(std::uint64_t writer_ns) {
  const std::lock_guard lock(drain_mutex_);
  Cost cost = cost_;
  cost.header = {Kind::cost, sizeof cost, sizeof cost};
  cost.time_ns = now_ns();
  cost.writer_ns = writer_ns;
  for (const auto& thread : threads_) {
    cost.calls += thread->calls;
    cost.layer_ns += thread->layer_ns;
    cost.waits += thread->waits;
    cost.polls += thread->polls;
  }
  put(&cost, sizeof cost);
  flush();
}

}  // namespace mgpu::layer
