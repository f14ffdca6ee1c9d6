// The program's objects by their handles, and numbers of commands by their events. Lookups take no
// lock and allocate nothing.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "lib/layer/opencl.hpp"
#include "lib/profile/command_log.hpp"

namespace mgpu::layer {

using command_log::Kind;

struct Object {
  Object(Kind of, std::uint32_t number) : kind(of), id(number) {}
  virtual ~Object() = default;

  Kind kind;
  std::uint32_t id;                         // in the log
  std::atomic<std::int32_t> references{1};  // of the program
};

struct QueueObject : Object {
  using Object::Object;
  bool times = false;  // its commands get events, and time stamps of these are read
  bool in_order = true;
  // Properties that the program asked for; the real queue has CL_QUEUE_PROFILING_ENABLE, too.
  std::atomic<cl_command_queue_properties> asked{0};
  bool hides_profiling() const { return times && (asked & CL_QUEUE_PROFILING_ENABLE) == 0; }
  std::vector<cl_queue_properties> asked_list;  // as given, with the zero at its end
};

struct KernelObject : Object {
  using Object::Object;
  static constexpr cl_uint kArguments = 32;
  // Memory objects of the arguments: id in the lower half, access in the upper.
  std::array<std::atomic<std::uint64_t>, kArguments> memory{};
  std::atomic<cl_uint> end{0};  // after the last argument that was set
};

struct MemoryObject : Object {
  using Object::Object;
  std::uint32_t access = 3;  // of kernels, by its flags: see command_log::MemoryUse
  std::uint32_t element_bytes = 1;
  std::uint64_t bytes = 0;
  std::atomic<bool> tells_destruction{false};  // the program set a destructor callback
};

// A hash table of open addressing. A lookup of a handle must not run at the same time as its erase,
// which is what OpenCL demands of the program as well.
class Handles {
 public:
  Object* find(const void* handle) const {
    const Table& table = *table_.load(std::memory_order_acquire);
    for (std::size_t at = hash(handle) & table.mask;; at = (at + 1) & table.mask) {
      const void* key = table.slots[at].key.load(std::memory_order_acquire);
      if (key == handle) return table.slots[at].object.load(std::memory_order_acquire);
      if (key == nullptr) return nullptr;
    }
  }
  // Returns the object if it is of the kind; else null.
  template <class Wanted>
  Wanted* find(const void* handle, Kind kind) const {
    Object* found = handle != nullptr ? find(handle) : nullptr;
    return found != nullptr && found->kind == kind ? static_cast<Wanted*>(found) : nullptr;
  }
  // Replaces the object of a handle that was destroyed without the layer's notice.
  void put(const void* handle, std::unique_ptr<Object> object);
  void erase(const void* handle);
  Handles();

 private:
  struct Slot {
    std::atomic<const void*> key{nullptr};
    std::atomic<Object*> object{nullptr};
  };
  struct Table {
    explicit Table(std::size_t size) : mask(size - 1), slots(new Slot[size]) {}
    std::size_t mask;
    std::unique_ptr<Slot[]> slots;
  };
  static const void* erased() { return &tombstone_; }
  static std::size_t hash(const void* handle) {
    return static_cast<std::size_t>(
        (reinterpret_cast<std::uintptr_t>(handle) * 0x9E3779B97F4A7C15u) >> 24);
  }
  static bool insert(Table& table, const void* handle, Object* object);  // false: into a used slot

  static inline const char tombstone_ = 0;
  std::mutex mutex_;                            // of changes
  std::vector<std::unique_ptr<Table>> tables_;  // the last is current; others may still be read
  std::atomic<Table*> table_;
  std::size_t used_ = 0;  // slots with a key, erased ones included
};

// The number of each event's command. A fixed number of places: after many newer events an old one
// is forgotten. Nothing is erased, as a handle that is used again gets its new number before the
// program can know it.
class EventNumbers {
 public:
  EventNumbers() : sets_(new Set[kSets]) {}

  void put(const void* event, std::uint64_t number) {
    const std::uint64_t tag = tag_of(event);
    Set& set = sets_[set_of(event)];
    std::atomic<std::uint64_t>* oldest = nullptr;
    std::uint64_t age = 0;
    for (auto& place : set.places) {
      const std::uint64_t there = place.load(std::memory_order_relaxed);
      if (there == 0 || there >> kNumberBits == tag) {
        oldest = &place;
        break;
      }
      const std::uint64_t behind = (number - there) & kNumberMask;
      if (behind >= age) {
        age = behind;
        oldest = &place;
      }
    }
    oldest->store(tag << kNumberBits | (number & kNumberMask), std::memory_order_relaxed);
  }
  // Returns 0 if it is not known. `newest` is a number at least as great as the result.
  std::uint64_t get(const void* event, std::uint64_t newest) const {
    const std::uint64_t tag = tag_of(event);
    for (const auto& place : sets_[set_of(event)].places) {
      const std::uint64_t there = place.load(std::memory_order_relaxed);
      if (there != 0 && there >> kNumberBits == tag)
        return newest - ((newest - there) & kNumberMask);
    }
    return 0;
  }

 private:
  // A place is one word, so that it changes as a whole: the bits of a mixed handle that do not
  // select the set, and the lower bits of the number.
  static constexpr unsigned kSetBits = 14, kNumberBits = 30, kHandleBits = 48;
  static constexpr std::size_t kSets = std::size_t{1} << kSetBits;
  static constexpr std::uint64_t kNumberMask = (std::uint64_t{1} << kNumberBits) - 1,
                                 kHandleMask = (std::uint64_t{1} << kHandleBits) - 1;
  struct alignas(64) Set {
    std::array<std::atomic<std::uint64_t>, 8> places{};
  };
  // A bijection on 48 bits: an odd factor, then a shift.
  static std::uint64_t mixed(const void* event) {
    const std::uint64_t product =
        (reinterpret_cast<std::uintptr_t>(event) * 0x9E3779B97F4A7C15u) & kHandleMask;
    return product ^ (product >> 24);
  }
  static std::uint64_t tag_of(const void* event) { return mixed(event) >> kSetBits; }
  static std::size_t set_of(const void* event) { return mixed(event) & (kSets - 1); }
  static_assert(kHandleBits - kSetBits + kNumberBits <= 64);

  std::unique_ptr<Set[]> sets_;
};

}  // namespace mgpu::layer
