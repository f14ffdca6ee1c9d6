// The fields of devices in result files.
#include <algorithm>
#include <variant>

#include "lib/report/capability_json.hpp"
#include "lib/report/record_fields.hpp"

namespace mgpu {

template <>
const Description<Handicap>& description<Handicap>() {
  static const Description<Handicap> kHandicap{
      {field_as<Real<1, 1'000'000'000>, &Handicap::slow>("slow",
                                                         "its kernels took this many times as long")
           .in("x"),
       field_as<Real<0, 1>, &Handicap::slow_from_fraction>(
           "slow_from_fraction", "from when this share of the items was finished")
           .in("1"),
       field<&Handicap::slow_from_time>("slow_from_ns",
                                        "from this time after the sample's begin instead"),
       field<&Handicap::delay>("delay_ns", "each slice began to compute this much later"),
       field_as<Whole<Bytes, 1>, &Handicap::memory_cap>(
           "memory_cap_bytes", "limit on the memory that was used of it")}};
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
            for (const SettingInfo& info : kSettingTable) {
              JsonValue value = described(type_schema(kTypes[info.type]), info.label,
                                          info.type == 0 ? R"({"minimum": 0})" : nullptr);
              if (info.type == 0) put(value, "unit", *info.unit != 0 ? info.unit : "1");
              add_property(object, info.name, false, std::move(value));
            }
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
       field_as<Real<-1'000'000'000, 1'000'000'000>, &ClockMap::drift_ppb>(
           "drift_ppb", "how much faster than the host clock it runs"),
       field<&ClockMap::uncertainty>("uncertainty_ns",
                                     "largest error of a time of the device on the host clock"),
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
Field<Capability> rate(const char* name, const char* meaning) {
  return field_as<MeasuredRate, Member>(name, meaning).null_unless(is_measured);
}

}  // namespace

template <>
const Description<Capability>& description<Capability>() {
  static const Description<Capability> kCapability{
      {rate<&Capability::fp32_flops>("fp32_flops", "single precision").in("FLOP/s"),
       rate<&Capability::fp64_flops>("fp64_flops", "double precision").in("FLOP/s"),
       rate<&Capability::int32_ops>("int32_ops", "32-bit integers").in("operations/s"),
       rate<&Capability::memory_bytes_per_s>("memory_bytes_per_s", "device memory"),
       rate<&Capability::pinned_up>("pinned_up_bytes_per_s", "from pinned host memory"),
       rate<&Capability::pinned_down>("pinned_down_bytes_per_s", "to pinned host memory"),
       rate<&Capability::pageable_up>("pageable_up_bytes_per_s", "from pageable host memory"),
       rate<&Capability::pageable_down>("pageable_down_bytes_per_s", "to pageable host memory"),
       field_as<MeasuredTime, &Capability::launch>("launch_ns", "a launch and the wait for it")
           .null_unless(is_measured),
       field_as<MeasuredTime, &Capability::next_launch>("next_launch_ns",
                                                        "one of many launches enqueued together")
           .null_unless(is_measured),
       field_as<MeasuredTime, &Capability::least_kernel>(
           "least_kernel_ns", "a kernel of one group that adds to words, by the device's stamps")
           .if_any(),
       field_as<MeasuredTime, &Capability::least_waiting_kernel>(
           "least_waiting_kernel_ns", "the same, of one that has waited in the queue for others")
           .if_any()},
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
      {field<&Device::name>("name", "as its driver names it"),
       field<&Device::isa>("isa",
                           "its instruction set, where the name is the board's; absent: not "
                           "reported")
           .if_any(),
       field<&Device::vendor>("vendor", "maker of the device"),
       field<&Device::platform>("platform", "name of the OpenCL platform"),
       field<&Device::platform_vendor>("platform_vendor", "maker of the platform"),
       field<&Device::platform_version>("platform_version", "OpenCL version of the platform"),
       field<&Device::type>("type", "kind of device"),
       field_as<Real<0, 100>, &Device::score>("score", "static score, 0 to 100").in("1"),
       field<&Device::uuid>("uuid", "identity of the card; null: not reported"),
       field<&Device::pci>("pci", "PCI address; null: not reported"),
       field<&Device::numa_node>("numa_node",
                                 "NUMA node of its host near it, which its thread is bound to; "
                                 "absent: the host has one, or does not say")
           .if_any(),
       field<&Device::driver_version>("driver_version", "version of the driver"),
       field<&Device::device_version>("device_version", "OpenCL version of the device"),
       field<&Device::global_memory>("global_memory_bytes", "memory of the device"),
       field<&Device::max_allocation>("max_allocation_bytes", "largest buffer"),
       field<&Device::local_memory>("local_memory_bytes", "local memory per work-group"),
       field<&Device::compute_units>("compute_units",
                                     "number of compute units (multiprocessors, cores)"),
       field<&Device::clock_mhz>("clock_mhz", "highest clock, as reported"),
       field<&Device::native_float_width>("native_float_width", "native vector width of float"),
       field<&Device::max_work_group>("max_work_group", "largest work-group, in work-items"),
       field<&Device::compute_capability>("compute_capability",
                                          "of NVIDIA devices, 90 for 9.0; null: others"),
       field<&Device::host_unified_memory>("host_unified_memory",
                                           "whether it shares memory with the host"),
       field<&Device::fp64>("fp64", "whether it has double precision"),
       field<&Device::fma_is_slow>("fma_is_slow",
                                   "a fused multiply-add in single precision is a routine")
           .if_any(),
       field<&Device::virtualised>("virtualised", "whether its name is that of a virtual GPU"),
       field<&Device::extensions>("extensions", "OpenCL extensions")}};
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
       field<&DeviceRecord::rank>("rank", "position in this list, from 0"),
       spread<&DeviceRecord::device>(),
       field_as<KnownCapability, &DeviceRecord::capability>("capability"),
       field<&DeviceRecord::clock>("clock", "how its time stamps are converted to the host clock"),
       field<&DeviceRecord::handicap>("handicap",
                                      "the device was made worse on purpose; absent: it was not")
           .if_any(),
       group<DeviceRecord>(
           "state",
           "its settings before the first sample and after the last one; absent: nothing could "
           "be read, or telemetry was off",
           {field<&DeviceRecord::before>("before", "before the first sample"),
            field<&DeviceRecord::after>("after", "after the last sample")})
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
