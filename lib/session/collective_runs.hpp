// Collectives over a range of sizes, measured as nccl-tests does (github.com/NVIDIA/nccl-tests),
// with their results checked.
#pragma once

#include <span>
#include <vector>

#include "lib/exchange/collectives.hpp"
#include "lib/session/link_set.hpp"

namespace mgpu {

// The largest call of one of `ops` on these devices, in bytes of elements: inputs, outputs and
// landing memory take at most 80 % of each device's free memory, and none is larger than one
// allocation may be. `device`: the device that sets this limit.
struct LargestCall {
  Bytes size = 0;
  std::string device;
};
LargestCall largest_call(LinkSet& set, std::span<const Collective> ops, Element element);

// Returns the bytes that such a call of `size` has in one piece of shared memory of the devices.
Bytes shared_by_call(LinkSet& set, std::span<const Collective> ops, Element element, Bytes size);

class CollectiveRuns {
 public:
  // `largest`: bytes of the largest call. Throws Error(out_of_memory), Error(device),
  // Error(timeout).
  CollectiveRuns(LinkSet& set, std::span<const Collective> ops, Element element,
                 Reduction reduction, Bytes largest, const Repetitions& repetitions);

  // Measures calls on inputs of small whole numbers and poisoned outputs: up to 20 enqueued
  // together, and isolated ones, a case each in the report. Compares every element of the outputs,
  // and of one more call into poisoned outputs. `size` is rounded down to elements.
  void measure(Collective op, Bytes size, Report& report);

 private:
  void upload_inputs(const CollectiveCall& call, std::uint64_t seed);
  void poison();
  std::uint64_t count_wrong(const CollectiveCall& call, std::uint64_t seed);
  template <class F>
  void each_window(const CollectiveCall& call,
                   Bytes (*bytes)(const CollectiveCall&, std::size_t, DeviceIndex), const F& each);
  std::span<std::byte> window(DeviceIndex device);
  InShared output() const;
  InBuffer output_at(DeviceIndex device, Bytes offset) const;

  LinkSet& set_;
  const Element element_;
  const Reduction reduction_;
  const Repetitions repetitions_;
  Collectives* collectives_ = nullptr;
  std::vector<Buffer*> inputs_;
  std::vector<std::unique_ptr<SharedMemory>>* outputs_ = nullptr;
  HostMemory* windows_ = nullptr;  // one per device, through which inputs and outputs go
  Bytes output_ = 0;               // largest output of the current call
  std::uint64_t calls_ = 0;        // measured so far; each has different inputs
};

}  // namespace mgpu
