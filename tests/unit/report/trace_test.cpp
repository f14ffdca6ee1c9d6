// Traces: what is written obeys the rules.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "lib/report/trace_lanes.hpp"
#include "lib/report/trace_writer.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/sample_report.hpp"
#include "tests/support/sanitized.hpp"

using namespace mgpu;
using Json = nlohmann::ordered_json;
using test::TimelineBuilder;

namespace {

Report report_of(const Timeline& timeline) {
  Report report = test::sample_report();
  report.runs.resize(1);
  report.runs[0].timeline = timeline;
  return report;
}

std::vector<Json> events(const Report& report, const std::string& ph) {
  std::vector<Json> all;
  const Json trace = Json::parse(to_chrome_trace(report));
  for (const Json& e : trace["traceEvents"])
    if (e["ph"] == ph) all.push_back(e);
  return all;
}

std::string all_lines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& l : lines) text += l + '\n';
  return text;
}

}  // namespace

TEST_CASE("the trace of the sample report obeys every rule and is the golden one") {
  const std::string text = to_chrome_trace(test::sample_report());
  CHECK(all_lines(check_chrome_trace(text)) == "");
  CHECK(test::golden("report.trace.json", text) == text);
}

TEST_CASE(
    "traces of random pipelines obey every rule, also where clock errors moved their commands") {
  std::mt19937 random(9);
  std::uniform_int_distribution<std::int64_t> error(-200, 200);
  for (int round = 0; round < 40; ++round) {
    CAPTURE(round);
    Report report = test::sample_report();
    for (RunRecord& run : report.runs) {
      run.timeline = test::random_pipeline(random);
      run.disturbed.clear();
      run.devices.clear();
      for (std::size_t d = 0; d < run.timeline.devices; ++d)
        run.devices.push_back("0:" + std::to_string(d));  // 0:2 is not in the list
      for (Command& c : run.timeline.commands) {
        if (round % 2) c.started += Nanos{error(random)};
        if (round % 2) c.ended += Nanos{error(random)};  // may end before it starts
      }
      for (std::uint32_t d = 0; d < run.timeline.devices; ++d)
        run.timeline.spans.push_back({{d},
                                      HostState::in_flight,
                                      Nanos{error(random)},
                                      run.timeline.makespan + Nanos{error(random)}});
    }
    CHECK(all_lines(check_chrome_trace(to_chrome_trace(report))) == "");
  }
}

TEST_CASE("a report without runs, and runs that never ran, make a trace that obeys the rules") {
  CHECK(check_chrome_trace(to_chrome_trace(Report{})).empty());
  Report report = test::sample_report();
  report.runs = {test::without_numbers(Status::failed, "equal", "no memory")};
  CHECK(check_chrome_trace(to_chrome_trace(report)).empty());
  CHECK(events(report, "X").empty());
}

TEST_CASE("commands of one queue that overlap get a lane of their own") {
  const Report report = report_of(TimelineBuilder(2, 100)
                                      .compute(0, 0, 0, 50)
                                      .compute(0, 1, 40, 90)
                                      .compute(0, 2, 50, 60)
                                      .get());
  std::vector<std::uint32_t> tids;
  for (const Json& e : events(report, "X"))
    if (e["cat"] == "compute") tids.push_back(e["tid"]);
  REQUIRE(tids.size() == 3);
  CHECK(tids[1] == tids[0] + 1);
  CHECK(tids[2] == tids[0]);
}

TEST_CASE(
    "each of several nodes is a process with its host's name, its devices are threads, and how "
    "well its clock is known is drawn") {
  Report report = test::sample_report();
  report.cluster = ClusterRecord{"Open MPI v4.1.4",
                                 {{0, "first", std::nullopt, std::nullopt, std::nullopt},
                                  {1, "second", ClockOffset{Nanos{-1000}, Nanos{500}},
                                   ClockOffset{Nanos{0}, Nanos{2100}}, std::nullopt}}};
  report.devices.at(0).device.node = DeviceNode{0, "first"};
  report.devices.at(1).device.node = DeviceNode{1, "second"};
  const std::string text = to_chrome_trace(report);
  CHECK(all_lines(check_chrome_trace(text)) == "");
  const Json trace = Json::parse(text);
  std::map<std::string, std::uint32_t> processes;
  std::map<std::string, std::uint32_t> threads;  // and the processes they are of
  for (const Json& e : events(report, "M")) {
    if (e["name"] == "process_name") processes[e["args"]["name"]] = e["pid"];
    if (e["name"] == "thread_name") threads[e["args"]["name"]] = e["pid"];
  }
  REQUIRE(processes.contains("node 0: first"));
  REQUIRE(processes.contains("node 1: second (clock within 2.10 us)"));
  const std::uint32_t first = processes["node 0: first"],
                      second = processes["node 1: second (clock within 2.10 us)"];
  for (const auto& [name, pid] : processes) CHECK_FALSE(name.starts_with("GPU"));
  std::set<std::uint32_t> with_compute;
  for (const auto& [name, pid] : threads)
    if (name.starts_with("GPU") && name.ends_with(", compute")) with_compute.insert(pid);
  CHECK(with_compute == std::set<std::uint32_t>{first, second});
  std::size_t bounds = 0, samples = 0;
  for (const Json& e : events(report, "X")) {
    samples += e["cat"] == "case" || e["cat"] == "disturbed";
    if (e["cat"] != "clock") continue;
    ++bounds;
    CHECK(e["pid"] == second);
    CHECK(e["dur"] == 2.1);
  }
  CHECK(bounds > 0);
  CHECK(bounds <= samples);
  CHECK(trace["metadata"]["cluster"]["nodes"][1]["offset_end_ns"] == Json{0, 2100});
}

TEST_CASE("lanes are the fewest that keep intervals apart") {
  const auto lanes = assign_lanes({{Nanos{0}, Nanos{10}},
                                   {Nanos{10}, Nanos{20}},
                                   {Nanos{5}, Nanos{15}},
                                   {Nanos{15}, Nanos{16}},
                                   {Nanos{12}, Nanos{12}}});
  CHECK(lanes == std::vector<std::uint32_t>{0, 0, 1, 1, 2});
  CHECK(assign_lanes({}).empty());
}

TEST_CASE("times are never negative, and cases follow one another without touching") {
  Report report = report_of(TimelineBuilder(2, 1000).compute(0, 0, -70, 1500).get());
  report.runs.push_back(report.runs[0]);
  const auto slices = events(report, "X");
  std::vector<double> begins, ends;
  for (const Json& e : slices) {
    CHECK(e["ts"].get<double>() >= 0);
    if (e["cat"] != "compute") continue;
    begins.push_back(e["ts"]);
    ends.push_back(e["ts"].get<double>() + e["dur"].get<double>());
  }
  REQUIRE(begins.size() == 2);
  CHECK(begins[0] == 0);
  CHECK(ends[0] == doctest::Approx(1.5));
  CHECK(begins[1] > ends[0]);
}

TEST_CASE("an arrow leads from a slice's upload to its kernel and on to its download") {
  const Report report = report_of(TimelineBuilder(2, 100)
                                      .upload(1, 0, 0, 20)
                                      .compute(1, 0, 30, 50)
                                      .download(1, 0, 60, 70)
                                      .compute(1, 1, 55, 58)
                                      .get());
  const auto starts = events(report, "s"), ends = events(report, "f");
  REQUIRE(starts.size() == 2);
  REQUIRE(ends.size() == 2);
  CHECK(starts[0]["ts"] == 0.019);
  CHECK(ends[0]["ts"] == 0.030);
  CHECK(starts[1]["ts"] == 0.049);
  CHECK(ends[1]["ts"] == 0.060);
  CHECK(starts[0]["id"] != starts[1]["id"]);
}

TEST_CASE(
    "exchanges have a thread of their own, and an arrow leads from what was put to who waited for "
    "it") {
  const Report report = report_of(TimelineBuilder(2, 400)
                                      .exchange(1, 0, true, 50, 300)
                                      .exchange(0, 1, false, 100, 200, 64)
                                      .get());
  const auto starts = events(report, "s"), ends = events(report, "f");
  REQUIRE(starts.size() == 1);
  REQUIRE(ends.size() == 1);
  CHECK(starts[0]["ts"] == 0.199);
  CHECK(ends[0]["ts"] == 0.299);
  CHECK(starts[0]["name"] == "exchange");
  CHECK(starts[0]["pid"] != ends[0]["pid"]);
  std::size_t threads = 0;
  for (const Json& event : events(report, "M"))
    threads += event["args"].value("name", "") == "exchange" ? 1 : 0;
  CHECK(threads == 2);
  for (const Json& event :
       events(report_of(TimelineBuilder(1, 10).compute(0, 0, 0, 10).get()), "M"))
    CHECK(event["args"].value("name", "") != "exchange");
}

TEST_CASE(
    "commands say of which round they are, and an arrow leads to who waited in the same round, "
    "though the sender was ahead") {
  const Report report = report_of(TimelineBuilder(2, 400)
                                      .exchange(0, 1, false, 10, 20, 64)
                                      .of_round(3)
                                      .exchange(0, 1, false, 30, 40, 64)
                                      .of_round(4)
                                      .exchange(1, 0, true, 15, 50)
                                      .of_round(3)
                                      .exchange(1, 0, true, 60, 70)
                                      .of_round(4)
                                      .exchange(1, 0, true, 80, 90)
                                      .get());
  const auto starts = events(report, "s"), ends = events(report, "f");
  REQUIRE(starts.size() == 2);
  CHECK(starts[0]["ts"] == 0.019);
  CHECK(ends[0]["ts"] == 0.049);
  CHECK(starts[1]["ts"] == 0.039);
  CHECK(ends[1]["ts"] == 0.069);
  std::vector<int> rounds;
  for (const Json& e : events(report, "X"))
    if (e["cat"] == "exchange") rounds.push_back(e["args"].value("round", -1));
  CHECK(rounds == std::vector<int>{3, 4, 3, 4, -1});
}

TEST_CASE("each device counts its slices in flight under a key of its own") {
  const Report report = report_of(TimelineBuilder(2, 100)
                                      .compute(0, 0, 0, 50)
                                      .slice(0, 0, 0, 5, 10, 60)
                                      .slice(0, 1, 5, 9, 20, 60)
                                      .get());
  std::vector<std::pair<double, int>> steps;
  for (const Json& e : events(report, "C"))
    if (e["name"] == "slices in flight") steps.emplace_back(e["ts"], e["args"]["slices 0:0"]);
  CHECK(steps == std::vector<std::pair<double, int>>{{0, 0}, {0.01, 1}, {0.02, 2}, {0.06, 0}});
}

TEST_CASE(
    "what was read of a device or the host is counted in its process, from the begin of its case "
    "on") {
  Report report = test::sample_report();
  report.runs.resize(1);
  std::vector<std::pair<double, double>> clock;
  std::set<std::uint32_t> load_of, clock_of;
  for (const Json& e : events(report, "C")) {
    if (e["name"] == "clock MHz") {
      clock.emplace_back(e["ts"], e["args"]["clock MHz 0:0"]);
      clock_of.insert(e["pid"].get<std::uint32_t>());
    } else if (e["name"] == "load %") {
      CHECK(e["args"] == Json{{"load % host", 37.5}});
      load_of.insert(e["pid"].get<std::uint32_t>());
    } else if (e["name"] == "utilisation %") {
      CHECK(e["args"]["utilisation % 0:0"] == 50);
    } else {
      CHECK(e["name"] == "slices in flight");
    }
  }
  CHECK(clock == std::vector<std::pair<double, double>>{{0, 1980}, {600, 1755}});
  CHECK(clock_of == std::set<std::uint32_t>{2});
  CHECK(load_of == std::set<std::uint32_t>{1});
  CHECK(check_chrome_trace(to_chrome_trace(report)).empty());
}

TEST_CASE("the clocks' methods and uncertainties are in the metadata") {
  const Json metadata = Json::parse(to_chrome_trace(test::sample_report()))["metadata"];
  CHECK(metadata["version"] == "0.1.0");
  CHECK(metadata["clocks"]["0:1"] == Json{{"method", "bounds"},
                                          {"offset_ns", 71000},
                                          {"drift_ppb", -8500.25},
                                          {"uncertainty_ns", 6012}});
}

TEST_CASE("the name of a handicapped device's process says so") {
  Report report = test::sample_report();
  report.devices[1].handicap.delay = Nanos{1'000'000};
  const std::string text = to_chrome_trace(report);
  CHECK(text.find("GPU 0: NVIDIA H200 0000:1a:00.0\"") != std::string::npos);
  CHECK(text.find("GPU 1: NVIDIA H200 0000:3b:00.0 (slices 1.00 ms late)\"") != std::string::npos);
}

TEST_CASE(
    "a fault is an instant on its device's worker, and the sample it disturbed follows in a "
    "process of its own") {
  const Report report = test::sample_report();
  const auto instants = events(report, "i");
  REQUIRE(instants.size() ==
          3);  // of no case; on the device's track and in the disturbed sample's process
  CHECK(instants[0]["name"] == "device 0:2 failed");
  CHECK(instants[0]["ts"] == 0);
  CHECK(instants[1]["name"] == "device 0:1 hung");
  CHECK(instants[1]["cat"] == "fault");
  CHECK(instants[1]["args"] == Json{{"kind", "hang"},
                                    {"phase", "sample"},
                                    {"what", "did not answer for 0.2 ms"},
                                    {"items_lost", 1250},
                                    {"items_redone", 1250},
                                    {"detection_ns", 200'000},
                                    {"recovery_ns", 480'000}});
  CHECK(instants[1]["ts"] == instants[2]["ts"]);
  double disturbed = -1, shown = -1;
  for (const Json& e : events(report, "X")) {
    if (e["cat"] == "disturbed") disturbed = e["ts"];
    if (e["cat"] == "case" && disturbed < 0) shown = e["ts"];  // the last before it
  }
  CHECK(disturbed > shown);
  CHECK(instants[1]["ts"].get<double>() == doctest::Approx(disturbed + 900));
  std::map<std::uint32_t, std::string> processes;
  std::vector<std::string> threads;
  const std::uint32_t of_sample = instants[2]["pid"];
  for (const Json& e : events(report, "M")) {
    if (e["name"] == "process_name") processes[e["pid"]] = e["args"]["name"];
    if (e["name"] == "thread_name" && e["pid"] == of_sample) threads.push_back(e["args"]["name"]);
  }
  CHECK(processes[instants[1]["pid"]] == "GPU 1: NVIDIA H200 0000:3b:00.0");
  CHECK(processes[of_sample] ==
        "merkle leaves=100000 tree=plain resident dynamic: device 0:1 hung");
  CHECK(processes.size() ==
        5);  // the run, two devices, the one that was lost before, the disturbed sample
  CHECK(threads == std::vector<std::string>{"0:0 host worker", "0:0 upload", "0:0 compute",
                                            "0:0 download", "0:1 host worker", "0:1 upload",
                                            "0:1 compute", "0:1 download"});
}

TEST_CASE(
    "faults outside samples, samples without a result and devices that are not listed obey the "
    "rules of traces, too") {
  Report report = test::sample_report();
  RunRecord& run = report.runs[3];
  Fault early = run.faults[0];
  early.device = "7:7";
  early.phase = "warm_up";
  early.sample.reset();
  early.at.reset();
  run.faults.push_back(early);
  DisturbedSample failed;
  failed.reason = "no device was left";
  run.disturbed.push_back(failed);
  Fault last = run.faults[0];
  last.sample = 1;
  last.at = Nanos{-5};
  run.faults.push_back(last);
  run.disturbed[0].devices = {"0:1", "9:9"};
  run.disturbed[0].timeline.commands[0].started = Nanos{-(std::int64_t{1} << 62)};
  report.runs[4].disturbed = run.disturbed;  // a case that failed
  CHECK(all_lines(check_chrome_trace(to_chrome_trace(report))) == "");
  CHECK(events(report, "i").size() == 5);
}

TEST_CASE("stamps that no clock can give are drawn near the sample and recorded as they are") {
  constexpr std::int64_t far = std::int64_t{1} << 62;
  for (const auto& [started, ended] :
       {std::pair{far, far + 5},
        {-far, far},
        {far, -far},
        {std::int64_t{0}, std::numeric_limits<std::int64_t>::max()}}) {
    const Report report = report_of(
        TimelineBuilder(2, 1000).compute(0, 0, started, ended).compute(1, 0, 10, 900).get());
    CHECK(all_lines(check_chrome_trace(to_chrome_trace(report))) == "");
    for (const Json& e : events(report, "X")) {
      CHECK(e["ts"].get<double>() + e["dur"].get<double>() <= 1002);
      if (e["cat"] == "compute" && e["pid"] == 2) CHECK(e["args"]["started_ns"] == started);
    }
  }
}

TEST_CASE("a case that is not ok is not drawn, whatever its record holds") {
  Report report = report_of(TimelineBuilder(2, 1000).compute(0, 0, 10, 500).get());
  report.runs[0].status = Status::skipped;
  CHECK(events(report, "X").empty());
}

TEST_CASE("names with quotes and bytes that are no UTF-8 do not break a trace") {
  Report report = test::sample_report();
  report.devices[0].device.name = "a \"b\" \xff\n";
  report.runs[0].timeline.commands[0].label = Name("k\\\x80");
  CHECK(check_chrome_trace(to_chrome_trace(report)).empty());
}

TEST_CASE("100,000 commands are written and checked without a breach") {
  constexpr auto kSlices = static_cast<std::int32_t>(50'000 / one_in(50));
  TimelineBuilder b(2, 22 * kSlices);
  for (std::int32_t s = 0; s < kSlices; ++s)
    b.upload(0, s, 20 * s, 20 * s + 18, 64).compute(0, s, 20 * s + 20, 20 * s + 39);
  CHECK(check_chrome_trace(to_chrome_trace(report_of(b.get()))).empty());
}
