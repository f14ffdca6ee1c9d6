// The ranks of a run on several machines, as recorded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/units.hpp"

namespace mgpu {

// Bounds of a node's clock offset (the record's clock minus the node's) at some moment.
struct ClockOffset {
  Nanos low{}, high{};
  Nanos middle() const { return low + (high - low) / 2; }
  Nanos half_width() const { return (high - low) / 2; }
  bool operator==(const ClockOffset&) const = default;
};

struct NodeRecord {
  std::uint32_t node = 0;  // its rank
  std::string host;
  // At the begin and end of the run. None for rank 0, whose clock the record uses, and for failed
  // nodes.
  std::optional<ClockOffset> begin, end;
  std::optional<std::string> lost;  // why the node failed; none: it did not
  // Memory from which it sends data of exchanges to other nodes, "device" or "host", and why it is
  // the host's. Empty: it exchanged nothing with them.
  std::string exchange_memory{}, exchange_memory_reason{};
};

struct ClusterRecord {
  std::string library;  // name and version of the library that carries messages
  std::vector<NodeRecord> nodes;
};

}  // namespace mgpu
