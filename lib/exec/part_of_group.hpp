// A group whose devices belong to several processes: each has a part of it, with its own devices,
// and brings what goes to and comes from the others. lib/cluster does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lib/workload/peers.hpp"

namespace mgpu {

class OpenDevice;

// Of a group of several processes, each of which has the pieces that are on its own devices.
class NumberedMemory : public SharedMemory {
 public:
  virtual std::uint64_t number() const = 0;  // by which all of them know it
};

// Bytes for memory of a device elsewhere, or a signal for that device: nothing at all. Of a pair
// they arrive in order.
struct PeerParcel {
  DeviceIndex from, to;
  std::uint64_t memory = 0;  // NumberedMemory::number
  Bytes offset = 0;
  std::span<const std::byte> bytes;  // there during the call
};

struct DevicesElsewhere {
  std::vector<std::string> ids;                 // of all devices of the group, by position
  std::function<void(const PeerParcel&)> send;  // by the thread of the device that sends
};

// Pairs of which one device is elsewhere are staged. Puts elsewhere are into a NumberedMemory.
class PartOfGroup : public PeerGroup {
 public:
  // What came for a device of this part, to be put into its piece of `into` (null for a signal);
  // `bytes` are there as long as `owner` is. By any thread, one at a time.
  virtual void arrive(DeviceIndex from, DeviceIndex to, Buffer* into, Bytes offset,
                      std::span<const std::byte> bytes, std::shared_ptr<const void> owner) = 0;
};

// A backend some of whose devices may be in a group with those of other processes.
class ConnectsParts {
 public:
  virtual ~ConnectsParts() = default;
  // As Backend::connect; `devices` has a null for each that is elsewhere.
  virtual std::unique_ptr<PartOfGroup> connect_part(std::span<OpenDevice* const> devices,
                                                    std::optional<PeerPath> path,
                                                    DevicesElsewhere elsewhere) = 0;
};

}  // namespace mgpu
