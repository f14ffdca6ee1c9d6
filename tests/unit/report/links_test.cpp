// Results of links: the golden file, with which scripts are tested too, is read, and writing it
// gives the same text; tables and comparison of it.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "lib/report/comparison.hpp"
#include "lib/report/links_tables.hpp"
#include "lib/report/record_json.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/json_texts.hpp"

using namespace mgpu;
using namespace mgpu::test;

namespace {

Report golden_links() { return report_from_text(golden_text("links.json")); }

}  // namespace

TEST_CASE("a file of links is read, and written as it was") {
  const Report report = golden_links();
  const std::string text = to_json_text(report);
  CHECK(text == golden("links.json", text));
  CHECK(is_links(report));
  CHECK(report.runs.at(3).link->wrong == 3);
  CHECK(report.runs[3].samples.empty());  // what is wrong has no figures
  CHECK(report.runs[4].link->devices.at(1).samples.size() == 21);
  const std::string failed = edited(text, "/failure \"device 0:1 did not answer\"");
  CHECK(same_json(to_json_text(report_from_text(failed)), failed));
}

TEST_CASE("what cannot be in a file of links is refused by its place") {
  check_refusals(golden_text("links.json"), refusal_of_result, R"(
    /runs/0/link/path 1 => runs[0].link.path
    /runs/0/link/calls 0
    /runs/0/samples_ns [1, -1] => runs[0].samples_ns[1]
    /paths/0/path "by air")");
}

TEST_CASE("a case has what links measured or how work was split") {
  const std::string text = golden_text("links.json");
  nlohmann::ordered_json json = nlohmann::ordered_json::parse(text);
  CHECK_FALSE(json["runs"][0].contains("metrics"));
  json["runs"][0].erase("link");
  CHECK(refusal_of_result(json.dump()).find("runs[0].setup_ns: missing") != std::string::npos);
}

TEST_CASE("tables of links are the golden ones: sources in rows and destinations in columns") {
  const std::string text = links_tables(golden_links(), {});
  CHECK(text == golden("links.txt", text));
}

TEST_CASE("two files of links are compared cell by cell") {
  const Report base = golden_links();
  Report slower = base;
  for (Nanos& time : slower.runs[1].samples) time *= 2;
  const Comparison all = compare_reports(std::span(&base, 1), std::span(&slower, 1), {});
  CHECK(all.rows.size() == 10);
  CHECK(all.count(Change::regression) == 1);
  for (const ComparisonRow& row : all.rows) {
    const bool changed = row.label == "0:0 to 0:1" && row.title == "links, one way";
    CHECK(row.change == (changed ? Change::regression : Change::same));
    if (changed) CHECK(row.ratio->ratio == doctest::Approx(2));
  }
  REQUIRE(all.uncompared.size() == 1);  // a wrong result
  CHECK(all.uncompared[0].name == "links/0:0 to 0:1/devices:2/both_ways");
}
