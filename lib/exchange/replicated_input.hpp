// An input that every device needs whole: each brings a part of it over the host link, and the
// devices gather it among themselves.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "lib/workload/peers.hpp"

namespace mgpu {

class ReplicatedInput {
 public:
  // `size` bytes on every device of the group. Throws what PeerGroup::allocate does.
  ReplicatedInput(PeerGroup& group, Bytes size);

  // The device's copy. It stays what it is when the group is gone, but then nothing can be gathered
  // any more: among({}).
  Buffer& piece(DeviceIndex device) { return memory_->piece(device); }

  // Who brings the next copies: all of them have to call bring() once. None or one: whoever does
  // brings it all alone. Nobody may be reading or bringing when this is called.
  void among(std::span<const DeviceIndex> members);

  // Enqueues what makes the copy of this device whole; what is launched afterwards finds it so.
  // `data` is of the memory's size, and stays valid and unchanged until the commands are complete.
  // Throws what Stream does.
  void bring(DeviceIndex device, std::span<const std::byte> data, Stream& stream) const;

 private:
  PeerGroup& group_;  // used while there are members
  std::unique_ptr<SharedMemory> memory_;
  std::vector<DeviceIndex> members_;
};

}  // namespace mgpu
