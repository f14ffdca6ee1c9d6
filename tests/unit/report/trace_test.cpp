// Traces obey the rules of importers.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "lib/report/trace_writer.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/sample_report.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/thorough.hpp"
#include "tests/support/trace_checker.hpp"

using namespace mgpu;
using Json = nlohmann::ordered_json;
using namespace mgpu::test;

namespace {

Report drawn_report(std::size_t devices, const std::string& makespan, const std::string& picture) {
  Report report = sample_report();
  report.runs.resize(1);
  report.runs[0].timeline = drawn(devices, makespan, picture);
  return report;
}

// Returns the events of these kinds ("X", "si"), with this category or name if it is given.
std::vector<Json> events(const Report& report, const std::string& ph, const std::string& of = "") {
  std::vector<Json> all;
  const Json trace = Json::parse(to_chrome_trace(report));
  for (const Json& e : trace["traceEvents"]) {
    if (ph.find(e["ph"].get<std::string>()) == std::string::npos) continue;
    if (of.empty() || e.value("cat", "") == of || e["name"] == of) all.push_back(e);
  }
  return all;
}

// Returns the value at a key of each event.
template <class T>
std::vector<T> each(const std::vector<Json>& events, const char* pointer) {
  std::vector<T> all;
  for (const Json& e : events) all.push_back(e[Json::json_pointer(pointer)].get<T>());
  return all;
}

// Returns the names of processes or threads, with the processes that have them.
std::map<std::string, std::uint32_t> names_of(const Report& report, const char* of) {
  std::map<std::string, std::uint32_t> all;
  for (const Json& e : events(report, "M", of)) all[e["args"]["name"]] = e["pid"];
  return all;
}

std::string breaches_of(const Report& report) {
  std::string text;
  for (const std::string& line : check_chrome_trace(to_chrome_trace(report))) text += line + '\n';
  return text;
}

}  // namespace

TEST_CASE("the trace of the sample report obeys every rule and is the golden one") {
  const std::string text = to_chrome_trace(sample_report());
  CHECK(breaches_of(sample_report()) == "");
  CHECK(golden("report.trace.json", text) == text);
}

TEST_CASE("traces of random pipelines obey every rule, also with errors of clocks") {
  std::mt19937 random(9);
  std::uniform_int_distribution<std::int64_t> error(-200, 200);
  for (int round = 0; round < 40; ++round) {
    CAPTURE(round);
    Report report = sample_report();
    for (RunRecord& run : report.runs) {
      run.timeline = random_pipeline(random);
      run.invalidated.clear();
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
    CHECK(breaches_of(report) == "");
  }
}

TEST_CASE("a report without runs, and runs that are not ok, make a trace of nothing") {
  CHECK(breaches_of(Report{}) == "");
  Report report = sample_report();
  report.runs = {without_numbers(Status::failed, "equal", "no memory")};
  CHECK(breaches_of(report) == "");
  CHECK(events(report, "X").empty());
  report = drawn_report(2, "1000", "0: run 0 10..500");
  report.runs[0].status = Status::skipped;  // its record holds figures nevertheless
  CHECK(events(report, "X").empty());
}

TEST_CASE("commands of one queue that overlap get a lane of their own") {
  const Report report = drawn_report(2, "100", "0: run 0 0..50, run 1 40..90, run 2 50..60");
  const auto tids = each<std::uint32_t>(events(report, "X", "compute"), "/tid");
  CHECK(tids == std::vector<std::uint32_t>{tids.at(0), tids[0] + 1, tids[0]});
  CHECK(assign_lanes({{Nanos{0}, Nanos{10}},
                      {Nanos{10}, Nanos{20}},
                      {Nanos{5}, Nanos{15}},
                      {Nanos{15}, Nanos{16}},
                      {Nanos{12}, Nanos{12}}}) == std::vector<std::uint32_t>{0, 0, 1, 1, 2});
  CHECK(assign_lanes({}).empty());
}

TEST_CASE("each of several nodes is a process, its devices are threads, its clock is drawn") {
  Report report = sample_report();
  report.cluster = ClusterRecord{"Open MPI v4.1.4",
                                 {{0, "first", std::nullopt, std::nullopt, std::nullopt},
                                  {1, "second", ClockOffset{Nanos{-1000}, Nanos{500}},
                                   ClockOffset{Nanos{0}, Nanos{2100}}, std::nullopt}}};
  report.devices.at(0).device.node = DeviceNode{0, "first"};
  report.devices.at(1).device.node = DeviceNode{1, "second"};
  CHECK(breaches_of(report) == "");
  auto processes = names_of(report, "process_name");
  REQUIRE(processes.contains("node 0: first"));
  REQUIRE(processes.contains("node 1: second (clock within 2.10 us)"));
  const std::uint32_t first = processes["node 0: first"],
                      second = processes["node 1: second (clock within 2.10 us)"];
  for (const auto& [name, pid] : processes) CHECK_FALSE(name.starts_with("GPU"));
  std::set<std::uint32_t> with_compute;
  for (const auto& [name, pid] : names_of(report, "thread_name"))
    if (name.starts_with("GPU") && name.ends_with(", compute")) with_compute.insert(pid);
  CHECK(with_compute == std::set<std::uint32_t>{first, second});
  const std::vector<Json> bounds = events(report, "X", "clock");
  for (const Json& e : bounds) {
    CHECK(e["pid"] == second);
    CHECK(e["dur"] == 2.1);
  }
  CHECK(bounds.size() > 0);
  CHECK(bounds.size() <=
        events(report, "X", "case").size() + events(report, "X", "disturbed").size());
  CHECK(Json::parse(to_chrome_trace(report))["metadata"]["cluster"]["nodes"][1]["offset_end_ns"] ==
        Json{0, 2100});
}

TEST_CASE("times are never negative, and cases follow one another without touching") {
  Report report = drawn_report(2, "1000", "0: run 0 -70..1500");
  report.runs.push_back(report.runs[0]);
  for (const double ts : each<double>(events(report, "X"), "/ts")) CHECK(ts >= 0);
  const auto kernels = events(report, "X", "compute");
  const auto begins = each<double>(kernels, "/ts"), lengths = each<double>(kernels, "/dur");
  REQUIRE(begins.size() == 2);
  CHECK(begins[0] == 0);
  CHECK(lengths[0] == doctest::Approx(1.5));
  CHECK(begins[1] > lengths[0]);
}

TEST_CASE("arrows lead through a slice, and from what was put to who waited for it") {
  struct Known {
    const char* picture;
    std::vector<double> starts, ends;
  };
  for (const Known& known :
       {Known{"1: up 0 0..20, run 0 30..50, down 0 60..70, run 1 55..58",
              {0.019, 0.049},
              {0.030, 0.060}},
        {"1: wait>0 50..300 0: put>1 100..200 64B", {0.199}, {0.299}},
        // The wait belongs to the same iteration, although the sender was ahead.
        {"0: put>1 10..20 64B @3, put>1 30..40 64B @4 1: wait>0 15..50 @3, wait>0 60..70 @4, "
         "wait>0 80..90",
         {0.019, 0.039},
         {0.049, 0.069}}}) {
    CAPTURE(std::string(known.picture));
    const Report report = drawn_report(2, "400", known.picture);
    CHECK(each<double>(events(report, "s"), "/ts") == known.starts);
    CHECK(each<double>(events(report, "f"), "/ts") == known.ends);
    std::set<std::string> ids;
    for (const Json& e : events(report, "s")) ids.insert(e["id"].dump());
    CHECK(ids.size() == known.starts.size());
  }
}

TEST_CASE("exchanges have a thread of their own on each device, and say their round") {
  const Report report =
      drawn_report(2, "400", "0: put>1 10..20 64B @3 1: wait>0 15..50 @3, wait>0 60..70");
  std::size_t threads = 0;
  for (const Json& event : events(report, "M"))
    threads += event["args"].value("name", "") == "exchange";
  CHECK(threads == 2);
  CHECK(events(report, "s")[0]["name"] == "exchange");
  CHECK(events(report, "s")[0]["pid"] != events(report, "f")[0]["pid"]);
  std::vector<int> rounds;
  for (const Json& e : events(report, "X", "exchange"))
    rounds.push_back(e["args"].value("round", -1));
  CHECK(rounds == std::vector<int>{3, 3, -1});
  CHECK_FALSE(
      names_of(drawn_report(1, "10", "0: run 0 0..10"), "thread_name").contains("exchange"));
}

TEST_CASE("slices in flight and readings are counted per device, from the begin of the case") {
  const Report report =
      drawn_report(2, "100", "0: run 0 0..50, items 0 0..5 10..60, items 1 5..9 20..60");
  const auto flights = events(report, "C", "slices in flight");
  CHECK(each<double>(flights, "/ts") == std::vector<double>{0, 0.01, 0.02, 0.06});
  CHECK(each<int>(flights, "/args/slices 0:0") == std::vector<int>{0, 1, 2, 0});
  Report read = sample_report();
  read.runs.resize(1);
  const auto clock = events(read, "C", "clock MHz"), load = events(read, "C", "load %");
  CHECK(each<double>(clock, "/ts") == std::vector<double>{0, 600});
  CHECK(each<double>(clock, "/args/clock MHz 0:0") == std::vector<double>{1980, 1755});
  for (const std::uint32_t pid : each<std::uint32_t>(clock, "/pid")) CHECK(pid == 2);
  for (const std::uint32_t pid : each<std::uint32_t>(load, "/pid")) CHECK(pid == 1);
  CHECK(each<double>(load, "/args/load % host") == std::vector<double>(load.size(), 37.5));
  CHECK(events(read, "C", "utilisation %").at(0)["args"]["utilisation % 0:0"] == 50);
}

TEST_CASE("names of processes have a device's handicap, and may hold quotes and any bytes") {
  Report report = sample_report();
  report.devices[1].handicap.delay = Nanos{1'000'000};
  const auto processes = names_of(report, "process_name");
  CHECK(processes.contains("GPU 0: NVIDIA H200 0000:1a:00.0"));
  CHECK(processes.contains("GPU 1: NVIDIA H200 0000:3b:00.0 (slices 1.00 ms late)"));
  report.devices[0].device.name = "a \"b\" \xff\n";
  report.runs[0].timeline.commands[0].label = Name("k\\\x80");
  CHECK(breaches_of(report) == "");
}

TEST_CASE("a fault is an instant on its device, its sample follows in a process of its own") {
  const Report report = sample_report();
  const auto instants = events(report, "i");
  // One of no case; one on the device's track, one in the sample's process.
  REQUIRE(instants.size() == 3);
  CHECK(each<std::string>(instants, "/name") ==
        std::vector<std::string>{"device 0:2 failed", "device 0:1 hung", "device 0:1 hung"});
  CHECK(instants[0]["ts"] == 0);
  CHECK(instants[1]["cat"] == "fault");
  CHECK(instants[1]["args"]["items_lost"] == 1250);
  CHECK(instants[1]["ts"] == instants[2]["ts"]);
  const double invalidated = events(report, "X", "disturbed").at(0)["ts"];
  double shown = -1;
  for (const double ts : each<double>(events(report, "X", "case"), "/ts"))
    if (ts < invalidated) shown = std::max(shown, ts);  // the last one before it
  CHECK(shown >= 0);
  CHECK(instants[1]["ts"].get<double>() == doctest::Approx(invalidated + 900));
  std::map<std::uint32_t, std::string> processes;
  for (const auto& [name, pid] : names_of(report, "process_name")) processes[pid] = name;
  const std::uint32_t of_sample = instants[2]["pid"];
  CHECK(processes[instants[1]["pid"]] == "GPU 1: NVIDIA H200 0000:3b:00.0");
  CHECK(processes[of_sample].ends_with("dynamic: device 0:1 hung"));
  // The run, two devices, one that failed earlier, the invalidated sample.
  CHECK(processes.size() == 5);
  std::vector<std::string> threads;
  for (const Json& e : events(report, "M", "thread_name"))
    if (e["pid"] == of_sample) threads.push_back(e["args"]["name"]);
  CHECK(threads == std::vector<std::string>{"0:0 host worker", "0:0 upload", "0:0 compute",
                                            "0:0 download", "0:1 host worker", "0:1 upload",
                                            "0:1 compute", "0:1 download"});
}

TEST_CASE("faults outside samples, samples without a result and unknown devices obey the rules") {
  Report report = sample_report();
  RunRecord& run = report.runs[3];
  Fault early = run.faults[0], last = early;
  early.device = "7:7";
  early.phase = "warm_up";
  early.sample.reset();
  early.at.reset();
  last.sample = 1;
  last.at = Nanos{-5};
  run.faults.insert(run.faults.end(), {early, last});
  run.invalidated.emplace_back().reason = "no device was left";
  run.invalidated[0].devices = {"0:1", "9:9"};
  run.invalidated[0].timeline.commands[0].started = Nanos{-(std::int64_t{1} << 62)};
  report.runs[4].invalidated = run.invalidated;  // a failed case
  CHECK(breaches_of(report) == "");
  CHECK(events(report, "i").size() == 5);
}

TEST_CASE("stamps that no clock can give are drawn near the sample and recorded as they are") {
  const std::string far = std::to_string(std::int64_t{1} << 62);
  for (const std::string& times : {far + ".." + far, "-" + far + ".." + far, far + "..-" + far,
                                   std::string("0..9223372036854775807")}) {
    const Report report = drawn_report(2, "1000", "0: run 0 " + times + " 1: run 0 10..900");
    CHECK(breaches_of(report) == "");
    for (const Json& e : events(report, "X")) {
      CHECK(e["ts"].get<double>() + e["dur"].get<double>() <= 1002);
      if (e["cat"] == "compute" && e["pid"] == 2)
        CHECK(e["args"]["started_ns"].dump() == times.substr(0, times.find("..")));
    }
  }
}

TEST_CASE("many commands are written and checked without a breach") {
  constexpr auto kSlices = static_cast<std::int32_t>(50'000 / one_in(50));
  const std::int32_t slices = mgpu::testing::is_thorough() ? kSlices : kSlices / 10;
  TimelineBuilder b(2, 22 * slices);
  for (std::int32_t s = 0; s < slices; ++s)
    b.upload(0, s, 20 * s, 20 * s + 18, 64).compute(0, s, 20 * s + 20, 20 * s + 39);
  Report report = drawn_report(2, "9", "");
  report.runs[0].timeline = b.get();
  CHECK(breaches_of(report) == "");
}
