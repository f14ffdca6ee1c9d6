// Files of links: what is written is read back, derived figures are those of the samples, tables
// and comparison.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "lib/base/error.hpp"
#include "lib/report/comparison.hpp"
#include "lib/report/links_json.hpp"
#include "lib/report/links_tables.hpp"
#include "tests/support/golden.hpp"

using namespace mgpu;

namespace {

using std::chrono::microseconds;

std::vector<Nanos> around(Nanos middle, std::int64_t step = 10) {
  std::vector<Nanos> samples;
  for (std::int64_t k = -10; k <= 10; ++k) samples.push_back(middle + Nanos{k * step});
  return samples;
}

LinksReport some_links() {
  LinksReport report;
  report.complete = true;
  report.tool = {"1.2.3", "abc", {"mgpu-bench", "links"}};
  report.environment = {{"host", "here"}};
  report.options = {{"peer", "auto"}, {"quick", std::int64_t{1}}};
  report.started = "2026-11-24T05:00:00Z";
  for (const char* id : {"0:0", "0:1"}) {
    Device device;
    device.id = id;
    device.name = std::string("device ") + id;
    device.pci = "0000:1a:00.0";
    device.global_memory = 1 << 30;
    device.compute_units = 4;
    report.devices.push_back(device);
  }
  report.pairs = {{"0:0", "0:1", PeerPath::direct}, {"0:1", "0:0", PeerPath::direct}};
  report.notes = {"a note"};
  report.transfers = {
      {LinkTraffic::one_way, kLinksHost, "0:0", {}, true, {1'000'000, around(microseconds(20)), 0}},
      {LinkTraffic::one_way,
       "0:0",
       "0:1",
       PeerPath::direct,
       true,
       {1'000'000, around(microseconds(5)), 0}},
      {LinkTraffic::one_way,
       "0:0",
       "0:1",
       PeerPath::staged,
       false,
       {1'000'000, around(microseconds(50)), 0}},
      {LinkTraffic::both_ways,
       "0:0",
       "0:1",
       PeerPath::direct,
       true,
       {2'000'000, around(microseconds(8)), 3}}};
  report.at_once = {{LinkCrowd::up_and_down,
                     "",
                     true,
                     {4'000'000, around(microseconds(40)), 0},
                     {{"0:0", 2'000'000, around(microseconds(40))},
                      {"0:1", 2'000'000, around(microseconds(30))}}}};
  report.latencies = {
      {{"0:0", "0:1"}, "direct", true, around(microseconds(9)), around(microseconds(60)), 20}};
  CollectiveRecord row;
  row.op = "all-reduce";
  row.element = "f32";
  row.reduction = "sum";
  row.count = 1'000'000;
  row.size = 4'000'000;
  row.devices = {"0:0", "0:1"};
  row.path = "direct";
  row.bus_factor = 1;
  row.alone = around(microseconds(60));
  row.queued = around(microseconds(800));
  row.queued_calls = 20;
  report.collectives = {row};
  row.count = 1000;
  row.size = 4000;
  row.queued = around(microseconds(100));
  report.collectives.push_back(row);
  report.warnings = {"a warning"};
  return report;
}

std::string refusal(const char* list, const char* key, const nlohmann::ordered_json& value) {
  auto json = links_json(some_links());
  json[list][0][key] = value;
  try {
    links_from_json(json);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

LinksReport slower(LinksReport report) {
  for (Nanos& time : report.transfers[1].moves.samples) time *= 2;
  return report;
}

}  // namespace

TEST_CASE("what is written is read back") {
  LinksReport report = some_links();
  report.failure = "device 0:1 did not answer";
  const auto json = links_json(report);
  CHECK(links_json(links_from_json(json)) == json);
  CHECK(links_json_text(links_from_json(nlohmann::ordered_json::parse(links_json_text(report)))) ==
        links_json_text(report));
}

TEST_CASE("the file is the one that scripts are tested with") {
  const std::string text = links_json_text(some_links());
  CHECK(text == test::golden("links.json", text));
}

TEST_CASE("figures are those of the samples, and what is wrong has none") {
  const auto json = links_json(some_links());
  CHECK(json["transfers"][0]["bytes_per_s"].get<double>() == doctest::Approx(50e9));
  CHECK(json["transfers"][3]["bytes_per_s"].is_null());
  CHECK(json["transfers"][3]["wrong"] == 3);
  CHECK(json["at_once"][0]["path"].is_null());
  CHECK(json["at_once"][0]["devices"][0]["bytes_per_s"].get<double>() == doctest::Approx(50e9));
  CHECK(json["latencies"][0]["back_to_back_ns"].get<double>() == doctest::Approx(3000));
  CHECK(json["collectives"][0]["back_to_back_ns"].get<double>() == doctest::Approx(40'000));
  CHECK(json["collectives"][0]["algbw_bytes_per_s"].get<double>() == doctest::Approx(100e9));
}

TEST_CASE("what cannot be is refused by its place") {
  CHECK(refusal("transfers", "traffic", "sideways").find("transfers[0].traffic") == 0);
  CHECK(refusal("transfers", "samples_ns", {1, -1}).find("transfers[0].samples_ns[1]") == 0);
  CHECK(refusal("latencies", "back_to_back_calls", 0).find("latencies[0].back_to_back_calls") == 0);
  CHECK(refusal("collectives", "bus_factor", nullptr).find("collectives[0].bus_factor") == 0);
  auto newer = links_json(some_links());
  newer["schema_version"] = 2;
  CHECK_THROWS_AS(links_from_json(newer), Error);
}

TEST_CASE("tables have sources in rows and destinations in columns") {
  const std::string text = links_tables(some_links(), {});
  for (const char* expected : {"path between devices: direct\na note\n",
                               "one way, GB/s: from the row's to the column's, one pair at a "
                               "time\nfrom  host    0:0     0:1\nhost     -  50.00       -\n"
                               "0:0      -      -  200.00\n0:1      -      -       -\n",
                               "both ways, GB/s: the sum of both directions, one pair at a "
                               "time\nfrom  host    0:0    0:1\nhost     -      -      -\n"
                               "0:0      -      -  wrong\n0:1      -  wrong      -\n",
                               "one way, staged (not in use), GB/s", "up and down",
                               "all-reduce on 2 devices (direct): busbw = algbw x 1"}) {
    CAPTURE(text);
    CHECK(text.find(expected) != std::string::npos);
  }
}

TEST_CASE("two files are compared cell by cell") {
  const Report base = as_cases(some_links()), fresh = as_cases(slower(some_links()));
  const Comparison all = compare_reports(std::span(&base, 1), std::span(&fresh, 1), {});
  CHECK(all.rows.size() == 10);
  CHECK(all.count(Change::regression) == 1);
  for (const ComparisonRow& row : all.rows) {
    const bool changed = row.label == "0:0 to 0:1" && row.title == "links, one way";
    CHECK(row.change == (changed ? Change::regression : Change::same));
    if (changed) CHECK(row.ratio->ratio == doctest::Approx(2));
  }
  REQUIRE(all.uncompared.size() == 1);  // what was wrong
  CHECK(all.uncompared[0].name == "links/0:0 to 0:1/devices:2/both_ways");
}
