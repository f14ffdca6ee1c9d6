// Input that every device needs whole: each device uploads a part of it over the host link, and the
// devices gather the parts among themselves.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "lib/workload/peers.hpp"

namespace mgpu {

class ReplicatedInput {
 public:
  // Allocates `size` bytes on every device of the group. Throws what PeerGroup::allocate throws.
  ReplicatedInput(PeerGroup& group, Bytes size);

  // Returns the device's copy. It keeps its contents after the group is destroyed, but nothing
  // can be gathered any more then: call among({}).
  Buffer& piece(DeviceIndex device) { return memory_->piece(device); }

  // Sets the devices that share the next upload; all of them have to call bring() once. With
  // fewer than two, a device that calls bring() uploads everything itself. No device may be
  // reading the input or in bring() meanwhile.
  void among(std::span<const DeviceIndex> members);

  // Enqueues the commands that make the copy of this device complete for later launches. `data`
  // has the size of the memory, and must stay valid and unchanged until the commands are
  // complete. Throws what Stream throws.
  void bring(DeviceIndex device, std::span<const std::byte> data, Stream& stream) const;

 private:
  PeerGroup& group_;  // used only while there are members
  std::unique_ptr<SharedMemory> memory_;
  std::vector<DeviceIndex> members_;
};

}  // namespace mgpu
