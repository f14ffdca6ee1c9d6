#include "lib/report/links_json.hpp"

#include <utility>
#include <variant>

#include "lib/base/error.hpp"
#include "lib/base/quote.hpp"
#include "lib/report/json_file.hpp"
#include "lib/report/json_names.hpp"
#include "lib/report/json_reader.hpp"
#include "lib/report/json_text.hpp"

namespace mgpu {

namespace {

constexpr std::string_view kLinksSchema = "mgpu-bench/links";

void put_moves(const LinkMoves& moves, JsonValue& json) {
  put(json, "bytes", moves.bytes);
  put(json, "median_ns", median_of(moves.samples));
  put(json, "bytes_per_s", finite_json(rate_of(moves)));
  put(json, "wrong", moves.wrong);
  put(json, "samples_ns", moves.samples);
}

void put_times(const std::vector<Nanos>& alone, const std::vector<Nanos>& queued,
               std::uint64_t calls, JsonValue& json) {
  put(json, "alone_ns", median_of(alone));
  put(json, "back_to_back_ns", finite_json(queued_ns(queued, calls)));
  put(json, "alone_samples_ns", alone);
  put(json, "back_to_back_calls", calls);
  put(json, "back_to_back_samples_ns", queued);
}

JsonValue links_device_json(const Device& d, std::size_t rank) {
  return json_object({{"id", d.id},
                      {"rank", rank},
                      {"name", d.name},
                      {"vendor", d.vendor},
                      {"platform", d.platform},
                      {"platform_version", d.platform_version},
                      {"type", to_string(d.type)},
                      {"uuid", d.uuid},
                      {"pci", d.pci},
                      {"driver_version", d.driver_version},
                      {"device_version", d.device_version},
                      {"global_memory_bytes", d.global_memory},
                      {"compute_units", d.compute_units}});
}

JsonValue transfer_json(const LinkTransfer& transfer) {
  JsonValue json = json_object(
      {{"traffic", to_string(transfer.traffic)},
       {"from", transfer.from},
       {"to", transfer.to},
       {"path", transfer.path ? JsonItem(to_string(*transfer.path)) : JsonItem(nullptr)},
       {"in_use", transfer.in_use}});
  put_moves(transfer.moves, json);
  return json;
}

JsonValue at_once_json(const LinkAtOnce& row) {
  JsonValue json = json_object({{"traffic", to_string(row.crowd)},
                                {"path", json_or_null(row.path)},
                                {"in_use", row.in_use}});
  put_moves(row.moves, json);
  JsonValue devices = json_list();
  for (const LinkShare& share : row.devices) {
    append(devices, json_object({{"device", share.device},
                                 {"bytes", share.bytes},
                                 {"median_ns", median_of(share.samples)},
                                 {"bytes_per_s", finite_json(rate_of(share, row.moves))},
                                 {"samples_ns", share.samples}}));
  }
  put(json, "devices", std::move(devices));
  return json;
}

JsonValue latency_json(const LinkLatency& latency) {
  JsonValue json = json_object({{"devices", latency.devices},
                                {"path", json_or_null(latency.path)},
                                {"in_use", latency.in_use}});
  put_times(latency.alone, latency.queued, latency.queued_calls, json);
  return json;
}

JsonValue collective_json(const CollectiveRecord& row) {
  JsonValue json = json_object({{"op", row.op},
                                {"size_bytes", row.size},
                                {"count", row.count},
                                {"type", row.element},
                                {"redop", json_or_null(row.reduction)},
                                {"devices", row.devices},
                                {"path", json_or_null(row.path)}});
  put_times(row.alone, row.queued, row.queued_calls, json);
  put(json, "algbw_bytes_per_s", finite_json(algorithm_bandwidth(row)));
  put(json, "bus_factor", row.bus_factor);
  put(json, "busbw_bytes_per_s", finite_json(bus_bandwidth(row)));
  put(json, "wrong", row.wrong);
  return json;
}

template <class Rows, class Write>
JsonValue list_json(const Rows& rows, const Write& write) {
  JsonValue list = json_list();
  for (const auto& row : rows) append(list, write(row));
  return list;
}

// The value among `all` that the file names.
template <class Enum>
Enum word_of(const JsonReader& j, std::initializer_list<Enum> all) {
  const std::string word = j.string();
  const auto value = json_names::from_string(word, all);
  if (!value) j.fail(in_quotes(word) + " is unknown");
  return *value;
}

PeerPath path_of(const JsonReader& j) {
  return word_of(j, {PeerPath::direct, PeerPath::staged, PeerPath::host});
}

std::string text_or_empty(const JsonReader& j) { return j.is_null() ? std::string() : j.string(); }

std::vector<Nanos> times_of(const JsonReader& j) {
  std::vector<Nanos> times;
  j.elements([&](const JsonReader& e) { times.push_back(e.duration()); });
  return times;
}

LinkMoves moves_of(const JsonReader& j) {
  return {j.at("bytes").integer<Bytes>(), times_of(j.at("samples_ns")),
          j.at("wrong").integer<std::uint64_t>()};
}

Device links_device_of(const JsonReader& j) {
  const auto string = [](const JsonReader& v) { return v.string(); };
  Device d;
  d.id = j.at("id").string();
  d.name = j.at("name").string();
  d.vendor = j.at("vendor").string();
  d.platform = j.at("platform").string();
  d.platform_version = j.at("platform_version").string();
  d.type = word_of(j.at("type"),
                   {DeviceType::gpu, DeviceType::cpu, DeviceType::accelerator, DeviceType::custom});
  d.uuid = j.at("uuid").optional(string);
  d.pci = j.at("pci").optional(string);
  d.driver_version = j.at("driver_version").string();
  d.device_version = j.at("device_version").string();
  d.global_memory = j.at("global_memory_bytes").integer<Bytes>();
  d.compute_units = j.at("compute_units").integer<std::uint32_t>();
  return d;
}

LinkTransfer transfer_of(const JsonReader& j) {
  LinkTransfer transfer;
  transfer.traffic = word_of(j.at("traffic"), {LinkTraffic::one_way, LinkTraffic::both_ways});
  transfer.from = j.at("from").string();
  transfer.to = j.at("to").string();
  transfer.path = j.at("path").optional(path_of);
  transfer.in_use = j.at("in_use").boolean();
  transfer.moves = moves_of(j);
  return transfer;
}

LinkAtOnce at_once_of(const JsonReader& j) {
  LinkAtOnce row;
  row.crowd = word_of(j.at("traffic"),
                      {LinkCrowd::up, LinkCrowd::down, LinkCrowd::up_and_down, LinkCrowd::devices});
  row.path = text_or_empty(j.at("path"));
  row.in_use = j.at("in_use").boolean();
  row.moves = moves_of(j);
  j.at("devices").elements([&](const JsonReader& e) {
    row.devices.push_back(
        {e.at("device").string(), e.at("bytes").integer<Bytes>(), times_of(e.at("samples_ns"))});
  });
  return row;
}

std::uint64_t calls_of(const JsonReader& j) {
  return j.at("back_to_back_calls").integer<std::uint64_t>(1, 1'000'000);
}

LinkLatency latency_of(const JsonReader& j) {
  return {j.at("devices").strings(),
          text_or_empty(j.at("path")),
          j.at("in_use").boolean(),
          times_of(j.at("alone_samples_ns")),
          times_of(j.at("back_to_back_samples_ns")),
          calls_of(j)};
}

CollectiveRecord collective_of(const JsonReader& j) {
  CollectiveRecord row;
  row.op = j.at("op").string();
  row.size = j.at("size_bytes").integer<Bytes>();
  row.count = j.at("count").integer<std::uint64_t>();
  row.element = j.at("type").string();
  row.reduction = text_or_empty(j.at("redop"));
  row.devices = j.at("devices").strings();
  row.path = text_or_empty(j.at("path"));
  row.bus_factor = j.at("bus_factor").finite(0, 2);
  row.alone = times_of(j.at("alone_samples_ns"));
  row.queued = times_of(j.at("back_to_back_samples_ns"));
  row.queued_calls = calls_of(j);
  row.wrong = j.at("wrong").integer<std::uint64_t>();
  return row;
}

ParamValue option_of(const JsonReader& j) {
  if (j.is_string()) return j.string();
  return j.integer<std::int64_t>();
}

}  // namespace

JsonValue links_value(const LinksReport& report) {
  JsonValue json = json_object({{"schema", kLinksSchema},
                                {"schema_version", kLinksSchemaVersion},
                                {"complete", report.complete},
                                {"failure", report.failure},
                                {"tool", json_object({{"version", report.tool.version},
                                                      {"git", report.tool.git},
                                                      {"argv", report.tool.argv}})},
                                {"started", report.started}});
  JsonValue environment = json_object(), options = json_object(), devices = json_list();
  for (const auto& [name, value] : report.environment) put(environment, name, value);
  for (const auto& [name, value] : report.options)
    std::visit([&, &key = name](const auto& v) { put(options, key, v); }, value);
  for (std::size_t i = 0; i < report.devices.size(); ++i)
    append(devices, links_device_json(report.devices[i], i));
  put(json, "environment", std::move(environment));
  put(json, "options", std::move(options));
  put(json, "devices", std::move(devices));
  put(json, "paths", list_json(report.pairs, [](const LinkPair& pair) {
        return json_object({{"from", pair.from}, {"to", pair.to}, {"path", to_string(pair.path)}});
      }));
  put(json, "notes", report.notes);
  put(json, "transfers", list_json(report.transfers, transfer_json));
  put(json, "at_once", list_json(report.at_once, at_once_json));
  put(json, "latencies", list_json(report.latencies, latency_json));
  put(json, "collectives", list_json(report.collectives, collective_json));
  put(json, "warnings", report.warnings);
  return json;
}

std::string links_json_text(const LinksReport& report) { return json_text(links_value(report)); }

LinksReport links_from_json(const nlohmann::ordered_json& json) {
  const JsonReader j(json);
  j.expect(j.is_object(), "a JSON object");
  const std::string schema = j.at("schema").string();
  if (schema != kLinksSchema)
    j.at("schema").fail(in_quotes(schema) + " is not \"" + std::string(kLinksSchema) + '"');
  const auto version = j.at("schema_version").integer<std::int32_t>();
  if (version != kLinksSchemaVersion)
    j.at("schema_version")
        .fail(std::to_string(version) + " is not what this tool reads (" +
              std::to_string(kLinksSchemaVersion) + ")");
  LinksReport report;
  report.complete = j.at("complete").boolean();
  report.failure = j.at("failure").optional([](const JsonReader& v) { return v.string(); });
  const JsonReader tool = j.at("tool");
  report.tool = {tool.at("version").string(), tool.at("git").string(), tool.at("argv").strings()};
  report.started = j.at("started").string();
  j.at("environment").members([&](const std::string& name, const JsonReader& v) {
    report.environment[name] = v.string();
  });
  j.at("options").members(
      [&](const std::string& name, const JsonReader& v) { report.options[name] = option_of(v); });
  j.at("devices").elements(
      [&](const JsonReader& e) { report.devices.push_back(links_device_of(e)); });
  j.at("paths").elements([&](const JsonReader& e) {
    report.pairs.push_back({e.at("from").string(), e.at("to").string(), path_of(e.at("path"))});
  });
  report.notes = j.at("notes").strings();
  j.at("transfers").elements([&](const JsonReader& e) {
    report.transfers.push_back(transfer_of(e));
  });
  j.at("at_once").elements([&](const JsonReader& e) { report.at_once.push_back(at_once_of(e)); });
  j.at("latencies").elements([&](const JsonReader& e) {
    report.latencies.push_back(latency_of(e));
  });
  j.at("collectives").elements([&](const JsonReader& e) {
    report.collectives.push_back(collective_of(e));
  });
  report.warnings = j.at("warnings").strings();
  return report;
}

bool says_links(const nlohmann::ordered_json& json) {
  const JsonReader j(json);
  return j.has("schema") && j.at("schema").is_string() && j.at("schema").string() == kLinksSchema;
}

}  // namespace mgpu
