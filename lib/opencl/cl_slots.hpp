// Slots: pieces of pinned host memory through which a device's data goes to others.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

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
  // Makes the memory at the first call; pinned for a GPU. `in_place`: other libraries are to send
  // from it, so that it is memory of the device if that is possible. Throws cl::Error,
  // Error(out_of_memory), Error(timeout).
  void make(ClDevice& device, bool in_place = false);
  // Returns why the slots are not the memory of the device that make() was asked for; none: they
  // are.
  const std::optional<std::string>& why_not_in_place() const { return why_not_in_place_; }
  // Returns the slots as a buffer of the device, which has no address for the host; null: they are
  // memory of the host.
  const cl::Buffer* on_device() const;
  Bytes offset_of(const ClSlot& slot) const;  // in that buffer
  // Returns what a thread that reads slots on the device has to call before; may be empty.
  std::function<void()> entrance() const;
  std::shared_ptr<const void> owner() const { return memory_; }  // keeps the memory
  // Takes a slot for data to `receiver`. None: all are taken.
  std::optional<ClSlot> take(DeviceIndex receiver);
  bool full() const;  // whether all are taken; for any thread
  // Returns the receiver that one of the slots was taken for. For the thread that takes slots.
  DeviceIndex receiver() const;
  // Leaks the slots: their device, or a receiver, may still be using them.
  void leak();

 private:
  struct Memory;
  void make_on_device(ClDevice& device, Memory& made);  // throws what make() throws, or unsupported
  std::shared_ptr<Memory> memory_;
  std::optional<std::string> why_not_in_place_{"devices of its rank receive from it at the host"};
};

}  // namespace mgpu
