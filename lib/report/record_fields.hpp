// Records of a result file that tables of fields describe (fields.hpp), in *_fields.cpp,
// telemetry_json.cpp and timeline_json.cpp. Internal to lib/report.
#pragma once

#include "lib/report/capability_json.hpp"
#include "lib/report/fields.hpp"
#include "lib/report/record.hpp"

namespace mgpu {

template <>
inline constexpr std::initializer_list<DeviceType> kAllOf<DeviceType> = {
    DeviceType::gpu, DeviceType::cpu, DeviceType::accelerator, DeviceType::custom};
template <>
inline constexpr std::initializer_list<PeerPath> kAllOf<PeerPath> = {
    PeerPath::direct, PeerPath::staged, PeerPath::host};

template <>
inline constexpr std::initializer_list<CommandKind> kAllOf<CommandKind> = {
    CommandKind::upload, CommandKind::compute, CommandKind::download, CommandKind::exchange};

template <>
inline constexpr std::initializer_list<VerifyStatus> kAllOf<VerifyStatus> = {
    VerifyStatus::passed, VerifyStatus::failed, VerifyStatus::off};

template <>
struct Kind<Mode> {
  static JsonValue write(Mode mode);
  static Mode read(const JsonReader& json);
  static JsonValue schema(JsonValue&) { return type_schema("string"); }
};

template <>
struct Kind<LinkRate> {
  static JsonValue write(const LinkRate& rate) { return link_rate_json(rate); }
  static LinkRate read(const JsonReader& json) { return read_link_rate(json); }
  static JsonValue schema(JsonValue&) {
    return json_of_text(R"({"oneOf": [{"type": ["number", "null"]}, {"type": "array",
                            "minItems": 1, "items": {"type": "number", "exclusiveMinimum": 0}}]})");
  }
};

// A capability, written as an empty object if the device was not calibrated.
struct KnownCapability {
  static JsonValue write(const std::optional<Capability>& capability) {
    return capability_json(capability);
  }
  static std::optional<Capability> read(const JsonReader& json) { return read_capability(json); }
  static JsonValue schema(JsonValue& definitions);
};

template <>
struct Kind<ParamValue> {
  static JsonItem write(const ParamValue& value);
  static ParamValue read(const JsonReader& json);
  static JsonValue schema(JsonValue& definitions);
};

inline constexpr DocumentId kResultId{"mgpu-bench/result", kResultSchemaVersion};

template <>
const Description<ToolInfo>& description<ToolInfo>();
template <>
const Description<Report>& description<Report>();
template <>
const Description<RunRecord>& description<RunRecord>();
template <>
const Description<Fault>& description<Fault>();
template <>
const Description<DeviceRecord>& description<DeviceRecord>();
template <>
const Description<Capability>& description<Capability>();
template <>
const Description<PeerLink>& description<PeerLink>();
template <>
const Description<PlanRecord>& description<PlanRecord>();

template <>
const Description<ClusterRecord>& description<ClusterRecord>();
template <>
const Description<Timeline>& description<Timeline>();
template <>
const Description<TelemetryFigures>& description<TelemetryFigures>();
template <>
const Description<EnergyFigures>& description<EnergyFigures>();
template <>
const Description<EnergyRecord>& description<EnergyRecord>();
template <>
const Description<Summary>& description<Summary>();
template <>
const Description<ClockMap>& description<ClockMap>();

// Rejects a fault that refers to a missing invalidated sample.
void check_sample(const JsonReader& json, const Fault& fault, std::size_t invalidated);

// A predicted time, which saturates if nothing can be predicted: see from_seconds().
using Prediction = Duration<std::numeric_limits<std::int64_t>::max()>;

}  // namespace mgpu
