#include "lib/report/case_selection.hpp"

#include <doctest/doctest.h>

#include "lib/report/case_name.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/sample_report.hpp"

using namespace mgpu;
using namespace mgpu::test;

namespace {

// Returns the strategies of the cases that match, each followed by a blank.
std::string selected(const char* text) {
  Report report = sample_report();
  report.runs[1].params["algebra"] = std::string("3,0,1");
  report.runs[2].params["items"] = std::int64_t{1} << 20;
  report.runs[2].devices.resize(1);
  select_cases("--where", text, report);
  std::string labels;
  for (const RunRecord& run : report.runs) labels += strategy_label(run) + ' ';
  return labels;
}

}  // namespace

TEST_CASE("cases are selected by each property and parameter, with a comma for or") {
  CHECK(selected("suite=merkle,strategy=equal") == "equal ");
  CHECK(selected("strategy=equal,single") == "single equal ");
  CHECK(selected("strategy=single,dynamic:chunks=16") == "single dynamic:chunks=16 ");
  CHECK(selected("strategy=dynamic") == "dynamic:chunks=16 dynamic:chunks=64 dynamic ");
  CHECK(selected("strategy=dynamic,mode=resident") == "dynamic:chunks=16 dynamic:chunks=64 ");
  CHECK(selected("mode=end-to-end") == "dynamic ");
  CHECK(selected("mode=end_to_end") == "dynamic ");
  CHECK(selected("status=failed,unsupported") == "guided memory ");
  CHECK(selected("devices=1") == "dynamic:chunks=16 ");
  for (const char* size : {"items=2^20", "items=1Mi", "items=1048576"})
    CHECK(selected(size) == "dynamic:chunks=16 ");
  CHECK(selected("algebra=3,0,1") == "equal ");  // a value with commas
}

TEST_CASE("a name or value that no case has, and terms that no case meets, are refused") {
  for (const char* bad : {"", "merkle", "suite=", "suite=merkle,", "suit=merkle", "suite=matrix",
                          "strategy=equal,dynamc", "items=2^21", "devices=two", "algebra=3,0",
                          "strategy=equal,mode=end-to-end", "suite"})
    CHECK(refusal([&] { selected(bad); }).starts_with("--where: "));
  CHECK(refusal([] { selected("suit=merkle"); }).find("did you mean \"suite\"?") !=
        std::string::npos);
  Report none;
  select_cases("--where", "suite=merkle", none);
  CHECK(none.runs.empty());
}
