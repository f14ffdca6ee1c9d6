// Collectives over the devices of a group. Each is written once, in terms of puts, signals and a
// kernel that combines, and runs over every path. Elements are combined in the order of the
// devices, so that all devices have the same bits, in every run and on every path.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lib/exchange/collective.hpp"
#include "lib/exchange/traffic.hpp"
#include "lib/workload/peers.hpp"

namespace mgpu {

inline constexpr std::string_view kCollectiveKernels = "collectives.cl";  // the file in kernels/

// Position of a device's input or output of a call.
struct InBuffer {
  Buffer* buffer = nullptr;
  Bytes offset = 0;
};
struct InShared {  // the same offset on every device
  SharedMemory* memory = nullptr;
  Bytes offset = 0;
  // Memory that goes on where that ends, each of its size: on the direct path devices share large
  // memory in several blocks only (PeerGroup::most_shared).
  std::span<const std::unique_ptr<SharedMemory>> more = {};

  SharedMemory& block(std::size_t i) const { return i == 0 ? *memory : *more[i - 1]; }
  Bytes size() const { return memory->size() * (1 + more.size()); }
};

// Landing memory and kernels for a group's collectives. All devices must enqueue the same calls in
// the same order; each may do so on its own thread.
class Collectives {
 public:
  // `devices` are in the order of the group. `largest` is the largest size of a call's elements
  // in bytes. The group must outlive this. Throws Error(out_of_memory), Error(device),
  // Error(timeout).
  Collectives(PeerGroup& group, std::vector<DeviceResources*> devices, Bytes largest);
  ~Collectives();

  // Tells whether calls are launches of kernels that also exchange: every path is direct, and the
  // devices have room for each other's memory in the arguments of a kernel.
  static bool in_launches(PeerGroup& group);

  // Builds the kernels that such a call needs, which enqueue() would otherwise build.
  void build(const CollectiveCall& call, const InShared& out);

  // Returns how many kernels enqueue() launches on each device if it does nothing else; else 0.
  std::size_t launches(const CollectiveCall& call, const InShared& out) const;

  // Enqueues the device's part of a call, after what it has enqueued before; does not block. `in`
  // has input_bytes(), aligned to elements; `out` has output_bytes(). `out` may be `in` for
  // broadcast, reduce and all-reduce. Elements of `out` that the call does not write stay
  // unchanged. Commands that the device enqueues later may use `out` and change `in`. Throws what
  // Stream throws, and Error(internal) for memory that is too small.
  void enqueue(DeviceIndex device, const CollectiveCall& call, const InBuffer& in,
               const InShared& out, Stream& stream);

  // Count what calls enqueued from now on send and wait for, by the commands that they enqueue, and
  // return it for all of them.
  void begin_count();
  Traffic end_count();

 private:
  struct Participant;  // kernels of a device, and the state of its landing memory

  CountedPeer& peer(DeviceIndex device);
  void sync_all(DeviceIndex device);
  void enter_landing(DeviceIndex device);
  void move(DeviceIndex device, const CollectiveCall& call, const InBuffer& in,
            const InShared& out);
  void all_reduce(DeviceIndex device, const CollectiveCall& call, const InBuffer& in,
                  const InShared& out, Stream& stream);
  void reduce_parts(DeviceIndex device, const CollectiveCall& call, const InBuffer& in,
                    std::span<Buffer* const> to, Bytes to_offset, Stream& stream);
  void reduce(DeviceIndex device, const CollectiveCall& call, const InBuffer& in,
              const InShared& out, Stream& stream);
  void combine(DeviceIndex device, const CollectiveCall& call, const InBuffer& mine,
               std::span<Buffer* const> to, Bytes to_offset, std::uint64_t count, Stream& stream);
  std::vector<Buffer*> everywhere(DeviceIndex device, SharedMemory& memory) const;
  // Says what a kernel does: it combines what has been put into the landing memory; or it exchanges
  // as well, all at once or in tiles.
  enum class Way { combine, at_once, in_tiles };
  Way way_of(const CollectiveCall& call, const InShared& out) const;
  bool is_in_parts(const CollectiveCall& call) const;
  std::vector<std::uint64_t> ends_of_launches(const CollectiveCall& call,
                                              const InShared& out) const;
  void launch_at_once(DeviceIndex device, const CollectiveCall& call, const InBuffer& in,
                      const InShared& out, Stream& stream);
  Bytes tile_of(const CollectiveCall& call, Bytes longest) const;
  void launch_in_tiles(DeviceIndex device, const CollectiveCall& call, const Part& elements,
                       const InBuffer& in, const InShared& out, Stream& stream);
  Kernel& kernel(DeviceIndex device, const CollectiveCall& call, Way way);

  PeerGroup& group_;
  std::vector<std::unique_ptr<Participant>> members_;
  std::vector<DeviceIndex> all_;                  // all devices of the group
  std::vector<std::vector<DeviceIndex>> others_;  // by device, in the order of others_of()
  // Size of a slot of the landing memory: the most that one device sends to another.
  Bytes slot_ = 0;
  std::unique_ptr<SharedMemory> landing_;  // one slot per sender
  // For calls of one launch; null: not every path is direct. packets_ has 2 boxes of box_ bytes per
  // sender.
  std::unique_ptr<SharedMemory> packets_, flags_;
  Bytes box_ = 0;
  unsigned units_ = 0;  // compute units of the device that has the fewest
};

}  // namespace mgpu
