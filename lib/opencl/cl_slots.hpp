// Slots: pieces of pinned host memory through which a device's data goes to others.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <optional>

#include "lib/base/units.hpp"
#include "lib/opencl/cl_device.hpp"
#include "lib/workload/pages.hpp"

namespace mgpu {

// Slot that was taken: the receiver frees it after use.
struct ClSlot {
  std::byte* memory = nullptr;
  std::atomic<bool>* taken = nullptr;
};

class ClSlots {
 public:
  static constexpr std::size_t kCount = 8;
  static constexpr Bytes kSize = Bytes{4} << 20;

  ClSlots();
  ClSlots(const ClSlots&) = delete;
  ClSlots& operator=(const ClSlots&) = delete;
  ~ClSlots();
  // Makes the memory at the first call; pinned for a GPU. Throws cl::Error, Error(out_of_memory),
  // Error(timeout).
  void make(ClDevice& device);
  // Takes a slot for data to `receiver`. None: all are taken.
  std::optional<ClSlot> take(DeviceIndex receiver);
  bool full() const;  // whether all are taken; for any thread
  // Returns the receiver that one of the slots was taken for. For the thread that takes slots.
  DeviceIndex receiver() const;
  // Leaks the slots: their device, or a receiver, may still be using them.
  void leak();

 private:
  struct Memory;
  std::unique_ptr<Memory> memory_;
};

}  // namespace mgpu
