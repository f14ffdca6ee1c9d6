// Merging of results: what is joined, what is left out, and what is refused.
#include "lib/report/merge.hpp"

#include <doctest/doctest.h>

#include "tests/support/refusal.hpp"
#include "tests/support/sample_report.hpp"

using namespace mgpu;
using namespace mgpu::test;

namespace {

// Returns the sample report with these of its runs.
NamedReport part_of(const std::string& file, std::initializer_list<std::size_t> runs) {
  NamedReport part{file, sample_report()};
  part.report.complete = true;
  part.report.runs.clear();
  for (const std::size_t k : runs) part.report.runs.push_back(sample_report().runs[k]);
  part.report.environment = {{"cpu", "Xeon"}, {"host", "one"}, {"kernel", "6.1"}};
  return part;
}

MergedReport merged(const NamedReport& a, const NamedReport& b, bool ignore_environment = false) {
  return merge_reports({a, b}, {"9.9", "abc", {"mgpu-bench", "merge"}}, ignore_environment);
}

std::string refused(const NamedReport& a, const NamedReport& b) {
  return refusal([&] { merged(a, b); }, ErrorKind::input);
}

}  // namespace

TEST_CASE("a merged result has the runs of its files, and what holds for all of them") {
  NamedReport a = part_of("a.json", {0, 1}), b = part_of("b.json", {2});
  a.report.id = "0123";
  a.report.options = {{"warmup", std::int64_t{1}}, {"samples", std::int64_t{5}}};
  b.report.options = {{"warmup", std::int64_t{1}}, {"quick", "yes"}};
  a.report.started = "2026-02-02T00:00:00Z";
  b.report.started = "2026-01-01T00:00:00Z";
  b.report.complete = false;
  b.report.tool.git = "fedcba";
  a.report.defaults = {{"merkle", {{"tree", "plain"}, {"seed", std::int64_t{1}}}}};
  b.report.defaults = {{"merkle", {{"tree", "plain"}, {"seed", std::int64_t{2}}}},
                       {"msm", {{"c", std::int64_t{8}}}}};
  a.report.devices[0].after[Setting::ecc] = true;
  b.report.devices[0].before[Setting::ecc] = false;
  a.report.devices[0].capability = Capability{1e12};
  b.report.devices[0].capability = Capability{2e12};
  a.report.telemetry = {};
  a.report.exchange_notes = {"one", "two"};
  b.report.exchange_notes = {"two", "three"};
  const auto& [all, remarks] = merged(a, b);
  REQUIRE(all.runs.size() == 3);
  CHECK(all.runs[2].strategy == b.report.runs[0].strategy);
  CHECK(all.id.empty());
  CHECK_FALSE(all.complete);
  CHECK(all.started == "2026-01-01T00:00:00Z");
  CHECK(all.tool.version == a.report.tool.version);
  CHECK(all.tool.git == a.report.tool.git + ", fedcba");
  CHECK(all.tool.argv == std::vector<std::string>{"mgpu-bench", "merge"});
  CHECK(all.options == ParamMap{{"warmup", std::int64_t{1}}});
  CHECK(all.defaults.at("merkle") == ParamMap{{"tree", "plain"}});
  CHECK(all.defaults.contains("msm"));
  CHECK(all.devices.size() == a.report.devices.size());
  CHECK_FALSE(all.devices[0].capability);
  CHECK(all.devices[0].before[Setting::ecc] == SettingValue(false));
  CHECK(all.devices[0].after[Setting::ecc] == SettingValue(true));
  CHECK(all.telemetry.watched.size() == b.report.telemetry.watched.size());
  CHECK(all.exchange_notes == std::vector<std::string>{"one", "two", "three"});
  CHECK(remarks == std::vector<std::string>{
                       "the files differ in the option quick: it is left out",
                       "the files differ in the option samples: it is left out",
                       "device 0:0 was calibrated differently: its figures are left out"});
}

TEST_CASE("a case that two files have, or one file twice, is named and refused") {
  const std::string name = "merkle/leaves:100000/tree:plain/equal/devices:2/resident";
  CHECK(refused(part_of("a.json", {0, 1}), part_of("b.json", {1}))
            .starts_with("the case " + name + " is in a.json and in b.json; "));
  CHECK(refused(part_of("a.json", {1, 1}), part_of("b.json", {0}))
            .starts_with("the case " + name + " is twice in a.json; "));
}

TEST_CASE("results of other machines or of links are merged only if that is asked for, or never") {
  const NamedReport a = part_of("a.json", {0});
  NamedReport b = part_of("b.json", {1});
  b.report.environment["kernel"] = "6.2";  // noted only
  CHECK(merged(a, b).remarks ==
        std::vector<std::string>{"a.json and b.json differ: kernel: 6.1 -> 6.2"});
  b.report.environment["host"] = "two";
  CHECK(refused(a, b) ==
        "a.json and b.json were measured in different environments (host: one -> two); "
        "--ignore-environment merges them all the same");
  b.report.devices.push_back(sample_device("0:2", 2, "0000:5a:00.0", 0));
  const MergedReport all = merged(a, b, true);
  CHECK(all.remarks.size() == 3);
  REQUIRE(all.report.devices.size() == 3);
  CHECK(all.report.devices[2].device.id == "0:2");
  CHECK(all.report.runs.size() == 2);
  b.report.runs[0].link = LinkRecord{};
  CHECK(refused(a, b) == "b.json: was made by links; expected: a result of run or simulate");
}
