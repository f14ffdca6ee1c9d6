// Files of the version before: read as if they had been written today.
#include "lib/report/older_versions.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "lib/base/error.hpp"
#include "lib/report/record_json.hpp"
#include "lib/report/scenario_json.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/sample_report.hpp"

using namespace mgpu;
using Json = nlohmann::ordered_json;

namespace {

const std::filesystem::path kData = test::source_folder() / "tests/data";

Json scenario() {
  return Json::parse(R"({"work": {"items": 1000, "merge_further_ns": 14}, "devices": [{
    "items_per_s": 1e9, "launch_ns": 5000, "crowd_ns": 11, "least_ns": 12, "spared_ns": 13}]})");
}

}  // namespace

TEST_CASE("a result that version 0.1 wrote reads like the one that is written of it today") {
  Report report = read_report(kData / "result_v1.json");
  CHECK(report.started.empty());
  CHECK(report.defaults.empty());
  report.started = test::sample_report().started;  // which version 0.1 did not write
  report.defaults = test::sample_report().defaults;
  CHECK(to_json_text(report) == test::golden_text("report.json"));
}

TEST_CASE("names of before are names of today in version 1 only") {
  Json json = Json::parse(test::file_text(kData / "result_v1.json"));
  json["schema_version"] = kResultSchemaVersion;
  CHECK_THROWS_AS(report_from_json(json), Error);
}

TEST_CASE("what is not a result is left to the reader") {
  for (const char* text :
       {"{}", "[]", "1", R"({"schema_version": 1})", R"({"schema_version": 1, "runs": 5})",
        R"({"schema_version": 1, "runs": [1, {"metrics": 1, "per_device": {}, "plan": []}]})"}) {
    Json json = Json::parse(text);
    CHECK_NOTHROW(bring_result_up_to_date(json));
    CHECK_NOTHROW(bring_scenario_up_to_date(json));
  }
}

TEST_CASE("a scenario may use the names of version 0.1") {
  const Scenario read = scenario_from_json(scenario());
  CHECK(read.devices.at(0).estimate.per_peer_contention == Nanos{11});
  CHECK(read.devices.at(0).estimate.minimum_slice == Nanos{12});
  CHECK(read.devices.at(0).estimate.first_slice_discount == Nanos{13});
  CHECK(read.work.items == 1000);  // what is no longer used was not refused
}

TEST_CASE("a scenario that uses an old name and today's is refused") {
  Json both = scenario();
  both["devices"][0]["minimum_slice_ns"] = 12;
  CHECK_THROWS_AS(scenario_from_json(both), Error);
}

TEST_CASE("every renamed place of a result is brought up to date, and nothing else") {
  Json before =
      Json::parse(R"({"schema_version": 1, "environment": {"way": "x", "s_max": "y"}, "runs": [{
    "params": {"ceiling": 1}, "work": {"ceiling": "memory", "items": 5},
    "per_device": [{"way": "tile 8"}, {}],
    "metrics": {"s_max": 2.0, "ceiling_share": 0.5, "speedup": 1.9},
    "plan": {"estimates": [{"crowd_ns": 1, "least_ns": 2, "spared_ns": 3, "fixed_ns": 4}],
             "request": {"merge_further_ns": 5}}}]})");
  const Json now =
      Json::parse(R"({"schema_version": 3, "environment": {"way": "x", "s_max": "y"}, "runs": [{
    "params": {"ceiling": 1}, "work": {"items": 5, "roof": "memory"},
    "per_device": [{"kernel_variant": "tile 8"}, {}],
    "metrics": {"speedup": 1.9, "ideal_speedup": 2.0, "roofline_fraction": 0.5},
    "plan": {"estimates": [{"fixed_ns": 4, "per_peer_contention_ns": 1, "minimum_slice_ns": 2,
                            "first_slice_discount_ns": 3}],
             "request": {}}}]})");
  bring_result_up_to_date(before);
  CHECK(before == now);
}
