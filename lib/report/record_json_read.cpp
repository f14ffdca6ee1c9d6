// JSON -> Report. Unknown keys are skipped, so that files of newer minor versions stay readable;
// missing ones are errors. Timelines are read in timeline_json_read.cpp, plans in
// plan_json_read.cpp.
#include <algorithm>
#include <utility>

#include "lib/base/quote.hpp"
#include "lib/report/capability_json.hpp"
#include "lib/report/cluster_json.hpp"
#include "lib/report/fault_json.hpp"
#include "lib/report/findings_json.hpp"
#include "lib/report/json_names.hpp"
#include "lib/report/json_reader.hpp"
#include "lib/report/record_json.hpp"
#include "lib/report/telemetry_json.hpp"

namespace mgpu {

namespace {

using namespace json_names;

std::string read_string(const JsonReader& j) { return j.string(); }
Nanos read_duration(const JsonReader& j) { return j.duration(); }
// Below zero, as in files of the first versions: not known.
std::optional<Nanos> read_what_if(const JsonReader& j) {
  if (j.is_whole() && j.number_or_nan() < 0) return std::nullopt;
  return j.optional(read_duration);
}

template <typename Enum>
Enum read_word(const JsonReader& j, std::initializer_list<Enum> all) {
  const std::optional<Enum> value = from_string(j.string(), all);
  if (!value) j.fail("unknown word " + in_quotes(j.string()));
  return *value;
}

Mode read_mode(const JsonReader& j) {
  try {
    return mode_named(j.string());
  } catch (const Error& error) {
    j.fail(error.what());
  }
}

ParamMap read_params(const JsonReader& j) {
  ParamMap map;
  j.members([&](const std::string& name, const JsonReader& value) {
    if (value.is_string())
      map[name] = value.string();
    else if (value.is_whole())
      map[name] = value.integer<std::int64_t>();
    else
      map[name] = value.number();
  });
  return map;
}

ClockMap read_clock(const JsonReader& j) {
  ClockMap clock;
  clock.method = j.at("method").string();
  clock.drift_ppb = j.at("drift_ppb").number(-1e9, 1e9);
  clock.uncertainty = j.at("uncertainty_ns").duration();
  clock.reference_device = j.at("reference_device_ns").integer<std::uint64_t>();
  const auto offset = static_cast<std::uint64_t>(j.at("offset_ns").integer<std::int64_t>());
  clock.reference_host = Nanos{static_cast<std::int64_t>(clock.reference_device + offset)};
  return clock;
}

Handicap read_handicap(const JsonReader& j) {
  Handicap h;
  h.slow = j.at("slow").number(1, 1e9);
  h.slow_from_fraction = j.at("slow_from_fraction").number(0, 1);
  h.slow_from_time = j.at("slow_from_ns").optional(read_duration);
  h.delay = j.at("delay_ns").duration();
  h.memory_cap =
      j.at("memory_cap_bytes").optional([](const JsonReader& v) { return v.integer<Bytes>(); });
  return h;
}

DeviceState read_state(const JsonReader& j) {
  DeviceState state;
  for (const SettingInfo& info : kSettingTable) {
    if (!j.has(info.name)) continue;
    const JsonReader value = j.at(info.name);
    auto& setting = state[info.setting];
    if (info.type == 0) setting = value.finite(0, JsonReader::kMostNumber);
    if (info.type == 1) setting = value.boolean();
    if (info.type == 2) setting = value.string();
  }
  return state;
}

DeviceRecord read_device(const JsonReader& j) {
  DeviceRecord record;
  Device& d = record.device;
  d.id = j.at("id").string();
  record.rank = j.at("rank").integer<std::uint32_t>();
  d.name = j.at("name").string();
  d.vendor = j.at("vendor").string();
  d.platform = j.at("platform").string();
  d.platform_vendor = j.at("platform_vendor").string();
  d.platform_version = j.at("platform_version").string();
  d.type = read_word(j.at("type"), {DeviceType::gpu, DeviceType::cpu, DeviceType::accelerator,
                                    DeviceType::custom});
  d.score = j.at("score").number(0, 100);
  d.uuid = j.at("uuid").optional(read_string);
  d.pci = j.at("pci").optional(read_string);
  d.driver_version = j.at("driver_version").string();
  d.device_version = j.at("device_version").string();
  d.global_memory = j.at("global_memory_bytes").integer<Bytes>();
  d.max_allocation = j.at("max_allocation_bytes").integer<Bytes>();
  d.local_memory = j.at("local_memory_bytes").integer<Bytes>();
  d.compute_units = j.at("compute_units").integer<std::uint32_t>();
  d.clock_mhz = j.at("clock_mhz").integer<std::uint32_t>();
  d.native_float_width = j.at("native_float_width").integer<std::uint32_t>();
  d.max_work_group = j.at("max_work_group").integer<std::size_t>();
  d.compute_capability = j.at("compute_capability").optional([](const JsonReader& v) {
    return v.integer<std::uint32_t>();
  });
  d.host_unified_memory = j.at("host_unified_memory").boolean();
  d.fp64 = j.at("fp64").boolean();
  d.virtualised = j.at("virtualised").boolean();
  d.extensions = j.at("extensions").strings();
  record.capability = read_capability(j.at("capability"));
  record.clock = read_clock(j.at("clock"));
  if (j.has("handicap")) record.handicap = read_handicap(j.at("handicap"));
  if (j.has("state")) {
    record.before = read_state(j.at("state").at("before"));
    record.after = read_state(j.at("state").at("after"));
  }
  if (j.has("node"))
    d.node = DeviceNode{j.at("node").integer<std::uint32_t>(), j.at("host").string()};
  return record;
}

// Null where nothing was measured, which has 0 in memory.
Nanos read_figure(const JsonReader& j) { return j.optional(read_duration).value_or(Nanos{}); }

Summary read_summary(const JsonReader& j) {
  Summary s;
  s.n = j.at("n").integer<std::size_t>();
  const auto time = [&](const JsonReader& t) { return s.n > 0 ? t.duration() : read_figure(t); };
  s.min = time(j.at("min"));
  s.median = time(j.at("median"));
  s.mean = time(j.at("mean"));
  s.stdev = time(j.at("stdev"));
  s.mad = time(j.at("mad"));
  std::vector<Nanos> ci;
  j.at("ci95").elements([&](const JsonReader& e) { ci.push_back(time(e)); });
  if (ci.size() != 2) j.at("ci95").fail("two numbers expected");
  s.ci95_low = ci[0];
  s.ci95_high = ci[1];
  return s;
}

std::vector<Nanos> read_times(const JsonReader& j) {
  std::vector<Nanos> all;
  j.elements([&](const JsonReader& e) { all.push_back(e.duration()); });
  return all;
}

// None where all are of the first run.
std::vector<std::uint32_t> read_sample_runs(const JsonReader& j, const char* key,
                                            std::size_t samples) {
  std::vector<std::uint32_t> runs;
  if (!j.has(key)) return runs;
  j.at(key).elements([&](const JsonReader& e) { runs.push_back(e.integer<std::uint32_t>()); });
  if (runs.size() != samples) j.at(key).fail("one for each sample expected");
  return runs;
}

PerDevice read_per_device(const JsonReader& j) {
  PerDevice p;
  p.device = j.at("device").string();
  p.alone = j.at("alone_ns").optional(read_duration);
  p.predicted = j.at("predicted_ns").optional(read_prediction);
  p.share = j.at("share").number(0, 1);
  p.utilisation = j.at("utilisation").number(0);
  p.bytes_resident = j.at("bytes_resident").integer<Bytes>();
  if (j.has("kernel_variant")) p.kernel_variant = j.at("kernel_variant").string();
  p.parts.items = j.at("items").integer<Items>();
  p.parts.slices = j.at("slices").integer<std::uint32_t>();
  p.parts.bytes_in = j.at("bytes_in").integer<Bytes>();
  p.parts.bytes_out = j.at("bytes_out").integer<Bytes>();
  if (j.has("bytes_sent")) {
    p.parts.exchanges = true;
    p.parts.bytes_sent = j.at("bytes_sent").integer<Bytes>();
    p.parts.bytes_received = j.at("bytes_received").integer<Bytes>();
  }
  if (j.has("parts_reason")) {
    p.parts.unknown = j.at("parts_reason").string();
  } else {
    for (const PartField& f : kPartFields) {  // the residue may be too little as well as too much
      if (f.member == &DeviceParts::wake && !j.has(f.name)) continue;  // older files: residue
      p.parts.*f.member =
          f.member == &DeviceParts::residue ? j.at(f.name).nanos() : j.at(f.name).duration();
    }
    if (j.has(kExchangePart.name)) p.parts.exchange = j.at(kExchangePart.name).duration();
    if (j.has(kExchangeTimes.front()
                  .name)) {  // of files from before they were recorded they are not known
      DeviceParts::ExchangeTimes& times =
          p.parts.exchange_times.emplace(DeviceParts::ExchangeTimes{});
      for (const ExchangeTimeField& f : kExchangeTimes) times.*f.member = j.at(f.name).duration();
    }
  }
  if (j.has("alone_samples_ns"))
    p.alone_samples =
        read_times(j.at("alone_samples_ns"));  // files from before they were recorded have none
  p.alone_sample_runs = read_sample_runs(j, "alone_sample_runs", p.alone_samples.size());
  if (j.has("busy_samples_ns"))
    j.at("busy_samples_ns").elements([&](const JsonReader& e) {
      p.busy_samples.push_back(e.optional(read_duration));
    });
  return p;
}

}  // namespace

// Files of the first versions know device, what and items_lost only: errors, of samples that count
// as ordinary ones.
Fault read_fault(const JsonReader& j, std::size_t disturbed) {
  const auto number = [](const JsonReader& v) { return v.number(); };
  Fault f;
  f.device = j.at("device").string();
  f.kind = j.has("kind") ? j.at("kind").string() : "error";
  f.phase = j.has("phase") ? j.at("phase").string() : "sample";
  f.what = j.at("what").string();
  if (j.has("sample"))
    f.sample =
        j.at("sample").optional([](const JsonReader& v) { return v.integer<std::size_t>(); });
  if (f.sample && *f.sample >= disturbed) j.at("sample").fail("no such disturbed sample");
  if (j.has("at_ns")) f.at = j.at("at_ns").optional(read_duration);
  if (j.has("detection_ns")) f.detection = j.at("detection_ns").optional(read_duration);
  if (j.has("recovery_ns")) f.recovery = j.at("recovery_ns").optional(read_duration);
  f.items_lost = j.at("items_lost").integer<Items>();
  if (j.has("items_redone")) f.items_redone = j.at("items_redone").integer<Items>();
  if (j.has("round"))
    f.round =
        j.at("round").optional([](const JsonReader& v) { return v.integer<std::uint32_t>(); });
  if (j.has("begun_again")) {
    f.begun_again = j.at("begun_again").optional([](const JsonReader& v) {
      return Fault::BegunAgain{v.at("round").integer<std::uint32_t>(), v.at("after_ns").duration()};
    });
  }
  if (j.has("efficiency_before")) f.efficiency_before = j.at("efficiency_before").optional(number);
  if (j.has("efficiency_after")) f.efficiency_after = j.at("efficiency_after").optional(number);
  return f;
}

namespace {

std::vector<Fault> read_faults(const JsonReader& j, std::size_t disturbed) {
  std::vector<Fault> faults;
  j.elements([&](const JsonReader& e) { faults.push_back(read_fault(e, disturbed)); });
  return faults;
}

DisturbedSample read_disturbed(const JsonReader& j) {
  DisturbedSample sample;
  sample.time = j.at("time_ns").nanos();
  sample.verify =
      read_word(j.at("verify"), {VerifyStatus::passed, VerifyStatus::failed, VerifyStatus::off});
  sample.reason = j.at("reason").optional(read_string).value_or("");
  sample.devices = j.at("devices").strings();
  sample.samples_before =
      j.at("samples_before").optional([](const JsonReader& v) { return v.integer<std::size_t>(); });
  if (!j.at("timeline").is_null()) sample.timeline = read_timeline(j.at("timeline"));
  if (sample.timeline.devices > sample.devices.size())
    j.at("timeline").at("devices").fail("more than the sample's own list of devices");
  return sample;
}

void read_measurement(const JsonReader& j, RunRecord& run) {
  const JsonReader setup = j.at("setup_ns"), work = j.at("work"), rate = j.at("rate");
  run.setup = {read_figure(setup.at("build")), read_figure(setup.at("alloc")),
               read_figure(setup.at("pin")), read_figure(setup.at("upload"))};
  run.samples = read_times(j.at("samples_ns"));
  run.sample_runs = read_sample_runs(j, "sample_runs", run.samples.size());
  if (j.has("disturbed_samples"))
    j.at("disturbed_samples").elements([&](const JsonReader& e) {
      run.disturbed.push_back(read_disturbed(e));
    });
  run.sample_index = j.at("sample_index")
                         .optional([](const JsonReader& v) { return v.integer<std::size_t>(); })
                         .value_or(0);
  if (!run.samples.empty() && run.sample_index >= run.samples.size())
    j.at("sample_index").fail("no such sample");
  run.time = read_summary(j.at("time_ns"));
  run.work = {work.at("items").integer<Items>(), work.at("ops").number(0),
              work.at("bytes_in").integer<Bytes>(), work.at("bytes_out").integer<Bytes>()};
  if (work.has("roof")) run.work.roof = work.at("roof").string();
  run.rate = rate.at("value").optional([](const JsonReader& v) { return v.number(0); }).value_or(0);
  run.rate_unit = rate.at("unit").string();
  run.merge = read_figure(j.at("merge_ns"));
  run.plan = read_plan(j.at("plan"));
}

std::vector<Items> read_shares(const JsonReader& j) {
  std::vector<Items> shares;
  j.elements([&](const JsonReader& e) { shares.push_back(e.integer<Items>()); });
  return shares;
}

MovedBordersRecord read_borders(const JsonReader& j) {
  MovedBordersRecord borders{j.at("sample").integer<std::size_t>(), read_shares(j.at("first")), {}};
  j.at("moves").elements([&](const JsonReader& e) {
    borders.moves.push_back({e.at("round").integer<std::uint32_t>(), read_shares(e.at("shares"))});
  });
  return borders;
}

ChainPhases read_chain(const JsonReader& j, std::uint32_t devices) {
  const std::uint32_t last = devices - 1;  // as indices
  ChainPhases phases;
  phases.filling = j.at("filling_ns").nanos();
  phases.draining = j.at("draining_ns").nanos();
  phases.slowest = {j.at("slowest_device").integer<std::uint32_t>(0, last)};
  phases.busy = j.at("busy_ns").nanos();
  phases.period = j.at("period_ns").nanos();
  j.at("stages").elements([&](const JsonReader& e) {
    phases.stages.push_back({{e.at("device").integer<std::uint32_t>(0, last)},
                             Name(e.at("kernel").string()),
                             e.at("time_ns").nanos()});
  });
  return phases;
}

// Files from before version 3 have it of samples of any length.
void drop_energy_of_short_samples(RunRecord& run) {
  const bool long_enough = std::any_of(run.samples.begin(), run.samples.end(),
                                       [](Nanos t) { return t >= kShortestForEnergy; });
  for (TelemetryFigures& figures : run.telemetry) {
    if (!figures.energy_j || long_enough) continue;
    figures.energy_j.reset();
    figures.energy_reason = kTooShortForEnergy;
  }
}

void read_results(const JsonReader& j, RunRecord& run) {
  j.at("per_device").elements([&](const JsonReader& e) {
    run.per_device.push_back(read_per_device(e));
  });
  const JsonReader metrics = j.at("metrics"), bottleneck = j.at("bottleneck"),
                   verify = j.at("verify");
  for (const MetricInfo& metric : all_metrics())
    if (!metric.optional || metrics.has(metric.name))
      run.metrics.*metric.value =
          metrics.at(metric.name).optional([](const JsonReader& v) { return v.number(); });
  if (j.has("worst_round")) run.worst_round = j.at("worst_round").integer<std::uint32_t>();
  if (j.has("chain")) {
    if (run.devices.empty()) j.at("chain").fail("there are no devices");
    run.chain = read_chain(j.at("chain"), static_cast<std::uint32_t>(run.devices.size()));
    if (run.chain->stages.empty()) j.at("chain").at("stages").fail("there are none");
  }
  if (j.has("borders"))
    j.at("borders").elements([&](const JsonReader& e) { run.borders.push_back(read_borders(e)); });
  run.bottleneck.name = bottleneck.at("name").string();
  for (const WhatIfField& f : kWhatIfFields)
    run.bottleneck.*f.member = read_what_if(bottleneck.at("what_if_ns").at(f.name));
  if (bottleneck.at("what_if_ns").has(kExchangeWhatIf.name))
    run.bottleneck.free_exchange =
        read_what_if(bottleneck.at("what_if_ns").at(kExchangeWhatIf.name));
  run.verify.status = read_word(verify.at("status"),
                                {VerifyStatus::passed, VerifyStatus::failed, VerifyStatus::off});
  run.verify.method = verify.at("method").string();
  run.verify.digest = verify.at("digest").string();
  if (verify.has("parts_recomputed"))
    run.verify.recomputed = verify.at("parts_recomputed").integer<std::size_t>();
  if (verify.has("samples_checked"))
    run.verify.checked = verify.at("samples_checked").integer<std::size_t>();
  if (verify.has("found")) run.verify.found = read_findings(verify.at("found"));
  run.faults = read_faults(j.at("faults"), run.disturbed.size());
  run.warnings = j.at("warnings").strings();
  if (j.has("noise_floor")) run.noise_floor = j.at("noise_floor").number(0);
  run.telemetry = read_figures(j);
  drop_energy_of_short_samples(run);
  const JsonReader timeline = j.at("timeline");
  if (timeline.is_null()) return;
  run.timeline = read_timeline(timeline);
  run.telemetry_points = read_points(timeline);
  if (run.timeline.devices > run.devices.size())
    timeline.at("devices").fail("more than the run's own list of devices");
}

// Refuses a case that cannot have come about: whoever made it up, or damaged it, no figure of it
// can be believed. Figures that only differ from its samples: lib/report/contradictions.hpp.
void check_case(const JsonReader& j, const RunRecord& run) {
  if (run.status != Status::ok) return;
  if (run.samples.empty()) j.at("samples_ns").fail("none, and yet the case is ok");
  j.at("samples_ns").elements([](const JsonReader& sample) {
    if (sample.duration() <= Nanos{}) sample.fail("0 ns is no sample; expected: more");
  });
  if (run.verify.status == VerifyStatus::failed)
    j.at("verify").at("status").fail("failed, and yet the case is ok");
  if (run.verify.status == VerifyStatus::passed && run.verify.digest.empty())
    j.at("verify").at("digest").fail("empty, and yet the result was verified");
  const JsonReader metrics = j.at("metrics");
  for (const auto metric : {&Metrics::speedup, &Metrics::ideal_speedup, &Metrics::efficiency})
    if (run.metrics.*metric && *(run.metrics.*metric) < 0)
      for (const MetricInfo& info : all_metrics())
        if (info.value == metric) metrics.at(info.name).fail("less than 0; expected: more");
}

RunRecord read_run(const JsonReader& j) {
  RunRecord run;
  run.suite = j.at("suite").string();
  run.params = read_params(j.at("params"));
  run.strategy = j.at("strategy").string();
  run.strategy_params = read_params(j.at("strategy_params"));
  run.devices = j.at("devices").strings();
  if (j.has("devices_asked")) run.devices_asked = j.at("devices_asked").integer<std::size_t>();
  run.mode = read_mode(j.at("mode"));
  run.status =
      read_word(j.at("status"), {Status::ok, Status::failed, Status::skipped, Status::unsupported});
  run.reason = j.at("reason").optional(read_string);
  read_measurement(j, run);
  read_results(j, run);
  check_case(j, run);
  return run;
}

// A trace lays the cases of a report end to end: together they must stay what 64 bits hold.
void check_length(const Report& report) {
  constexpr std::int64_t most = 4'000'000'000'000'000'000;  // 126 years
  std::int64_t whole = 0;
  for (std::size_t k = 0; k < report.runs.size(); ++k) {
    const Timeline& t = report.runs[k].timeline;
    Nanos latest = std::max(t.makespan, t.merge_end);
    for (const Command& command : t.commands)
      latest =
          std::max({latest, command.queued, command.submitted, command.started, command.ended});
    for (const HostSpan& span : t.spans) latest = std::max(latest, span.end);
    for (const SliceRecord& slice : t.slices)
      latest = std::max({latest, slice.enqueued, slice.finished});
    for (const TelemetryPoint& point : report.runs[k].telemetry_points)
      latest = std::max(latest, point.reading.at);
    whole += latest.count();
    if (whole > most)
      throw Error(ErrorKind::input, "runs[" + std::to_string(k) +
                                        "].timeline: with those before it, longer than 126 years");
  }
}

void check_header(const JsonReader& j) {
  j.expect(j.is_object(), "a JSON object");
  const std::string schema = j.at("schema").string();
  if (schema != kSchema)
    j.at("schema").fail(in_quotes(schema) + " is not \"" + std::string(kSchema) + '"');
  const auto version = j.at("schema_version").integer<std::int32_t>();
  if (version > kResultSchemaVersion)
    j.at("schema_version")
        .fail(std::to_string(version) + " is newer than this tool reads (" +
              std::to_string(kResultSchemaVersion) + ")");
  if (version < 1) j.at("schema_version").fail(std::to_string(version) + " never existed");
}

}  // namespace

Report read_report_value(const JsonReader& j) {
  check_header(j);
  Report report;
  report.complete = j.at("complete").boolean();
  if (j.has("id")) report.id = j.at("id").string();
  const JsonReader tool = j.at("tool");
  report.tool = {tool.at("version").string(), tool.at("git").string(), tool.at("argv").strings()};
  j.at("environment").members([&](const std::string& name, const JsonReader& v) {
    report.environment[name] = v.string();
  });
  if (j.has("options")) report.options = read_params(j.at("options"));
  if (j.has("started")) report.started = j.at("started").string();
  if (j.has("defaults"))
    j.at("defaults").members([&](const std::string& suite, const JsonReader& v) {
      report.defaults[suite] = read_params(v);
    });
  j.at("devices").elements([&](const JsonReader& e) { report.devices.push_back(read_device(e)); });
  if (j.has("cluster")) report.cluster = read_cluster(j.at("cluster"));
  report.telemetry = read_telemetry(j);
  if (j.has("faults")) report.faults = read_faults(j.at("faults"), 0);
  if (j.has("exchange_notes")) report.exchange_notes = j.at("exchange_notes").strings();
  j.at("runs").elements([&](const JsonReader& e) { report.runs.push_back(read_run(e)); });
  check_length(report);
  return report;
}

}  // namespace mgpu
