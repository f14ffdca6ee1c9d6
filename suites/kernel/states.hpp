// A device's copies of the arguments that are swapped after each round, and the halo exchange
// between devices. Every device has the whole arrays, indexed from their beginning, so that kernels
// get them unchanged. Only the device's share and its halo are up to date.
#pragma once

#include <memory>
#include <vector>

#include "suites/kernel/kernel_workload.hpp"

namespace mgpu::kernel {

class States {
 public:
  States(KernelWorkload& workload, DeviceResources& device);

  // Prepares for the first round of a slice. `upload`: its initial contents are not on the device
  // yet.
  void begin(const Slice& slice, bool upload, Stream& stream);
  Buffer& given(std::size_t argument, std::uint32_t round);
  // Sends the halo items that others need after a round, and waits for those that it needs.
  void exchange(std::uint32_t round);

 private:
  // Halo items of a swap that another device needs after a round, at the same offset there.
  struct Put {
    std::size_t swap;
    DeviceIndex to;
    Bytes begin, size;
  };
  // Returns the state after `rounds` rounds, at least one.
  Buffer& after(std::size_t swap, std::uint32_t rounds) { return states_[swap][rounds + 1]; }
  void settle(const Slice& slice);
  void meet() {
    if (!others_.empty()) peer_->sync(others_, others_);
  }

  KernelWorkload& workload_;
  const Problem& problem_;
  Peer* const peer_;                              // null if nothing is exchanged
  std::vector<std::unique_ptr<Buffer>> initial_;  // one per swap
  std::vector<Ring> states_;                      // one per swap
  std::vector<Put> puts_;
  // Devices that need items of this device, or that have items that it needs.
  std::vector<DeviceIndex> others_;
};

}  // namespace mgpu::kernel
