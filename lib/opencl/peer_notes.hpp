// Notes in the record about pairs of devices that have no better path than through the host.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace mgpu {

// Ordered pair that was examined for a better path, and why it has none.
struct StagedPair {
  std::string from, to;  // ids
  std::string reason;
};

// Returns a line per reason, in the order in which they came: "staged from 0:0 to 1:0 and 1:0 to
// 0:0: device 1:0 is not NVIDIA's". If all of the group's `pairs` have one reason: "staged between
// all devices: libcuda.so.1 cannot be loaded".
std::vector<std::string> notes_of(std::span<const StagedPair> staged, std::size_t pairs);

}  // namespace mgpu
