// The result file: what is written comes back.
#include "lib/report/record_json.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "lib/base/error.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/sample_report.hpp"

using namespace mgpu;
using Json = nlohmann::ordered_json;

TEST_CASE("a report comes back from its JSON text equal in every field") {
  Report report = test::sample_report();
  report.runs[3].work.roof = "host link";  // missing where no roof is known
  const std::string text = to_json_text(report);
  const Report back = report_from_json(Json::parse(text));
  CHECK(to_json_text(back) == text);
  REQUIRE(back.runs.size() == report.runs.size());
  const RunRecord &a = report.runs[3], &b = back.runs[3];
  CHECK(b.params == a.params);
  CHECK(b.strategy_params == a.strategy_params);
  CHECK(b.work.roof == "host link");
  CHECK_FALSE(back.runs[0].work.roof);
  CHECK(b.samples == a.samples);
  CHECK(b.time.ci95_high == a.time.ci95_high);
  CHECK(b.metrics.speedup == a.metrics.speedup);
  CHECK(b.metrics.share_error == a.metrics.share_error);
  CHECK(b.bottleneck.perfect_balance == a.bottleneck.perfect_balance);
  CHECK(b.plan.predicted == a.plan.predicted);
  CHECK(b.per_device[1].predicted == std::nullopt);
  CHECK(b.per_device[0].parts.finish == a.per_device[0].parts.finish);
  CHECK(b.per_device[0].parts.transfer_total == a.per_device[0].parts.transfer_total);
  CHECK(b.per_device[1].alone_samples == a.per_device[1].alone_samples);
  CHECK(b.per_device[1].busy_samples == a.per_device[1].busy_samples);
  CHECK(b.timeline.commands.size() == a.timeline.commands.size());
  CHECK(b.timeline.commands.at(1).label == "kernel");
  CHECK(b.timeline.commands.at(2).slice == kCollect);
  CHECK(b.timeline.spans.at(0).end == a.timeline.spans.at(0).end);
  CHECK(b.timeline.slices.at(1).begin == a.timeline.slices.at(1).begin);
  CHECK(b.timeline.merged_on == DeviceIndex{0});
  CHECK(back.runs[4].status == Status::failed);
  CHECK(back.runs[4].reason == "the root differs from the reference");
  CHECK(back.runs[6].mode == Mode::end_to_end);
  CHECK(back.devices[1].device.pci == "0000:3b:00.0");
  CHECK(back.devices[1].device.compute_capability == 90u);
  CHECK(back.devices[1].clock.to_host(1'790'000'000'000'005'000ull) ==
        report.devices[1].clock.to_host(1'790'000'000'000'005'000ull));
  CHECK(back.devices[1].clock.offset_ns() == 71'000);
}

TEST_CASE(
    "options that samples were taken under come back by name and as what they were; files without "
    "them have none") {
  Report report = test::sample_report();
  report.options = {{"warmup", std::int64_t{0}},
                    {"verify", "off"},
                    {"build_timeout_ns", std::int64_t{300'000'000'000}},
                    {"share", 0.5}};
  const std::string text = to_json_text(report);
  CHECK(
      text.find(
          R"(  "options": {"build_timeout_ns":300000000000,"share":0.5,"verify":"off","warmup":0},)") !=
      std::string::npos);
  Json json = Json::parse(text);
  CHECK(report_from_json(json).options == report.options);
  json.erase("options");
  CHECK(report_from_json(json).options.empty());
}

TEST_CASE("a fault, what it cost and the sample it disturbed come back in each of their parts") {
  const Report report = test::sample_report();
  const Report back = report_from_json(to_json(report));
  CHECK(back.runs[3].devices_asked == 3);
  CHECK(back.runs[0].devices_asked == 2);  // as many as it has
  CHECK(back.runs[3].verify.checked == 11);
  REQUIRE(back.runs[3].faults.size() == 1);
  const Fault &a = report.runs[3].faults[0], &b = back.runs[3].faults[0];
  CHECK(b.device == a.device);
  CHECK(b.kind == "hang");
  CHECK(b.phase == "sample");
  CHECK(b.what == a.what);
  CHECK(b.sample == std::size_t{0});
  CHECK(b.at == a.at);
  CHECK(b.detection == a.detection);
  CHECK(b.recovery == a.recovery);
  CHECK(b.items_lost == 1250);
  CHECK(b.items_redone == 1250);
  CHECK(b.efficiency_before == 0.96);
  CHECK(b.efficiency_after == 1.0);
  REQUIRE(back.runs[3].disturbed.size() == 1);
  const DisturbedSample& disturbed = back.runs[3].disturbed[0];
  CHECK(disturbed.time == report.runs[3].disturbed[0].time);
  CHECK(disturbed.verify == VerifyStatus::passed);
  CHECK(disturbed.reason.empty());
  CHECK(disturbed.devices == report.runs[3].devices);
  CHECK(disturbed.samples_before == std::size_t{2});
  CHECK(disturbed.timeline.commands.size() == report.runs[3].disturbed[0].timeline.commands.size());
  REQUIRE(back.faults.size() == 1);
  CHECK(back.faults[0].phase == "set_up");
  CHECK_FALSE(back.faults[0].sample);
  CHECK_FALSE(back.faults[0].detection);
}

TEST_CASE(
    "a disturbed sample without a result says why, and one of devices the case has no longer names "
    "them") {
  Report report = test::sample_report();
  DisturbedSample failed;
  failed.reason = "no device was left";
  DisturbedSample& disturbed = report.runs[3].disturbed[0];
  disturbed.devices = {"0:0", "0:1"};
  report.runs[3].disturbed.push_back(failed);
  report.runs[3].devices = {"0:0"};
  report.runs[3].timeline = {};
  const Json json = to_json(report);
  CHECK(json["runs"][3]["disturbed_samples"][1]["timeline"].is_null());
  const Report back = report_from_json(json);
  CHECK(back.runs[3].disturbed[1].reason == "no device was left");
  CHECK(back.runs[3].disturbed[1].timeline.devices == 0);
  CHECK(back.runs[3].disturbed[0].devices.size() == 2);
}

TEST_CASE(
    "a device whose time stamps are impossible has no parts in the file, and a reason, and is read "
    "again as it was") {
  Report report = test::sample_report();
  PerDevice& device = report.runs[0].per_device[0];
  device.parts.unknown = "a kernel took no time";
  device.busy_samples[3].reset();
  const Json json = Json::parse(to_json_text(report));
  const Json& written = json["runs"][0]["per_device"][0];
  CHECK(written["compute_ns"].is_null());
  CHECK(written["residue_ns"].is_null());
  CHECK(written["utilisation"].is_null());
  CHECK(written["items"] == 100'000);
  CHECK(written["parts_reason"] == "a kernel took no time");
  CHECK(written["busy_samples_ns"][3].is_null());
  CHECK_FALSE(json["runs"][0]["per_device"][1].contains("parts_reason"));
  const Report back = report_from_json(json);
  CHECK(back.runs[0].per_device[0].parts.unknown == "a kernel took no time");
  CHECK_FALSE(back.runs[0].per_device[0].busy_samples[3]);
  CHECK(to_json_text(back) == to_json_text(report));
}

TEST_CASE("a case that is not ok is written without figures, whatever its record holds") {
  for (const Status status : {Status::failed, Status::skipped, Status::unsupported}) {
    Report report = test::sample_report();
    RunRecord& run = report.runs[3];
    run.status = status;
    run.reason = "device 0:1 was lost";
    const Json json = to_json(report)["runs"][3];
    CHECK(json["samples_ns"].empty());
    CHECK(json["time_ns"]["median"] == 0);
    CHECK(json["rate"]["value"] == 0);
    CHECK(json["per_device"].empty());
    for (const auto& [name, value] : json["metrics"].items()) CHECK(value.is_null());
    CHECK(json["timeline"]["commands"].empty());
    CHECK(json["faults"].size() == 1);  // those it keeps
    CHECK(json["disturbed_samples"].size() == 1);
    CHECK(json["reason"] == "device 0:1 was lost");
  }
}

TEST_CASE("files from before faults were told in full are read") {
  Json old = to_json(test::sample_report());
  old.erase("faults");
  for (Json& run : old["runs"]) {
    run.erase("disturbed_samples");
    run.erase("devices_asked");
    run["verify"].erase("samples_checked");
  }
  old["runs"][3]["faults"] =
      Json::array({{{"device", "0:1"}, {"what", "it hung"}, {"items_lost", 7}}});
  const Report back = report_from_json(old);
  CHECK(back.faults.empty());
  CHECK(back.runs[3].disturbed.empty());
  CHECK(asked_for(back.runs[3]) == 2);
  CHECK(back.runs[3].faults.at(0).kind == "error");
  CHECK(back.runs[3].faults[0].items_lost == 7);
}

TEST_CASE("a handicap comes back in each of its parts, and a device without one has no such key") {
  Report report = test::sample_report();
  Handicap& handicap = report.devices[1].handicap;
  handicap.slow = 2.5;
  handicap.slow_from_fraction = 0.25;
  handicap.delay = Nanos{1'000'000};
  Report back = report_from_json(to_json(report));
  CHECK_FALSE(to_json(report)["devices"][0].contains("handicap"));
  CHECK_FALSE(back.devices[0].handicap.any());
  CHECK(back.devices[1].handicap.slow == 2.5);
  CHECK(back.devices[1].handicap.slow_from_fraction == 0.25);
  CHECK_FALSE(back.devices[1].handicap.slow_from_time);
  CHECK(back.devices[1].handicap.delay == Nanos{1'000'000});
  CHECK_FALSE(back.devices[1].handicap.memory_cap);
  handicap.slow_from_time = Nanos{20'000'000};
  handicap.memory_cap = Bytes{512} << 20;
  back = report_from_json(to_json(report));
  CHECK(back.devices[1].handicap.slow_from_time == Nanos{20'000'000});
  CHECK(back.devices[1].handicap.memory_cap == Bytes{512} << 20);
}

TEST_CASE("ranks and the nodes of devices come back, and files of one process have neither") {
  Report report = test::sample_report();
  CHECK_FALSE(to_json(report).contains("cluster"));
  CHECK_FALSE(to_json(report)["devices"][0].contains("node"));
  CHECK_FALSE(report_from_json(to_json(report)).cluster);
  report.devices[1].device.node = DeviceNode{3, "b"};
  report.cluster = ClusterRecord{
      "Open MPI v4.1.4",
      {{0, "a", {}, {}, {}}, {3, "b", ClockOffset{Nanos{-5}, Nanos{7}}, {}, "it was silent"}}};
  const Report back = report_from_json(to_json(report));
  REQUIRE(back.devices[1].device.node);
  CHECK(back.devices[1].device.node->number == 3);
  CHECK(back.devices[1].device.node->host == "b");
  REQUIRE(back.cluster);
  CHECK(back.cluster->library == "Open MPI v4.1.4");
  REQUIRE(back.cluster->nodes.size() == 2);
  CHECK_FALSE(back.cluster->nodes[0].begin);
  CHECK(back.cluster->nodes[1].begin == ClockOffset{Nanos{-5}, Nanos{7}});
  CHECK_FALSE(back.cluster->nodes[1].end);
  CHECK(back.cluster->nodes[1].lost == "it was silent");
  Json json = to_json(report);
  json["cluster"]["nodes"][1]["offset_begin_ns"] = {7, -5};
  CHECK_THROWS_WITH_AS(report_from_json(json), doctest::Contains("two bounds in ascending order"),
                       Error);
}

TEST_CASE("the JSON text of the sample report is the golden one") {
  const std::string text = to_json_text(test::sample_report());
  CHECK(test::golden("report.json", text) == text);
}

TEST_CASE(
    "why devices are staged comes back as it was written, and files that have nothing to say of it "
    "are read") {
  Report report = test::sample_report();
  const Json json = to_json(report);
  CHECK_FALSE(json.contains("exchange_notes"));
  CHECK(report_from_json(json).exchange_notes.empty());
  report.exchange_notes = {"staged between all devices: libcuda.so.1 cannot be loaded",
                           "devices exchange no data: out of memory"};
  CHECK(report_from_json(to_json(report)).exchange_notes == report.exchange_notes);
}

TEST_CASE("numbers that are not finite are null in the file and not a number after it") {
  Report report = test::sample_report();
  report.runs[0].rate = std::numeric_limits<double>::quiet_NaN();
  report.runs[0].params["precision"] = std::numeric_limits<double>::infinity();
  report.runs[0].metrics.overlap = -std::numeric_limits<double>::infinity();
  report.devices[0].clock.drift_ppb = std::numeric_limits<double>::quiet_NaN();
  const std::string text = to_json_text(report);
  const Json json = Json::parse(text);
  CHECK(json["runs"][0]["rate"]["value"].is_null());
  CHECK(json["runs"][0]["params"]["precision"].is_null());
  CHECK(json["runs"][0]["metrics"]["overlap"].is_null());
  CHECK(json["devices"][0]["clock"]["drift_ppb"].is_null());
  CHECK(json["runs"][4]["plan"]["predicted_ns"].is_null());
  const Report back = report_from_json(json);
  CHECK(std::isnan(back.runs[0].rate));
  CHECK_FALSE(back.runs[0].metrics.overlap);
  CHECK(to_json_text(back) == text);
}

TEST_CASE("a strategy's parameter may be a number or a name") {
  Report report = test::sample_report();
  report.runs[0].strategy_params = {{"variant", std::string("factoring")}, {"K", 2.5}};
  const Json json = Json::parse(to_json_text(report));
  CHECK(json["runs"][0]["strategy_params"] == Json{{"K", 2.5}, {"variant", "factoring"}});
  CHECK(report_from_json(json).runs[0].strategy_params == report.runs[0].strategy_params);
}

TEST_CASE(
    "telemetry comes back as it was written, its absence is stated, and files without it are "
    "read") {
  Report report = test::sample_report();
  const Json json = Json::parse(to_json_text(report));
  CHECK(json["telemetry"]["watched"][2] ==
        Json{{"of", "0:1"}, {"source", nullptr}, {"reason", "there is no NVML"}});
  CHECK(json["runs"][0]["telemetry"][1]["clock_mhz"] ==
        Json{{"min", 1755.0}, {"mean", 1900.5}, {"max", 1980.0}});
  CHECK_FALSE(json["runs"][0]["telemetry"][0].contains("clock_mhz"));
  CHECK(json["runs"][4]["telemetry"].is_null());  // it never ran
  const Report back = report_from_json(json);
  CHECK(back.runs[0].telemetry[1].throttle == throttle::power_cap);
  CHECK(back.runs[0].telemetry_points[1].reading[Gauge::clock] == 1755);
  CHECK(to_json_text(back) == to_json_text(report));

  report.telemetry = {Nanos{}, "turned off", {}};
  const Json off = to_json(report);
  CHECK(off["telemetry"].is_null());
  CHECK(off["telemetry_reason"] == "turned off");

  Json old = json;
  old.erase("telemetry");
  old.erase("telemetry_reason");
  for (Json& run : old["runs"]) {
    run.erase("telemetry");
    run["timeline"].erase("telemetry");
  }
  const Report older = report_from_json(old);
  CHECK(older.telemetry.interval == Nanos{});
  CHECK(older.runs[0].telemetry.empty());
}

TEST_CASE("names that are no UTF-8 are replaced, not thrown at") {
  Report report = test::sample_report();
  report.devices[0].device.name = "Caf\xe9 \"GPU\"\n\x01";
  report.environment["bad\xff"] = "x";
  const std::string text = to_json_text(report);
  const Json json = Json::parse(text);
  CHECK(json["devices"][0]["name"] == "Caf\xef\xbf\xbd \"GPU\"\n\x01");
  CHECK(json["environment"].contains("bad\xef\xbf\xbd"));
}

TEST_CASE("keys come in the order of the design") {
  const Json json = to_json(test::sample_report());
  std::vector<std::string> keys;
  for (const auto& [key, value] : json["runs"][0].items()) keys.push_back(key);
  CHECK(keys ==
        std::vector<std::string>{"suite",        "params",        "strategy",   "strategy_params",
                                 "devices",      "devices_asked", "mode",       "status",
                                 "reason",       "setup_ns",      "samples_ns", "disturbed_samples",
                                 "sample_index", "time_ns",       "work",       "rate",
                                 "merge_ns",     "plan",          "per_device", "metrics",
                                 "bottleneck",   "verify",        "faults",     "warnings",
                                 "telemetry",    "timeline"});
  CHECK(json.begin().key() == "schema");
  CHECK(json["runs"][0]["params"]["leaves"].is_number_integer());
}

TEST_CASE("unknown keys and further columns of newer files are skipped") {
  Json json = to_json(test::sample_report());
  json["new"] = 1;
  json["runs"][0]["new"] = {{"x", 1}};
  Json& timeline = json["runs"][0]["timeline"];
  timeline["columns"]["slices"].push_back("stolen");
  for (Json& row : timeline["slices"]) row.push_back(true);
  CHECK(to_json_text(report_from_json(json)) == to_json_text(test::sample_report()));
}

TEST_CASE("the published schemas are JSON and found by name") {
  CHECK(Json::parse(schema_text("result"))["title"] == "mgpu-bench result file, version 2");
  CHECK(Json::parse(schema_text("trace"))["required"][0] == "traceEvents");
  try {
    schema_text("nothing");
    FAIL("a schema of no such name was found");
  } catch (const Error& e) {
    CHECK(e.kind() == ErrorKind::usage);
    CHECK(std::string(e.what()) ==
          "no schema \"nothing\": there are calibrate, compare, devices, links, list, plan, "
          "result, scaling, scenario, trace");
  }
}
