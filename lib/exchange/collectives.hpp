// Collectives over the devices of a group. Each is written once, of puts, signals and a kernel that
// combines, and runs over every path. The order of a combination is that of the devices, element by
// element, so that all hold the same bits, run after run, on every path.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lib/exchange/collective.hpp"
#include "lib/workload/peers.hpp"

namespace mgpu {

inline constexpr std::string_view kCollectiveKernels = "collectives.cl";  // the file in kernels/

// Where a device's input or output of a call begins.
struct InBuffer {
  Buffer* buffer = nullptr;
  Bytes offset = 0;
};
struct InShared {  // at the same offset on every device
  SharedMemory* memory = nullptr;
  Bytes offset = 0;
};

// Landing memory and kernels for a group's collectives. All devices must enqueue the same calls in
// the same order; each on its own thread, if that is how they are driven.
class Collectives {
 public:
  // `devices` by position in the group. `largest` is the most bytes that the elements of a call
  // have. The group must outlive this. Throws Error(out_of_memory), Error(device), Error(timeout).
  Collectives(PeerGroup& group, std::vector<DeviceResources*> devices, Bytes largest);
  ~Collectives();

  // Builds the kernels that such calls need, which enqueue() would do otherwise.
  void build(const CollectiveCall& call);

  // Enqueues the device's part of a call, after what it has enqueued before; nothing blocks. `in`
  // has input_bytes(), aligned to elements; `out` has output_bytes(). `out` may be `in`, of
  // broadcast, reduce and all-reduce. The elements of `out` that a call does not write are left
  // alone. What is in `out` may be used by what the device enqueues later, and `in` may be changed
  // by it. Throws what Stream does, Error(internal) for memory too small.
  void enqueue(DeviceIndex device, const CollectiveCall& call, const InBuffer& in,
               const InShared& out, Stream& stream);

 private:
  struct Member;  // a device's own: kernels, what is known of its landing memory

  void sync_all(DeviceIndex device);
  void enter_landing(DeviceIndex device);
  void broadcast(DeviceIndex device, const CollectiveCall& call, const InBuffer& in,
                 const InShared& out);
  void all_to_all(DeviceIndex device, const CollectiveCall& call, const InBuffer& in,
                  const InShared& out);
  void neighbours(DeviceIndex device, const CollectiveCall& call, const InBuffer& in,
                  const InShared& out);
  void gather(DeviceIndex device, const CollectiveCall& call, const InBuffer& part,
              const InShared& out);
  void all_reduce(DeviceIndex device, const CollectiveCall& call, const InBuffer& in,
                  const InShared& out, Stream& stream);
  void reduce_parts(DeviceIndex device, const CollectiveCall& call, const InBuffer& in,
                    std::span<Buffer* const> to, Bytes to_offset, Stream& stream);
  void reduce(DeviceIndex device, const CollectiveCall& call, const InBuffer& in,
              const InShared& out, Stream& stream);
  void combine(DeviceIndex device, const CollectiveCall& call, const InBuffer& mine,
               std::span<Buffer* const> to, Bytes to_offset, std::uint64_t count, Stream& stream);
  bool by_one_kernel(const CollectiveCall& call) const;
  void reduce_by_one_kernel(DeviceIndex device, const CollectiveCall& call, const InBuffer& in,
                            const InShared& out, Stream& stream);
  std::vector<Buffer*> everywhere(DeviceIndex device, SharedMemory& memory) const;
  Kernel& kernel(DeviceIndex device, const CollectiveCall& call, bool exchanges);

  PeerGroup& group_;
  std::vector<std::unique_ptr<Member>> members_;
  std::vector<DeviceIndex> all_;                  // of the group
  std::vector<std::vector<DeviceIndex>> others_;  // of each device, in the order of others_of()
  Bytes slot_ = 0;  // of the landing memory: what one device sends to another at most
  std::unique_ptr<SharedMemory> landing_;  // a slot a sender
  std::unique_ptr<SharedMemory> packets_,
      flags_;  // of reductions by one kernel; null: not every path is direct
};

}  // namespace mgpu
