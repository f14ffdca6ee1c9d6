// Telemetry <-> JSON, in the places of the result file where it stands. Internal to lib/report.
#pragma once

#include "lib/report/json_build.hpp"
#include "lib/report/record.hpp"

namespace mgpu {

class JsonReader;

// "telemetry" of the file, null when nothing was watched, and "telemetry_reason", why.
void put_telemetry(const TelemetryRecord& record, JsonValue& report);
TelemetryRecord read_telemetry(const JsonReader& report);

// "telemetry" of a run, null when nothing was read; of its timeline, absent then.
JsonValue figures_json(const std::vector<TelemetryFigures>& figures);
std::vector<TelemetryFigures> read_figures(const JsonReader& run);
void put_points(const std::vector<TelemetryPoint>& points, JsonValue& timeline);
std::vector<TelemetryPoint> read_points(const JsonReader& timeline);

}  // namespace mgpu
