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
  // After a round: what others need of the slice goes to them, and what it needs of others comes.
  void exchange(const Slice& slice, std::uint32_t round);

 private:
  struct Pair {
    std::unique_ptr<Buffer> initial, own[2];  // own: where no group has shared memory
  };
  // After so many rounds, at least one.
  Buffer& after(std::size_t swap, std::uint32_t rounds);
  static unsigned place(std::uint32_t rounds) { return (rounds + 1) % 2; }
  void settle(const Slice& slice);
  void meet();

  KernelWorkload& workload_;
  const Problem& problem_;
  Peer* peer_;  // null: it exchanges nothing
  std::vector<Pair> pairs_;
  std::vector<Owner> others_;  // that need items of this device's, or have some that it needs
};

}  // namespace mgpu::kernel
