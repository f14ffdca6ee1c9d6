// The fault layer's records of the OpenCL objects that were made: the device that each belongs to,
// and what happened to that device.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "lib/layer/opencl.hpp"

namespace fault {

struct DeviceState {
  std::string id;
  cl_platform_id platform = nullptr;         // the real one
  std::atomic<std::uint64_t> allocated = 0;  // bytes of buffers, if it pretends to be another
  std::atomic<cl_int> dead = CL_SUCCESS;     // if not CL_SUCCESS: result of all its calls
};

struct ContextState {
  cl_context handle = nullptr;
  cl_device_id device = nullptr;  // the first device
  std::atomic<cl_int> lost = CL_SUCCESS;
  std::mutex mutex;
  cl_program flipper = nullptr;  // made at first use
};

// Device and context of an object; null if the layer did not see it made.
struct Place {
  std::shared_ptr<DeviceState> device;
  std::shared_ptr<ContextState> context;

  std::string id() const { return device ? device->id : std::string(); }
  // Returns CL_SUCCESS, or the result of every call since the context or the device was lost.
  cl_int lost() const {
    if (context && context->lost != CL_SUCCESS) return context->lost;
    return device ? device->dead.load() : CL_SUCCESS;
  }
};

struct MemoryState {
  Place place;
  std::size_t size = 0;
};

struct KernelState {
  Place place;
  std::string name;
  std::map<cl_uint, cl_mem> buffers;  // key: index of the argument
};

struct EventState {
  Place place;
  cl_int failed = CL_SUCCESS;  // if not CL_SUCCESS: its final status
  std::string stamps;          // if not empty: the kind of false time stamps that it reports
  cl_event begun =
      nullptr;  // if set: the command that this one stands for; it has all time stamps but the last
  bool seen_complete = false;
};

// States of objects by handle. Handles are reused after they were released: the call that makes an
// object puts its state, which replaces the old one. Thread-safe.
template <class Handle, class State>
class Tracked {
 public:
  void put(Handle handle, State state) {
    const std::lock_guard lock(mutex_);
    states_.insert_or_assign(handle, std::move(state));
  }
  // Returns a copy; an empty state for a handle that was never put.
  State get(Handle handle) const {
    const std::lock_guard lock(mutex_);
    const auto found = states_.find(handle);
    return found == states_.end() ? State() : found->second;
  }
  bool has(Handle handle) const {
    const std::lock_guard lock(mutex_);
    return states_.contains(handle);
  }
  template <class Change>
  void change(Handle handle, const Change& change) {
    const std::lock_guard lock(mutex_);
    if (const auto found = states_.find(handle); found != states_.end()) change(found->second);
  }
  template <class Change>
  void change_all(const Change& change) {
    const std::lock_guard lock(mutex_);
    for (auto& [handle, state] : states_) change(state);
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<Handle, State> states_;
};

struct Objects {
  Tracked<cl_device_id, Place> devices;
  Tracked<cl_context, Place> contexts;
  Tracked<cl_command_queue, Place> queues;
  Tracked<cl_program, Place> programs;
  Tracked<cl_mem, MemoryState> memory;
  Tracked<cl_kernel, KernelState> kernels;
  Tracked<cl_event, EventState> events;
  Tracked<cl_command_queue, cl_int> failed;  // status of the next command with an event
  Tracked<cl_program, std::optional<std::string>> refused;  // log of a build that the layer refused
};

inline Place place_of(const Objects& objects, cl_device_id handle) {
  return objects.devices.get(handle);
}
inline Place place_of(const Objects& objects, cl_context handle) {
  return objects.contexts.get(handle);
}
inline Place place_of(const Objects& objects, cl_command_queue handle) {
  return objects.queues.get(handle);
}
inline Place place_of(const Objects& objects, cl_program handle) {
  return objects.programs.get(handle);
}
inline Place place_of(const Objects& objects, cl_mem handle) {
  return objects.memory.get(handle).place;
}
inline Place place_of(const Objects& objects, cl_kernel handle) {
  return objects.kernels.get(handle).place;
}
inline Place place_of(const Objects& objects, cl_event handle) {
  return objects.events.get(handle).place;
}

inline std::string kernel_of(const Objects& objects, cl_kernel handle) {
  return objects.kernels.get(handle).name;
}
template <class Handle>
std::string kernel_of(const Objects&, Handle) {
  return {};
}

}  // namespace fault
