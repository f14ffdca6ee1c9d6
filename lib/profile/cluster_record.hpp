// The ranks of a run on several machines, for the record.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/units.hpp"

namespace mgpu {

// Of a node's clock: ours minus theirs lies between these, at some moment.
struct ClockOffset {
  Nanos low{}, high{};
  Nanos middle() const { return low + (high - low) / 2; }
  Nanos half_width() const { return (high - low) / 2; }
  bool operator==(const ClockOffset&) const = default;
};

struct NodeRecord {
  std::uint32_t node = 0;  // its rank
  std::string host;
  std::optional<ClockOffset> begin,
      end;  // of the run; none of rank 0, whose clock is the record's, and of one that was lost
  std::optional<std::string> lost;  // why
};

struct ClusterRecord {
  std::string library;  // what carries messages: its name and version
  std::vector<NodeRecord> nodes;
};

}  // namespace mgpu
