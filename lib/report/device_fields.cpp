// The fields of devices in result files.
#include <algorithm>
#include <variant>

#include "lib/report/capability_json.hpp"
#include "lib/report/record_fields.hpp"

namespace mgpu {

template <>
const Description<Handicap>& description<Handicap>() {
  static const Description<Handicap> kHandicap{
      {field_as<Real<1, 1'000'000'000>, &Handicap::slow>(
           "slow", "its kernels took this many times as long"),
       field_as<Real<0, 1>, &Handicap::slow_from_fraction>(
           "slow_from_fraction", "from when this share of the items was finished"),
       field<&Handicap::slow_from_time>("slow_from_ns",
                                        "from this time after the sample's begin instead"),
       field<&Handicap::delay>("delay_ns", "each slice began to compute this much later"),
       field_as<Whole<Bytes, 1>, &Handicap::memory_cap>("memory_cap_bytes")}};
  return kHandicap;
}

template <>
const Description<DeviceState>& description<DeviceState>() {
  static const Description<DeviceState> kState{
      {many<DeviceState>(
          [](const Field<DeviceState>&, const DeviceState& state, JsonValue& object) {
            for (const SettingInfo& info : kSettingTable)
              if (const auto& setting = state[info.setting])
                std::visit([&](const auto& value) { put(object, info.name, JsonItem(value)); },
                           *setting);
          },
          [](const Field<DeviceState>&, const JsonReader& object, DeviceState& state) {
            for (const SettingInfo& info : kSettingTable) {
              if (!object.has(info.name)) continue;
              const JsonReader value = object.at(info.name);
              auto& setting = state[info.setting];
              if (info.type == 0) setting = value.finite(0, JsonReader::kMostNumber);
              if (info.type == 1) setting = value.boolean();
              if (info.type == 2) setting = value.string();
            }
          },
          [](const Field<DeviceState>&, JsonValue&) {
            JsonValue object = object_schema("");
            constexpr const char* kTypes[] = {"number", "boolean", "string"};
            for (const SettingInfo& info : kSettingTable)
              add_property(object, info.name, false,
                           described(type_schema(kTypes[info.type]), info.label,
                                     info.type == 0 ? R"({"minimum": 0})" : nullptr));
            return object;
          })},
      "What the device is set to. What cannot be read is absent.",
      "device_state"};
  return kState;
}

template <>
const Description<ClockMap>& description<ClockMap>() {
  static const Description<ClockMap> kClock{
      {field<&ClockMap::method>("method", "bounds, identity, virtual or none"),
       computed<[](const ClockMap& clock) { return clock.offset_ns(); }>(
           "offset_ns", "host minus device clock at reference_device_ns"),
       field_as<Real<-1'000'000'000, 1'000'000'000>, &ClockMap::drift_ppb>("drift_ppb"),
       field<&ClockMap::uncertainty>("uncertainty_ns"),
       field<&ClockMap::reference_device>(
           "reference_device_ns",
           "host = device + offset_ns + (device - reference_device_ns) * drift_ppb * 1e-9")},
      "",
      nullptr,
      [](const JsonReader& json, ClockMap& clock) {
        const auto offset =
            static_cast<std::uint64_t>(json.at("offset_ns").integer<std::int64_t>());
        clock.reference_host = Nanos{static_cast<std::int64_t>(clock.reference_device + offset)};
      }};
  return kClock;
}

namespace {

struct MeasuredRate {
  static JsonItem write(double rate) { return finite_json(rate); }
  static double read(const JsonReader& json) { return read_rate(json); }
  static JsonValue schema(JsonValue&) {
    return described(type_schema("number"), "", R"({"exclusiveMinimum": 0})");
  }
};

struct MeasuredTime {
  static JsonItem write(Nanos time) { return time; }
  static Nanos read(const JsonReader& json) {
    const Nanos time = json.nanos();
    json.expect(time > Nanos{} && time <= std::chrono::minutes(1),
                "a time above zero, up to a minute,");
    return time;
  }
  static JsonValue schema(JsonValue&) { return whole_schema({}); }
};

bool is_measured(const Capability&, bool zero) { return !zero; }

template <auto Member>
Field<Capability> rate(const char* name) {
  return field_as<MeasuredRate, Member>(name).null_unless(is_measured);
}

}  // namespace

template <>
const Description<Capability>& description<Capability>() {
  static const Description<Capability> kCapability{
      {rate<&Capability::fp32_flops>("fp32_flops"), rate<&Capability::fp64_flops>("fp64_flops"),
       rate<&Capability::int32_ops>("int32_ops"),
       rate<&Capability::memory_bytes_per_s>("memory_bytes_per_s"),
       rate<&Capability::pinned_up>("pinned_up_bytes_per_s"),
       rate<&Capability::pinned_down>("pinned_down_bytes_per_s"),
       rate<&Capability::pageable_up>("pageable_up_bytes_per_s"),
       rate<&Capability::pageable_down>("pageable_down_bytes_per_s"),
       field_as<MeasuredTime, &Capability::launch>("launch_ns", "a launch and the wait for it")
           .null_unless(is_measured),
       field_as<MeasuredTime, &Capability::next_launch>("next_launch_ns",
                                                        "one of many launches enqueued together")
           .null_unless(is_measured)},
      "rates measured by calibrate, per second, multiply-adds counted as two; a copy counts what "
      "is read and what is written; null: not measured; empty: the device was not calibrated"};
  return kCapability;
}

JsonValue KnownCapability::schema(JsonValue& definitions) {
  return described(Kind<Capability>::schema(definitions), "", R"({"required": []})");
}

template <>
const Description<Device>& description<Device>() {
  static const Description<Device> kDevice{
      {field<&Device::name>("name"),
       field<&Device::vendor>("vendor"),
       field<&Device::platform>("platform"),
       field<&Device::platform_vendor>("platform_vendor"),
       field<&Device::platform_version>("platform_version"),
       field<&Device::type>("type"),
       field_as<Real<0, 100>, &Device::score>("score", "static score, 0 to 100"),
       field<&Device::uuid>("uuid"),
       field<&Device::pci>("pci"),
       field<&Device::driver_version>("driver_version"),
       field<&Device::device_version>("device_version"),
       field<&Device::global_memory>("global_memory_bytes"),
       field<&Device::max_allocation>("max_allocation_bytes"),
       field<&Device::local_memory>("local_memory_bytes"),
       field<&Device::compute_units>("compute_units"),
       field<&Device::clock_mhz>("clock_mhz"),
       field<&Device::native_float_width>("native_float_width"),
       field<&Device::max_work_group>("max_work_group"),
       field<&Device::compute_capability>("compute_capability"),
       field<&Device::host_unified_memory>("host_unified_memory"),
       field<&Device::fp64>("fp64"),
       field<&Device::virtualised>("virtualised"),
       field<&Device::extensions>("extensions")}};
  return kDevice;
}

template <>
const Description<DeviceRecord>& description<DeviceRecord>() {
  static constexpr auto is_of_node = [](const DeviceRecord& of) {
    return of.device.node.has_value();
  };
  static const Description<DeviceRecord> kDevice{
      {field<&DeviceRecord::device, &Device::id>(
           "id", "platform:device, and .k after it for sub-device k"),
       field<&DeviceRecord::rank>("rank"), spread<&DeviceRecord::device>(),
       field_as<KnownCapability, &DeviceRecord::capability>("capability"),
       field<&DeviceRecord::clock>("clock"),
       field<&DeviceRecord::handicap>("handicap",
                                      "the device was made worse on purpose; absent: it was not")
           .if_any(),
       group<DeviceRecord>(
           "state",
           "its settings before the first sample and after the last one; absent: nothing could "
           "be read, or telemetry was off",
           {field<&DeviceRecord::before>("before"), field<&DeviceRecord::after>("after")})
           .when([](const DeviceRecord& of) {
             return of.before != DeviceState{} || of.after != DeviceState{};
           }),
       field<&DeviceRecord::device, &Device::node, &DeviceNode::number>(
           "node",
           "of a run on several ranks: the one that it belongs to; absent: there is but one")
           .when(is_of_node),
       field<&DeviceRecord::device, &Device::node, &DeviceNode::host>("host",
                                                                      "the name of that machine")
           .when(is_of_node)}};
  return kDevice;
}

}  // namespace mgpu
