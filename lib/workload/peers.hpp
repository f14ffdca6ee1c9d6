// What lies between the devices of a set: memory that others may put data into, copies from one
// device to another, and an order between them. lib/opencl implements it, and tests have a fake
// one; suites, strategies and collectives (lib/exchange) see no vendor. The model is one-sided,
// as in OpenSHMEM: a device puts data into another one's memory and then signals it; the other
// waits for the signal. Everything is enqueued ahead, in order with the device's kernels, and
// nothing blocks the host.
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

// A piece of memory of the same size on each device of a group, freed by its destructor; every
// device may put data into every piece.
class SharedMemory {
 public:
  virtual ~SharedMemory() = default;
  virtual Bytes size() const = 0;  // of a piece
  virtual Buffer& piece(DeviceIndex device) = 0;
  // The piece of `of` for kernels of `by` that write to it themselves; null where no kernel of `by`
  // can reach it (staged).
  virtual Buffer* remote(DeviceIndex by, DeviceIndex of) = 0;
};

// One device's end, used by its worker only. Commands go in order with the device's launches: each
// starts when everything uploaded, launched, put, signalled or awaited before it is over. Downloads
// are ordered as after launches, and with nothing else.
class Peer {
 public:
  virtual ~Peer() = default;
  virtual DeviceIndex self() const = 0;
  virtual std::size_t count() const = 0;  // of devices in the group
  virtual PeerPath path(DeviceIndex to) const = 0;

  // Copies `size` bytes of `from`, memory of this device, into the piece of `to`, which may be this
  // device. They are there for `to` when it has a signal that was enqueued after this. What was
  // read may be changed by later commands of this device.
  virtual void put(Buffer& from, Bytes offset, SharedMemory& into, DeviceIndex to, Bytes to_offset,
                   Bytes size) = 0;
  // First signals each of `signal`, then waits for a signal of each of `await`: signal number n of
  // one device to another ends wait number n of that one for the first. What is launched later sees
  // what was put before those signals.
  virtual void sync(std::span<const DeviceIndex> signal, std::span<const DeviceIndex> await) = 0;

  // For kernels that wait for another device's flag themselves (await_flag in kernels/peer_ptx.cl),
  // which only those of a group whose paths are all direct can: where they note what did not come,
  // as check() reads it, and how long they wait at most.
  struct FlagWait {
    Buffer* status = nullptr;
    std::uint64_t limit_ns = 0;
  };
  virtual std::optional<FlagWait> flag_wait() { return std::nullopt; }
  // How long kernels of any group wait for each other at most: less than the host waits for an
  // answer, which would count who waits as hung.
  virtual std::uint64_t wait_limit_ns() const { return 5'000'000'000; }
};

// The devices of `members` but `self`, from the one after it on and round to the one before it.
// Devices that each put data into all others do it in this order: were the first of them the first
// of all, they would share what its links can receive. Four H200 gathered 256 MiB at 171 GB/s of
// bus bandwidth like that, and do at 316 (predicted 306).
inline std::vector<DeviceIndex> others_of(std::span<const DeviceIndex> members, DeviceIndex self) {
  std::vector<DeviceIndex> others(members.begin(), members.end());
  const auto at = std::find(others.begin(), others.end(), self);
  std::rotate(others.begin(), at, others.end());
  std::erase(others, self);
  return others;
}

// Devices that exchange data. All of them have to be drained, or leaked, before it is destroyed;
// what it allocated may outlive it, as memory that nothing is put into any more.
class PeerGroup {
 public:
  virtual ~PeerGroup() = default;
  virtual std::size_t size() const = 0;
  virtual Peer& peer(DeviceIndex device) = 0;
  // `size` bytes on each device, above 0. Throws Error(out_of_memory), Error(device),
  // Error(timeout).
  virtual std::unique_ptr<SharedMemory> allocate(Bytes size) = 0;
  // Bytes that allocate() makes on a device at once at most, however much memory there is: more is
  // Error(unsupported).
  virtual Bytes most_shared() const { return ~Bytes{0}; }
  // The same where kernels of every device reach every piece, and see while they run what those of
  // others store there: each other's memory, or that of the host. For little: what goes through the
  // host's is as slow as its link. Null: there is no such memory. Throws like allocate().
  virtual std::unique_ptr<SharedMemory> allocate_reachable(Bytes) { return nullptr; }
  // Why pairs that were looked at for another path are staged, a line for each reason; for the
  // record.
  virtual std::span<const std::string> notes() const = 0;

  // A device is lost: nobody waits for anybody any longer, so that the others come to an end, with
  // data that means nothing. The group is of no use any more. From any thread.
  virtual void lose(DeviceIndex device) = 0;
  // Its devices leave it, as its destructor makes them: for a group that is never destroyed, since
  // one of them may still be using it.
  virtual void dissolve() {}
  // When the commands of `device` are complete: did all that it waited for come? Throws
  // Error(device) that names the device that was lost, or whose signal did not come. Blocks for
  // microseconds; for outside of what is measured.
  virtual void check(DeviceIndex device) = 0;
  // For whoever finds that `device` does not complete: the device whose signal it waits for, itself
  // if none.
  virtual DeviceIndex awaited_by(DeviceIndex device) = 0;
};

}  // namespace mgpu
