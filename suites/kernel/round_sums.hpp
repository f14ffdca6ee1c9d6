// The accumulators of iterations (map = "reduce" with repeat): stages of each device add to its
// own, and a stage that only reads one gets the combination of those of all devices.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "suites/kernel/kernel_workload.hpp"

namespace mgpu::kernel {

class RoundSums {
 public:
  RoundSums(KernelWorkload& workload, DeviceResources& device, const Launches& launches);

  // Returns the size of the memory that a group's devices put an accumulator into.
  static Bytes bytes(const Argument& one, std::size_t devices) { return devices * one.stride(); }
  // Prepares for the first round of a sample.
  void begin();
  // Prepares accumulators for a level. Sets those to their initial values that the level adds to
  // first in the round. Combines those that it only reads with those of the other devices, unless
  // nothing was added since. `own(a)` returns the device's accumulator with its guard zones.
  void prepare(std::uint32_t level, std::uint32_t round,
               const std::function<Buffer&(std::size_t)>& own, Stream& stream);
  // Returns the combined accumulator if the prepared level only reads it; null: kernels get the
  // device's own.
  Buffer* given(std::size_t argument) const;

 private:
  struct Sum {
    Sum(std::size_t a, Ring ring) : argument(a), all(std::move(ring)) {}
    std::size_t argument;
    Ring all;  // accumulators of the devices, in the order of their shares
    std::unique_ptr<Buffer> initial, combined;
    std::unique_ptr<Kernel> combine;
    std::optional<std::uint32_t> begun;  // round that it was last set to `initial` in
    bool is_changed = true;              // since it was combined
    bool is_read = false;                // by the prepared level
    std::uint64_t turn = 0;              // number of times it was combined in the sample
  };
  // Combines `count` accumulators at the beginning of `from`, and writes the result to `to`.
  void combine(const Sum& sum, Buffer& from, std::size_t count, Buffer& to, Bytes offset,
               Stream& stream);
  void exchange(const std::vector<Sum*>& sums, const std::function<Buffer&(std::size_t)>& own,
                Stream& stream);

  KernelWorkload& workload_;
  const Problem& problem_;
  const Launches& launches_;
  Peer* const peer_;  // null if nothing is exchanged
  std::vector<Sum> sums_;
};

}  // namespace mgpu::kernel
