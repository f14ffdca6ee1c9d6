// Records what the wrapped calls do: one recorder per process.
#pragma once

#include <pthread.h>
#include <semaphore.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include "lib/layer/collector.hpp"
#include "lib/layer/handles.hpp"
#include "lib/layer/opencl.hpp"

namespace mgpu::layer {

extern const cl_icd_dispatch* next;  // the next layer, or the drivers

class Recorder {
 public:
  // `folder` is absolute.
  Recorder(std::string folder, bool times, bool forked);

  // Makes the log. Returns false if that fails.
  bool open();

  // Returns the state of the calling thread.
  ThreadState& thread() {
    if (current.recorder == this) [[likely]]
      return *current.state;
    return add_thread();
  }

  // Hands a record and its tail over. Sets the record's sizes.
  using Piece = std::span<const std::byte>;
  template <class Record>
  void push(Kind kind, Record& record, std::initializer_list<Piece> tail = {},
            const void* handle = nullptr, std::uint32_t flags = 0) {
    record.header.kind = kind;
    record.header.fixed = sizeof record;
    push_bytes(std::as_bytes(std::span(&record, 1)), tail, handle, flags);
  }

  // Collects in this thread, so that what the program asks about its objects is as without layer.
  template <class Then>
  void after_collecting(const Then& then) {
    collector_.after_collecting(then);
  }

  // Ends the writer's thread, when the process begins to exit. Later calls are written at once.
  void stop();

  const std::string& folder() const { return folder_; }
  std::uint32_t next_id() { return ++last_id_; }
  std::uint64_t next_number() { return last_number_.fetch_add(1, std::memory_order_relaxed) + 1; }
  std::uint64_t last_number() const { return last_number_.load(std::memory_order_relaxed); }

  const bool times;  // whether commands get time stamps
  Handles handles;
  EventNumbers numbers;

 private:
  struct Current {
    Recorder* recorder;
    ThreadState* state;
  };
  static inline constinit thread_local Current current{};

  ThreadState& add_thread();
  void push_bytes(Piece record, std::initializer_list<Piece> tail, const void* handle,
                  std::uint32_t flags);
  void write_process();
  void start();
  void write();  // the writer's thread

  const std::string folder_;
  const bool forked_;
  Collector collector_;
  std::atomic<std::uint32_t> last_id_{0};
  alignas(64) std::atomic<std::uint64_t> last_number_{0};

  pthread_key_t key_;  // its destructor tells that a thread has ended
  std::once_flag started_;
  bool has_writer_ = false;
  sem_t wake_, written_;  // for the writer; by it, when it ends
  std::atomic<bool> stopping_{false}, stopped_{false};
  std::atomic<bool> woken_{false};
};

// The recorder of this process. Null in a child after a fork, until it calls OpenCL.
extern std::atomic<Recorder*> recorder;

// Begins to record, as the variables say. Returns false if nothing is to be recorded.
bool begin_recording();
// Begins the log of a child, which has nothing in common with what its parent's threads left half
// done.
Recorder& begin_child_recording();

inline Recorder& recording() {
  Recorder* const own = recorder.load(std::memory_order_acquire);
  return own != nullptr ? *own : begin_child_recording();
}

// Has the recorder stopped when the process exits, before handlers that were there until now, such
// as those of drivers.
void stop_at_exit();

// The bytes of a string or of the first values of an array, for push.
inline Recorder::Piece bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }
template <class Value>
Recorder::Piece bytes_of(const Value* values, std::size_t count) {
  return std::as_bytes(std::span(values, count));
}

}  // namespace mgpu::layer
