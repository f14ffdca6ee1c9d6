// Assigns devices to ranks. Several ranks on one host see the same devices: each device is
// listed once, and belongs to one of them. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "lib/cluster/transport.hpp"
#include "lib/device/device.hpp"

namespace mgpu {

struct RankDevices {  // devices that a rank sees
  std::string host;
  std::vector<Device> devices;
};

struct OwnedDevice {
  RankNumber owner = 0;
  Device device;  // its id is the one that all ranks use
  // Ranks of its host that see it, the owner included: they share its parts.
  std::vector<RankNumber> holders;
};

struct SharedOut {
  std::vector<OwnedDevice> devices;  // best score first
  std::vector<std::string> notes;    // notes about hosts with several ranks
};

// Assigns devices to ranks; `ranks` is indexed by rank. Of the ranks that see a device, the one
// with the fewest of its kind gets it.
SharedOut share_out(const std::vector<RankDevices>& ranks);

// Returns the id that all ranks use: "0:1" for that device of rank 0, "2/0:1" for that of rank 2.
std::string global_id(RankNumber rank, const std::string& id);
struct LocalId {
  RankNumber rank = 0;
  std::string id;
};
LocalId local_id(const std::string& global);

// Properties that must be the same on all ranks: program and arguments. The functions below return
// what differs; empty: nothing does. Drivers of the same platform must be the same, too.
struct Fingerprint {
  std::string host, version, program, arguments;
};
std::string difference(const Fingerprint& first, const Fingerprint& other);
std::string driver_difference(const RankDevices& first, const RankDevices& other);

}  // namespace mgpu
