// The fields of a links file.
#include "lib/report/links_json.hpp"

#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/quote.hpp"
#include "lib/report/json_build.hpp"
#include "lib/report/json_file.hpp"
#include "lib/report/record_fields.hpp"

namespace mgpu {

namespace {

constexpr DocumentId kLinksId{"mgpu-bench/links", kLinksSchemaVersion};

struct RankedDevice {
  Device device;
  std::size_t rank = 0;  // position in the set
};

std::vector<RankedDevice> ranked(const LinksReport& report) {
  std::vector<RankedDevice> devices;
  for (const Device& device : report.devices) devices.push_back({device, devices.size()});
  return devices;
}

constexpr const char* kAlone =
    "the median, from the call until it is known to be complete on all devices";
constexpr const char* kBackToBack = "of one call, the median of the samples / calls";
constexpr const char* kCalls = "enqueued together, in each sample";
constexpr const char* kPaths = R"({"enum": ["direct", "staged", "host", "mixed", null]})";
using Calls = Whole<std::uint64_t, 1, 1'000'000>;

}  // namespace

template <>
inline constexpr std::initializer_list<LinkTraffic> kAllOf<LinkTraffic> = {LinkTraffic::one_way,
                                                                           LinkTraffic::both_ways};
template <>
inline constexpr std::initializer_list<LinkCrowd> kAllOf<LinkCrowd> = {
    LinkCrowd::up, LinkCrowd::down, LinkCrowd::up_and_down, LinkCrowd::devices};

template <>
const Description<RankedDevice>& description<RankedDevice>() {
  static const Description<RankedDevice> kDevice{
      {field<&RankedDevice::device, &Device::id>(
           "id", "platform:device, and .k after it for sub-device k"),
       field<&RankedDevice::rank>("rank", "in this set, from 0"),
       field<&RankedDevice::device, &Device::name>("name"),
       field<&RankedDevice::device, &Device::vendor>("vendor"),
       field<&RankedDevice::device, &Device::platform>("platform"),
       field<&RankedDevice::device, &Device::platform_version>("platform_version"),
       field<&RankedDevice::device, &Device::type>("type"),
       field<&RankedDevice::device, &Device::uuid>("uuid", "lower-case hex with dashes"),
       field<&RankedDevice::device, &Device::pci>("pci", "domain:bus:device.function"),
       field<&RankedDevice::device, &Device::driver_version>("driver_version"),
       field<&RankedDevice::device, &Device::device_version>("device_version"),
       field<&RankedDevice::device, &Device::global_memory>("global_memory_bytes"),
       field<&RankedDevice::device, &Device::compute_units>("compute_units")}};
  return kDevice;
}

template <>
const Description<LinkMoves>& description<LinkMoves>() {
  static const Description<LinkMoves> kMoves{
      {field<&LinkMoves::bytes>("bytes", "moved in a sample, by all"),
       computed<[](const LinkMoves& of) { return median_of(of.samples); }>("median_ns"),
       computed<[](const LinkMoves& of) { return rate_of(of); }>("bytes_per_s"),
       field<&LinkMoves::wrong>("wrong", "32-bit words that did not arrive as they were sent"),
       field<&LinkMoves::samples>("samples_ns", "all of them, in order")}};
  return kMoves;
}

template <>
const Description<LinkPair>& description<LinkPair>() {
  static const Description<LinkPair> kPair{
      {field<&LinkPair::from>("from"), field<&LinkPair::to>("to"),
       field<&LinkPair::path>(
           "path",
           "direct: a device writes into the other's memory; staged: through the "
           "host; host: CPUs, a copy there")}};
  return kPair;
}

template <>
const Description<LinkTransfer>& description<LinkTransfer>() {
  static const Description<LinkTransfer> kTransfer{
      {field<&LinkTransfer::traffic>("traffic",
                                     "both-ways: at the same time; bytes and rate are the sum"),
       field<&LinkTransfer::from>("from", "the id of a device, or host"),
       field<&LinkTransfer::to>("to", "the id of a device, or host"),
       field<&LinkTransfer::path>("path", "null: between the host and a device"),
       field<&LinkTransfer::in_use>(
           "in_use", "false: a path that these devices do not take, measured to compare with"),
       spread<&LinkTransfer::moves>()}};
  return kTransfer;
}

namespace {

struct RatedShare {
  LinkShare share;
  std::optional<double> rate;
};

std::vector<RatedShare> rated(const LinkAtOnce& row) {
  std::vector<RatedShare> shares;
  for (const LinkShare& share : row.devices) shares.push_back({share, rate_of(share, row.moves)});
  return shares;
}

}  // namespace

template <>
const Description<RatedShare>& description<RatedShare>() {
  static const Description<RatedShare> kShare{
      {field<&RatedShare::share, &LinkShare::device>("device"),
       field<&RatedShare::share, &LinkShare::bytes>(
           "bytes", "that it sent in a sample; of transfers with the host, those of this device"),
       computed<[](const RatedShare& of) { return median_of(of.share.samples); }>("median_ns"),
       field<&RatedShare::rate>("bytes_per_s"),
       field<&RatedShare::share, &LinkShare::samples>("samples_ns",
                                                      "until this device had ended")}};
  return kShare;
}

template <>
const Description<LinkAtOnce>& description<LinkAtOnce>() {
  static const Description<LinkAtOnce> kAtOnce{
      {field<&LinkAtOnce::crowd>(
           "traffic",
           "from the host to all devices, to it from all, both, each device to every other"),
       field_as<TextOrNull, &LinkAtOnce::path>(
           "path", "of all pairs; mixed: they differ; null: there are none")
           .with_schema(kPaths),
       field<&LinkAtOnce::in_use>("in_use"), spread<&LinkAtOnce::moves>(),
       computed<rated>("devices")},
      "",
      nullptr,
      [](const JsonReader& json, LinkAtOnce& row) {
        for (RatedShare& of : Kind<std::vector<RatedShare>>::read(json.at("devices")))
          row.devices.push_back(std::move(of.share));
      }};
  return kAtOnce;
}

template <>
const Description<LinkLatency>& description<LinkLatency>() {
  static const Description<LinkLatency> kLatency{
      {field<&LinkLatency::devices>("devices"),
       field_as<TextOrNull, &LinkLatency::path>("path").with_schema(kPaths),
       field<&LinkLatency::in_use>("in_use"),
       computed<[](const LinkLatency& of) { return median_of(of.alone); }>("alone_ns", kAlone),
       computed<[](const LinkLatency& of) { return queued_ns(of.queued, of.queued_calls); }>(
           "back_to_back_ns", kBackToBack),
       field<&LinkLatency::alone>("alone_samples_ns"),
       field_as<Calls, &LinkLatency::queued_calls>("back_to_back_calls", kCalls),
       field<&LinkLatency::queued>("back_to_back_samples_ns")}};
  return kLatency;
}

using Collective = CollectiveRecord;

template <>
const Description<Collective>& description<Collective>() {
  static const Description<Collective> kCollective{
      {field<&Collective::op>("op").with_schema(R"({"enum": ["barrier", "broadcast", "reduce",
          "all-reduce", "all-gather", "reduce-scatter", "all-to-all", "neighbours"]})"),
       field<&Collective::size>("size_bytes", "of the elements, as nccl-tests counts them"),
       field<&Collective::count>("count", "elements"),
       field<&Collective::element>("type").with_schema(R"({"enum": ["u32", "u64", "f32", "f64"]})"),
       field_as<TextOrNull, &Collective::reduction>("redop", "null: nothing is combined")
           .with_schema(R"({"enum": ["sum", "min", "max", null]})"),
       field<&Collective::devices>("devices"),
       field_as<TextOrNull, &Collective::path>("path").with_schema(kPaths),
       computed<[](const Collective& of) { return median_of(of.alone); }>("alone_ns", kAlone),
       computed<[](const Collective& of) { return queued_ns(of.queued, of.queued_calls); }>(
           "back_to_back_ns", kBackToBack),
       field<&Collective::alone>("alone_samples_ns"),
       field_as<Calls, &Collective::queued_calls>("back_to_back_calls", kCalls),
       field<&Collective::queued>("back_to_back_samples_ns"),
       computed<algorithm_bandwidth>("algbw_bytes_per_s", "size / time back to back"),
       field_as<Finite<0, 2>, &Collective::bus_factor>(
           "bus_factor",
           "of n devices: 2 (n - 1) / n for all-reduce, (n - 1) / n for all-gather, reduce-scatter "
           "and all-to-all, 0 for a barrier, else 1"),
       computed<bus_bandwidth>("busbw_bytes_per_s", "algbw times that factor"),
       field<&Collective::wrong>("wrong",
                                 "elements of all outputs that are not as computed on the host")}};
  return kCollective;
}

template <>
const Description<LinksReport>& description<LinksReport>() {
  static const Description<LinksReport> kLinks{
      {document_id<LinksReport, kLinksId>(),
       field<&LinksReport::complete>("complete",
                                     "false when it was interrupted, or a device failed: the lists "
                                     "have what was measured before"),
       field<&LinksReport::failure>("failure", "why it is not complete"),
       field<&LinksReport::tool>("tool"),
       field<&LinksReport::started>("started", "RFC 3339, in UTC"),
       field<&LinksReport::environment>("environment"),
       field<&LinksReport::options>("options", "what was asked for, by name"),
       computed<ranked>("devices", "of the set, in its order"),
       field<&LinksReport::pairs>("paths", "the path that each ordered pair of devices has"),
       field<&LinksReport::notes>("notes", "why pairs have no better path"),
       field<&LinksReport::transfers>("transfers", "pair by pair"),
       field<&LinksReport::at_once>("at_once", "everything of a kind together"),
       field<&LinksReport::latencies>(
           "latencies", "each device signals all others and waits for them; nothing is moved"),
       field<&LinksReport::collectives>("collectives"),
       field<&LinksReport::warnings>("warnings", "those printed on standard error")},
      "What moves between the host and devices and among devices. Times are whole nanoseconds, "
      "rates bytes per second. Medians and rates are made of the samples next to them; rates of "
      "what did not arrive as it was sent are null.",
      nullptr,
      [](const JsonReader& json, LinksReport& report) {
        for (RankedDevice& of : Kind<std::vector<RankedDevice>>::read(json.at("devices")))
          report.devices.push_back(std::move(of.device));
      }};
  return kLinks;
}

JsonValue links_value(const LinksReport& report) { return Kind<LinksReport>::write(report); }

std::string links_json_text(const LinksReport& report) { return json_text(links_value(report)); }

std::string links_schema() {
  return schema_document<LinksReport>(
      kLinksId, "mgpu-bench links, the file of links and what links --json prints");
}

LinksReport links_from_json(const nlohmann::ordered_json& json) {
  const JsonReader j(json);
  j.expect(j.is_object(), "a JSON object");
  return Kind<LinksReport>::read(j);
}

bool says_links(const nlohmann::ordered_json& json) {
  return has_schema(kLinksId, JsonReader(json));
}

}  // namespace mgpu
