// Communication between the devices of a set: memory that others may put data into, copies from one
// device to another, and signals that order them. lib/opencl implements it, and tests have a fake
// one; suites, strategies and collectives (lib/exchange) see no vendor. The model is one-sided, as
// in OpenSHMEM: a device puts data into another one's memory and then signals it; the other waits
// for the signal. Everything is enqueued ahead, in order with the device's kernels, and nothing
// blocks the host.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/base/units.hpp"
#include "lib/device/peer_links.hpp"
#include "lib/workload/stream.hpp"

namespace mgpu {

// Memory of the same size on each device of a group, freed by its destructor. The memory on one
// device is a piece; every device may put data into every piece.
class SharedMemory {
 public:
  virtual ~SharedMemory() = default;
  virtual Bytes size() const = 0;  // size of a piece
  virtual Buffer& piece(DeviceIndex device) = 0;
  // Returns the piece of `of` for kernels of `by` that write to it themselves; null if no kernel
  // of `by` can reach it (staged).
  virtual Buffer* remote(DeviceIndex by, DeviceIndex of) = 0;
  // Returns what a pointer to the piece of `of` is in kernels of `by`, for kernels that store into
  // memory of many devices; 0: only remote() reaches it. In order with the device's launches, the
  // memory need not be an argument of the launch.
  virtual std::uint64_t address(DeviceIndex /*by*/, DeviceIndex /*of*/) { return 0; }
};

// One device's end of a group, used only by the device's worker. Commands are ordered with the
// device's launches: each starts when everything that was uploaded, launched, put, signalled or
// awaited before it is complete. Downloads are ordered after launches only.
class Peer {
 public:
  virtual ~Peer() = default;
  virtual DeviceIndex self() const = 0;
  virtual std::size_t count() const = 0;  // number of devices in the group
  virtual PeerPath path(DeviceIndex to) const = 0;

  // Copies `size` bytes of `from`, memory of this device, into the piece of `to`, which may be
  // this device. The data are visible to `to` once it has a signal that was enqueued after this.
  // Later commands of this device may change `from`.
  virtual void put(Buffer& from, Bytes offset, SharedMemory& into, DeviceIndex to, Bytes to_offset,
                   Bytes size) = 0;
  // First signals each device of `signal`, then waits for a signal of each device of `await`.
  // Signal number n from one device to another ends the other's wait number n for it. Later
  // launches see the data that were put before those signals.
  virtual void sync(std::span<const DeviceIndex> signal, std::span<const DeviceIndex> await) = 0;

  // Arguments for kernels that wait for another device's flag themselves (await_flag in
  // kernels/peer_ptx.cl): the memory where they note a missing signal, which check() reads, and
  // how long they wait at most. Only kernels of a group whose paths are all direct can do so;
  // others have none.
  struct FlagWait {
    Buffer* status = nullptr;
    std::uint64_t limit_ns = 0;
  };
  virtual std::optional<FlagWait> flag_wait() { return std::nullopt; }
  // Returns how long kernels of any group wait for each other at most. It is less than the time
  // after which the host regards a device as hung, so that a waiting device is not blamed.
  virtual std::uint64_t wait_limit_ns() const { return 5'000'000'000; }
};

// Returns the devices of `members` without `self`, from the one after it on and round to the one
// before it. Devices that each put data into all others do it in this order: if all began with the
// first device, they would share its incoming bandwidth. Four H200 gathered 256 MiB at 171 GB/s of
// bus bandwidth like that, and do at 316 (predicted 306).
inline std::vector<DeviceIndex> others_of(std::span<const DeviceIndex> members, DeviceIndex self) {
  std::vector<DeviceIndex> others(members.begin(), members.end());
  const auto at = std::find(others.begin(), others.end(), self);
  std::rotate(others.begin(), at, others.end());
  std::erase(others, self);
  return others;
}

// Devices that exchange data. All of them have to be drained, or leaked, before it is destroyed.
// The memory that it allocated may outlive it, but nothing can be put into it any more.
class PeerGroup {
 public:
  virtual ~PeerGroup() = default;
  virtual std::size_t size() const = 0;
  virtual Peer& peer(DeviceIndex device) = 0;
  // Allocates `size` bytes, above 0, on each device. Throws Error(out_of_memory), Error(device),
  // Error(timeout).
  virtual std::unique_ptr<SharedMemory> allocate(Bytes size) = 0;
  // Returns the most bytes that one allocate() can allocate on a device, however much memory
  // there is. Larger sizes are Error(unsupported).
  virtual Bytes most_shared() const { return ~Bytes{0}; }
  // Allocates memory that kernels of every device reach in every piece, and in which they see
  // while they run what kernels of other devices store: memory of each other, or of the host.
  // Meant for small sizes, as host memory is as slow as its link. Null: there is no such memory.
  // Throws what allocate() throws.
  virtual std::unique_ptr<SharedMemory> allocate_reachable(Bytes) { return nullptr; }
  // Returns the reasons why pairs that were considered for another path are staged, a line for
  // each reason. For the record.
  virtual std::span<const std::string> notes() const = 0;

  // Marks a device failed and ends all waits, so that the others complete, with meaningless data.
  // The group cannot be used any more. May be called from any thread.
  virtual void mark_failed(DeviceIndex device) = 0;
  // Makes all devices leave the group, as its destructor does: for a group that is never
  // destroyed because one of its devices may still be using it.
  virtual void dissolve() {}
  // Checks, once the commands of `device` are complete, that all signals it waited for came.
  // Throws Error(device) that names the device that was lost or whose signal did not come. Blocks
  // for microseconds; not for measured phases.
  virtual void check(DeviceIndex device) = 0;
  // Returns the device whose signal `device` waits for, or `device` itself if it waits for none.
  // For a caller who finds that `device` does not complete.
  virtual DeviceIndex awaited_by(DeviceIndex device) = 0;
};

}  // namespace mgpu
