// Counts the communication of a call as it is executed: bytes that each device sends, and the
// longest chain of signals that devices wait for one after another.
#pragma once

#include <span>
#include <vector>

#include "lib/workload/peers.hpp"

namespace mgpu {

struct Traffic {
  std::uint64_t steps = 0;  // signals in the longest chain
  Bytes sent = 0;           // most bytes that a device sends to others
};

// A device's end of a group that passes everything on, and notes it between begin() and end().
class CountedPeer final : public Peer {
 public:
  explicit CountedPeer(Peer& peer) : peer_(peer) {}
  DeviceIndex self() const override { return peer_.self(); }
  std::size_t count() const override { return peer_.count(); }
  PeerPath path(DeviceIndex to) const override { return peer_.path(to); }
  void put(Buffer& from, Bytes offset, SharedMemory& into, DeviceIndex to, Bytes to_offset,
           Bytes size) override {
    stored(to, size);
    peer_.put(from, offset, into, to, to_offset, size);
  }
  void sync(std::span<const DeviceIndex> signal, std::span<const DeviceIndex> await) override {
    synchronised(signal, await);
    peer_.sync(signal, await);
  }
  std::optional<FlagWait> flag_wait() override { return peer_.flag_wait(); }
  std::uint64_t wait_limit_ns() const override { return peer_.wait_limit_ns(); }

  // Notes what a kernel does by itself: bytes that it stores into the memory of another device;
  // flags that it sets and waits for.
  void stored(DeviceIndex to, Bytes size) {
    if (is_on_ && to != self()) sent_ += size;
  }
  void synchronised(std::span<const DeviceIndex> signal, std::span<const DeviceIndex> await);

  void begin() {
    is_on_ = true;
    sent_ = 0;
    events_.clear();
  }
  void end() { is_on_ = false; }

  friend Traffic traffic_of(std::span<CountedPeer* const> peers);

 private:
  struct Event {
    bool signals = false;
    DeviceIndex other;
  };
  Peer& peer_;
  bool is_on_ = false;
  Bytes sent_ = 0;
  std::vector<Event> events_;
};

// Returns the traffic between begin() and end() of all devices of a group.
Traffic traffic_of(std::span<CountedPeer* const> peers);

}  // namespace mgpu
