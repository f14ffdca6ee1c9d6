// A group whose devices belong to several processes. Each process has a part of the group with its
// own devices, and passes on data to and from the others (lib/cluster).
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

// Memory of a group of several processes, each of which has the pieces on its own devices.
class NumberedMemory : public SharedMemory {
 public:
  virtual std::uint64_t number() const = 0;  // identifies the memory in all processes
};

// A message: bytes for memory of a remote device, or a signal for that device (no bytes). Messages
// of a pair arrive in order.
struct PeerParcel {
  DeviceIndex from, to;
  std::uint64_t memory = 0;  // NumberedMemory::number
  Bytes offset = 0;
  std::span<const std::byte> bytes;  // valid during the call, or until `sent` is called
  // If `sent` is set, the bytes are sent from where they are, in memory of the device: another
  // thread calls `begin` before it reads them, and `sent` when they may change.
  std::function<void()> begin = {}, sent = {};
};

struct DevicesElsewhere {
  std::vector<std::string> ids;                 // device ids of the whole group, by position
  std::function<void(const PeerParcel&)> send;  // called by the thread of the sending device
  // Why parcels cannot be sent from memory of devices; none: they can.
  std::optional<std::string> why_no_device_memory;
};

// The local part of a group. Pairs with one remote device are staged. The target of a put to a
// remote device is a NumberedMemory.
class PartOfGroup : public PeerGroup {
 public:
  // Returns why data for other processes goes through memory of the host; none: it is sent from
  // memory of the devices.
  virtual std::optional<std::string> why_through_host() const = 0;
  // Delivers a message to a device of this part: copies `bytes` into its piece of `into` (null for
  // a signal). `bytes` are valid as long as `owner` is. Any thread may call it, one at a time.
  virtual void arrive(DeviceIndex from, DeviceIndex to, Buffer* into, Bytes offset,
                      std::span<const std::byte> bytes, std::shared_ptr<const void> owner) = 0;
};

// A backend whose devices can be in a group with those of other processes.
class ConnectsParts {
 public:
  virtual ~ConnectsParts() = default;
  // Connects as Backend::connect; `devices` has a null for each remote device.
  virtual std::unique_ptr<PartOfGroup> connect_part(std::span<OpenDevice* const> devices,
                                                    std::optional<PeerPath> path,
                                                    DevicesElsewhere elsewhere) = 0;
};

}  // namespace mgpu
