// The store of results over time.
#include "lib/history/history.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <thread>

#include "lib/base/error.hpp"
#include "lib/base/output_file.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/sample_report.hpp"
#include "tests/unit/history/history_lines.hpp"

using namespace mgpu;
using test::history_line;
using test::history_of;
using test::result_of;

namespace {

std::string joined(const ResultLines& lines) {
  std::string text;
  for (const HistoryLine& line : lines.lines) text += line.text;
  return text;
}

const HistorySeries& series_named(const ResultHistory& history, const std::string& text) {
  return find_series(history, "test", text);
}

}  // namespace

TEST_CASE(
    "a series is named by what makes results comparable, without defaults and serial numbers") {
  Report report = test::sample_report();
  RunRecord& run = report.runs[2];
  CHECK(history_series(report, run) ==
        "merkle dynamic:chunks=16, resident, leaves=100000, 2 x NVIDIA H200, driver 580");
  run.params["tree"] = std::string("rfc6962");
  run.strategy_params["chunks"] = 64.0;
  report.devices[1].device.driver_version = "590.1";
  report.devices[1].device.name = "NVIDIA H100";
  report.devices[1].device.uuid = "another";
  CHECK(history_series(report, run) ==
        "merkle dynamic:chunks=64, resident, leaves=100000, tree=rfc6962, "
        "1 x NVIDIA H200, 1 x NVIDIA H100, driver 580, 590");
}

TEST_CASE("a line has the figures of a case; what did not verify never enters") {
  Report report = test::sample_report();
  report.labels = {{"commit", "abc\"def"}, {"rerun", "yes"}, {"node", "left, \\ right"}};
  report.environment["host"] = "node/1";
  report.devices[0].before[Setting::power_limit] = 500.0;
  report.runs[1].verify.status = VerifyStatus::off;
  const ResultLines lines = history_lines(report);
  CHECK(lines.left_out == 3);  // failed, unsupported, not verified
  REQUIRE(lines.lines.size() == 4);
  CHECK(lines.lines[0].file == "node-1-2026-07.jsonl");
  const std::string text = joined(lines);
  const ResultHistory history = history_of(text);
  CHECK(history.warnings.empty());
  const HistorySeries& series = series_named(history, "dynamic:chunks=64");
  REQUIRE(series.runs.size() == 1);
  const HistoryRun& run = series.runs[0];
  CHECK(run.commit == "abc\"def");
  CHECK(run.at == "2026-07-28T09:30:00Z");
  CHECK(run.machine == "node/1");
  CHECK(run.time == static_cast<double>(report.runs[3].time.median.count()));
  CHECK(run.n == 11);
  CHECK(run.disturbed);
  CHECK(run.rerun);
  CHECK_FALSE(series_named(history, "single").runs[0].disturbed);
  const auto environment = members_of(run.environment);
  CHECK(environment.at("label node") == "left, \\ right");
  CHECK(environment.at("driver") == "580.159.04");
  CHECK(environment.at("power limit") == "500 W");
  CHECK(environment.at("mgpu-bench") == "0.1.0 0123456789ab");
  CHECK(members_of(run.metrics).at("speedup").starts_with("1.2"));
  report.labels["machine"] = "rack 4";
  CHECK(history_lines(report).lines[0].file == "rack-4-2026-07.jsonl");
  report.id = "1234";
  CHECK(history_lines(report).lines[0].result == "1234");
}

TEST_CASE("results without a date, and those of links, are refused") {
  Report report = test::sample_report();
  report.started.clear();
  CHECK_THROWS_WITH_AS(history_lines(report),
                       "has no date; expected: a result of this version of run", Error);
  report = test::sample_report();
  report.runs[0].link.emplace();
  CHECK_THROWS_WITH_AS(history_lines(report),
                       "is a result of links; expected: one of mgpu-bench run", Error);
}

TEST_CASE("neither the order of lines nor repetition changes a history") {
  std::vector<std::string> lines;
  for (std::size_t run = 0; run < 30; ++run)
    lines.push_back(history_line({run, 1e6 + static_cast<double>(run)}));
  std::string forward, backward;
  for (const std::string& line : lines) {
    forward += line;
    backward = line + backward;
  }
  const std::string twice = backward + forward;
  const ResultHistory a = history_of(forward), b = history_of(twice);
  CHECK(b.repeated == 30);
  REQUIRE(a.series.size() == 1);
  REQUIRE(b.series.size() == 1);
  REQUIRE(b.series[0].runs.size() == 30);
  for (std::size_t run = 0; run < 30; ++run) {
    CHECK(a.series[0].runs[run].result == result_of(run));
    CHECK(b.series[0].runs[run].result == result_of(run));
  }
}

TEST_CASE("a torn, damaged or foreign line is skipped and named") {
  const std::string one = history_line({1}), two = history_line({2}), three = history_line({3});
  const auto read = [](const std::string& text) {
    const ResultHistory history = history_of(text);
    std::size_t runs = 0;
    for (const HistorySeries& series : history.series) runs += series.runs.size();
    return std::pair(runs, history.warnings);
  };
  for (std::size_t length = 1; length + 1 < two.size(); ++length) {
    const auto [runs, warnings] = read(one + two.substr(0, length));
    CAPTURE(length);
    CHECK(runs == 1);
    CHECK(warnings == std::vector<std::string>{"h.jsonl: line 2: skipped: it is torn or damaged"});
  }
  const auto [runs, warnings] = read(one + two.substr(0, 300) + three);
  CHECK(runs == 2);
  CHECK(warnings == std::vector<std::string>{"h.jsonl: line 2: a torn line before it is skipped"});
  std::string newer = two;
  newer.replace(newer.find("history/1"), 9, "history/2");
  CHECK(read(newer + one) ==
        std::pair(std::size_t{1},
                  std::vector<std::string>{
                      "h.jsonl: line 1: skipped: \"mgpu-bench/history/2\" is of another version"}));
  CHECK(read("\n  \n" + one).second.empty());
  for (const char* foreign : {"{}", "[]", "1", "{\"a\":1}", "{\"schema\":\"\\x\"}", "{\"a\" 1}"})
    CHECK(read(one + foreign + "\n").second.size() == 1);
  CHECK(members_of(R"({"a":"\x","b":"\u00e9","c":1})") ==
        std::map<std::string, std::string>{{"a", R"("\x")"}, {"b", "\u00e9"}, {"c", "1"}});
  // Another writer may order members in another way, and put spaces between them.
  const std::string spaced =
      R"({ "time_ns" : 5, "environment" : { "a":"}" }, "n":3, "kind":"run", "result":"r", )"
      R"("at":"2026-01-01T00:00:00Z", "series":"s", "case":"c", "schema":"mgpu-bench/history/1" })";
  const ResultHistory history = history_of(spaced);
  REQUIRE(history.series.size() == 1);
  CHECK(history.series[0].runs[0].time == 5);
  CHECK(members_of(history.series[0].runs[0].environment).at("a") == "}");
}

TEST_CASE("marks exclude a run or acknowledge a change, in one series or in all") {
  std::string text;
  for (std::size_t run = 0; run < 3; ++run) {
    text += history_line({run, 1e6, "sum equal"});
    text += history_line({run, 1e6, "sum dynamic"});
  }
  text += mark_line("exclude", {result_of(1), "sum equal", "a \"busy\" machine", "ada", "2026-02"});
  text += mark_line("ack", {result_of(2), {}, "exact now", "", "2026-02"});
  // The older of two marks on a run counts, wherever it is.
  const std::string newer = mark_line("exclude", {result_of(1), "sum equal", "no", "", "2026-03"});
  text = newer + text;
  const ResultHistory history = history_of(text);
  CHECK(history.warnings.empty());
  const HistorySeries &equal = series_named(history, "sum equal"),
                      &dynamic = series_named(history, "sum dynamic");
  REQUIRE(equal.runs[1].excluded != nullptr);
  CHECK(equal.runs[1].excluded->reason == "a \"busy\" machine");
  CHECK(equal.runs[1].excluded->who == "ada");
  CHECK(equal.runs[0].excluded == nullptr);
  CHECK(dynamic.runs[1].excluded == nullptr);
  for (const HistorySeries* series : {&equal, &dynamic}) {
    CHECK(history.acknowledgement(series->key, result_of(2))->reason == "exact now");
    CHECK(history.acknowledgement(series->key, result_of(1)) == nullptr);
  }
}

TEST_CASE("series and runs are found by the begin of an id, and by what only one has") {
  std::string text;
  for (std::size_t run = 0; run < 3; ++run) {
    text += history_line({run, 1e6, "sum equal"});
    text += history_line({run, 1e6, "sum dynamic"});
  }
  const ResultHistory history = history_of(text);
  const std::string id = series_id("sum equal");
  CHECK(series_named(history, id).key == "sum equal");
  CHECK(series_named(history, id.substr(0, 5)).key == "sum equal");
  CHECK(series_named(history, "dyn").key == "sum dynamic");
  CHECK_THROWS_WITH_AS(
      series_named(history, "sum"),
      ("test: \"sum\" means several series; expected: " + series_id("sum dynamic") + " and " + id)
          .c_str(),
      Error);
  CHECK_THROWS_AS(series_named(history, "none"), Error);
  CHECK_THROWS_AS(series_named(history, ""), Error);
  CHECK(find_results(history, "test", "0001") == std::vector{result_of(1)});
  CHECK(find_results(history, "test", "c002") == std::vector{result_of(2)});
  CHECK(find_results(history, "test", "c00") ==
        std::vector{result_of(0), result_of(1), result_of(2)});
  CHECK_THROWS_AS(find_results(history, "test", "000"), Error);  // begins three ids
  CHECK_THROWS_AS(find_results(history, "test", "x"), Error);
}

TEST_CASE("writers at the same time do not mix their lines") {
  const test::TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "a.jsonl";
  {
    std::vector<std::jthread> writers;
    for (std::size_t writer = 0; writer < 4; ++writer)
      writers.emplace_back([&, writer] {
        for (std::size_t k = 0; k < 50; ++k)
          append_lines(file, std::vector{history_line({writer * 100 + k}),
                                         history_line({writer * 100 + k, 1, "sum dynamic"})});
      });
  }
  const ResultHistory history = read_history(folder.path());
  CHECK(history.warnings.empty());
  CHECK(history.lines == 400);
}

TEST_CASE("lines are appended after a torn one, and read from plain and compressed files") {
  const test::TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "deep/a.jsonl";
  const std::vector<std::string> lines{history_line({1}), history_line({2})};
  append_lines(file, lines);
  std::ofstream(file, std::ios::app) << history_line({3}).substr(0, 50);
  append_lines(file, std::vector{history_line({4})});
  write_file_atomically(folder.path() / "deep/b.jsonl.gz", "");
  OutputFile packed(folder.path() / "deep/b.jsonl.gz");
  packed.write(history_line({5}));
  std::ofstream(folder.path() / "deep/notes.txt") << "not a history";
  const ResultHistory history = read_history(folder.path() / "deep");
  CHECK(history.files == 2);
  REQUIRE(history.series.size() == 1);
  CHECK(history.series[0].runs.size() == 4);
  CHECK(history.warnings ==
        std::vector<std::string>{"a.jsonl: line 3: skipped: it is torn or damaged"});
  CHECK_THROWS_AS(read_history(folder.path() / "none"), Error);
}
