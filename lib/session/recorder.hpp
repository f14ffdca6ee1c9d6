// From samples to records: medians, the sample shown, its timeline, metrics. Pure but for what it
// is given.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "lib/session/group.hpp"
#include "lib/session/roofline.hpp"

namespace mgpu {

// Has the facts of a group that records need besides its cases.
struct RecordedGroup {
  const SessionOptions& options;
  const Problem& problem;
  Mode mode;
  const Shape& shape;
  ItemCost cost;  // in this mode
  std::span<const SessionDevice> devices;
  std::vector<std::optional<DeviceRoof>> roofs;  // of each; none, or fewer: not known
};
RecordedGroup recorded(const GroupRequest& request);

// Returns one record per strategy and device count asked for, in that order. `setup_pin`: pinning
// the problem's input, once for all. `tracks`: what was read while the group ran.
std::vector<RunRecord> record_group(const GroupResult& group, const RecordedGroup& of,
                                    Nanos setup_pin, std::span<const TelemetryTrack> tracks);

}  // namespace mgpu
