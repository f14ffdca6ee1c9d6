// Export files, checked by the rules of their readers, and requirements. tests/cli/compare_test.py
// runs the real readers.
#include "lib/report/exports.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "lib/report/case_name.hpp"
#include "lib/report/record_json.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/sample_report.hpp"

using namespace mgpu;
using namespace mgpu::test;
using Json = nlohmann::ordered_json;

namespace {

constexpr std::size_t kOk = 5;  // number of cases of sample_report() that are ok

std::vector<std::string> missed_of(const Report& report, const char* text) {
  std::vector<std::string> all;
  for (const Miss& miss : misses(report, parse_requirements("--require", text)))
    all.push_back(miss.what);
  return all;
}

}  // namespace

TEST_CASE("a name belongs to one case only") {
  std::set<std::string> names;
  const Report report = sample_report();
  for (const RunRecord& run : report.runs) names.insert(case_name(run));
  CHECK(names.size() == report.runs.size());
  CHECK(names.contains("merkle/leaves:100000/tree:plain/dynamic:chunks=64/devices:3/resident"));
  RunRecord run = report.runs[3];
  run.strategy_params["chunks"] = 0.0;  // the default
  CHECK(case_name(run) == "merkle/leaves:100000/tree:plain/dynamic/devices:3/resident");
}

TEST_CASE("Google Benchmark JSON has an entry per sample and one per median, of finite figures") {
  const Report report = sample_report();
  const Json all = Json::parse(exported("googlecpp", report, {}));
  CHECK(all["context"]["caches"] == Json::array());
  CHECK(all["context"]["json_schema_version"] == 1);
  const Json& entries = all["benchmarks"];
  REQUIRE(entries.size() == kOk * 12);
  std::set<std::string> names, medians;
  for (const Json& entry : entries) {
    const bool sample = entry["run_type"] == "iteration";
    (sample ? names : medians).insert(entry["name"]);
    CHECK(entry["run_name"].get<std::string>().ends_with("/real_time"));
    CHECK(entry["name"] == entry["run_name"].get<std::string>() + (sample ? "" : "_median"));
    CHECK(entry["real_time"] > 0);
    CHECK(entry["time_unit"] == "ns");
    CHECK(entry.contains("speedup") != sample);
  }
  CHECK(names.size() == kOk);
  CHECK(medians.size() == kOk);
  CHECK_FALSE(entries.back().contains("roofline_fraction"));  // its value is infinite
  CHECK(entries[3]["repetition_index"] == 3);
  CHECK(entries[3]["real_time"] == static_cast<double>(report.runs[0].samples[3].count()));
  CHECK(entries[11]["aggregate_name"] == "median");
  CHECK(entries[11]["real_time"] == static_cast<double>(report.runs[0].time.median.count()));
}

TEST_CASE("Bencher gets every measure once, with bounds") {
  const Report report = sample_report();
  const Json bmf = Json::parse(exported("bmf", report, {}));
  REQUIRE(bmf.size() == kOk);
  for (const auto& [name, measures] : bmf.items()) {
    for (const char* measure : {"latency", "throughput", "speedup", "efficiency"}) {
      CHECK(measures[measure]["lower_value"] <= measures[measure]["value"]);
      CHECK(measures[measure]["upper_value"] >= measures[measure]["value"]);
    }
  }
}

TEST_CASE("CSV, Markdown and JUnit are the golden ones, and quote what would break them") {
  Report report = sample_report();
  report.runs[0].params["tree"] = std::string("a,\"b\"|c");
  report.runs[4].reason = "5 < 6 & \"bad\" \x01";
  report.runs[4].time.median = Nanos{1'000'000'000};  // this case is not ok
  const auto missed =
      misses(report, parse_requirements("--require", "equal:speedup>=100,stealing:time<1s"));
  Report few = report;
  for (RunRecord& run : few.runs) run.samples.resize(2);
  const std::string text = exported("csv", report, {}) + "\n" + exported("samples", few, {}) +
                           "\n" + exported("markdown", report, {}) + "\n" +
                           exported("junit", report, missed) + "\n" +
                           exported("junit", report, {{std::size_t{3}, "device 0:1 hung"}});
  CHECK(golden("exports.txt", text) == text);
}

TEST_CASE("the samples of every report have the same columns, and disturbed ones are marked") {
  Report report = sample_report();
  const std::string columns = exported("samples", Report{}, {});
  CHECK(columns.ends_with(",discarded\r\n"));
  report.runs = {report.runs[3]};
  report.runs[0].samples.resize(1);
  report.runs[0].invalidated[0].reason = "lost, with no result";
  const std::string text = exported("samples", report, {});
  CHECK(text.starts_with(columns));
  CHECK(has(text, ",ok,,passed,0,828500,false\r\n"));
  CHECK(text.ends_with(",ok,\"lost, with no result\",passed,0,,true\r\n"));
}

TEST_CASE("a requirement holds for every case in its scope or names those that miss it") {
  const Report report = sample_report();
  CHECK(missed_of(report, "time<=1s,efficiency>0,rate>1").empty());
  CHECK(missed_of(report, "best:speedup>=1").empty());
  CHECK(missed_of(report, "time<=1us").size() == kOk);
  CHECK(missed_of(report, "dynamic:time<=1us").size() == 3);
  CHECK(missed_of(report, "best:time<=1us").size() == 2);  // two tables
  CHECK(missed_of(report, "single:speedup>=2").at(0).starts_with("merkle leaves=100000"));
  CHECK(missed_of(report, "stealing:time<1s").size() == 1);  // no such case was measured
  Report undefined = report;
  undefined.runs[0].metrics.efficiency.reset();
  CHECK(missed_of(undefined, "single:efficiency<2").size() == 1);
}

TEST_CASE("shares may be percentages, and metrics have the names of their columns, too") {
  const auto only = [](const char* text) { return parse_requirements("--require", text).at(0); };
  CHECK(only("efficiency>=90%").bound == doctest::Approx(0.9));
  CHECK(only("comm<=5%").metric == "comm_share");
  CHECK(only("comm<=0.05").bound == doctest::Approx(0.05));
  CHECK(only("imbalance<10%").metric == "imbalance_percent");
  CHECK(only("imbalance<10%").bound == 10);
  CHECK(only("imbalance_percent<10").bound == 10);
  CHECK(only("efficiency>=90%").text == "efficiency>=90%");
}

namespace {

// Makes the single-device baselines `factor` times as long as the case, with this number of rounds.
void measure_alone_slowly(RunRecord& run, double factor, std::size_t rounds) {
  const auto longer = [&](Nanos& t) { t = Nanos{std::llround(factor * double(t.count()))}; };
  run.samples.resize(rounds);
  for (PerDevice& p : run.per_device) {
    longer(*p.alone);
    for (Nanos& t : p.alone_samples) longer(t);
    p.alone_samples.resize(rounds);
  }
  *run.metrics.speedup *= factor;
  *run.metrics.efficiency *= factor;
  run.metrics.karp_flatt = karp_flatt(*run.metrics.speedup, *run.metrics.ideal_speedup);
}

}  // namespace

TEST_CASE("a requirement is not met by a ratio that cannot be, nor by one that noise leaves open") {
  for (const std::size_t rounds : {1, 11}) {
    CAPTURE(rounds);
    Report report = sample_report();
    report.runs = {report.runs[2]};
    measure_alone_slowly(report.runs[0], 12, rounds);
    for (const char* text : {"efficiency>=0.9", "speedup>=2", "efficiency<=1", "karp_flatt<=0.5"}) {
      const auto missed = misses(report, parse_requirements("--require", text));
      REQUIRE(missed.size() == 1);
      CHECK(missed[0].inconclusive);
    }
    const auto met = misses(report, parse_requirements("--require", "time<1s,ideal_speedup>=0.9"));
    CHECK(met.empty());
    report.environment["simulated"] = "a scenario";  // a simulated clock has no noise
    CHECK(missed_of(report, "efficiency>=0.9").empty());
  }
  Report report = sample_report();
  report.runs = {report.runs[2]};  // efficiency 0.926, with noise of 0.1 %
  CHECK(missed_of(report, "efficiency>=0.92").empty());
  report.runs[0].per_device[1].alone_samples[3] *= 2;
  report.runs[0].per_device[0].alone_samples[4] *= 2;  // one of eleven rounds does not matter
  CHECK(missed_of(report, "efficiency>=0.92").empty());
  for (std::size_t k = 0; k < 4; ++k) {
    report.runs[0].samples[k] *= 2;
    report.runs[0].samples[10 - k] /= 2;
  }
  const auto open = misses(report, parse_requirements("--require", "efficiency>=0.92"));
  REQUIRE(open.size() == 1);
  CHECK(open[0].inconclusive);
  const auto missed = misses(report, parse_requirements("--require", "efficiency>=0.95"));
  REQUIRE(missed.size() == 1);
  CHECK_FALSE(missed[0].inconclusive);
}

TEST_CASE("a ratio that cannot be is marked in text and CSV, and kept from dashboards") {
  Report report = sample_report();
  report.runs = {report.runs[2]};
  CHECK_FALSE(Json::parse(to_json_text(report))["runs"][0].contains("doubtful_metrics"));
  measure_alone_slowly(report.runs[0], 12, 11);
  report.runs[0].metrics.roofline_fraction = 1.015;
  std::string doubtful;
  const Json file = Json::parse(to_json_text(report));
  for (const Json& doubt : file["runs"][0]["doubtful_metrics"]) {
    doubtful += doubt["metric"].get<std::string>() + ' ';
    CHECK(doubt["beyond_noise"] == (doubt["metric"] != "roofline_fraction"));
    CHECK(doubt["slight"] == (doubt["metric"] == "roofline_fraction"));
    CHECK_FALSE(doubt["reason"].get<std::string>().empty());
  }
  CHECK(doubtful == "speedup efficiency karp_flatt roofline_fraction ");
  CHECK(has(exported("csv", report, {}), "efficiency: above"));
  CHECK(has(exported("csv", report, {}), "roofline_fraction: above"));
  CHECK(has(exported("markdown", report, {}), "(!)"));
  CHECK_FALSE(has(exported("bmf", report, {}), "efficiency"));
  CHECK_FALSE(has(exported("bmf", report, {}), "speedup"));
  const Json google = Json::parse(exported("googlecpp", report, {}))["benchmarks"][11];
  CHECK_FALSE(google.contains("efficiency"));
  CHECK(google["roofline_fraction"] == 1.015);
  CHECK(has(google["label"].get<std::string>(), "roofline_fraction: above"));
}

TEST_CASE("what is not a requirement is refused in one line that says what is accepted") {
  for (const char* bad : {"", "efficiency", "efficiency>=", "efficiency>=much", "bogus>=1",
                          "bogus:time<1s", "time<=5", "efficiency=>1", "time<1s,", "efficiency>=90",
                          "imbalance<0.1", "speedup>=90%", "time<5%", "comm<=%"})
    CHECK(refusal([&] { parse_requirements("--require", bad); }).find("--require: \"") == 0);
}

TEST_CASE("a case measured on fewer devices than asked for is another series, and labelled") {
  const Report report = sample_report();
  const std::string name =
      "merkle/leaves:100000/tree:plain/dynamic:chunks=64/devices:2of3/resident";
  CHECK(series_name(report.runs[3]) == name);
  CHECK(series_name(report.runs[2]) == case_name(report.runs[2]));
  const Json google = Json::parse(exported("googlecpp", report, {}))["benchmarks"][47];
  CHECK(google["run_name"] == name + "/real_time");
  CHECK(has(google["label"].get<std::string>(), "device 0:1 hung"));
  CHECK(Json::parse(exported("bmf", report, {})).contains(name));
}

TEST_CASE("no fault and no disturbed sample can be required") {
  Report report = sample_report();
  CHECK(missed_of(report, "faults<=0").size() == 2);  // one fault belongs to no case
  report.faults.clear();
  CHECK(missed_of(report, "equal:faults<=0,equal:disturbed<1").empty());
  for (const char* one : {"faults<=0", "disturbed<=0"})
    CHECK(has(missed_of(report, one).at(0), "dynamic:chunks=64"));
  CHECK(missed_of(report, "faults<=1").empty());
}
