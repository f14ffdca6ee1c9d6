// Readings of telemetry <-> JSON. Internal to lib/report.
#pragma once

#include "lib/report/json_build.hpp"
#include "lib/report/record.hpp"

namespace mgpu {

class JsonReader;

// Write and read the telemetry of a timeline; absent if nothing was read.
void put_points(const std::vector<TelemetryPoint>& points, JsonValue& timeline);
std::vector<TelemetryPoint> read_points(const JsonReader& timeline);

}  // namespace mgpu
