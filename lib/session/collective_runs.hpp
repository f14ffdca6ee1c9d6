// Collectives over sizes, measured as nccl-tests does (github.com/NVIDIA/nccl-tests), and their
// results checked.
#pragma once

#include <span>
#include <vector>

#include "lib/exchange/collectives.hpp"
#include "lib/report/links_record.hpp"
#include "lib/session/link_set.hpp"

namespace mgpu {

// The most bytes of elements that a call of one of `ops` can have on these devices: inputs, outputs
// and landing memory take at most 80 % of what each of them has free, and none is larger than one
// allocation may be. `device`: the one that has least.
struct LargestCall {
  Bytes size = 0;
  std::string device;
};
LargestCall largest_call(LinkSet& set, std::span<const Collective> ops, Element element);

// Bytes that such a call of `size` has in one piece of memory that the devices share.
Bytes shared_by_call(LinkSet& set, std::span<const Collective> ops, Element element, Bytes size);

class CollectiveRuns {
 public:
  // `largest`: bytes of the largest call. Throws Error(out_of_memory), Error(device),
  // Error(timeout).
  CollectiveRuns(LinkSet& set, std::span<const Collective> ops, Element element,
                 Reduction reduction, Bytes largest, const Repetitions& repetitions);

  // Inputs of whole small numbers and poisoned outputs; alone, and 20 enqueued together; every
  // element of what is then there, and of what one more call makes of poisoned outputs, is
  // compared. `size` is rounded down to elements.
  CollectiveRecord measure(Collective op, Bytes size);

 private:
  void upload_inputs(const CollectiveCall& call, std::uint64_t seed);
  void poison();
  std::uint64_t count_wrong(const CollectiveCall& call, std::uint64_t seed);
  template <class F>
  void each_window(const CollectiveCall& call,
                   Bytes (*bytes)(const CollectiveCall&, std::size_t, DeviceIndex), const F& each);
  std::span<std::byte> window(DeviceIndex device);

  LinkSet& set_;
  const Element element_;
  const Reduction reduction_;
  const Repetitions repetitions_;
  Collectives* collectives_ = nullptr;
  std::vector<Buffer*> inputs_;
  SharedMemory* outputs_ = nullptr;
  HostMemory* windows_ = nullptr;  // one a device, through which inputs and outputs go
  Bytes output_ = 0;               // of the call that is measured
  std::uint64_t calls_ = 0;        // that were measured: their inputs differ
};

}  // namespace mgpu
