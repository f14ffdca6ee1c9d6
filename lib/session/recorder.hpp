// From samples to records: medians, the sample shown, its timeline, metrics. Pure but for what it
// is given.
#pragma once

#include "lib/session/group.hpp"

namespace mgpu {

// Of the group that was run for this request: one record per strategy and device count asked for,
// in that order. `setup_pin`: pinning the problem's input, once for all. `tracks`: what was read
// while the group ran.
std::vector<RunRecord> record_group(const GroupResult& group, const GroupRequest& request,
                                    Nanos setup_pin, std::span<const TelemetryTrack> tracks);

}  // namespace mgpu
