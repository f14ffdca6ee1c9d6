// Tests what is said about a history.
#include "lib/history/trend.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <random>

#include "tests/unit/history/history_lines.hpp"

using namespace mgpu;
using test::history_line;
using test::history_of;
using test::LineOf;
using test::result_of;

namespace {

// Returns a value from -1 to 1 that looks random.
double noise(std::size_t k) {
  std::mt19937 random(static_cast<unsigned>(k) * 2654435761u + 1);
  return static_cast<double>(random()) / 2147483648.0 - 1;
}

// Returns the lines of a series of runs: level(run) in milliseconds, with 1 % of noise.
std::string lines_of(std::size_t runs, const std::function<double(std::size_t)>& level,
                     const std::string& series = "sum equal",
                     const std::function<void(LineOf&)>& change = {}) {
  std::string text;
  for (std::size_t run = 0; run < runs; ++run) {
    const std::size_t seed = run + std::hash<std::string>()(series) % 1000 * 1000;
    LineOf line{run, 1e6 * level(run) * (1 + 0.01 * noise(seed)), series};
    if (change) change(line);
    text += history_line(line);
  }
  return text;
}

double flat(std::size_t) { return 1; }
double slower_from_20(std::size_t run) { return run < 20 ? 1 : 1.08; }

TrendReport trends(const std::string& text, const TrendOptions& options = {}) {
  return find_trends(history_of(text), options);
}

}  // namespace

TEST_CASE("series that got slower in the same run are one group, with what else changed there") {
  std::string text = lines_of(30, flat, "sum single");
  for (const char* series : {"sum equal", "sum dynamic", "sum guided"})
    text += lines_of(30, slower_from_20, series, [](LineOf& line) {
      line.environment =
          line.run < 20 ? R"("driver":"580.1","host":"a")" : R"("driver":"580.2","host":"a")";
    });
  const TrendReport report = trends(text);
  REQUIRE(report.groups.size() == 1);
  const TrendGroup& group = report.groups[0];
  CHECK(group.worse);
  CHECK(group.status == ChangeStatus::open);
  CHECK(group.series.size() == 3);
  CHECK(group.least > 0.06);
  CHECK(group.most < 0.1);
  CHECK(group.first.commit <= "c020");
  CHECK(group.last.commit >= "c020");
  CHECK(group.last.commit <= "c021");
  CHECK(group.attributes == std::vector<TrendAttribute>{{"driver", "580.1", "580.2"}});
  CHECK(report.alarms());
  const std::string table = trend_tables(report, {.width = 80});
  CHECK(table.starts_with("slower: 3 of 4 series, +"));
  CHECK(table.find("changed there: driver: 580.1 -> 580.2") != std::string::npos);
  for (std::size_t at = 0, end = 0; at < table.size(); at = end + 1) {
    end = table.find('\n', at);
    CHECK(end - at <= 80);
  }
}

TEST_CASE("a group names the runs that all of its series name") {
  // The place of a small change is not known as well as that of a large one.
  const std::string small = lines_of(
      60, [](std::size_t run) { return run < 30 ? 1 : 1.022; }, "sum a");
  const TrendRun first = trends(small).groups.at(0).first, last = trends(small).groups.at(0).last;
  const TrendReport both =
      trends(small + lines_of(
                         60, [](std::size_t run) { return run < 30 ? 1 : 1.3; }, "sum b"));
  REQUIRE(both.groups.size() == 1);
  CHECK(both.groups[0].first.commit == "c030");
  CHECK(both.groups[0].last.commit == "c030");
  CHECK(first.commit < "c030");
  CHECK(last.commit > "c030");
}

TEST_CASE("changes on two machines, or at two times, are two groups") {
  const std::string one = lines_of(40, slower_from_20, "sum equal");
  CHECK(trends(one + lines_of(40, slower_from_20, "sum dynamic",
                              [](LineOf& line) { line.machine = "node2"; }))
            .groups.size() == 2);
  CHECK(trends(one + lines_of(
                         40, [](std::size_t run) { return run < 30 ? 1 : 1.08; }, "sum dynamic"))
            .groups.size() == 2);
}

TEST_CASE("an acknowledged worsening is no alarm, nor one that was undone") {
  const std::string text = lines_of(30, slower_from_20);
  CHECK(trends(text).alarms());
  const std::string known =
      text + mark_line("ack", {result_of(20), "sum equal", "by design", "", "2026"});
  const TrendReport acknowledged = trends(known);
  CHECK_FALSE(acknowledged.alarms());
  REQUIRE(acknowledged.series[0].changes.size() == 1);
  CHECK(acknowledged.series[0].changes[0].status == ChangeStatus::acknowledged);
  CHECK(acknowledged.series[0].changes[0].reason == "by design");
  CHECK(trend_tables(acknowledged, {}).find("acknowledged: by design") != std::string::npos);
  for (const std::size_t nearby : {18, 22})
    CHECK_FALSE(
        trends(text + mark_line("ack", {result_of(nearby), {}, "nearby", "", "2026"})).alarms());
  CHECK(trends(text + mark_line("ack", {result_of(5), {}, "another run", "", "2026"})).alarms());

  const TrendReport undone =
      trends(lines_of(45, [](std::size_t run) { return run < 20 || run >= 32 ? 1 : 1.08; }));
  CHECK_FALSE(undone.alarms());
  REQUIRE(undone.series[0].changes.size() == 2);
  CHECK(undone.series[0].changes[0].status == ChangeStatus::undone);
  CHECK_FALSE(undone.series[0].changes[1].worse);
}

TEST_CASE("improvements are said, and a return from one is a worsening") {
  const TrendReport better =
      trends(lines_of(30, [](std::size_t run) { return run < 20 ? 1 : 0.9; }));
  REQUIRE(better.groups.size() == 1);
  CHECK_FALSE(better.groups[0].worse);
  CHECK_FALSE(better.alarms());
  CHECK(trend_tables(better, {}).starts_with("faster: 1 of 1 series, -"));
  CHECK(trends(lines_of(45, [](std::size_t run) {
          return run < 20 || run >= 35 ? 1 : 0.9;
        })).alarms());
}

TEST_CASE("a metric of which more is better gets worse when it falls") {
  const auto text = lines_of(30, flat, "sum equal", [](LineOf& line) {
    line.metrics =
        fmt::format(R"("efficiency":{})", (line.run < 20 ? 0.9 : 0.8) + 0.005 * noise(line.run));
  });
  TrendOptions options;
  options.metric = find_metric("efficiency");
  CHECK_FALSE(trends(text).alarms());
  const TrendReport report = trends(text, options);
  CHECK(report.alarms());
  CHECK(report.series[0].changes[0].before == doctest::Approx(0.9).epsilon(0.01));
}

TEST_CASE("a series of two states is named with the attribute that goes with them, not alarmed") {
  const auto slow = [](std::size_t run) { return noise(run * 31 + 5) > 0.2; };
  const auto text = lines_of(
      60, [&](std::size_t run) { return slow(run) ? 1.2 : 1; }, "sum equal",
      [&](LineOf& line) {
        line.environment = fmt::format(R"("host":"{}","cores":"{}")",
                                       slow(line.run) ? "node7" : "node3", line.run % 3);
      });
  const TrendReport report = trends(text);
  CHECK_FALSE(report.alarms());
  REQUIRE(report.series[0].states);
  const TrendStates& states = *report.series[0].states;
  CHECK(states.low == doctest::Approx(1e6).epsilon(0.01));
  CHECK(states.high == doctest::Approx(1.2e6).epsilon(0.01));
  CHECK(states.attribute == "host");
  CHECK(states.value == "node7");
  CHECK(states.p < 1e-9);
  CHECK(trend_tables(report, {}).find("host \"node7\" goes with 1.20 ms") != std::string::npos);
  const auto unknown = lines_of(
      60, [&](std::size_t run) { return slow(run) ? 1.2 : 1; }, "sum equal",
      [](LineOf& line) { line.environment = fmt::format(R"("cores":"{}")", line.run % 3); });
  CHECK(trends(unknown).series[0].states->attribute.empty());
}

TEST_CASE("the newest run is suspect until repetitions confirm it") {
  std::string text = lines_of(31, [](std::size_t run) { return run < 30 ? 1 : 1.08; });
  const TrendReport suspect = trends(text);
  CHECK_FALSE(suspect.alarms());
  REQUIRE(suspect.series[0].suspect);
  CHECK(suspect.series[0].suspect->worse);
  CHECK(suspect.series[0].suspect->run.commit == "c030");
  CHECK(trend_tables(suspect, {}).find("measure 3 times more") != std::string::npos);
  std::string spike = text;
  for (std::size_t run = 31; run < 34; ++run) {
    text += history_line({run, 1.08e6 * (1 + 0.01 * noise(run)), "sum equal", "\"rerun\""});
    spike += history_line({run, 1e6 * (1 + 0.01 * noise(run)), "sum equal", "\"rerun\""});
  }
  const TrendReport confirmed = trends(text);
  CHECK(confirmed.alarms());
  CHECK_FALSE(confirmed.series[0].suspect);
  REQUIRE(confirmed.series[0].changes.size() == 1);
  CHECK(confirmed.series[0].changes[0].first.commit == "c030");
  CHECK(confirmed.series[0].runs == 31);         // repetitions are no further runs
  for (std::size_t run = 34; run < 38; ++run) {  // it stays confirmed until change points see it
    text += history_line({run, 1.08e6 * (1 + 0.01 * noise(run))});
    CAPTURE(run);
    CHECK(trends(text).alarms());
    CHECK(trends(text).series[0].changes[0].last.commit >= "c030");
  }
  const TrendReport refuted = trends(spike);
  CHECK_FALSE(refuted.alarms());
  CHECK(refuted.series[0].suspect->reruns == 3);
  CHECK_FALSE(
      trends(text + mark_line("ack", {result_of(30), {}, "by design", "", "2026"})).alarms());
}

TEST_CASE("short histories are named; excluded and disturbed runs do not count") {
  const TrendReport short_one = trends(lines_of(8, flat));
  CHECK(short_one.series[0].note == "7 of 8 runs");
  CHECK(trend_tables(short_one, {}).find("history too short: ") != std::string::npos);
  const auto disturbed = lines_of(30, slower_from_20, "sum equal", [](LineOf& line) {
    if (line.run >= 20) line.flags = "\"disturbed\"";
  });
  CHECK_FALSE(trends(disturbed).alarms());
  CHECK(trends(disturbed).left_out == 10);
  TrendOptions all;
  all.disturbed = true;
  CHECK(trends(disturbed, all).alarms());
  std::string excluded = lines_of(30, slower_from_20);
  for (std::size_t run = 20; run < 30; ++run)
    excluded += mark_line("exclude", {result_of(run), {}, "hot", "", "2026"});
  CHECK_FALSE(trends(excluded).alarms());
}

TEST_CASE("changes before a date are ignored") {
  const std::string text = lines_of(30, slower_from_20);
  TrendOptions options;
  options.since = "2026-01-10";
  CHECK(trends(text, options).alarms());
  options.since = "2026-01-25";
  CHECK_FALSE(trends(text, options).alarms());
}

TEST_CASE("among many series a weak change is no discovery") {
  // Six slower runs of 46 are just significant for one series, not for one of 200.
  const auto weak = [](std::size_t run) { return run < 40 ? 1 : 1.08; };
  std::string text = lines_of(46, weak, "sum weak");
  CHECK(trends(text).alarms());
  for (int k = 0; k < 199; ++k) text += lines_of(46, flat, fmt::format("sum {}", k));
  CHECK_FALSE(trends(text).alarms());
}

TEST_CASE("the same lines in another order, or twice, give the same document") {
  std::vector<std::string> lines;
  std::string text = lines_of(30, slower_from_20) + lines_of(30, flat, "sum dynamic");
  text += mark_line("ack", {result_of(20), {}, "by design", "", "2026"});
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at) + 1;
    lines.push_back(text.substr(at, end - at));
    at = end;
  }
  TrendOptions options;
  options.points = true;
  const std::string expected = trend_json(trends(text, options));
  std::mt19937 random(1);
  for (int k = 0; k < 3; ++k) {
    for (std::size_t i = lines.size() - 1; i > 0; --i)
      std::swap(lines[i], lines[random() % (i + 1)]);
    std::string mixed;
    for (const std::string& line : lines) mixed += line;
    CHECK(trend_json(trends(mixed, options)) == expected);
    CHECK(trend_json(trends(mixed + text, options)) == expected);
  }
  CHECK(expected.find("\"alarm\": false") != std::string::npos);
}

TEST_CASE("the points of a series have the median of their segment as a level") {
  TrendOptions options;
  options.points = true;
  std::string text = lines_of(30, slower_from_20, "sum equal", [](LineOf& line) {
    line.environment = line.run == 7 ? R"("host":"b")" : R"("host":"a")";
  });
  text += mark_line("exclude", {result_of(3), {}, "hot", "", "2026"});
  const TrendReport report = trends(text, options);
  const TrendSeries& series = report.series[0];
  REQUIRE(series.points.size() == 30);
  CHECK(series.points[3].left_out == "excluded: hot");
  CHECK_FALSE(series.points[3].level);
  CHECK(*series.points[0].level == doctest::Approx(series.changes[0].before));
  CHECK(*series.points[29].level == doctest::Approx(series.changes[0].after));
  REQUIRE(series.environment.size() == 2);
  CHECK(series.environment[0].result == result_of(7));
  CHECK(series.environment[0].attributes == std::vector<TrendAttribute>{{"host", "a", "b"}});
}
