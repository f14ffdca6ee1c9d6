// The result file can be read again. Two golden files pin the writer; reading and writing them
// again without a change pins the reader, field by field.
#include "lib/report/record_json.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "lib/base/error.hpp"
#include "lib/report/table_writer.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/json_texts.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/sample_report.hpp"

using namespace mgpu;
using namespace mgpu::test;

namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

void add_rounds_and_chain(RunRecord& run) {
  Command put;
  put.device = {1};
  put.kind = CommandKind::exchange;
  put.label = Name("put");
  put.bytes = 4096;
  put.ended = Nanos{7};
  put.exchange = ExchangeInfo{{0}, PeerPath::staged, true};
  put.round = 4'000'000'000u;
  run.timeline.commands.push_back(put);
  run.timeline.commands.at(1).round = 7;
  DeviceParts& parts = run.per_device.front().parts;
  parts.exchanges = true;
  parts.exchange = Nanos{70};
  parts.exchange_times = {Nanos{5}, Nanos{75}, Nanos{60}};
  parts.bytes_sent = 4096;
  parts.bytes_received = 2048;
  const Metrics made = run.metrics;
  double next = 0.0625;
  for (const MetricInfo& metric : all_metrics()) run.metrics.*metric.value = next *= 1.0625;
  run.metrics.speedup = made.speedup;
  run.metrics.ideal_speedup = made.ideal_speedup;
  run.metrics.efficiency = made.efficiency;
  run.bottleneck.free_exchange = Nanos{5};
  run.worst_round = 7;
  run.rebalances = {{2, {10, 10}, {{4, {12, 8}}, {8, {13, 7}}}}, {3, {13, 7}, {{16, {14, 6}}}}};
  run.migrations = {{2, {10, 10}, 3, 24, Nanos{70}}, {4, {13, 7}, 1, 0, Nanos{7}}};
  run.adaptations = {{2, "0:1", kSlowDownCause, Nanos{500}, Nanos{80}},
                     {3, "0:0", "throttling: thermal", Nanos{0}, std::nullopt}};
  PerDevice& first = run.per_device.front();
  first.slice_total = Nanos{660'000};
  first.bytes_peak = 7'000'000;
  first.memory_used = 0.875;
  first.memory_saved = -0.0625;
  first.pool = {5, 2};
  run.chain = ChainPhases{
      Nanos{10}, Nanos{20}, {1},
      Nanos{30}, Nanos{33}, {{{0}, Name("hash"), Nanos{25}}, {{1}, Name("reduce"), Nanos{30}}}};
}

void add_plan(RunRecord& run) {
  DeviceEstimate estimate;
  estimate.items_per_s = 5e8;
  estimate.fixed = Nanos{1000};
  estimate.fixed_shared = Nanos{800};
  estimate.launch = Nanos{2000};
  estimate.first_slice_discount = Nanos{500};
  estimate.per_peer_contention = Nanos{300};
  estimate.minimum_slice = Nanos{90};
  estimate.transfer = Nanos{3000};
  estimate.up = 5e10;
  estimate.down = 4e10;
  estimate.fits = 90'000;
  estimate.pipeline = 12'500;
  estimate.free_memory = Bytes{1} << 37;
  SetEstimates& estimates = run.plan.estimates;
  estimates = {{estimate, estimate}, LinkRate({5e10, 1e11}), 9e10, {Nanos{70}, Nanos{7}}};
  estimates.exchange = {PeerLinks(2, {PeerPath::host, 1.5e10, Nanos{70'000}}), true, 4096, 9, 1024};
  estimates.exchange.links.of(1, 0).bytes_per_s = 1.0 / 3 * 1e10;
  run.plan.work = PlannedWork{100'000, 8, {32, 0.5, 0, 4096}, 20};
  run.plan.chosen = PlanChosen{"guided", {"0:0", "0:1"}, {"it is faster"}};
}

// Returns a report with all the fields that only some results have.
Report everything() {
  Report report = sample_report();
  report.runs = {report.runs[3]};
  RunRecord& run = report.runs[0];
  add_rounds_and_chain(run);
  add_plan(run);
  run.strategy_params = {{"variant", std::string("factoring")}, {"K", 2.5}};
  run.params["precision"] = std::numeric_limits<double>::quiet_NaN();
  run.work.ceiling = "host link";
  run.work.ceiling_time = Nanos{700'000};
  run.work.link = {3.2e6, 32, 5e10, 4.5e10};
  run.per_device[0].demand = Demand{1e9, 0, 2.5e9, 3.2e6};
  run.noise_floor = 0.03;
  run.energy = EnergyRecord{
      3.5, 0.04, {3.4, 3.6}, 4, {}, 3.5e-5, 0.96, 412, Nanos{2'500'000'000}, Nanos{5'000'000},
      {},  ""};
  EnergyFigures& counter = run.energy->counters.emplace_back();
  counter.of = "0:0";
  counter.joules = 3.5;
  counter.half_width = 0.04;
  counter.idle_w = 75;
  counter.step = Nanos{20'000'000};
  counter.by_power = 3.45;
  run.energy->counters.emplace_back().reason = "there is no RAPL";
  run.sample_runs.assign(11, 2);
  run.per_device[0].alone_sample_runs.assign(11, 1);
  run.per_device[0].kernel_variant = "tile 8";
  run.per_device[0].busy_samples[3].reset();
  run.per_device[1].parts.unknown = "a kernel took no time";
  Findings& found = run.verify.found;
  found.figures = {{"relative error", 0.001}, {"loss", 2e-7}};
  found.milestones = {{"relative error 0.01", 400, Nanos{12'345}}};
  found.curves = {{"loss", {1, 50, 1000}, {0.5, 0.25, kInfinite}}};
  run.rate = kNaN;
  run.faults[0].round = 3;
  run.faults[0].restarted = Fault::BegunAgain{2, Nanos{9}};
  run.invalidated[0].devices = {"0:0", "0:2"};
  run.invalidated.emplace_back().reason = "no device was left";
  report.id = "0123456789abcdef";
  report.environment.merge(std::map<std::string, std::string>{
      {"cores", "1.5"}, {"memory_bytes", "25276514304"}, {"CUDA_VISIBLE_DEVICES", "1"}});
  report.options = {{"warmup", std::int64_t{0}}, {"verify", "off"}, {"share", 0.5}};
  report.exchange_notes = {"staged between all devices: libcuda.so.1 cannot be loaded"};
  report.cluster = ClusterRecord{
      "Open MPI v4.1.4",
      {{0, "a", {}, {}, {}}, {3, "b", ClockOffset{Nanos{-5}, Nanos{7}}, {}, "it was silent"}}};
  DeviceRecord &first = report.devices[0], &second = report.devices[1];
  first.clock.drift_ppb = kNaN;
  first.capability.emplace();
  first.capability->fp32_flops = 65.5e12;
  first.capability->int32_ops = kInfinite;
  first.capability->memory_bytes_per_s = 4.25e12;
  first.capability->pinned_up = 55.3e9;
  first.capability->launch = Nanos{9100};
  for (const SettingInfo& info : kSettingTable)
    first.before[info.setting] = info.type == 0   ? SettingValue(16.5)
                                 : info.type == 1 ? SettingValue(true)
                                                  : SettingValue("performance");
  first.after[Setting::ecc] = false;
  first.handicap.slow = 3;
  first.handicap.slow_from_fraction = 0.25;
  second.device.node = DeviceNode{3, "b"};
  second.handicap.slow = 2.5;
  second.handicap.slow_from_time = Nanos{20'000'000};
  second.handicap.delay = Nanos{1'000'000};
  second.handicap.memory_cap = Bytes{512} << 20;
  return report;
}

}  // namespace

TEST_CASE("results are written as the golden files are, and come back as they were written") {
  for (const auto& [name, report] : {std::pair<const char*, Report>{"report.json", sample_report()},
                                     {"report_everything.json", everything()}}) {
    const std::string text = to_json_text(report);
    CHECK(golden(name, text) == text);
    CHECK(to_json_text(report_from_text(text)) == text);
  }
}

TEST_CASE("what the reader makes of values that stand for others") {
  const Report back = report_from_text(to_json_text(everything()));
  CHECK(back.runs[0].rate == 0);
  CHECK_FALSE(back.devices[0].capability->int32_ops > 0);
  CHECK(std::isnan(back.runs[0].verify.found.curves[0].values[2]));
  CHECK(back.runs[0].timeline.commands.at(2).slice == kCollect);
  CHECK(back.devices[1].clock.offset_ns() == 71'000);
  CHECK(back.devices[1].clock.to_host(1'790'000'000'000'005'000ull) ==
        everything().devices[1].clock.to_host(1'790'000'000'000'005'000ull));
  CHECK(back.runs[0].invalidated[1].timeline.devices == 0);
  CHECK(report_from_text(to_json_text(sample_report())).runs[0].devices_asked == 2);
}

TEST_CASE("results without what only some have are read") {
  const std::string text = to_json_text(everything());
  // The metrics that a file may lack are erased with them.
  const std::string bare = edited(text, edits_of(R"(
    /exchange_notes
    /cluster
    /devices/1/node
    /devices/1/host
    /devices/0/handicap
    /devices/0/state
    /runs/0/chain
    /runs/0/timeline/telemetry
    /runs/0/plan/estimates
    /runs/0/plan/request
    /runs/0/per_device/0/exchange_total_ns
    /runs/0/per_device/0/exchange_hidden_ns
    /runs/0/per_device/0/waiting_ns)"));
  const Report back = report_from_text(bare);
  CHECK(back.exchange_notes.empty());
  CHECK_FALSE(back.cluster);
  CHECK_FALSE(back.devices[1].device.node);
  CHECK_FALSE(back.devices[0].handicap.any());
  CHECK_FALSE(back.runs[0].chain);
  CHECK_FALSE(back.runs[0].plan.work);
  CHECK(back.runs[0].per_device[0].parts.exchange == Nanos{70});
  CHECK_FALSE(back.runs[0].per_device[0].parts.exchange_times);
  CHECK(json_at(to_json_text(back), "/runs/0/per_device/0/waiting_ns") == "");
}

TEST_CASE("numbers of the environment are texts in older files, and cases have no names there") {
  const std::string text = to_json_text(everything());
  check_json(text, R"(/environment/cores 1.5
    /environment/memory_bytes 25276514304
    /environment/CUDA_VISIBLE_DEVICES "1"
    /runs/0/case "merkle/leaves:100000/precision:nan/tree:plain/dynamic:K=2.5:variant=factoring/devices:3/resident")");
  const Report older = report_from_text(edited(text, edits_of(R"(/environment/cores "1.5"
    /environment/memory_bytes "25276514304"
    /runs/0/case)")));
  CHECK(older.environment == everything().environment);
  CHECK(to_json_text(older) == text);
  Report odd = everything();
  odd.environment["cores"] = "2 of 4";
  CHECK(report_from_text(to_json_text(odd)).environment == odd.environment);
}

TEST_CASE("a report without timelines is written without them and shows the same figures") {
  Report report = everything();
  const std::string text = to_json_text(report);
  CHECK_FALSE(lacks_timelines(report));
  report.timelines = false;
  const std::string bare = to_json_text(report);
  CHECK(to_json_text(report_from_text(edited(text, edits_of(R"(/runs/0/timeline null
    /runs/0/disturbed_samples/0/timeline null)")))) == bare);
  const Report back = report_from_text(bare);
  CHECK(lacks_timelines(back));
  CHECK(to_json_text(back) == bare);
  const TableStyle style{100, false};
  CHECK(run_tables(back, style) == run_tables(report_from_text(text), style));
}

TEST_CASE("unknown keys and further columns of newer files are skipped") {
  const std::string text = to_json_text(sample_report());
  std::vector<Edit> more = edits_of(R"(/new 1
    /runs/0/new {"x": 1}
    /runs/0/timeline/columns/slices/- "stolen")");
  for (std::size_t row = 0; row < sample_report().runs[0].timeline.slices.size(); ++row)
    more.push_back({"/runs/0/timeline/slices/" + std::to_string(row) + "/-", "true"});
  CHECK(to_json_text(report_from_text(edited(text, more))) == text);
}

TEST_CASE("a case that is not ok is written without figures, whatever its record holds") {
  for (const Status status : {Status::failed, Status::skipped, Status::unsupported}) {
    Report report = sample_report();
    RunRecord& run = report.runs[3];
    run.status = status;
    run.reason = "device 0:1 was lost";
    const std::string json = to_json_text(report);
    check_json(json, R"(/runs/3/samples_ns []
      /runs/3/time_ns/n 0
      /runs/3/time_ns/min null
      /runs/3/time_ns/median null
      /runs/3/time_ns/stdev null
      /runs/3/time_ns/ci95 [null, null]
      /runs/3/rate/value null
      /runs/3/sample_index null
      /runs/3/merge_ns null
      /runs/3/plan/decision_ns null
      /runs/3/bottleneck/name "unknown"
      /runs/3/timeline null
      /runs/3/per_device []
      /runs/3/metrics/speedup null
      /runs/3/reason "device 0:1 was lost")");
    CHECK(to_json_text(report_from_text(json)) == json);
    CHECK(report_from_text(json).runs[3].faults.size() == 1);  // the faults of this run
    CHECK(report_from_text(json).runs[3].invalidated.size() == 1);
  }
}

TEST_CASE("files of earlier versions are refused with the program that wrote them") {
  const std::string text =
      edited(to_json_text(sample_report()), edits_of("/schema_version 2\n/tool/version \"0.2.0\""));
  CHECK_THROWS_WITH_AS(report_from_text(text),
                       doctest::Contains("2 is older than this tool reads (3): mgpu-bench 0.2.0 "
                                         "(git "),
                       Error);
}

TEST_CASE("telemetry that was off is null, with the reason") {
  Report report = sample_report();
  report.telemetry = {Nanos{}, "turned off", {}};
  check_json(to_json_text(report), "/telemetry null\n/telemetry_reason \"turned off\"");
}

TEST_CASE("names that are no UTF-8 are replaced, not thrown at") {
  Report report = sample_report();
  report.devices[0].device.name = "Caf\xe9 \"GPU\"\n\x01";
  report.environment["bad\xff"] = "x";
  check_json(to_json_text(report),
             "/devices/0/name \"Caf\xef\xbf\xbd \\\"GPU\\\"\\n\\u0001\"\n"
             "/environment/bad\xef\xbf\xbd \"x\"");
}

TEST_CASE("the published schemas are JSON and found by name") {
  check_json(schema_text("result"), "/title \"mgpu-bench result file, version 3\"");
  CHECK_THROWS_WITH_AS(schema_text("nothing"), doctest::Contains("calibrate, check, compare"),
                       Error);
}

TEST_CASE("scripts read the schemas that follow from the fields") {
  for (const std::string name : {"result", "scaling", "trend"}) {
    const std::string file = "lib/report/" + name + ".schema.json";
    INFO("to be written again by: mgpu-bench schema " << name << " > " << file);
    CHECK(test::file_text(test::source_folder() / file) == schema_text(name));
  }
}
