// Report -> JSON. Reading is in record_json_read.cpp, the text layout in json_text.cpp, files in
// file_writer.cpp.
#include <nlohmann/json.hpp>
#include <type_traits>

#include "lib/report/capability_json.hpp"
#include "lib/report/cluster_json.hpp"
#include "lib/report/fault_json.hpp"
#include "lib/report/findings_json.hpp"
#include "lib/report/json_names.hpp"
#include "lib/report/json_text.hpp"
#include "lib/report/peer_links_json.hpp"
#include "lib/report/record_json.hpp"
#include "lib/report/telemetry_json.hpp"

namespace mgpu {

namespace {

using Json = nlohmann::ordered_json;
using namespace json_names;

Json ns(Nanos t) { return t.count(); }
Json ns(const std::optional<Nanos>& t) { return t ? Json(t->count()) : Json(nullptr); }
Json text(const std::optional<std::string>& s) { return s ? Json(*s) : Json(nullptr); }

Json params(const ParamMap& map) {
  Json j = Json::object();
  for (const auto& [name, value] : map) {
    j[name] = std::visit(
        [](const auto& v) -> Json {
          if constexpr (std::is_same_v<std::decay_t<decltype(v)>, double>)
            return number_json(v);
          else
            return v;
        },
        value);
  }
  return j;
}

Json handicap(const Handicap& h) {
  return {{"slow", number_json(h.slow)},
          {"slow_from_fraction", number_json(h.slow_from_fraction)},
          {"slow_from_ns", ns(h.slow_from_time)},
          {"delay_ns", ns(h.delay)},
          {"memory_cap_bytes", h.memory_cap ? Json(*h.memory_cap) : Json(nullptr)}};
}

Json device(const DeviceRecord& record) {
  const Device& d = record.device;
  Json j = {
      {"id", d.id},
      {"rank", record.rank},
      {"name", d.name},
      {"vendor", d.vendor},
      {"platform", d.platform},
      {"platform_vendor", d.platform_vendor},
      {"platform_version", d.platform_version},
      {"type", to_string(d.type)},
      {"score", number_json(d.score)},
      {"uuid", text(d.uuid)},
      {"pci", text(d.pci)},
      {"driver_version", d.driver_version},
      {"device_version", d.device_version},
      {"global_memory_bytes", d.global_memory},
      {"max_allocation_bytes", d.max_allocation},
      {"local_memory_bytes", d.local_memory},
      {"compute_units", d.compute_units},
      {"clock_mhz", d.clock_mhz},
      {"native_float_width", d.native_float_width},
      {"max_work_group", d.max_work_group},
      {"compute_capability", d.compute_capability ? Json(*d.compute_capability) : Json(nullptr)},
      {"host_unified_memory", d.host_unified_memory},
      {"fp64", d.fp64},
      {"virtualised", d.virtualised},
      {"extensions", d.extensions},
      {"capability", capability_json(record.capability)}};
  j["clock"] = {{"method", record.clock.method},
                {"offset_ns", record.clock.offset_ns()},
                {"drift_ppb", number_json(record.clock.drift_ppb)},
                {"uncertainty_ns", ns(record.clock.uncertainty)},
                {"reference_device_ns", record.clock.reference_device}};
  if (record.handicap.any()) j["handicap"] = handicap(record.handicap);
  if (d.node) j["node"] = d.node->number;
  if (d.node) j["host"] = d.node->host;
  return j;
}

Json summary(const Summary& s) {
  return {{"n", s.n},
          {"min", ns(s.min)},
          {"median", ns(s.median)},
          {"mean", ns(s.mean)},
          {"stdev", ns(s.stdev)},
          {"mad", ns(s.mad)},
          {"ci95", Json::array({ns(s.ci95_low), ns(s.ci95_high)})}};
}

template <typename Time>
Json times(const std::vector<Time>& all) {
  Json j = Json::array();
  for (const Time& t : all) j.push_back(ns(t));
  return j;
}

Json per_device(const PerDevice& p) {
  Json j = {{"device", p.device},       {"alone_ns", ns(p.alone)},
            {"items", p.parts.items},   {"share", number_json(p.share)},
            {"slices", p.parts.slices}, {"predicted_ns", ns(p.predicted)}};
  const bool known = p.parts.unknown.empty();
  for (const PartField& f : kPartFields) j[f.name] = known ? ns(p.parts.*f.member) : Json(nullptr);
  if (p.parts.exchanges) {
    j[kExchangePart.name] = known ? ns(p.parts.exchange) : Json(nullptr);
    for (const ExchangeTimeField& f : kExchangeTimes)
      if (!known || p.parts.exchange_times)
        j[f.name] = known ? ns((*p.parts.exchange_times).*f.member) : Json(nullptr);
    j["bytes_sent"] = p.parts.bytes_sent;
    j["bytes_received"] = p.parts.bytes_received;
  }
  if (!known) j["parts_reason"] = p.parts.unknown;
  j["utilisation"] = known ? number_json(p.utilisation) : Json(nullptr);
  j["bytes_in"] = p.parts.bytes_in;
  j["bytes_out"] = p.parts.bytes_out;
  j["bytes_resident"] = p.bytes_resident;
  if (p.kernel_variant) j["kernel_variant"] = *p.kernel_variant;
  if (!p.alone_samples.empty()) j["alone_samples_ns"] = times(p.alone_samples);
  if (!p.alone_sample_runs.empty()) j["alone_sample_runs"] = p.alone_sample_runs;
  if (!p.busy_samples.empty()) j["busy_samples_ns"] = times(p.busy_samples);
  return j;
}

Json timeline(const Timeline& t) {
  Json commands = Json::array(), spans = Json::array(), slices = Json::array();
  const bool exchanges = std::any_of(t.commands.begin(), t.commands.end(),
                                     [](const Command& c) { return c.exchange.has_value(); });
  const bool rounds = std::any_of(t.commands.begin(), t.commands.end(),
                                  [](const Command& c) { return c.round.has_value(); });
  Json columns = kCommandColumns;
  if (exchanges)
    for (const char* column : kExchangeColumns) columns.push_back(column);
  if (rounds) columns.push_back(kRoundColumn);
  for (const Command& c : t.commands) {
    commands.push_back(
        Json::array({c.device.value, to_string(c.kind), c.slice, c.label.text(), c.bytes,
                     ns(c.queued), ns(c.submitted), ns(c.started), ns(c.ended)}));
    Json& row = commands.back();
    if (exchanges) {
      const Json other = c.exchange
                             ? Json::array({c.exchange->peer.value, to_string(c.exchange->path),
                                            c.exchange->arrives})
                             : Json::array({nullptr, nullptr, nullptr});
      row.insert(row.end(), other.begin(), other.end());
    }
    if (rounds) row.push_back(c.round ? Json(*c.round) : Json(nullptr));
  }
  for (const HostSpan& s : t.spans)
    spans.push_back(Json::array({s.device.value, to_string(s.state), ns(s.begin), ns(s.end)}));
  for (const SliceRecord& s : t.slices)
    slices.push_back(
        Json::array({s.device.value, s.slice, s.begin, s.end, ns(s.enqueued), ns(s.finished)}));
  return {{"devices", t.devices},
          {"makespan_ns", ns(t.makespan)},
          {"uncertainty_ns", times(t.uncertainty)},
          {"merge",
           {{"begin_ns", ns(t.merge_begin)},
            {"end_ns", ns(t.merge_end)},
            {"on", t.merged_on ? Json(t.merged_on->value) : Json(nullptr)}}},
          {"columns",
           {{"commands", std::move(columns)}, {"spans", kSpanColumns}, {"slices", kSliceColumns}}},
          {"commands", std::move(commands)},
          {"spans", std::move(spans)},
          {"slices", std::move(slices)}};
}

}  // namespace

nlohmann::ordered_json fault_json(const Fault& f) {
  Json j = {{"device", f.device},
            {"kind", f.kind},
            {"phase", f.phase},
            {"what", f.what},
            {"sample", f.sample ? Json(*f.sample) : Json(nullptr)},
            {"at_ns", ns(f.at)},
            {"detection_ns", ns(f.detection)},
            {"recovery_ns", ns(f.recovery)},
            {"items_lost", f.items_lost},
            {"items_redone", f.items_redone},
            {"efficiency_before", number_json(f.efficiency_before)},
            {"efficiency_after", number_json(f.efficiency_after)}};
  if (!f.round) return j;
  j["round"] = *f.round;
  j["begun_again"] =
      f.begun_again ? Json{{"round", f.begun_again->round}, {"after_ns", ns(f.begun_again->after)}}
                    : Json(nullptr);
  return j;
}

namespace {

Json faults(const std::vector<Fault>& all) {
  Json j = Json::array();
  for (const Fault& f : all) j.push_back(fault_json(f));
  return j;
}

Json disturbed(const std::vector<DisturbedSample>& samples,
               const std::vector<std::string>& devices) {
  Json j = Json::array();
  for (const DisturbedSample& s : samples) {
    j.push_back({{"time_ns", ns(s.time)},
                 {"verify", to_string(s.verify)},
                 {"reason", s.reason.empty() ? Json(nullptr) : Json(s.reason)},
                 {"devices", s.devices.empty() ? devices : s.devices},
                 {"samples_before", s.samples_before ? Json(*s.samples_before) : Json(nullptr)},
                 {"timeline", s.timeline.devices > 0 ? timeline(s.timeline) : Json(nullptr)}});
  }
  return j;
}

Json borders(const std::vector<MovedBordersRecord>& all) {
  Json j = Json::array();
  for (const MovedBordersRecord& of : all) {
    Json moves = Json::array();
    for (const MovedBordersRecord::Move& move : of.moves)
      moves.push_back({{"round", move.round}, {"shares", move.shares}});
    j.push_back({{"sample", of.sample}, {"first", of.first}, {"moves", std::move(moves)}});
  }
  return j;
}

Json chain(const RunRecord& run) {
  const ChainPhases& phases = *run.chain;
  Json stages = Json::array();
  for (const ChainPhases::Stage& stage : phases.stages)
    stages.push_back({{"device", stage.device.value},
                      {"kernel", stage.kernel.text()},
                      {"time_ns", stage.time.count()}});
  return {{"filling_ns", phases.filling.count()},   {"draining_ns", phases.draining.count()},
          {"slowest_device", phases.slowest.value}, {"busy_ns", phases.busy.count()},
          {"period_ns", phases.period.count()},     {"stages", std::move(stages)}};
}

Json results(const RunRecord& run) {
  Json j = Json::object();
  Json devices = Json::array();
  for (const PerDevice& p : run.per_device) devices.push_back(per_device(p));
  j["per_device"] = std::move(devices);
  for (const MetricInfo& metric : all_metrics())
    if (!metric.optional || run.metrics.*metric.value)
      j["metrics"][metric.name] = number_json(run.metrics.*metric.value);
  if (run.worst_round) j["worst_round"] = *run.worst_round;
  if (run.chain) j["chain"] = chain(run);
  if (!run.borders.empty()) j["borders"] = borders(run.borders);
  j["bottleneck"]["name"] = run.bottleneck.name;
  for (const WhatIfField& f : kWhatIfFields)
    j["bottleneck"]["what_if_ns"][f.name] = ns(run.bottleneck.*f.member);
  if (run.bottleneck.free_exchange)
    j["bottleneck"]["what_if_ns"][kExchangeWhatIf.name] = ns(run.bottleneck.free_exchange);
  j["verify"] = {{"status", to_string(run.verify.status)},
                 {"method", run.verify.method},
                 {"digest", run.verify.digest},
                 {"samples_checked", run.verify.checked},
                 {"parts_recomputed", run.verify.recomputed}};
  if (!run.verify.found.empty()) j["verify"]["found"] = findings_json(run.verify.found);
  j["faults"] = faults(run.faults);
  j["warnings"] = run.warnings;
  if (run.noise_floor) j["noise_floor"] = number_json(*run.noise_floor);
  j["telemetry"] = figures_json(run.telemetry);
  j["timeline"] = timeline(run.timeline);
  put_points(run.telemetry_points, j["timeline"]);
  return j;
}

Json estimate(const DeviceEstimate& e) {
  Json j = {{"items_per_s", number_json(e.items_per_s)},
            {"fixed_ns", ns(e.fixed)},
            {"per_peer_contention_ns", ns(e.per_peer_contention)},
            {"launch_ns", ns(e.launch)},
            {"minimum_slice_ns", ns(e.minimum_slice)},
            {"first_slice_discount_ns", ns(e.first_slice_discount)},
            {"transfer_ns", ns(e.transfer)},
            {"up", number_json(e.up)},
            {"down", number_json(e.down)},
            {"fits", e.fits},
            {"pipeline", e.pipeline},
            {"free_memory", e.free_memory}};
  if (e.fixed_shared > Nanos{}) j["fixed_shared_ns"] = ns(e.fixed_shared);
  return j;
}

Json plan(const PlanRecord& p) {
  Json j = {{"decision_ns", ns(p.decision)}, {"predicted_ns", ns(p.predicted)}};
  if (p.chosen)
    j["chosen"] = {{"strategy", p.chosen->strategy},
                   {"devices", p.chosen->devices},
                   {"reasons", p.chosen->reasons}};
  if (!p.estimates.devices.empty()) j["estimates"] = Json::array();
  for (const DeviceEstimate& e : p.estimates.devices) j["estimates"].push_back(estimate(e));
  if (!p.work) return j;
  j["request"] = {{"items", p.work->items},
                  {"granularity", p.work->granularity},
                  {"in_bytes", number_json(p.work->cost.in_bytes)},
                  {"out_bytes", number_json(p.work->cost.out_bytes)},
                  {"replicated", p.work->cost.replicated},
                  {"link_up", link_rate_json(p.estimates.link_up)},
                  {"link_down", link_rate_json(p.estimates.link_down)},
                  {"merge_fixed_ns", ns(p.estimates.merge.fixed)},
                  {"merge_per_slice_ns", ns(p.estimates.merge.per_slice)},
                  {"merge_tree", p.estimates.merge.tree}};
  if (p.work->rounds > 0) j["request"]["rounds"] = p.work->rounds;
  const ExchangeEstimate& exchange = p.estimates.exchange;
  if (exchange.any())
    j["request"]["exchange"] = {{"gathers", exchange.gathers},
                                {"merge_bytes", exchange.combines},
                                {"links", peer_links_json(exchange.links)}};
  if (exchange.any() && exchange.rounds > 0) {
    j["request"]["exchange"]["rounds"] = exchange.rounds;
    j["request"]["exchange"]["halo_bytes"] = exchange.halo;
  }
  return j;
}

Json run_json(const RunRecord& run) {
  Json j = {{"suite", run.suite},          {"params", params(run.params)},
            {"strategy", run.strategy},    {"strategy_params", params(run.strategy_params)},
            {"devices", run.devices},      {"devices_asked", asked_for(run)},
            {"mode", to_string(run.mode)}, {"status", to_string(run.status)},
            {"reason", text(run.reason)}};
  j["setup_ns"] = {{"build", ns(run.setup.build)},
                   {"alloc", ns(run.setup.alloc)},
                   {"pin", ns(run.setup.pin)},
                   {"upload", ns(run.setup.upload)}};
  j["samples_ns"] = times(run.samples);
  if (!run.sample_runs.empty()) j["sample_runs"] = run.sample_runs;
  j["disturbed_samples"] = disturbed(run.disturbed, run.devices);
  j["sample_index"] = run.sample_index;
  j["time_ns"] = summary(run.time);
  j["work"] = {{"items", run.work.items},
               {"ops", number_json(run.work.ops)},
               {"bytes_in", run.work.bytes_in},
               {"bytes_out", run.work.bytes_out}};
  if (run.work.roof) j["work"]["roof"] = *run.work.roof;
  j["rate"] = {{"value", number_json(run.rate)}, {"unit", run.rate_unit}};
  j["merge_ns"] = ns(run.merge);
  j["plan"] = plan(run.plan);
  j.update(results(run));
  return j;
}

}  // namespace

nlohmann::ordered_json to_json(const Report& report) {
  Json j = {
      {"schema", kSchema}, {"schema_version", kResultSchemaVersion}, {"complete", report.complete}};
  if (!report.id.empty()) j["id"] = report.id;
  j["tool"] = {
      {"version", report.tool.version}, {"git", report.tool.git}, {"argv", report.tool.argv}};
  if (!report.started.empty()) j["started"] = report.started;
  j["environment"] = Json::object();
  for (const auto& [name, value] : report.environment) j["environment"][name] = value;
  j["options"] = params(report.options);
  if (!report.defaults.empty()) j["defaults"] = Json::object();
  for (const auto& [suite, values] : report.defaults) j["defaults"][suite] = params(values);
  j["devices"] = Json::array();
  for (const DeviceRecord& d : report.devices) j["devices"].push_back(device(d));
  if (report.cluster) j["cluster"] = cluster_json(*report.cluster);
  put_telemetry(report.telemetry, j);
  j["faults"] = faults(report.faults);
  if (!report.exchange_notes.empty()) j["exchange_notes"] = report.exchange_notes;
  j["runs"] = Json::array();
  for (const RunRecord& r : report.runs)
    j["runs"].push_back(run_json(r.status == Status::ok ? r : without_figures(r)));
  return j;
}

}  // namespace mgpu
