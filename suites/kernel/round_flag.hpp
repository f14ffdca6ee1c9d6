// The flag of `repeat.while`: kernels of each device set their own one, and all devices go on for
// another round if any of them is not 0.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "suites/kernel/kernel_workload.hpp"

namespace mgpu::kernel {

class RoundFlag {
 public:
  RoundFlag(KernelWorkload& workload, DeviceResources& device);

  // Returns the size of the memory that a group's devices put their flags into.
  static Bytes bytes(std::size_t devices);
  // Sets the flag to 0 for the kernels of a round.
  void clear(Buffer& own, Bytes offset, Stream& stream);
  // Sends the flag after a round, and downloads those of all devices.
  void combine(Buffer& own, Bytes offset, std::uint32_t round, Stream& stream);
  // Tells whether the round that was combined last is the last one. The device must have completed
  // its commands.
  bool ends() const;

 private:
  static constexpr Bytes kSize = 4;

  KernelWorkload& workload_;
  Peer* const peer_;
  Ring all_;                        // a flag for each device of the group
  std::unique_ptr<Buffer> copied_;  // downloads wait for launches, not for what others send
  std::unique_ptr<Kernel> copy_;
  const std::uint32_t zero_ = 0;
  std::vector<std::uint32_t> received_;  // by device
};

}  // namespace mgpu::kernel
