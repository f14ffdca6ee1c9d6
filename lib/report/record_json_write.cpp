// Report -> JSON. Reading is in record_json_read.cpp, the text layout in json_text.cpp, files in
// file_writer.cpp.
#include <algorithm>
#include <utility>
#include <variant>

#include "lib/report/capability_json.hpp"
#include "lib/report/cluster_json.hpp"
#include "lib/report/fault_json.hpp"
#include "lib/report/findings_json.hpp"
#include "lib/report/json_build.hpp"
#include "lib/report/json_names.hpp"
#include "lib/report/metric_interval.hpp"
#include "lib/report/peer_links_json.hpp"
#include "lib/report/record_json.hpp"
#include "lib/report/telemetry_json.hpp"

namespace mgpu {

namespace {

using namespace json_names;

JsonValue params(const ParamMap& map) {
  JsonValue j = json_object();
  for (const auto& [name, value] : map) {
    if (const auto* number = std::get_if<double>(&value)) {
      put(j, name, finite_json(*number));
    } else if (const auto* text = std::get_if<std::string>(&value)) {
      put(j, name, *text);
    } else {
      put(j, name, std::get<std::int64_t>(value));
    }
  }
  return j;
}

JsonValue handicap(const Handicap& h) {
  return json_object({{"slow", finite_json(h.slow)},
                      {"slow_from_fraction", finite_json(h.slow_from_fraction)},
                      {"slow_from_ns", h.slow_from_time},
                      {"delay_ns", h.delay},
                      {"memory_cap_bytes", h.memory_cap}});
}

JsonValue state(const DeviceState& s) {
  JsonValue j = json_object();
  for (const SettingInfo& info : kSettingTable) {
    if (!s[info.setting]) continue;
    std::visit([&](const auto& value) { put(j, info.name, JsonItem(value)); }, *s[info.setting]);
  }
  return j;
}

JsonValue device(const DeviceRecord& record) {
  const Device& d = record.device;
  JsonValue j = json_object({{"id", d.id},
                             {"rank", record.rank},
                             {"name", d.name},
                             {"vendor", d.vendor},
                             {"platform", d.platform},
                             {"platform_vendor", d.platform_vendor},
                             {"platform_version", d.platform_version},
                             {"type", to_string(d.type)},
                             {"score", finite_json(d.score)},
                             {"uuid", d.uuid},
                             {"pci", d.pci},
                             {"driver_version", d.driver_version},
                             {"device_version", d.device_version},
                             {"global_memory_bytes", d.global_memory},
                             {"max_allocation_bytes", d.max_allocation},
                             {"local_memory_bytes", d.local_memory},
                             {"compute_units", d.compute_units},
                             {"clock_mhz", d.clock_mhz},
                             {"native_float_width", d.native_float_width},
                             {"max_work_group", d.max_work_group},
                             {"compute_capability", d.compute_capability},
                             {"host_unified_memory", d.host_unified_memory},
                             {"fp64", d.fp64},
                             {"virtualised", d.virtualised},
                             {"extensions", d.extensions},
                             {"capability", capability_json(record.capability)}});
  put(j, "clock",
      json_object({{"method", record.clock.method},
                   {"offset_ns", record.clock.offset_ns()},
                   {"drift_ppb", finite_json(record.clock.drift_ppb)},
                   {"uncertainty_ns", record.clock.uncertainty},
                   {"reference_device_ns", record.clock.reference_device}}));
  if (record.handicap.any()) put(j, "handicap", handicap(record.handicap));
  if (record.before != DeviceState{} || record.after != DeviceState{})
    put(j, "state",
        json_object({{"before", state(record.before)}, {"after", state(record.after)}}));
  if (d.node) put(j, "node", d.node->number);
  if (d.node) put(j, "host", d.node->host);
  return j;
}

// A figure of a case that has none is null: 0 would be a very good time.
JsonItem if_measured(bool measured, JsonItem value) { return measured ? value : JsonItem(nullptr); }

JsonValue summary(const Summary& s) {
  const auto time = [&](Nanos t) { return if_measured(s.n > 0, t); };
  return json_object({{"n", s.n},
                      {"min", time(s.min)},
                      {"median", time(s.median)},
                      {"mean", time(s.mean)},
                      {"stdev", time(s.stdev)},
                      {"mad", time(s.mad)},
                      {"ci95", json_list({time(s.ci95_low), time(s.ci95_high)})}});
}

JsonValue per_device(const PerDevice& p) {
  JsonValue j = json_object({{"device", p.device},
                             {"alone_ns", p.alone},
                             {"items", p.parts.items},
                             {"share", finite_json(p.share)},
                             {"slices", p.parts.slices},
                             {"predicted_ns", p.predicted}});
  const bool known = p.parts.unknown.empty();
  const auto part = [&](Nanos time) { return known ? JsonItem(time) : JsonItem(nullptr); };
  for (const PartField& f : kPartFields) put(j, f.name, part(p.parts.*f.member));
  if (p.parts.exchanges) {
    put(j, kExchangePart.name, part(p.parts.exchange));
    for (const ExchangeTimeField& f : kExchangeTimes)
      if (!known || p.parts.exchange_times)
        put(j, f.name, known ? JsonItem((*p.parts.exchange_times).*f.member) : JsonItem(nullptr));
    put(j, "bytes_sent", p.parts.bytes_sent);
    put(j, "bytes_received", p.parts.bytes_received);
  }
  if (!known) put(j, "parts_reason", p.parts.unknown);
  put(j, "utilisation", known ? finite_json(p.utilisation) : JsonItem(nullptr));
  put(j, "bytes_in", p.parts.bytes_in);
  put(j, "bytes_out", p.parts.bytes_out);
  put(j, "bytes_resident", p.bytes_resident);
  if (p.kernel_variant) put(j, "kernel_variant", *p.kernel_variant);
  if (!p.alone_samples.empty()) put(j, "alone_samples_ns", p.alone_samples);
  if (!p.alone_sample_runs.empty()) put(j, "alone_sample_runs", p.alone_sample_runs);
  if (!p.busy_samples.empty()) {
    JsonValue times = json_list();
    for (const std::optional<Nanos>& time : p.busy_samples) append(times, time);
    put(j, "busy_samples_ns", std::move(times));
  }
  return j;
}

template <typename Names>
JsonValue names_json(const Names& names) {
  JsonValue list = json_list();
  for (const char* name : names) append(list, name);
  return list;
}

JsonValue timeline(const Timeline& t) {
  JsonValue commands = json_list(), spans = json_list(), slices = json_list();
  const bool exchanges = std::any_of(t.commands.begin(), t.commands.end(),
                                     [](const Command& c) { return c.exchange.has_value(); });
  const bool rounds = std::any_of(t.commands.begin(), t.commands.end(),
                                  [](const Command& c) { return c.round.has_value(); });
  JsonValue columns = names_json(kCommandColumns);
  if (exchanges)
    for (const char* column : kExchangeColumns) append(columns, column);
  if (rounds) append(columns, kRoundColumn);
  for (const Command& c : t.commands) {
    JsonValue row = json_list({c.device.value, to_string(c.kind), c.slice, c.label.text(), c.bytes,
                               c.queued, c.submitted, c.started, c.ended});
    if (exchanges) {
      append(row, c.exchange ? JsonItem(c.exchange->peer.value) : JsonItem(nullptr));
      append(row, c.exchange ? JsonItem(to_string(c.exchange->path)) : JsonItem(nullptr));
      append(row, c.exchange ? JsonItem(c.exchange->arrives) : JsonItem(nullptr));
    }
    if (rounds) append(row, c.round);
    append(commands, std::move(row));
  }
  for (const HostSpan& s : t.spans)
    append(spans, json_list({s.device.value, to_string(s.state), s.begin, s.end}));
  for (const SliceRecord& s : t.slices)
    append(slices, json_list({s.device.value, s.slice, s.begin, s.end, s.enqueued, s.finished}));
  return json_object({{"devices", t.devices},
                      {"makespan_ns", t.makespan},
                      {"uncertainty_ns", t.uncertainty},
                      {"merge", json_object({{"begin_ns", t.merge_begin},
                                             {"end_ns", t.merge_end},
                                             {"on", t.merged_on ? JsonItem(t.merged_on->value)
                                                                : JsonItem(nullptr)}})},
                      {"columns", json_object({{"commands", std::move(columns)},
                                               {"spans", names_json(kSpanColumns)},
                                               {"slices", names_json(kSliceColumns)}})},
                      {"commands", std::move(commands)},
                      {"spans", std::move(spans)},
                      {"slices", std::move(slices)}});
}

}  // namespace

JsonValue fault_json(const Fault& f) {
  JsonValue j = json_object({{"device", f.device},
                             {"kind", f.kind},
                             {"phase", f.phase},
                             {"what", f.what},
                             {"sample", f.sample},
                             {"at_ns", f.at},
                             {"detection_ns", f.detection},
                             {"recovery_ns", f.recovery},
                             {"items_lost", f.items_lost},
                             {"items_redone", f.items_redone},
                             {"efficiency_before", finite_json(f.efficiency_before)},
                             {"efficiency_after", finite_json(f.efficiency_after)}});
  if (!f.round) return j;
  put(j, "round", *f.round);
  put(j, "begun_again", nullptr);
  if (f.begun_again)
    put(j, "begun_again",
        json_object({{"round", f.begun_again->round}, {"after_ns", f.begun_again->after}}));
  return j;
}

namespace {

JsonValue faults(const std::vector<Fault>& all) {
  JsonValue j = json_list();
  for (const Fault& f : all) append(j, fault_json(f));
  return j;
}

JsonValue disturbed(const std::vector<DisturbedSample>& samples,
                    const std::vector<std::string>& devices) {
  JsonValue j = json_list();
  for (const DisturbedSample& s : samples) {
    JsonValue shown;
    if (s.timeline.devices > 0) shown = timeline(s.timeline);
    append(j, json_object({{"time_ns", s.time},
                           {"verify", to_string(s.verify)},
                           {"reason", json_or_null(s.reason)},
                           {"devices", s.devices.empty() ? devices : s.devices},
                           {"samples_before", s.samples_before},
                           {"timeline", std::move(shown)}}));
  }
  return j;
}

JsonValue borders(const std::vector<MovedBordersRecord>& all) {
  JsonValue j = json_list();
  for (const MovedBordersRecord& of : all) {
    JsonValue moves = json_list();
    for (const MovedBordersRecord::Move& move : of.moves)
      append(moves, json_object({{"round", move.round}, {"shares", move.shares}}));
    append(j,
           json_object({{"sample", of.sample}, {"first", of.first}, {"moves", std::move(moves)}}));
  }
  return j;
}

JsonValue chain(const RunRecord& run) {
  const ChainPhases& phases = *run.chain;
  JsonValue stages = json_list();
  for (const ChainPhases::Stage& stage : phases.stages)
    append(stages, json_object({{"device", stage.device.value},
                                {"kernel", stage.kernel.text()},
                                {"time_ns", stage.time}}));
  return json_object({{"filling_ns", phases.filling},
                      {"draining_ns", phases.draining},
                      {"slowest_device", phases.slowest.value},
                      {"busy_ns", phases.busy},
                      {"period_ns", phases.period},
                      {"stages", std::move(stages)}});
}

JsonValue doubtful(const std::vector<DoubtfulMetric>& doubts) {
  JsonValue list = json_list();
  for (const DoubtfulMetric& doubt : doubts)
    append(list, json_object({{"metric", doubt.metric->name},
                              {"limit", doubt.limit},
                              {"interval", json_list({doubt.interval.low, doubt.interval.high})},
                              {"slight", doubt.slight},
                              {"beyond_noise", doubt.beyond_noise},
                              {"reason", doubt.reason}}));
  return list;
}

void put_results(JsonValue& j, const RunRecord& run) {
  JsonValue devices = json_list();
  for (const PerDevice& p : run.per_device) append(devices, per_device(p));
  put(j, "per_device", std::move(devices));
  JsonValue metrics;
  for (const MetricInfo& metric : all_metrics())
    if (!metric.optional || run.metrics.*metric.value)
      put(metrics, metric.name, finite_json(run.metrics.*metric.value));
  put(j, "metrics", std::move(metrics));
  if (const auto doubts = doubtful_metrics(run); !doubts.empty())
    put(j, "doubtful_metrics", doubtful(doubts));
  if (run.worst_round) put(j, "worst_round", *run.worst_round);
  if (run.chain) put(j, "chain", chain(run));
  if (!run.borders.empty()) put(j, "borders", borders(run.borders));
  JsonValue what_if;
  for (const WhatIfField& f : kWhatIfFields) put(what_if, f.name, run.bottleneck.*f.member);
  if (run.bottleneck.free_exchange)
    put(what_if, kExchangeWhatIf.name, run.bottleneck.free_exchange);
  put(j, "bottleneck",
      json_object({{"name", run.status == Status::ok ? run.bottleneck.name : "unknown"},
                   {"what_if_ns", std::move(what_if)}}));
  JsonValue verify = json_object({{"status", to_string(run.verify.status)},
                                  {"method", run.verify.method},
                                  {"digest", run.verify.digest},
                                  {"samples_checked", run.verify.checked},
                                  {"parts_recomputed", run.verify.recomputed}});
  if (!run.verify.found.empty()) put(verify, "found", findings_json(run.verify.found));
  put(j, "verify", std::move(verify));
  put(j, "faults", faults(run.faults));
  put(j, "warnings", run.warnings);
  if (run.noise_floor) put(j, "noise_floor", finite_json(*run.noise_floor));
  put(j, "telemetry", figures_json(run.telemetry));
  JsonValue shown;
  if (run.status == Status::ok) {
    shown = timeline(run.timeline);
    put_points(run.telemetry_points, shown);
  }
  put(j, "timeline", std::move(shown));
}

JsonValue estimate(const DeviceEstimate& e) {
  JsonValue j = json_object({{"items_per_s", finite_json(e.items_per_s)},
                             {"fixed_ns", e.fixed},
                             {"per_peer_contention_ns", e.per_peer_contention},
                             {"launch_ns", e.launch},
                             {"minimum_slice_ns", e.minimum_slice},
                             {"first_slice_discount_ns", e.first_slice_discount},
                             {"transfer_ns", e.transfer},
                             {"up", finite_json(e.up)},
                             {"down", finite_json(e.down)},
                             {"fits", e.fits},
                             {"pipeline", e.pipeline},
                             {"free_memory", e.free_memory}});
  if (e.fixed_shared > Nanos{}) put(j, "fixed_shared_ns", e.fixed_shared);
  return j;
}

JsonValue plan(const PlanRecord& p, bool measured) {
  JsonValue j = json_object(
      {{"decision_ns", if_measured(measured, p.decision)}, {"predicted_ns", p.predicted}});
  if (p.chosen)
    put(j, "chosen",
        json_object({{"strategy", p.chosen->strategy},
                     {"devices", p.chosen->devices},
                     {"reasons", p.chosen->reasons}}));
  if (!p.estimates.devices.empty()) {
    JsonValue estimates = json_list();
    for (const DeviceEstimate& e : p.estimates.devices) append(estimates, estimate(e));
    put(j, "estimates", std::move(estimates));
  }
  if (!p.work) return j;
  JsonValue request = json_object({{"items", p.work->items},
                                   {"granularity", p.work->granularity},
                                   {"in_bytes", finite_json(p.work->cost.in_bytes)},
                                   {"out_bytes", finite_json(p.work->cost.out_bytes)},
                                   {"replicated", p.work->cost.replicated},
                                   {"link_up", link_rate_json(p.estimates.link_up)},
                                   {"link_down", link_rate_json(p.estimates.link_down)},
                                   {"merge_fixed_ns", p.estimates.merge.fixed},
                                   {"merge_per_slice_ns", p.estimates.merge.per_slice},
                                   {"merge_tree", p.estimates.merge.tree}});
  if (p.work->rounds > 0) put(request, "rounds", p.work->rounds);
  const ExchangeEstimate& exchange = p.estimates.exchange;
  if (exchange.any()) {
    JsonValue how = json_object({{"gathers", exchange.gathers},
                                 {"merge_bytes", exchange.combines},
                                 {"links", peer_links_json(exchange.links)}});
    if (exchange.rounds > 0) {
      put(how, "rounds", exchange.rounds);
      put(how, "halo_bytes", exchange.halo);
    }
    put(request, "exchange", std::move(how));
  }
  put(j, "request", std::move(request));
  return j;
}

JsonValue run_json(const RunRecord& run) {
  JsonValue j = json_object({{"suite", run.suite},
                             {"params", params(run.params)},
                             {"strategy", run.strategy},
                             {"strategy_params", params(run.strategy_params)},
                             {"devices", run.devices},
                             {"devices_asked", asked_for(run)},
                             {"mode", to_string(run.mode)},
                             {"status", to_string(run.status)},
                             {"reason", run.reason}});
  const bool measured = run.status == Status::ok;
  const auto set_up = [&](Nanos t) { return if_measured(measured || t > Nanos{}, t); };
  put(j, "setup_ns",
      json_object({{"build", set_up(run.setup.build)},
                   {"alloc", set_up(run.setup.alloc)},
                   {"pin", set_up(run.setup.pin)},
                   {"upload", set_up(run.setup.upload)}}));
  put(j, "samples_ns", run.samples);
  if (!run.sample_runs.empty()) put(j, "sample_runs", run.sample_runs);
  put(j, "disturbed_samples", disturbed(run.disturbed, run.devices));
  put(j, "sample_index", if_measured(measured, run.sample_index));
  put(j, "time_ns", summary(run.time));
  JsonValue work = json_object({{"items", run.work.items},
                                {"ops", finite_json(run.work.ops)},
                                {"bytes_in", run.work.bytes_in},
                                {"bytes_out", run.work.bytes_out}});
  if (run.work.roof) put(work, "roof", *run.work.roof);
  put(j, "work", std::move(work));
  put(j, "rate",
      json_object({{"value", if_measured(measured && run.rate > 0, finite_json(run.rate))},
                   {"unit", run.rate_unit}}));
  put(j, "merge_ns", if_measured(measured, run.merge));
  put(j, "plan", plan(run.plan, measured));
  put_results(j, run);
  return j;
}

}  // namespace

JsonValue report_value(const Report& report) {
  JsonValue j = json_object({{"schema", kSchema},
                             {"schema_version", kResultSchemaVersion},
                             {"complete", report.complete}});
  if (!report.id.empty()) put(j, "id", report.id);
  put(j, "tool",
      json_object({{"version", report.tool.version},
                   {"git", report.tool.git},
                   {"argv", report.tool.argv}}));
  if (!report.started.empty()) put(j, "started", report.started);
  JsonValue environment = json_object();
  for (const auto& [name, value] : report.environment) put(environment, name, value);
  put(j, "environment", std::move(environment));
  put(j, "options", params(report.options));
  if (!report.defaults.empty()) {
    JsonValue defaults = json_object();
    for (const auto& [suite, values] : report.defaults) put(defaults, suite, params(values));
    put(j, "defaults", std::move(defaults));
  }
  JsonValue devices = json_list();
  for (const DeviceRecord& d : report.devices) append(devices, device(d));
  put(j, "devices", std::move(devices));
  if (report.cluster) put(j, "cluster", cluster_json(*report.cluster));
  put_telemetry(report.telemetry, j);
  put(j, "faults", faults(report.faults));
  if (!report.exchange_notes.empty()) put(j, "exchange_notes", report.exchange_notes);
  JsonValue runs = json_list();
  for (const RunRecord& r : report.runs)
    append(runs, r.status == Status::ok ? run_json(r) : run_json(without_figures(r)));
  put(j, "runs", std::move(runs));
  return j;
}

}  // namespace mgpu
