// Writes the records that the threads of the program hand over: the writer's side of the layer.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "lib/layer/log_file.hpp"
#include "lib/layer/opencl.hpp"
#include "lib/layer/ring.hpp"
#include "lib/profile/command_log.hpp"

namespace mgpu::layer {

// CLOCK_MONOTONIC in nanoseconds.
std::uint64_t now_ns();

// A thread of the program that calls OpenCL. Counters are its own; the collector reads them.
struct ThreadState {
  Ring ring;
  std::uint32_t id = 0;
  std::atomic<std::uint64_t> calls{0}, layer_ns{0}, waits{0}, polls{0};
  std::atomic<bool> ended{false};  // it hands over nothing more

  static void add(std::atomic<std::uint64_t>& counter, std::uint64_t more) {
    counter.store(counter.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
  }
};

// Empties the rings into the log, and reads the time stamps of commands that are complete. Any
// thread may do either; `drain` calls no driver, so that it is never blocked by one.
class Collector {
 public:
  // Makes the log. Returns false if that fails: there is then nothing to collect for.
  bool open(const std::string& folder) { return file_.create(folder); }
  // Adds a record to the log directly.
  void append(std::span<const std::byte> record);

  std::shared_ptr<ThreadState> add_thread();
  // Moves all that threads have handed over to the file. Returns whether there was anything.
  bool drain();
  // Writes the times of commands that have completed and gives their events back. Returns the
  // number of commands that are still incomplete.
  std::size_t poll();
  // Drains and polls, and then calls `then(held)` while nothing is polled: `held(event)` tells
  // whether the layer has a reference to that event. Gives up waiting for its turn after a while,
  // since a driver may call the program back while it makes the collector wait: `held` is then
  // never true.
  template <class Then>
  void after_collecting(const Then& then) {
    std::unique_lock lock(poll_mutex_, std::try_to_lock);
    for (int tries = 0; !lock.owns_lock() && tries < 1000; ++tries) {
      std::this_thread::sleep_for(std::chrono::microseconds(100));
      static_cast<void>(lock.try_lock());
    }
    if (lock) {
      drain();
      poll_all();
    }
    then([&](cl_event event) { return lock.owns_lock() && holds(event); });
  }
  void write_cost(std::uint64_t writer_ns);
  void sample_clocks();

 private:
  struct Pending {
    cl_event event;
    std::uint64_t number;
  };
  struct PendingQueue {
    bool in_order = true;
    std::deque<Pending> commands;  // oldest first
  };
  struct Incoming {
    Pending command;
    std::uint32_t queue;
    bool in_order;
  };
  // Host memory of which the layer knows that it is pinned, or SVM.
  struct Region {
    std::uint64_t bytes;
    std::uint32_t memory;
    std::uint32_t uses;  // maps of the same place
    command_log::HostMemory kind;
  };

  void take(const Entry& entry, const std::byte* record);
  void take_command(const Entry& entry, std::byte* record);
  void take_memory(const command_log::Memory& memory);
  void release_region_of(std::uint32_t memory);
  std::uint32_t name_of(const char* call);
  command_log::HostMemory host_memory_of(std::uint64_t pointer) const;
  std::size_t poll_all();
  bool finish(const Pending& pending, bool has_ended);
  void add_times(const command_log::Times& times);
  bool holds(cl_event event) const;
  void put(const void* record, std::size_t bytes);
  void flush();

  // Guards what drain uses. Held while the file is written, never during a driver's call.
  std::mutex drain_mutex_;
  LogFile file_;
  std::vector<std::byte> out_;
  std::vector<std::shared_ptr<ThreadState>> threads_;
  std::uint32_t last_thread_ = 0;
  std::map<std::uint64_t, Region> regions_;  // by address
  std::unordered_map<std::uint32_t, std::uint64_t> region_of_memory_;
  std::unordered_map<const char*, std::uint32_t> names_;
  std::vector<Incoming> incoming_;
  std::vector<std::pair<cl_device_id, std::uint32_t>> new_clocks_;
  command_log::Cost cost_{};

  // Guards what poll uses. Locked before the other mutex.
  std::mutex poll_mutex_;
  std::unordered_map<std::uint32_t, PendingQueue> queues_;
  std::size_t pending_ = 0;
  std::vector<Incoming> taken_;
  std::vector<command_log::Times> times_;
  std::vector<std::pair<cl_device_id, std::uint32_t>> clocks_;
};

}  // namespace mgpu::layer
