// Which rank has which device. Several ranks on one host see the same devices: each device is
// listed once, and belongs to one of them. Pure.
#pragma once

#include <string>
#include <vector>

#include "lib/cluster/transport.hpp"
#include "lib/device/device.hpp"

namespace mgpu {

struct RankDevices {  // what a rank sees
  std::string host;
  std::vector<Device> devices;
};

struct OwnedDevice {
  RankNumber owner = 0;
  Device device;  // its id as all ranks know it
  std::vector<RankNumber>
      holders;  // ranks of its host that see it, the owner among them: they share its parts
};

struct SharedOut {
  std::vector<OwnedDevice> devices;  // best score first
  std::vector<std::string> notes;    // of hosts with several ranks
};

// By rank. Of ranks that see a device the one with the fewest of its kind gets it.
SharedOut share_out(const std::vector<RankDevices>& ranks);

// "0:1" of rank 0 stays that, of rank 2 it is "2/0:1".
std::string global_id(RankNumber rank, const std::string& id);
struct LocalId {
  RankNumber rank = 0;
  std::string id;
};
LocalId local_id(const std::string& global);

// What differs between ranks that has to be the same: programs, arguments, drivers of the same
// platform. Empty: nothing.
struct Fingerprint {
  std::string host, version, program, arguments;
};
std::string difference(const Fingerprint& first, const Fingerprint& other);
std::string driver_difference(const RankDevices& first, const RankDevices& other);

}  // namespace mgpu
