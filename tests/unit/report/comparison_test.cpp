// What compare says of two results: verdicts, pairs of rounds, cases that do not match,
// environments. The statistics below it are tested in tests/unit/base/significance_test.cpp.
#include "lib/report/comparison.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "lib/report/comparison_text.hpp"
#include "tests/support/sample_report.hpp"

using namespace mgpu;
using namespace mgpu::test;

namespace {

// Two devices, one case a strategy. Every time is around `ms` with a spread of 1 %, the devices
// alone take twice as long.
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

Comparison compared(const Report& base, const Report& fresh, CompareOptions options = {}) {
  return compare_reports(std::span(&base, 1), std::span(&fresh, 1), options);
}

const ComparisonRow& row_of(const Comparison& comparison, const std::string& strategy,
                            Compared metric) {
  for (const ComparisonRow& row : comparison.rows)
    if (row.label == strategy && row.metric == metric) return row;
  FAIL("no row for " << strategy);
  return comparison.rows.front();
}

}  // namespace

TEST_CASE(
    "a slower case is a regression of time, speed-up and efficiency; an unchanged one is the "
    "same") {
  const Comparison c =
      compared(timed({{"equal", 10}, {"dynamic", 10}}), timed({{"equal", 10}, {"dynamic", 11}}));
  REQUIRE(c.rows.size() == 8);
  for (const Compared metric : kAllCompared)
    CHECK(row_of(c, "equal", metric).change == Change::same);
  for (const Compared metric : {Compared::time, Compared::speedup, Compared::efficiency})
    CHECK(row_of(c, "dynamic", metric).change == Change::regression);
  CHECK(row_of(c, "dynamic", Compared::imbalance).change == Change::same);
  CHECK(row_of(c, "dynamic", Compared::time).ratio->ratio == doctest::Approx(1.1));
  CHECK(row_of(c, "dynamic", Compared::speedup).base.median == doctest::Approx(2).epsilon(0.01));
  CHECK(row_of(c, "dynamic", Compared::efficiency).base.median == doctest::Approx(1).epsilon(0.01));
  CHECK(row_of(c, "dynamic", Compared::imbalance).base.median == doctest::Approx(0.9 / 0.875));
  const Comparison back = compared(timed({{"dynamic", 11}}), timed({{"dynamic", 10}}));
  CHECK(row_of(back, "dynamic", Compared::time).change == Change::improvement);
  CHECK(row_of(back, "dynamic", Compared::efficiency).change == Change::improvement);
  CHECK(comparison_words(c) ==
        "3 regressions, 0 improvements, 5 the same, 0 inconclusive; the largest regression: time "
        "of dynamic on 2 "
        "devices, merkle leaves=100000, resident, +10.0 %");
}

TEST_CASE("a change within the floor is none, and a floor can be asked for") {
  const Report base = timed({{"equal", 10}}), fresh = timed({{"equal", 11}});
  CompareOptions options;
  options.floor = 0.15;
  CHECK(row_of(compared(base, fresh, options), "equal", Compared::time).change == Change::same);
  options.floor = 0.0;
  CHECK(row_of(compared(base, timed({{"equal", 10.2}}), options), "equal", Compared::time).change ==
        Change::regression);
}

TEST_CASE("on CPUs results that were not measured interleaved must differ by more than 10 %") {
  Report base = timed({{"equal", 10}}), fresh = timed({{"equal", 10.8}});
  CHECK(compared(base, fresh).floor == 0.02);
  CHECK(compared(base, fresh).count(Change::regression) > 0);
  for (Report* report : {&base, &fresh})
    for (DeviceRecord& d : report->devices) d.device.type = DeviceType::cpu;
  CHECK(compared(base, fresh).floor == 0.10);
  CHECK(compared(base, fresh).count(Change::regression) == 0);
}

TEST_CASE(
    "where calibrate found more noise than the default floor, that is the floor of the case, but "
    "not interleaved") {
  Report base = timed({{"equal", 10}, {"dynamic", 10}}),
         fresh = timed({{"equal", 11}, {"dynamic", 11}});
  base.runs[0].noise_floor = 0.05;
  fresh.runs[0].noise_floor = 0.15;
  fresh.runs[1].noise_floor = 0.001;
  const Comparison c = compared(base, fresh);
  CHECK(row_of(c, "equal", Compared::time).change == Change::same);
  CHECK(row_of(c, "equal", Compared::time).floor == 0.15);
  CHECK(row_of(c, "dynamic", Compared::time).change == Change::regression);
  CHECK(row_of(c, "dynamic", Compared::time).floor == 0.02);
  CHECK(comparison_tables(c, {160, false})
            .find("floor 2.0 %, by the noise that calibrate found: 15.0 % in merkle") !=
        std::string::npos);
  CHECK(comparison_markdown(c, {}).find("count as none up to 15.0 % in merkle") !=
        std::string::npos);
  CompareOptions options;
  options.floor = 0.03;
  CHECK(row_of(compared(base, fresh, options), "equal", Compared::time).floor == 0.03);
  CHECK(floor_of(base.runs[0], fresh.runs[0], 0.02, true) == 0.02);
}

TEST_CASE(
    "noise of a busy machine is no floor: nearly twice the time is a regression, and what is not "
    "used is said") {
  Report base = timed({{"equal", 10}}), fresh = timed({{"equal", 18.8}});
  base.runs[0].noise_floor = 1.18;
  fresh.runs[0].noise_floor = 0.05;
  const Comparison c = compared(base, fresh);
  const ComparisonRow row = row_of(c, "equal", Compared::time);
  CHECK(row.change == Change::regression);
  CHECK(row.floor == 0.05);
  CHECK(row.warnings == std::vector<std::string>{"BASE: calibrated on a busy machine: its noise of "
                                                 "118 % is not used, as it is above 25 %"});
  CompareOptions options;
  options.floor = 0.03;  // then no noise is used
  CHECK(row_of(compared(base, fresh, options), "equal", Compared::time).warnings.empty());
  base.runs[0].noise_floor = kMostNoise;
  CHECK(row_of(compared(base, fresh), "equal", Compared::time).floor == kMostNoise);
}

TEST_CASE("too few samples are said, and never give a verdict") {
  const Comparison few = compared(timed({{"equal", 10}}, 4), timed({{"equal", 20}}, 4));
  CHECK(row_of(few, "equal", Compared::time).change == Change::inconclusive);
  CHECK(row_of(few, "equal", Compared::time).reason == "4 and 4 samples, 5 needed");
  CHECK_FALSE(row_of(few, "equal", Compared::time).test);
  CHECK(row_of(few, "equal", Compared::time).ratio->ratio == doctest::Approx(2));
  const Comparison five =
      compared(timed({{"equal", 10}}, 5), timed({{"equal", 20}}, 5));  // p = 0.008, times four rows
  CHECK(row_of(five, "equal", Compared::time).change == Change::inconclusive);
  CHECK(row_of(five, "equal", Compared::time).reason ==
        "too few samples: 4 tests at alpha 0.01 need 6 a side");
}

TEST_CASE(
    "a result without samples of its devices has a ratio of speed-ups but no verdict on them") {
  Report base = timed({{"equal", 10}}), fresh = timed({{"equal", 10}});
  for (Report* report : {&base, &fresh})
    for (PerDevice& p : report->runs[0].per_device) p.alone_samples.clear(), p.busy_samples.clear();
  fresh.runs[0].metrics.speedup = *base.runs[0].metrics.speedup * 2;
  const Comparison c = compared(base, fresh);
  CHECK(row_of(c, "equal", Compared::speedup).ratio->ratio == doctest::Approx(2));
  CHECK(row_of(c, "equal", Compared::speedup).reason == "1 and 1 samples, 5 needed");
  CHECK(row_of(c, "equal", Compared::time).change == Change::same);
}

TEST_CASE(
    "cases are matched by what they are, and those without a partner or without figures are "
    "named") {
  Report base = timed({{"equal", 10}, {"dynamic", 10}, {"guided", 10}, {"stealing", 10}});
  Report fresh = timed({{"equal", 10}, {"dynamic", 10}, {"guided", 10}, {"adaptive", 10}});
  fresh.runs[1].params["leaves"] = std::int64_t{5};
  fresh.runs[2] = without_numbers(Status::failed, "guided", "the root differs");
  std::swap(fresh.runs[0], fresh.runs[3]);
  const Comparison c = compared(base, fresh);
  REQUIRE(c.rows.size() == 4);
  CHECK(c.rows[0].label == "equal");
  std::vector<std::string> what;
  for (const UncomparedCase& u : c.uncompared) what.push_back(u.what + (u.lost ? " (lost)" : ""));
  CHECK(what == std::vector<std::string>{"only in BASE (lost)",
                                         "NEW: failed: the root differs (lost)",
                                         "only in BASE (lost)", "only in NEW", "only in NEW"});
  CHECK(c.lost() == 3);
  CHECK(comparison_words(c) ==
        "0 regressions, 0 improvements, 4 the same, 0 inconclusive, 3 cases missing in NEW");
}

TEST_CASE(
    "cases that are not compared are told by reason, the first few by name, and JSON has them "
    "all") {
  Report base = timed({{"equal", 10}}), fresh = base;
  for (std::int64_t k = 0; k < 200; ++k) {
    base.runs.push_back(timed_run("dynamic", 10, 5));
    base.runs.back().params["leaves"] = 1000 + k;
  }
  fresh.runs.push_back(timed_run("guided", 10, 5));
  const Comparison c = compared(base, fresh);
  const auto lines = [](const std::string& text) {
    std::vector<std::string> found;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);)
      if (line.find("not compared: ") != std::string::npos) found.push_back(line);
    return found;
  };
  for (const std::string& text :
       {comparison_tables(c, {1000, false}), comparison_markdown(c, {"a", "b"})}) {
    const std::vector<std::string> told = lines(text);
    REQUIRE(told.size() == 2);
    CHECK(told[0].find("leaves:1002") != std::string::npos);
    CHECK(told[0].find("leaves:1003") == std::string::npos);
    CHECK(told[0].ends_with(" and 197 more: only in BASE"));
    CHECK(told[1].ends_with(": only in NEW"));
  }
  CHECK(nlohmann::json::parse(comparison_json(c, {"a", "b"}, {"1", "abc", {}}, false))["uncompared"]
            .size() == 201);
}

TEST_CASE(
    "a case that takes more devices than NEW has is told from one that is missing for no reason") {
  const Report base = timed({{"equal", 10}, {"dynamic", 10}, {"guided", 10}});
  Report fresh = timed({{"equal", 10}});
  fresh.devices.resize(1);
  fresh.runs[0].devices = {"0:0"};
  fresh.runs[0].devices_asked = 1;
  Comparison c = compared(base, fresh);
  REQUIRE(c.uncompared.size() == 4);
  CHECK(c.uncompared[0].what == "only in BASE: it takes 2 devices, NEW has 1");
  CHECK(c.uncompared[0].beyond_fresh);
  CHECK(c.uncompared[0].lost);
  CHECK_FALSE(c.uncompared[3].lost);  // only in NEW
  c = compared(base, timed({{"equal", 10}}));
  CHECK(c.lost() == 2);
  CHECK_FALSE(c.uncompared[0].beyond_fresh);
}

TEST_CASE(
    "interleaved rounds are compared in pairs: a drift that drowns both sides hides nothing") {
  std::vector<Report> base, fresh;
  for (int round = 0; round < 12; ++round) {
    const double drift = std::exp(0.1 * round);
    base.push_back(timed({{"equal", 10 * drift}}, 3));
    fresh.push_back(timed({{"equal", (10.6 + 0.01 * (round % 4)) * drift}}, 3));
  }
  const Comparison c = compare_reports(base, fresh, {});
  const ComparisonRow row = row_of(c, "equal", Compared::time);
  CHECK(c.interleaved);
  CHECK(row.base.values.size() == 12);
  CHECK(row.change == Change::regression);
  CHECK(row.test->method == TestMethod::signed_rank_exact);
  CHECK(row.test->p == doctest::Approx(std::ldexp(1, -11)));
  fresh[3].runs[0] =
      without_numbers(Status::failed, "equal", "hung");  // then there is no such case to compare
  CHECK(compare_reports(base, fresh, {}).rows.empty());
  fresh[3].runs.clear();  // nor when a round lacks it
  const Comparison lacking = compare_reports(base, fresh, {});
  CHECK(lacking.rows.empty());
  REQUIRE(lacking.lost() == 1);
  CHECK(lacking.uncompared[0].what == "NEW: in 11 of 12 rounds only");
}

TEST_CASE("the least time of a round stands for it when asked for, in all that is made of times") {
  std::vector<Report> base, fresh;
  for (int round = 0; round < 6; ++round) {
    base.push_back(timed({{"equal", 10}}, 3));
    fresh.push_back(timed({{"equal", 10}}, 3));
    for (const std::size_t k : {1u, 2u})
      fresh.back().runs[0].samples[k] *= 3;  // two of three are disturbed
  }
  CompareOptions options;
  CHECK(row_of(compare_reports(base, fresh, options), "equal", Compared::time).ratio->ratio > 2.9);
  options.round_value = RoundValue::minimum;
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
  CHECK(row_of(c, "equal", Compared::time).change == Change::regression);
  CHECK(row_of(c, "equal", Compared::time).confirmation->agreed == 2);
  CHECK(row_of(c, "dynamic", Compared::time).change == Change::inconclusive);
  CHECK(row_of(c, "dynamic", Compared::time).reason ==
        "not confirmed: 1 of 2 runs made anew show it");
}

TEST_CASE(
    "devices, drivers, handicaps, cores and hosts are decisive differences; the kernel is only "
    "noted") {
  Report base = timed({{"equal", 10}}), fresh = base;
  base.environment["host"] = "one";
  fresh.environment["host"] = "two";
  base.environment["kernel"] = "Linux 6.1";
  fresh.environment["kernel"] = "Linux 6.2";
  fresh.environment["cores"] = "4";
  fresh.devices[1].device.driver_version = "581";
  fresh.devices[0].handicap.slow = 2;
  std::vector<std::string> found;
  for (const EnvironmentDifference& d : environment_differences(base, fresh))
    found.push_back(to_string(d) + (d.decisive ? " !" : ""));
  CHECK(found == std::vector<std::string>{
                     "cores: - -> 4 !", "host: one -> two !",
                     "device 0:0 handicap: - -> " + in_words(fresh.devices[0].handicap) + " !",
                     "device 0:1 driver_version: 580.159.04 -> 581 !",
                     "kernel: Linux 6.1 -> Linux 6.2"});
  fresh = base;
  fresh.devices.pop_back();
  CHECK(to_string(environment_differences(base, fresh).front()) == "number of devices: 2 -> 1");
}

TEST_CASE(
    "warnings of either side stand below the table, once, in text and Markdown, and in each row of "
    "JSON") {
  Report base = timed({{"equal", 10}}), fresh = timed({{"equal", 11}});
  fresh.runs[0].warnings = {"clocks were throttled | badly"};
  const Comparison c = compared(base, fresh);
  for (const unsigned width : {80u, 200u}) {
    const std::string text = comparison_tables(c, {width, false});
    const std::size_t at = text.find("\n! equal: NEW: clocks were throttled | badly\n");
    CHECK(at != std::string::npos);
    CHECK(text.find("throttled", at + 30) == std::string::npos);
    CHECK(text.find("BASE") < at);
  }
  const std::string markdown = comparison_markdown(c, {"a.json", "b_c.json"});
  CHECK(markdown.find("**regression** |") != std::string::npos);
  CHECK(markdown.find("resident: equal: NEW: clocks were throttled \\| badly\n") !=
        std::string::npos);
  CHECK(markdown.find("b\\_c.json") != std::string::npos);
  const auto json =
      nlohmann::json::parse(comparison_json(c, {"a.json", "b.json"}, {"1", "abc", {}}, false));
  CHECK(json["rows"][0]["warnings"][0] == "NEW: clocks were throttled | badly");
  CHECK(json["counts"]["regression"] == 3);
}

TEST_CASE("notes name the number of devices in tables that have several, and in no other") {
  const auto on_one = [](RunRecord& run) {
    run.devices = {"0:0"};
    run.devices_asked = 1;
    run.per_device.resize(1);
  };
  Report fresh = timed({{"equal", 10}, {"dynamic", 10}, {"guided", 10}, {"guided", 10}});
  for (const std::size_t k : {1u, 2u, 3u})
    fresh.runs[k].params["leaves"] = std::int64_t{5} + (k > 1 ? 1 : 0);
  on_one(fresh.runs[1]);
  on_one(fresh.runs[2]);
  for (RunRecord& run : fresh.runs) run.warnings = {"throttled"};
  const std::string text = comparison_tables(compared(fresh, fresh), {200, false});
  CHECK(text.find("\n! equal: NEW: throttled\n") != std::string::npos);
  CHECK(text.find("\n! dynamic: NEW: throttled\n") !=
        std::string::npos);  // another number than the table before, but only one
  CHECK(text.find("\n! all: NEW: throttled\n") != std::string::npos);
  fresh.runs[2].warnings.clear();
  CHECK(comparison_tables(compared(fresh, fresh), {200, false})
            .find("\n! guided (2 dev): NEW: throttled\n") != std::string::npos);
}

TEST_CASE(
    "what is shown in percent changes by percentage points, and every width has BASE and NEW") {
  const Comparison c = compared(timed({{"equal", 20}}), timed({{"equal", 25}}));
  const std::string text = comparison_tables(c, {80, false});
  CHECK(text.find("BASE") != std::string::npos);
  CHECK(text.find("BASE") < text.find("NEW"));
  CHECK(text.find("-10.0 pp") != std::string::npos);  // of 50 %, not the 20 % by which it fell
  CHECK(text.find("+25.0 %") != std::string::npos);
  CHECK(text.find("hidden: ") != std::string::npos);
  CHECK(comparison_tables(c, {200, false}).find("hidden") == std::string::npos);
}

TEST_CASE(
    "figures of a row are those that run and report show, and the change is that between them") {
  Report base = timed({{"equal", 10}}, 3), fresh = base;
  RunRecord& run = fresh.runs[0];
  run.samples = {Nanos{10}, Nanos{20}, Nanos{30}};
  for (PerDevice& p : run.per_device)
    p.alone_samples = {Nanos{30}, Nanos{10}, Nanos{20}};  // ratios 3, 0.5, 0.67; of medians 1
  const Comparison c = compared(base, fresh);
  const ComparisonRow row = row_of(c, "equal", Compared::speedup);
  CHECK(row.fresh.figure == doctest::Approx(1));
  CHECK(row.fresh.median == doctest::Approx(2.0 / 3));
  CHECK(row.ratio->ratio == doctest::Approx(row.fresh.figure / row.base.figure));
  CHECK(row.ratio->low <= row.ratio->ratio);
  CHECK(row.ratio->high >= row.ratio->ratio);
}

TEST_CASE("a case with faults is compared, and each verdict says which side had them") {
  const Report base = timed({{"equal", 10}});
  Report fresh = timed({{"equal", 10}});
  lose_second_device(fresh.runs[0]);
  fresh.runs[0].devices_asked = 2;
  const Comparison c = compared(base, fresh);
  const ComparisonRow row = row_of(c, "equal", Compared::time);
  CHECK(row.change == Change::same);
  CHECK(row.warnings ==
        std::vector<std::string>{"NEW: device 0:1 hung",
                                 "NEW: 1 sample that a fault disturbed is not counted"});
  CHECK(comparison_tables(c, {200, false})
            .find("! equal: NEW: device 0:1 hung\n! equal: NEW: 1 sample") != std::string::npos);
}

TEST_CASE("cases measured on different numbers of devices are the same case and are not compared") {
  const Report base = timed({{"equal", 10}, {"dynamic", 10}});
  Report fresh = timed({{"equal", 10}, {"dynamic", 10}});
  RunRecord& run = fresh.runs[1];
  run.devices = {"0:0"};
  run.devices_asked = 2;
  const Comparison c = compared(base, fresh);
  CHECK(c.rows.size() == 4);
  REQUIRE(c.uncompared.size() == 1);
  CHECK(c.uncompared[0].name.ends_with("/dynamic/devices:2/resident"));
  CHECK(c.uncompared[0].what == "NEW: measured on 1 of 2 devices");
  CHECK(c.uncompared[0].lost);
  const Comparison other_variant = compared(fresh, base);
  REQUIRE(other_variant.uncompared.size() == 1);
  CHECK(other_variant.uncompared[0].what == "BASE: measured on 1 of 2 devices");
  CHECK_FALSE(other_variant.uncompared[0].lost);
  CHECK(compared(fresh, fresh).rows.size() == 8);

  const std::vector<Report> rounds = {base, fresh};
  const Comparison interleaved = compare_reports(rounds, rounds, {});
  REQUIRE(interleaved.uncompared.size() == 1);
  CHECK(interleaved.uncompared[0].what ==
        "BASE: measured on 2 devices in one round and on 1 of 2 in another");
}

TEST_CASE("samples in which busy times are not known are left out of the imbalance") {
  Report report = timed({{"equal", 10}});
  for (std::size_t k = 0; k < 12; k += 2) report.runs[0].per_device[1].busy_samples[k].reset();
  CHECK(case_values(report.runs[0], Compared::imbalance).size() == 6);
  CHECK(case_values(report.runs[0], Compared::time).size() == 12);
}
