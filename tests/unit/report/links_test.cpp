// Files of links: the golden file, with which scripts are tested too, is read, its figures follow
// from its samples, and writing it gives the same text; tables and comparison of it.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "lib/base/error.hpp"
#include "lib/report/comparison.hpp"
#include "lib/report/links_json.hpp"
#include "lib/report/links_tables.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/json_texts.hpp"

using namespace mgpu;
using namespace mgpu::test;

namespace {

std::string links_text() { return golden_text("links.json"); }

LinksReport links_from_text(const std::string& text) {
  return links_from_json(nlohmann::ordered_json::parse(text));
}

std::string refusal_of_links(const std::string& text) {
  return refusal_of_file(text, [](const std::string& file) {
    try {
      links_from_text(file_text(file));
    } catch (const Error& error) {
      throw Error(error.kind(), file + ": " + error.what());
    }
  });
}

}  // namespace

TEST_CASE("a file of links is read, and written as it was") {
  const std::string text = links_text();
  const LinksReport report = links_from_text(text);
  CHECK(links_json_text(report) == text);
  CHECK(report.transfers.at(3).traffic == LinkTraffic::both_ways);
  CHECK(report.transfers[3].moves.samples.size() == 21);
  CHECK(report.collectives.at(0).bus_factor == 1);
  const std::string failed = edited(text, "/failure \"device 0:1 did not answer\"");
  CHECK(same_json(links_json_text(links_from_text(failed)), failed));
}

TEST_CASE("figures are those of the samples, and what is wrong has none") {
  LinksReport report = links_from_text(links_text());
  for (Nanos& time : report.transfers[0].moves.samples) time *= 2;
  report.latencies[0].queued_calls *= 2;
  report.collectives[0].queued_calls *= 2;
  check_json(links_json_text(report), R"(
    /transfers/0/bytes_per_s 25e9
    /transfers/3/bytes_per_s null
    /transfers/3/wrong 3
    /at_once/0/path null
    /at_once/0/devices/0/bytes_per_s 50e9
    /latencies/0/back_to_back_ns 1500.0
    /collectives/0/back_to_back_ns 20000.0
    /collectives/0/algbw_bytes_per_s 200e9)");
}

TEST_CASE("what cannot be in a file of links is refused by its place") {
  check_refusals(links_text(), refusal_of_links, R"(
    /transfers/0/traffic "sideways"
    /transfers/0/samples_ns [1, -1] => transfers[0].samples_ns[1]
    /latencies/0/back_to_back_calls 0
    /collectives/0/bus_factor null
    /schema_version 2)");
}

TEST_CASE("tables of links are the golden ones: sources in rows and destinations in columns") {
  const std::string text = links_tables(links_from_text(links_text()), {});
  CHECK(text == golden("links.txt", text));
}

TEST_CASE("two files of links are compared cell by cell") {
  LinksReport slower = links_from_text(links_text());
  for (Nanos& time : slower.transfers[1].moves.samples) time *= 2;
  const Report base = as_cases(links_from_text(links_text())), fresh = as_cases(slower);
  const Comparison all = compare_reports(std::span(&base, 1), std::span(&fresh, 1), {});
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
