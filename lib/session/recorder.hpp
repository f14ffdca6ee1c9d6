// Conversion of samples to records: medians, the sample shown, its timeline, metrics. Pure except
// for its arguments.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "lib/session/group.hpp"
#include "lib/session/roofline.hpp"

namespace mgpu {

// Facts of a group that records need besides its cases.
struct RecordedGroup {
  const SessionOptions& options;
  const Problem& problem;
  Mode mode;
  const Shape& shape;
  ItemCost cost;  // in this mode
  std::span<const SessionDevice> devices;
  std::vector<std::optional<DeviceCeiling>> ceilings;  // by device; none, or fewer: not open
  bool simulated = false;                              // rates are given, and prove nothing
};
RecordedGroup recorded(const GroupRequest& request);

// Returns one record per strategy and device count requested, in that order. `setup_pin`: time to
// pin the problem's input, once for all. `tracks`: telemetry read while the group ran.
std::vector<RunRecord> record_group(const GroupResult& group, const RecordedGroup& of,
                                    Nanos setup_pin, std::span<const TelemetryTrack> tracks);

}  // namespace mgpu
