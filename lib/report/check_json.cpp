// The document of check: its fields, and how results of other commands are read as one.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "lib/report/check.hpp"
#include "lib/report/record_fields.hpp"

namespace mgpu {
namespace {

constexpr DocumentId kCheckId{"mgpu-bench/check", 1};

// A rate above 0 that is possible.
struct CheckRateKind {
  static JsonItem write(double rate) { return finite_json(rate); }
  static double read(const JsonReader& json) { return read_rate(json); }
  static JsonValue schema(JsonValue&) {
    return described(type_schema("number"), "", R"({"exclusiveMinimum": 0})");
  }
};

}  // namespace

template <>
inline constexpr std::initializer_list<CheckVerdict> kAllOf<CheckVerdict> = {
    CheckVerdict::ok,      CheckVerdict::unknown, CheckVerdict::limited, CheckVerdict::slow,
    CheckVerdict::missing, CheckVerdict::failed,  CheckVerdict::hung,    CheckVerdict::wrong};

template <>
const Description<CheckValues>& description<CheckValues>() {
  using V = CheckValues;
  static const Description<V> kValues{
      {field<&V::quantity>("quantity"), field<&V::unit>("unit"),
       field_as<Each<CheckRateKind>, &V::values>(
           "values", "one per round: value k of devices of one host is of the same round"),
       field<&V::first>("first", "how many were measured before anything was measured again")}};
  return kValues;
}

template <>
const Description<CheckedWork::Digest>& description<CheckedWork::Digest>() {
  using D = CheckedWork::Digest;
  static const Description<D> kDigest{
      {field<&D::digest>("digest"), field<&D::runs>("runs", "that gave it"),
       field<&D::reference>("reference", "comparison with the suite's reference")}};
  return kDigest;
}

template <>
const Description<CheckedWork>& description<CheckedWork>() {
  static const Description<CheckedWork> kWork{
      {field<&CheckedWork::work>("work"),
       field<&CheckedWork::digests>("digests", "of its results; more than one: some are wrong")}};
  return kWork;
}

template <>
const Description<CheckedMemory>& description<CheckedMemory>() {
  using M = CheckedMemory;
  static const Description<M> kMemory{
      {field<&M::bytes>("tested_bytes"), field<&M::passes>("passes", "with another pattern each"),
       field<&M::wrong>("wrong", "32-bit words that were not read as they were written")}};
  return kMemory;
}

template <>
const Description<CheckedEcc>& description<CheckedEcc>() {
  static const Description<CheckedEcc> kEcc{
      {field<&CheckedEcc::corrected>("corrected"), field<&CheckedEcc::uncorrected>("uncorrected")},
      "errors of its memory that the hardware counted since the driver was loaded"};
  return kEcc;
}

template <>
const Description<CheckedDevice>& description<CheckedDevice>() {
  using D = CheckedDevice;
  static const Description<D> kDevice{
      {field<&D::host>("host"),
       field<&D::started>("started", "RFC 3339 in UTC"),
       field<&D::label>("label", "kind and rank, as in the findings"),
       field<&D::id>("id"),
       field<&D::identity>("identity",
                           "UUID or PCI address, by which other checks know it; else its id"),
       field<&D::name>("name"),
       field<&D::driver>("driver_version"),
       field<&D::cpu>("cpu", "whether it is a CPU"),
       field_as<TextOrNull, &D::pci>("pci"),
       field<&D::numa_node>("numa_node"),
       field<&D::rates>("rates"),
       field<&D::works>("works"),
       field<&D::memory>("memory"),
       field<&D::before>("before", "settings before the check"),
       field<&D::after>("after", "settings after it"),
       field<&D::ecc_before>("ecc_before"),
       field<&D::ecc_after>("ecc_after"),
       field<&D::during>("during", "telemetry meanwhile; null: none was read"),
       field<&D::hung>("hung", "whether it failed because it did not answer"),
       field_as<TextOrNull, &D::failed>("failed", "why it was not measured to the end"),
       field_as<TextOrNull, &D::other_work>("other_work", "what other programs did meanwhile")}};
  return kDevice;
}

template <>
const Description<CheckedLink>& description<CheckedLink>() {
  using L = CheckedLink;
  static const Description<L> kLink{
      {field<&L::host>("host"),
       field<&L::from>("from", "rank of a device, or host; empty: all devices"),
       field<&L::to>("to"), field<&L::cpu>("cpu", "whether CPUs take part"),
       field<&L::models>("models", "of its devices; only links of the same are compared"),
       spread<&L::rate>(), field<&L::wrong>("wrong", "32-bit words that arrived wrong")}};
  return kLink;
}

template <>
const Description<CheckFinding>& description<CheckFinding>() {
  using F = CheckFinding;
  static const Description<F> kFinding{
      {field<&F::verdict>("verdict"), field<&F::host>("host"),
       field_as<TextOrNull, &F::device>("device", "id; null: not of one device"),
       field_as<TextOrNull, &F::quantity>("quantity", "null: not about a rate"),
       field<&F::text>("text", "the line, without check:"),
       field<&F::slower>("slower", "by this share of the rate of others").in("1"),
       field<&F::low>("low", "interval of slower").in("1"), field<&F::high>("high").in("1")}};
  return kFinding;
}

template <>
const Description<CheckDocument>& description<CheckDocument>() {
  using D = CheckDocument;
  static const Description<D> kCheck{
      {document_id<D, kCheckId>(), field<&D::tool>("tool", "version of the program"),
       field<&D::host>("host"), field<&D::started>("started", "RFC 3339 in UTC"),
       field<&D::took>("took_ns"), field<&D::budget>("budget_ns", "--time"),
       field<&D::verdict>("verdict", "the worst of the findings"),
       field<&D::exit_code>("exit_code"), field<&D::findings>("findings", "the worst first"),
       field<&D::devices>("devices"), field<&D::links>("links"),
       field_as<TextOrNull, &D::failed>("failed",
                                        "why links were not measured to the end, if no device is "
                                        "known to be why"),
       field<&D::hung>("hung", "whether that is because something did not answer"),
       field<&D::warnings>("warnings", "those printed on standard error")},
      "Devices and links of one host, or with --merge of several, and what is wrong with them. It "
      "is what --save writes and what --baseline and --merge read. These are all keys of this "
      "version of the tool: another may have more."};
  return kCheck;
}

namespace {

void add_link_values(CheckDocument& document, CheckedLink link) {
  for (CheckedLink& known : document.links) {
    if (known.from != link.from || known.to != link.to || known.rate.quantity != link.rate.quantity)
      continue;
    known.rate.values.insert(known.rate.values.end(), link.rate.values.begin(),
                             link.rate.values.end());
    known.wrong += link.wrong;
    return;
  }
  document.links.push_back(std::move(link));
}

std::vector<double> link_rates(const std::vector<Nanos>& samples, double bytes) {
  std::vector<double> rates;
  for (const Nanos time : samples)
    if (time > Nanos{}) rates.push_back(bytes / seconds(time));
  return rates;
}

CheckDocument document_of(const Report& report) {
  CheckDocument document;
  document.tool = report.tool.version;
  const auto host = report.environment.find("host");
  document.host = host == report.environment.end() ? "" : host->second;
  document.started = report.started;
  for (const DeviceRecord& record : report.devices) {
    CheckedDevice& device = document.devices.emplace_back(
        checked_device(record.device, document.devices.size(), document.host));
    device.started = report.started;
    device.before = record.before;
    device.after = record.after;
    if (!record.capability || record.handicap.any()) continue;
    for (const CheckRate& rate : kCheckRates)
      if (const double value = (*record.capability).*rate.figure; value > 0)
        device.rates.push_back({rate.quantity, rate.unit, {value}, 0});
  }
  add_links(report, document);
  return document;
}

}  // namespace

CheckedDevice checked_device(const Device& device, std::size_t rank, const std::string& host) {
  CheckedDevice checked;
  checked.host = host;
  checked.label = fmt::format("{} {}", to_string(device.type), rank);
  checked.id = device.id;
  checked.identity = identity_of(device);
  checked.name = device.name;
  checked.driver = device.driver_version;
  checked.cpu = device.is_cpu();
  checked.pci = device.pci.value_or("");
  checked.numa_node = device.numa_node;
  return checked;
}

void add_links(const Report& report, CheckDocument& document) {
  std::map<std::string, std::string> ranks{{kLinksHost, kLinksHost}};
  std::map<std::string, const Device*> devices;
  for (const DeviceRecord& record : report.devices) {
    ranks[record.device.id] = std::to_string(record.rank);
    devices[record.device.id] = &record.device;
  }
  for (const RunRecord& run : report.runs) {
    if (!run.link) continue;
    const LinkRecord& link = *run.link;
    const std::string mode = to_string(run.mode);
    const bool pair = mode == "one_way" || mode == "both_ways";
    const bool to_host = pair && (link.from == kLinksHost || link.to == kLinksHost);
    const bool collective = mode == "back_to_back" && run.work.ops > 0;
    const bool at_once = mode == "all_at_once";
    if (!pair && !at_once && !collective) continue;
    CheckedLink checked;
    checked.host = document.host;
    for (const std::string& id : run.devices) {
      const auto device = devices.find(id);
      if (device == devices.end()) continue;
      checked.cpu |= device->second->is_cpu();
      const std::string model = device->second->name + ' ' + device->second->driver_version;
      if (checked.models.find(model) == std::string::npos)
        checked.models += (checked.models.empty() ? "" : ", ") + model;
    }
    if (!pair) checked.models += fmt::format(" ({} devices)", run.devices.size());
    checked.wrong = link.wrong;
    checked.rate.unit = "B/s";
    if (pair) {
      checked.from = ranks[link.from];
      checked.to = ranks[link.to];
      checked.rate.quantity = mode == "one_way" ? "one way" : "both ways";
      if (!link.path.empty()) checked.rate.quantity += " (" + link.path + " path)";
    } else {
      checked.rate.quantity =
          collective ? run.suite + " of " + run.strategy
                     : (run.strategy == "devices" ? "between all devices at once"
                                                  : "with the host all at once, " + run.strategy);
    }
    // Devices alone with the host are compared by their own rates.
    if (!to_host) checked.rate.values = link_rates(run.samples, run.work.ops);
    if (to_host && link.wrong == 0) continue;
    const bool checked_cpu = checked.cpu;
    add_link_values(document, std::move(checked));
    // CPUs copy within the host's memory, which does not belong to one of them.
    const bool crowd = at_once && !checked_cpu && (run.strategy == "up" || run.strategy == "down");
    for (const LinkRecord::Share& share : crowd ? link.devices : std::vector<LinkRecord::Share>()) {
      CheckedLink one;
      const Device* device = devices[share.device];
      if (!device) continue;
      one.host = document.host;
      one.cpu = device->is_cpu();
      one.models =
          fmt::format("{} {} (1 of {})", device->name, device->driver_version, link.devices.size());
      one.from = run.strategy == "up" ? kLinksHost : ranks[share.device];
      one.to = run.strategy == "up" ? ranks[share.device] : kLinksHost;
      one.rate = {"while all copy " + run.strategy, "B/s",
                  link_rates(share.samples, static_cast<double>(share.bytes)), 0};
      add_link_values(document, std::move(one));
    }
  }
}

std::string check_json(const CheckDocument& document) {
  return indented_json(Kind<CheckDocument>::write(document));
}

std::string check_schema() {
  return schema_document<CheckDocument>(kCheckId, "mgpu-bench check, what check --json prints",
                                        Keys::named);
}

CheckDocument read_check_value(const JsonReader& json) {
  return has_schema(kCheckId, json) ? Kind<CheckDocument>::read(json)
                                    : document_of(read_report_value(json));
}

}  // namespace mgpu
