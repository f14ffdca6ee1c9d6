// What a device holds of arguments that are swapped after each round, and what it sends to others
// of them. The whole arrays are on every device, indexed from their beginning, so that kernels are
// given them as they are; of a device's share, and of the items beside it, they are up to date.
#pragma once

#include <memory>
#include <vector>

#include "suites/kernel/kernel_workload.hpp"

namespace mgpu::kernel {

class States {
 public:
  States(KernelWorkload& workload, DeviceResources& device);

  // Before the first round of a slice; `upload`: what it begins with is not there yet.
  void begin(const Slice& slice, bool upload, Stream& stream);
  Buffer& given(std::size_t argument, std::uint32_t round);
  // Sends what others need after a round, and waits for what is needed of them.
  void exchange(std::uint32_t round);

 private:
  struct Put {  // after a round, of a swap: what another device needs, which has it in that place
                // too
    std::size_t swap;
    DeviceIndex to;
    Bytes begin, size;
  };
  // After so many rounds, at least one.
  Buffer& after(std::size_t swap, std::uint32_t rounds) { return states_[swap][rounds + 1]; }
  void settle(const Slice& slice);
  void meet() {
    if (!others_.empty()) peer_->sync(others_, others_);
  }

  KernelWorkload& workload_;
  const Problem& problem_;
  Peer* const peer_;                              // null: it exchanges nothing
  std::vector<std::unique_ptr<Buffer>> initial_;  // by swap
  std::vector<Ring> states_;                      // likewise
  std::vector<Put> puts_;
  std::vector<DeviceIndex> others_;  // that need items of this device's, or have some that it needs
};

}  // namespace mgpu::kernel
