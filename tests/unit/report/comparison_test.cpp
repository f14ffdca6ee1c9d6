// Comparison of two results: verdicts, pairs of rounds, unmatched cases, environments.
// tests/unit/base/significance_test.cpp tests the statistics.
#include "lib/report/comparison.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "lib/report/case_name.hpp"
#include "lib/report/comparison_exports.hpp"
#include "lib/report/comparison_text.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/json_texts.hpp"
#include "tests/support/sample_report.hpp"

using namespace mgpu;
using namespace mgpu::test;

namespace {

using Lines = std::vector<std::string>;

// Returns a run of two devices, one case per strategy. All times are around `ms` with a spread of 1
// %; the single-device baselines take twice as long.
RunRecord timed_run(const std::string& strategy, double ms, std::size_t samples) {
  RunRecord run = sample_run(strategy, 690'000, 700'000, 75'000);
  run.samples.clear();
  for (PerDevice& p : run.per_device) p.alone_samples.clear(), p.busy_samples.clear();
  for (std::size_t k = 0; k < samples; ++k) {
    const double noise = 1 + 0.01 * (static_cast<double>(k * 7 % 11) / 11 - 0.5);
    run.samples.push_back(from_seconds(ms * 1e-3 * noise));
    for (PerDevice& p : run.per_device) {
      p.alone_samples.push_back(from_seconds(20e-3));
      p.busy_samples.push_back(from_seconds(ms * 1e-3 * (&p == &run.per_device[0] ? 0.9 : 0.85)));
    }
  }
  for (PerDevice& p : run.per_device) p.alone = from_seconds(20e-3);
  run.time = summarise(run.samples);
  return run;
}

Report timed(std::vector<std::pair<std::string, double>> cases, std::size_t samples = 12) {
  Report report = sample_report();
  report.runs.clear();
  for (const auto& [strategy, ms] : cases) report.runs.push_back(timed_run(strategy, ms, samples));
  return report;
}
Report timed(double ms, std::size_t samples = 12) { return timed({{"equal", ms}}, samples); }

void measure_on_one(RunRecord& run, std::size_t asked) {
  run.devices = {"0:0"};
  run.devices_asked = asked;
}

ComparisonSources two(const std::string& base, const std::string& fresh) {
  return {source_of({base}, {}), source_of({fresh}, {})};
}

CompareOptions interleaved() {
  CompareOptions options;
  options.rounds = RoundValue::median;
  return options;
}

Comparison compared(const Report& base, const Report& fresh, CompareOptions options = {}) {
  return compare_reports(std::span(&base, 1), std::span(&fresh, 1), options);
}

const ComparisonRow& row_of(const Comparison& comparison, const std::string& strategy,
                            Compared metric = Compared::time) {
  for (const ComparisonRow& row : comparison.rows)
    if (row.label == strategy && row.metric == metric) return row;
  FAIL("no row for " << strategy);
  return comparison.rows.front();
}

CompareOptions judging_all() {
  CompareOptions options;
  options.judged = options.metrics;
  return options;
}

// Compares the times of the only strategy.
ComparisonRow times(const Report& base, const Report& fresh, std::optional<double> floor = {}) {
  CompareOptions options;
  options.floor = floor;
  return row_of(compared(base, fresh, options), "equal");
}

Lines uncompared(const Comparison& c) {
  Lines what;
  for (const UncomparedCase& u : c.uncompared)
    what.push_back(u.what + (u.lost ? " (lost)" : "") + (u.beyond_fresh ? " (beyond)" : "") +
                   (u.without_base ? " (unguarded)" : ""));
  return what;
}

std::string shown(const std::string& title, const Comparison& c, unsigned width = 100) {
  return "== " + title + "\n" + comparison_tables(c, two("BASE.json", "NEW.json"), {width, false}) +
         "\n";
}

}  // namespace

TEST_CASE("energy is judged by the parts of its block, from 3 % on") {
  const auto using_joules = [](double joules) {
    Report report = timed({{"equal", 10}});
    EnergyRecord& energy = report.runs.front().energy.emplace();
    energy.joules = joules;
    for (int part = 0; part < 8; ++part) energy.parts.push_back(joules * (1 + 1e-4 * part));
    return report;
  };
  const auto change = [&](double joules, const CompareOptions& options) {
    return row_of(compared(using_joules(50), using_joules(joules), options), "equal",
                  Compared::energy)
        .change;
  };
  CHECK(change(50 * 1.05, judging_all()) == Change::regression);
  CHECK(change(50 / 1.05, judging_all()) == Change::improvement);
  CHECK(change(50 * 1.025, judging_all()) == Change::same);
  CHECK(change(50 * 1.05, {}) == Change::informative);
}

TEST_CASE("a slower case is a regression of time, speed-up and efficiency, an unchanged one none") {
  const Comparison c = compared(timed({{"equal", 10}, {"dynamic", 10}}),
                                timed({{"equal", 10}, {"dynamic", 11}}), judging_all());
  REQUIRE(c.rows.size() == 8);
  for (const ComparisonRow& row : c.rows)
    if (row.label == "equal") CHECK(row.change == Change::same);
  for (const Compared metric : {Compared::time, Compared::speedup, Compared::efficiency})
    CHECK(row_of(c, "dynamic", metric).change == Change::regression);
  CHECK(row_of(c, "dynamic", Compared::imbalance).change == Change::same);
  CHECK(row_of(c, "dynamic").ratio->ratio == doctest::Approx(1.1));
  CHECK(row_of(c, "dynamic", Compared::speedup).base.median == doctest::Approx(2).epsilon(0.01));
  CHECK(row_of(c, "dynamic", Compared::efficiency).base.median == doctest::Approx(1).epsilon(0.01));
  CHECK(row_of(c, "dynamic", Compared::imbalance).base.median == doctest::Approx(0.9 / 0.875));
  const Comparison back = compared(timed(11), timed(10), judging_all());
  CHECK(row_of(back, "equal").change == Change::improvement);
  CHECK(row_of(back, "equal", Compared::efficiency).change == Change::improvement);
}

TEST_CASE("time is judged; other metrics inform, unless they are named") {
  const Report base = timed(10);
  Report fresh = timed(10);  // faster, and its devices alone even more so
  for (Nanos& t : fresh.runs[0].samples) t = t * 2 / 3;
  for (PerDevice& p : fresh.runs[0].per_device) {
    *p.alone /= 2;
    for (Nanos& t : p.alone_samples) t /= 2;
  }
  const Comparison c = compared(base, fresh);
  CHECK(row_of(c, "equal").change == Change::improvement);
  CHECK(*row_of(c, "equal").p_adjusted == row_of(c, "equal").test->p);  // a family of one
  const ComparisonRow speedup = row_of(c, "equal", Compared::speedup);
  CHECK(speedup.change == Change::informative);
  CHECK(speedup.ratio->ratio == doctest::Approx(0.75));
  CHECK_FALSE(speedup.test);
  CHECK(c.count(Change::regression) + c.suspects() == 0);
  CHECK(row_of(compared(base, fresh, judging_all()), "equal", Compared::speedup).change ==
        Change::regression);
}

TEST_CASE("a change within the floor is none; the floor may be asked for, and is by noise") {
  CHECK(times(timed(10), timed(11), 0.15).change == Change::same);
  CHECK(times(timed(10), timed(10.2), 0.0).change == Change::regression);
  Report base = timed(10), fresh = timed(10.8);
  CHECK(compared(base, fresh).floor == 0.02);
  CHECK(times(base, fresh).change == Change::regression);
  for (Report* report : {&base, &fresh})
    for (DeviceRecord& d : report->devices) d.device.type = DeviceType::cpu;
  // The floor of CPUs, without interleaved measurements.
  CHECK(compared(base, fresh).floor == 0.10);
  CHECK(times(base, fresh).change == Change::same);

  struct Known {
    double base, fresh;  // noise that calibrate found
    std::optional<double> asked;
    double ms, floor;
    Change change;
    std::size_t warnings;
  };
  for (const Known& known : {Known{0.05, 0.15, {}, 11, 0.15, Change::same, 0},
                             {0.05, 0.001, {}, 11, 0.05, Change::regression, 0},
                             {0.001, 0.001, {}, 11, 0.02, Change::regression, 0},
                             {0.05, 0.15, 0.03, 11, 0.03, Change::regression, 0},
                             // The noise of a busy machine is not used as a floor.
                             {1.18, 0.05, {}, 18.8, 0.05, Change::regression, 1},
                             {1.18, 0.05, 0.03, 18.8, 0.03, Change::regression, 0},
                             {kMostNoise, 0.05, {}, 18.8, kMostNoise, Change::regression, 0}}) {
    base = timed(10), fresh = timed(known.ms);
    base.runs[0].noise_floor = known.base;
    fresh.runs[0].noise_floor = known.fresh;
    const ComparisonRow row = times(base, fresh, known.asked);
    CAPTURE(known.floor);
    CHECK(row.floor == known.floor);
    CHECK(row.change == known.change);
    CHECK(row.warnings.size() == known.warnings);
    CHECK(floor_of(base.runs[0], fresh.runs[0], 0.02, true) == 0.02);  // interleaved
  }
}

TEST_CASE("too few samples give a verdict only if all of one side are far beyond the other's") {
  const ComparisonRow same = times(timed(10, 4), timed(10, 4));
  CHECK(same.change == Change::inconclusive);
  CHECK_FALSE(same.suspect);
  CHECK(same.reason == "only 4 samples each, at least 5 needed");
  const ComparisonRow slow = times(timed(10, 12), timed(100, 3));
  CHECK(slow.change == Change::regression);
  CHECK(slow.few);
  CHECK(slow.reason == "");
  CHECK(slow.test->method == TestMethod::student_log);
  CHECK(times(timed(10, 1), timed(20, 4)).change == Change::regression);
  CHECK(times(timed(20, 4), timed(10, 4)).change == Change::improvement);
  const ComparisonRow one = times(timed(10, 1), timed(100, 1));  // nothing tells their spread
  CHECK(one.change == Change::inconclusive);
  CHECK(one.suspect);
  CHECK(one.reason == "only 1 sample each, at least 5 needed");
  Report wide = timed(30, 4);  // slower by its median, but not by all of its samples
  wide.runs[0].samples[2] = from_seconds(10.2e-3);
  const ComparisonRow some = times(timed(10, 4), wide);
  CHECK(some.change == Change::inconclusive);
  CHECK(some.suspect);
  // 6 samples are too few for five rows: one sample that is not slower withholds the verdict,
  // although p and the interval of the medians leave no doubt.
  std::vector<std::pair<std::string, double>> five{
      {"equal", 10}, {"dynamic", 10}, {"guided", 10}, {"stealing", 10}, {"adaptive", 10}};
  const Report before = timed(five, 6);
  five[0].second = 20;
  Report after = timed(five, 6);
  CHECK(row_of(compared(before, after), "equal").change == Change::regression);
  after.runs[0].samples[2] = from_seconds(10.1e-3);
  const ComparisonRow but_one = row_of(compared(before, after), "equal");
  CHECK(*but_one.p_adjusted < 0.01);
  CHECK(but_one.ratio->low > 1.02);
  CHECK(but_one.change == Change::inconclusive);
  CHECK(but_one.suspect);
  CHECK(but_one.reason == "only 6 samples each, at least 7 needed");
  // P = 0.008, which is enough for one row, but not for two.
  CHECK_FALSE(times(timed(10, 5), timed(20, 5)).few);
  const Comparison two = compared(timed({{"equal", 10}, {"dynamic", 10}}, 5),
                                  timed({{"equal", 10.25}, {"dynamic", 20}}, 5));
  CHECK(two.needed == 6);
  CHECK(row_of(two, "equal").reason == "only 5 samples each, at least 6 needed");
  CHECK(row_of(two, "dynamic").change == Change::regression);
  CHECK_FALSE(two.undecidable());
  CHECK(compared(timed(10, 3), timed(10, 3)).undecidable());
  // Without samples of its devices there is a ratio of speed-ups, but no verdict on it.
  Report base = timed(10), fresh = timed(10);
  for (Report* report : {&base, &fresh})
    for (PerDevice& p : report->runs[0].per_device) p.alone_samples.clear(), p.busy_samples.clear();
  fresh.runs[0].metrics.speedup = *base.runs[0].metrics.speedup * 2;
  const ComparisonRow speedup =
      row_of(compared(base, fresh, judging_all()), "equal", Compared::speedup);
  CHECK(speedup.ratio->ratio == doctest::Approx(2));
  CHECK(speedup.reason == "only 1 sample each, at least 6 needed");
  CHECK(times(timed(10, 3), timed(10, 1)).reason == "only 3 and 1 samples, at least 5 needed");
  CHECK(times(base, fresh).change == Change::same);
}

TEST_CASE("an undecided row is suspect if it is slower than the floor by its figure") {
  Report base = timed(10), fresh = timed(10.1);
  const auto spread = [](Report& report) {
    for (std::size_t k = 0; k < 12; ++k) report.runs[0].samples[k] *= 1 + k % 3;
  };
  spread(base), spread(fresh);
  CHECK(times(base, fresh).change == Change::inconclusive);
  CHECK_FALSE(times(base, fresh).suspect);
  CHECK(times(base, fresh, 0.001).suspect);
  CHECK_FALSE(times(fresh, base, 0.001).suspect);
  fresh.runs[0].samples.assign(12, Nanos{});  // a clock that did not tick
  const ComparisonRow none = times(base, fresh);
  CHECK(none.reason == "NEW does not have it");
  CHECK(none.suspect);
  CHECK_FALSE(times(fresh, base).suspect);
}

TEST_CASE("a result that did not verify has no figures, on either side") {
  const Report good = timed({{"equal", 10}, {"dynamic", 10}});
  Report bad = good;
  bad.runs[1].verify.status = VerifyStatus::failed;
  CHECK(uncompared(compared(bad, good)) == Lines{"BASE: did not verify (unguarded)"});
  CHECK(uncompared(compared(good, bad)) == Lines{"NEW: did not verify (lost)"});
  CHECK(repeated_case(good) == std::nullopt);
  bad.runs.push_back(bad.runs[0]);
  CHECK(*repeated_case(bad) == case_name(bad.runs[0]));
}

TEST_CASE("a change is no verdict if other programs used the cores, unless rounds alternated") {
  const Report base = timed(10);
  Report slow = timed(20);
  slow.runs[0].warnings = {"other programs used about 20 % of the cores"};
  CHECK(times(base, slow).change == Change::regression);
  slow.runs[0].warnings = {"other programs used about 90 % of the cores"};
  const Comparison busy = compared(base, slow);
  CHECK(row_of(busy, "equal").change == Change::inconclusive);
  CHECK(row_of(busy, "equal").reason ==
        "other programs used about 90 % of the cores: repeat when idle, or with --interleave");
  CHECK(busy.suspects() == 1);
  CHECK(busy.count(Change::regression) == 0);
  const Comparison better = compared(slow, base);
  CHECK(row_of(better, "equal").change == Change::inconclusive);
  CHECK(better.suspects() == 0);
  Report same = base;
  same.runs[0].warnings = slow.runs[0].warnings;
  CHECK(times(base, same).change == Change::same);
  Report idle = slow;
  idle.runs[0].warnings.clear();
  Comparison alarm = compared(base, idle);
  confirm(alarm, std::span(&busy, 1));
  CHECK(alarm.count(Change::regression) == 1);
  const std::vector<Report> before(12, base), after(12, slow);
  CHECK(compare_reports(before, after, interleaved()).count(Change::regression) > 0);
}

TEST_CASE("the reason is p if only that is what fails") {
  Report slow = timed(20);
  for (const std::size_t k : {3, 7}) slow.runs[0].samples[k] = from_seconds(9e-3);
  CompareOptions options;
  options.alpha = 1e-5;
  const ComparisonRow row = row_of(compared(timed(10), slow, options), "equal");
  CHECK(row.change == Change::inconclusive);
  CHECK(row.reason == "the interval is beyond the floor, but p is above --alpha 1e-05");
}

TEST_CASE("a speed-up that cannot be is no change, whichever side has it") {
  Report good = timed(10), bad = timed(10);
  RunRecord& run = bad.runs[0];
  for (PerDevice& p : run.per_device) {
    *p.alone *= 12;
    for (Nanos& t : p.alone_samples) t *= 12;
  }
  run.metrics.efficiency = 12;
  for (const Compared metric : {Compared::speedup, Compared::efficiency}) {
    for (const bool in_base : {true, false}) {
      const ComparisonRow row =
          row_of(in_base ? compared(bad, good, judging_all()) : compared(good, bad, judging_all()),
                 "equal", metric);
      CHECK(row.change == Change::inconclusive);
      CHECK(row.reason.find(in_base ? "BASE: " : "NEW: ") == 0);
    }
  }
  CHECK(times(bad, good).change == Change::same);
}

TEST_CASE("cases are matched by what they are, those without a partner or figures are named") {
  Report base = timed({{"equal", 10}, {"dynamic", 10}, {"guided", 10}, {"stealing", 10}});
  Report fresh = timed({{"equal", 10}, {"dynamic", 10}, {"guided", 10}, {"adaptive", 10}});
  fresh.runs[1].params["leaves"] = std::int64_t{5};
  fresh.runs[2] = without_numbers(Status::failed, "guided", "the root differs");
  std::swap(fresh.runs[0], fresh.runs[3]);
  const Comparison c = compared(base, fresh);
  REQUIRE(c.rows.size() == 4);
  CHECK(c.rows[0].label == "equal");
  CHECK(uncompared(c) == Lines{"only in BASE: NEW has leaves:5 instead of leaves:100000 (lost)",
                               "NEW: failed: the root differs (lost)", "only in BASE (lost)",
                               "only in NEW", "only in NEW"});
  CHECK(c.lost() == 3);

  base = timed({{"equal", 10}, {"dynamic", 10}, {"guided", 10}});
  fresh = timed(10);
  CHECK(uncompared(compared(base, fresh)) == Lines{"only in BASE (lost)", "only in BASE (lost)"});
  fresh.devices.resize(1);  // now there is a reason
  measure_on_one(fresh.runs[0], 1);
  const std::string beyond = "only in BASE: it takes 2 devices, NEW has 1 (lost) (beyond)";
  CHECK(uncompared(compared(base, fresh)) == Lines{beyond, beyond, beyond, "only in NEW"});

  base = fresh = timed({{"equal", 10}, {"dynamic", 10}});
  base.runs[1] = without_numbers(Status::failed, "dynamic", "the root differs");
  CHECK(uncompared(compared(base, fresh)) == Lines{"BASE: failed: the root differs (unguarded)"});
  fresh.runs[1] = base.runs[1];
  CHECK(uncompared(compared(base, fresh)) == Lines{"BASE: failed: the root differs"});

  // Cases measured on different numbers of devices are the same case, and are not compared.
  base = fresh = timed({{"equal", 10}, {"dynamic", 10}});
  measure_on_one(fresh.runs[1], 2);
  CHECK(compared(base, fresh).rows.size() == 4);
  CHECK(compared(base, fresh).uncompared[0].name.ends_with("/dynamic/devices:2/resident"));
  CHECK(uncompared(compared(base, fresh)) == Lines{"NEW: measured on 1 of 2 devices (lost)"});
  CHECK(uncompared(compared(fresh, base)) == Lines{"BASE: measured on 1 of 2 devices"});
  CHECK(compared(fresh, fresh).rows.size() == 8);
  const std::vector<Report> rounds = {base, fresh};
  CHECK(uncompared(compare_reports(rounds, rounds, interleaved())).size() == 1);
}

TEST_CASE("of many cases that are not compared the first few are named, in JSON all") {
  Report base = timed(10), fresh = base;
  for (std::int64_t k = 0; k < 200; ++k) {
    base.runs.push_back(timed_run("dynamic", 10, 5));
    base.runs.back().params["leaves"] = 1000 + k;
  }
  fresh.runs.push_back(timed_run("guided", 10, 5));
  const Comparison c = compared(base, fresh);
  for (const std::string& text : {comparison_tables(c, two("a", "b"), {1000, false}),
                                  comparison_markdown(c, two("a", "b"))}) {
    CHECK(text.find("leaves:1002") != std::string::npos);
    CHECK(text.find("leaves:1003") == std::string::npos);
    CHECK(text.find(" and 197 more: only in BASE") != std::string::npos);
    CHECK(text.find(": only in NEW") != std::string::npos);
  }
  const std::string json = comparison_json(c, two("a", "b"), {"1", "abc", {}}, 0, false);
  CHECK(json_at(json, "/uncompared/200") != "");
  CHECK(json_at(json, "/uncompared/201") == "");
}

TEST_CASE("interleaved rounds are compared in pairs: a drift that drowns both hides nothing") {
  std::vector<Report> base, fresh;
  for (int round = 0; round < 12; ++round) {
    const double drift = std::exp(0.1 * round);
    base.push_back(timed(10 * drift, 3));
    fresh.push_back(timed((10.6 + 0.01 * (round % 4)) * drift, 3));
  }
  const Comparison c = compare_reports(base, fresh, interleaved());
  const ComparisonRow row = row_of(c, "equal");
  CHECK(c.interleaved);
  CHECK(row.base.values.size() == 12);
  CHECK(row.change == Change::regression);
  CHECK(row.test->method == TestMethod::signed_rank_exact);
  CHECK(row.test->p == doctest::Approx(std::ldexp(1, -11)));
  fresh[3].runs[0] =
      without_numbers(Status::failed, "equal", "hung");  // then there is no such case to compare
  CHECK(compare_reports(base, fresh, interleaved()).rows.empty());
  fresh[3].runs.clear();  // nor if a round lacks it
  const Comparison lacking = compare_reports(base, fresh, interleaved());
  CHECK(lacking.rows.empty());
  CHECK(uncompared(lacking) == Lines{"NEW: in 11 of 12 rounds only (lost)"});
}

TEST_CASE("the least time of a round stands for it when asked for, in all that is made of times") {
  std::vector<Report> base(6, timed(10, 3)), fresh = base;
  for (Report& report : fresh)  // two of three are invalidated
    for (const std::size_t k : {1u, 2u}) report.runs[0].samples[k] *= 3;
  CompareOptions options = interleaved();
  CHECK(row_of(compare_reports(base, fresh, options), "equal").ratio->ratio > 2.9);
  options.rounds = RoundValue::minimum;
  const Comparison c = compare_reports(base, fresh, options);
  for (const Compared metric : {Compared::time, Compared::speedup, Compared::efficiency})
    CHECK(row_of(c, "equal", metric).ratio->ratio == doctest::Approx(1).epsilon(0.01));
  CHECK(row_of(c, "equal", Compared::efficiency).base.median == doctest::Approx(1).epsilon(0.01));
}

TEST_CASE("a regression that runs made anew do not all show is inconclusive") {
  const Report base = timed({{"equal", 10}, {"dynamic", 10}}),
               fresh = timed({{"equal", 12}, {"dynamic", 12}});
  Comparison c = compared(base, fresh);
  const Comparison again[] = {compared(base, fresh),
                              compared(base, timed({{"equal", 12}, {"dynamic", 10}}))};
  confirm(c, again);
  CHECK(row_of(c, "equal").change == Change::regression);
  CHECK(row_of(c, "equal").confirmation->agreed == 2);
  CHECK(row_of(c, "dynamic").change == Change::inconclusive);
  CHECK(row_of(c, "dynamic").reason.find("1 of 2") != std::string::npos);
  CHECK(c.suspects() == 0);
  // A repetition that is slower without a verdict does not refute the alarm.
  Report unclear = timed({{"equal", 12}, {"dynamic", 12}});
  for (const std::size_t k : {3u, 7u, 8u}) unclear.runs[1].samples[k] = from_seconds(9e-3);
  const Comparison doubtful = compared(base, unclear);
  REQUIRE(row_of(doubtful, "dynamic").suspect);
  c = compared(base, fresh);
  confirm(c, std::span(&doubtful, 1));
  CHECK(row_of(c, "dynamic").change == Change::inconclusive);
  CHECK(c.suspects() == 1);
  // A row is decided if a repetition refutes what few samples showed.
  const Report few = timed(10, 3), slow = timed(12, 3);
  Comparison alarm = compared(few, slow);
  REQUIRE(alarm.count(Change::regression) == 1);
  const Comparison refuting = compared(few, few);
  confirm(alarm, std::span(&refuting, 1));
  CHECK_FALSE(alarm.undecidable());
  CHECK(alarm.suspects() == 0);
}

TEST_CASE(
    "a suspect row is a regression if every repetition shows one, and none if one is as fast") {
  const Report base = timed(10, 3), slow = timed(12, 9);
  Report unclear = timed(12, 9);
  for (const std::size_t k : {3u, 7u, 8u}) unclear.runs[0].samples[k] = from_seconds(9e-3);
  const Report nine = timed(10, 9);
  const Comparison doubtful = compared(nine, unclear), sure = compared(nine, slow);
  REQUIRE(doubtful.suspects() == 1);
  const auto after = [&](const std::vector<Comparison>& again) {
    Comparison c = doubtful;
    confirm(c, again);
    return row_of(c, "equal");
  };
  CHECK(after({sure, sure}).change == Change::regression);
  CHECK(after({sure, sure}).reason.empty());
  CHECK(after({sure, doubtful}).suspect);
  CHECK_FALSE(after({sure, compared(nine, nine)}).suspect);
  CHECK(after({sure, compared(nine, nine)}).change == Change::inconclusive);
}

TEST_CASE("a regression is none if repeated runs differ by as much as from BASE") {
  const Report base = timed(10);
  const auto after = [&](double first, double second) {
    Comparison c = compared(base, timed(11));
    const Comparison again[] = {compared(base, timed(first)), compared(base, timed(second))};
    REQUIRE(again[1].count(Change::regression) == 1);
    confirm(c, again);
    return row_of(c, "equal");
  };
  CHECK(after(11.1, 10.9).change == Change::regression);
  const ComparisonRow row = after(12.5, 10.5);
  CHECK(row.confirmation->agreed == 2);
  CHECK(row.change == Change::inconclusive);
  CHECK_FALSE(row.suspect);
  CHECK(row.reason.starts_with("repeated runs show it, but differ by as much (p = 0."));
  // A slow-down by more than noise remains a doubt, and one repetition does not refute.
  Comparison c = compared(base, timed(14));
  const Comparison wild[] = {compared(base, timed(12)), compared(base, timed(90))};
  confirm(c, wild);
  CHECK(row_of(c, "equal").suspect);
  c = compared(base, timed(14));
  confirm(c, std::span(&wild[1], 1));
  CHECK(row_of(c, "equal").change == Change::regression);
}

TEST_CASE("medians of runs are compared by what runs of all cases differ by") {
  const auto run = [](double equal, double dynamic) {
    return timed({{"equal", equal}, {"dynamic", dynamic}});
  };
  const std::vector<Report> base{run(10, 5), run(10.2, 5.1), run(9.8, 4.9)};
  const auto against = [&](const Report& fresh) {
    return compare_reports(base, std::span(&fresh, 1), {});
  };
  const Comparison same = against(run(10.3, 5.1));
  CHECK_FALSE(same.interleaved);
  const ComparisonRow row = row_of(same, "equal");
  CHECK(row.base.values.size() == 36);
  CHECK(row.base.runs.size() == 3);
  CHECK(row.base.figure == doctest::Approx(1e7).epsilon(0.01));
  CHECK(row.change == Change::inconclusive);
  CHECK_FALSE(row.suspect);  // runs of BASE differ by as much
  CHECK(row.test->method == TestMethod::student_runs);
  // Deviation 2 % of runs in both cases, 4 degrees of freedom, t of 2.776, three runs and one.
  CHECK(row.ratio->high / row.ratio->ratio ==
        doctest::Approx(std::exp(2.776 * 0.02 * std::sqrt(4.0 / 3))).epsilon(0.002));
  const Comparison slow = against(run(13, 5));
  CHECK(row_of(slow, "equal").change == Change::regression);
  CHECK(row_of(slow, "dynamic").change == Change::inconclusive);
  CHECK(row_of(against(run(11, 5)), "equal").suspect);
  CHECK(row_of(against(run(7, 5)), "equal").change == Change::improvement);
  // A case whose own runs differ by more is judged by them.
  std::vector<Report> wild = base;
  wild[0].runs[0] = timed(7).runs[0];
  const Report fresh = run(13, 5);
  CHECK(row_of(compare_reports(wild, std::span(&fresh, 1), {}), "equal").change ==
        Change::inconclusive);
}

TEST_CASE("a new option of a suite at its default is no other case") {
  Report base = timed(10), fresh = timed(10);
  fresh.runs[0].params["turns"] = std::int64_t{1};
  const auto compared_with = [&](Report b, Report f) {
    drop_new_defaults(b, f);
    return compared(b, f).rows.size();
  };
  CHECK(compared_with(base, fresh) == 0);  // its default is not recorded
  fresh.defaults["merkle"]["turns"] = std::int64_t{1};
  CHECK(compared_with(base, fresh) == 4);
  CHECK(compared_with(fresh, base) == 4);
  fresh.defaults["merkle"]["turns"] = std::int64_t{2};
  CHECK(compared_with(base, fresh) == 0);
}

TEST_CASE("only rows that changed are shown on request, the largest change first") {
  Comparison c = compared(timed({{"equal", 10}, {"dynamic", 10}, {"guided", 10}}),
                          timed({{"equal", 12}, {"dynamic", 10}, {"guided", 4}}));
  const std::string all = comparison_words(c);
  show_only_changed(c);
  REQUIRE(c.shown.size() == 2);
  CHECK(c.rows[c.shown[0]].label == "guided");
  CHECK(c.rows[c.shown[1]].label == "equal");
  CHECK(comparison_words(c) == all);
  const std::string table = comparison_tables(c, two("a", "b"), {100, false});
  CHECK(table.find("dynamic") == std::string::npos);
  CHECK(table.find("\nguided ") < table.find("\nequal "));
}

TEST_CASE("CI services get what became slower") {
  Report base = timed({{"equal", 10}, {"dynamic", 10}, {"guided", 10}});
  Report fresh = timed({{"equal", 12}, {"dynamic", 10}});
  fresh.started = "2026-01-02T03:04:05Z";
  const Comparison c = compared(base, fresh);
  const ComparisonSources sources{source_of({"a&b.json"}, {&base, 1}),
                                  source_of({"b"}, {&fresh, 1})};
  CHECK(sources.fresh.started == Lines{"2026-01-02T03:04:05Z"});
  const std::string junit = exported("junit", c, sources);
  CHECK(junit.find("tests=\"3\" failures=\"2\" errors=\"0\"") != std::string::npos);
  CHECK(junit.find("<failure message=\"time 9.99 ms -&gt; 12.0 ms, +20.0 %") != std::string::npos);
  CHECK(junit.find("timestamp=\"2026-01-02T03:04:05Z\"") != std::string::npos);
  const std::string github = exported("github", c, sources);
  CHECK(std::count(github.begin(), github.end(), '\n') == 2);
  CHECK(github.starts_with("::error title=mgpu-bench::merkle/"));
  CHECK(github.find("+20.0 %25 (") != std::string::npos);
  const std::string metrics = exported("gitlab-metrics", c, sources);
  CHECK(metrics.find("/equal/devices:2/resident\"} 1.2\n") != std::string::npos);
  CHECK(metrics.ends_with("# EOF\n"));
  CHECK(json_at(exported("codequality", c, sources), "/0/severity") == "\"major\"");
  CHECK(json_at(exported("codequality", c, sources), "/0/location/path") == "\"a&b.json\"");
  CHECK(json_at(exported("codequality", c, sources), "/1/location") != "");
  CHECK(json_at(exported("codequality", c, sources), "/2") == "");
  CHECK(exported("github", compared(base, base), sources).empty());
}

TEST_CASE("devices, drivers, handicaps, cores and hosts are decisive, the kernel is only noted") {
  Report base = timed(10), fresh = base;
  base.environment["host"] = "one";
  fresh.environment["host"] = "two";
  base.environment["kernel"] = "Linux 6.1";
  fresh.environment["kernel"] = "Linux 6.2";
  fresh.environment["cores"] = "4";
  fresh.devices[1].device.driver_version = "581";
  fresh.devices[0].handicap.slow = 2;
  Lines found;
  for (const EnvironmentDifference& d : environment_differences(base, fresh))
    found.push_back(to_string(d) + (d.decisive ? " !" : ""));
  CHECK(found == Lines{"cores: - -> 4 !", "host: one -> two !",
                       "device 0:0 handicap: - -> " + in_words(fresh.devices[0].handicap) + " !",
                       "device 0:1 driver_version: 580.159.04 -> 581 !",
                       "kernel: Linux 6.1 -> Linux 6.2"});
  fresh = base;
  fresh.devices.pop_back();
  CHECK(to_string(environment_differences(base, fresh).front()) == "number of devices: 2 -> 1");
}

TEST_CASE(
    "settings that differ are named, by decisive or not; what one result lacks is no difference") {
  Report base = timed(10), fresh = base;
  const auto differences = [&] {
    Lines found;
    for (const EnvironmentDifference& d : environment_differences(base, fresh))
      found.push_back(to_string(d) + (d.decisive ? " !" : ""));
    return found;
  };
  for (Report* report : {&base, &fresh})
    for (DeviceRecord& device : report->devices) device.before = device.after = {};
  base.devices[0].before[Setting::power_limit] = 700.0;
  base.devices[0].before[Setting::throttle] = std::string("idle");
  base.devices[1].before[Setting::persistence] = true;
  CHECK(differences() == Lines{});
  fresh.devices[0].before[Setting::power_limit] = 500.0;
  fresh.devices[0].before[Setting::throttle] = std::string("power cap");
  fresh.devices[1].before[Setting::persistence] = false;
  fresh.devices[1].before[Setting::ecc] = true;
  CHECK(differences() == Lines{"device 0:0 power limit: 700 W -> 500 W !",
                               "device 0:1 persistence mode: on -> off"});
  fresh.devices[1].before[Setting::persistence] = true;
  fresh.devices[0].before[Setting::power_limit] = 700.0;
  fresh.devices[0].after[Setting::power_limit] = 650.5;
  CHECK(differences() == Lines{"device 0:0 power limit: 700 W -> 700 W, then 650.5 W !"});
}

TEST_CASE("comparisons are shown as in the golden file") {
  Report base = timed({{"equal", 10}, {"dynamic", 10}}),
         fresh = timed({{"equal", 11}, {"dynamic", 11}});
  fresh.runs[0].warnings = {"clocks were throttled | badly"};
  fresh.runs[0].noise_floor = 0.15;
  const Comparison noisy = compared(base, fresh);
  std::string text = shown("a regression, and one within the noise", noisy) +
                     shown("the same in few columns", noisy, 70) +
                     comparison_markdown(noisy, two("a.json", "b_c.json")) + "\n" +
                     comparison_words(noisy) + "\n";
  const Comparison halved = compared(timed(20), timed(25));
  text += shown("what is in percent changes by percentage points", halved);
  fresh = timed(10);
  lose_second_device(fresh.runs[0]);
  fresh.runs[0].devices_asked = 2;
  CHECK(times(timed(10), fresh).change == Change::same);
  text += shown("a case with a fault", compared(timed(10), fresh));
  fresh = timed({{"equal", 10}, {"dynamic", 10}, {"guided", 10}, {"guided", 10}});
  for (const std::size_t k : {1u, 2u, 3u})
    fresh.runs[k].params["leaves"] = std::int64_t{5} + (k > 1 ? 1 : 0);
  for (const std::size_t k : {1u, 2u})
    measure_on_one(fresh.runs[k], 1), fresh.runs[k].per_device.resize(1);
  for (RunRecord& run : fresh.runs) run.warnings = {"throttled"};
  text += shown("a note of all rows needs no number of devices", compared(fresh, fresh));
  fresh.runs[2].warnings.clear();
  text += shown("a note of one row does where its table has several", compared(fresh, fresh));
  fresh = timed({{"dynamic", 10}});
  text += shown("cases that are missing", compared(base, fresh));
  CHECK(golden("comparison.txt", text) == text);
}

TEST_CASE("JSON has the warnings of each row and counts") {
  Report fresh = timed(11);
  fresh.runs[0].warnings = {"throttled"};
  check_json(comparison_json(compared(timed(10), fresh), two("a", "b"), {"1", "abc", {}}, 0, false),
             "/rows/0/warnings [\"NEW: throttled\"]\n/counts/regression 1");
}

TEST_CASE("figures of a row are those that run shows, and the change is that between them") {
  Report base = timed(10, 3), fresh = base;
  RunRecord& run = fresh.runs[0];
  run.samples = {Nanos{10}, Nanos{20}, Nanos{30}};
  for (PerDevice& p : run.per_device)
    // Ratios 3, 0.5, 0.67; the ratio of the medians is 1.
    p.alone_samples = {Nanos{30}, Nanos{10}, Nanos{20}};
  const ComparisonRow row = row_of(compared(base, fresh), "equal", Compared::speedup);
  CHECK(row.fresh.figure == doctest::Approx(1));
  CHECK(row.fresh.median == doctest::Approx(2.0 / 3));
  CHECK(row.ratio->ratio == doctest::Approx(row.fresh.figure / row.base.figure));
  CHECK(row.ratio->low <= row.ratio->ratio);
  CHECK(row.ratio->high >= row.ratio->ratio);
}

TEST_CASE("samples in which busy times are not known are left out of the imbalance") {
  Report report = timed(10);
  for (std::size_t k = 0; k < 12; k += 2) report.runs[0].per_device[1].busy_samples[k].reset();
  CHECK(case_values(report.runs[0], Compared::imbalance).size() == 6);
  CHECK(case_values(report.runs[0], Compared::time).size() == 12);
}
