// What suites find of a result, in result files.
#include <doctest/doctest.h>

#include <limits>

#include "lib/base/error.hpp"
#include "lib/report/findings_json.hpp"
#include "lib/report/record_json.hpp"
#include "tests/support/sample_report.hpp"

using namespace mgpu;

TEST_CASE(
    "findings come back, values that are no number as such, and files without any have none") {
  Findings findings;
  findings.figures = {{"relative error", 0.001}, {"loss", 2e-7}};
  findings.milestones = {{"relative error 0.01", 400, Nanos{12'345}}};
  findings.curves = {{"loss", {1, 50, 1000}, {0.5, 0.25, std::numeric_limits<double>::infinity()}}};
  Report report = test::sample_report();
  report.runs[0].verify.found = findings;
  const Report back = report_from_json(to_json(report));
  CHECK(back.runs[1].verify.found.empty());
  const Findings& found = back.runs[0].verify.found;
  CHECK(found.figures == findings.figures);
  CHECK(found.milestones == findings.milestones);
  REQUIRE(found.curves.size() == 1);
  CHECK(found.curves[0].rounds == findings.curves[0].rounds);
  CHECK(found.curves[0].values[1] == 0.25);
  CHECK(found.curves[0].values[2] != found.curves[0].values[2]);
}

TEST_CASE("a curve with fewer values than rounds is refused, by its field") {
  const nlohmann::ordered_json j = nlohmann::ordered_json::parse(
      R"({"figures": [], "milestones": [], "curves": [{"name": "loss", "rounds": [1, 2], "values": [0.5]}]})");
  CHECK_THROWS_WITH_AS(read_findings(JsonReader(j)), doctest::Contains("curves[0].values"), Error);
}
