// Result files that are refused: what the one line says, and that no number in a file does harm.
#include <doctest/doctest.h>

#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "lib/base/error.hpp"
#include "lib/report/record_json.hpp"
#include "lib/report/table_writer.hpp"
#include "lib/report/trace_writer.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/sample_report.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/thorough.hpp"

using namespace mgpu;
using Json = nlohmann::ordered_json;

namespace {

// The message of the Error(input) that reading `text` from a file gives; empty when it is read.
std::string refusal_of_result(const std::string& text) {
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "out.json";
  write_file_atomically(file, text);
  try {
    read_report(file);
  } catch (const Error& e) {
    CHECK(e.kind() == ErrorKind::input);
    const std::string what = e.what();
    CHECK(what.starts_with(file.string() + ": "));
    CHECK(what.find('\n') == std::string::npos);
    return what.substr(file.string().size() + 2);
  }
  return "";
}

std::string refusal_with(const std::function<void(Json&)>& change) {
  Json json = to_json(test::sample_report());
  change(json);
  return refusal_of_result(json.dump());
}

}  // namespace

TEST_CASE("a file that is not a result file is refused in one line that says why") {
  const std::string good = to_json_text(test::sample_report());
  CHECK(refusal_of_result(good).empty());
  CHECK(refusal_of_result("") == "is empty");
  CHECK(refusal_of_result(good.substr(0, good.size() / 2)).starts_with("not JSON, or cut off"));
  CHECK(refusal_of_result("[1, 2]") == "a JSON object expected");
  CHECK(refusal_of_result("{}") == "schema: missing");
  CHECK(refusal_with([](Json& j) { j["schema"] = "something/else"; }) ==
        "schema: \"something/else\" is not \"mgpu-bench/result\"");
  CHECK(refusal_with([](Json& j) { j["schema_version"] = 3; }) ==
        "schema_version: 3 is newer than this tool reads (2)");
  CHECK(
      refusal_with([](Json& j) { j["schema_version"] = "1"; }) ==
      R"(schema_version: the text "1" is not accepted: a whole number from -2147483648 to 2147483647)");
  CHECK(refusal_with([](Json& j) { j["schema_version"] = 0; }) ==
        "schema_version: 0 never existed");
}

TEST_CASE("a missing field or a wrong type is named by its path") {
  CHECK(refusal_with([](Json& j) { j["runs"][2].erase("mode"); }) == "runs[2].mode: missing");
  CHECK(refusal_with([](Json& j) {
          j["devices"][0]["handicap"] = {{"slow", 2}};
        }) == "devices[0].handicap.slow_from_fraction: missing");
  CHECK(refusal_with([](Json& j) { j["runs"][0]["mode"] = "End to end"; }) ==
        "runs[0].mode: a mode's name is up to 64 small letters, with underscores between words");
  CHECK(
      refusal_with([](Json& j) { j["runs"][1]["time_ns"]["median"] = 1.5; }) ==
      R"(runs[1].time_ns.median: "1.5" is not accepted: a whole number from 0 to 10000000000000000)");
  CHECK(refusal_with([](Json& j) { j["runs"][1]["time_ns"]["ci95"] = {1}; }) ==
        "runs[1].time_ns.ci95: two numbers expected");
  CHECK(
      refusal_with([](Json& j) { j["runs"][1]["work"]["items"] = -1; }) ==
      R"(runs[1].work.items: "-1" is not accepted: a whole number from 0 to 18446744073709551615)");
  CHECK(refusal_with([](Json& j) { j["runs"] = 7; }) == "runs: a list expected");
  CHECK(refusal_with([](Json& j) { j["complete"] = "yes"; }) == "complete: true or false expected");
  CHECK(refusal_with([](Json& j) { j["devices"][0]["name"] = 3; }) ==
        "devices[0].name: a string expected");
  CHECK(
      refusal_with([](Json& j) { j["devices"][0]["compute_units"] = 5'000'000'000; }) ==
      R"(devices[0].compute_units: "5000000000" is not accepted: a whole number from 0 to 4294967295)");
  CHECK(refusal_with([](Json& j) { j["runs"][0]["sample_index"] = 10; }) ==
        "runs[0].sample_index: no such sample");
  CHECK(refusal_with([](Json& j) { j["runs"][3]["faults"][0]["sample"] = 1; }) ==
        "runs[3].faults[0].sample: no such disturbed sample");
  CHECK(
      refusal_with([](Json& j) { j["runs"][3]["disturbed_samples"][0]["devices"] = {"0:0"}; }) ==
      "runs[3].disturbed_samples[0].timeline.devices: more than the sample's own list of devices");
}

TEST_CASE("levels beyond a hundred are refused in one line, wherever they are") {
  const std::string levels = std::string(100'000, '[') + std::string(100'000, ']');
  std::string text = to_json_text(test::sample_report());
  text.insert(text.find("\"params\": {") + 11, "\"x\": " + levels + ", ");
  CHECK(refusal_of_result(text).find("nested deeper than 100 levels") != std::string::npos);
  std::string objects;
  for (int k = 0; k < 100'000; ++k) objects += "{\"a\":";
  CHECK(refusal_of_result(objects + "1" + std::string(100'000, '}'))
            .find("nested deeper than 100 levels") != std::string::npos);
  CHECK(refusal_of_result("[\"" + std::string(1000, '[') + "\"]") ==
        "a JSON object expected");  // what looks like levels in a text
}

// Every number of a result, in its turn, is made each of these: it is refused in one line that
// names it, or what is read can be shown.
TEST_CASE("no number in a result, however wrong, does harm") {
  const Json good = to_json(test::sample_report());
  std::map<std::string, Json::json_pointer>
      numbers;  // one of each kind: elements of a list and rows of a table are alike
  const std::function<void(const Json&, const Json::json_pointer&, const std::string&)> find =
      [&](const Json& at, const Json::json_pointer& path, const std::string& kind) {
        if (at.is_number()) numbers.emplace(kind, path);
        if (!at.is_structured()) return;  // which would be its only item
        std::size_t k = 0;
        for (const auto& [key, value] : at.items()) {
          const bool cell = at.is_array() && !at.empty() && !at[0].is_structured();
          if (at.is_array()) {
            find(value, path / k, kind + (cell ? "/" + std::to_string(k) : "/*"));
            ++k;
          } else {
            find(value, path / key, kind + "/" + key);
          }
        }
      };
  find(good, Json::json_pointer(), "");
  REQUIRE(numbers.size() > 100);
  const std::size_t every = test::one_in(testing::is_thorough() ? 7 : 23);
  std::size_t refused = 0, shown = 0, turn = 0;
  for (const auto& number :
       numbers) {  // no structured binding: clang 14 captures none in what CAPTURE is
    const auto& kind = number.first;
    const auto& path = number.second;
    if (turn++ % every != 0) continue;
    for (const Json& bad : {Json(-1), Json(0), Json(0.5), Json(1e300), Json(-1e300),
                            Json(std::numeric_limits<std::int64_t>::min()),
                            Json(std::numeric_limits<std::int64_t>::max()),
                            Json(std::numeric_limits<std::uint64_t>::max()), Json("NaN"), Json()}) {
      CAPTURE(kind);
      CAPTURE(bad.dump());
      Json json = good;
      json[path] = bad;
      try {
        const Report report = report_from_json(json);
        run_tables(report, {});
        closing_words(report);
        check_chrome_trace(to_chrome_trace(report));
        ++shown;
      } catch (const Error& error) {
        const std::string what = error.what(), field = kind.substr(kind.rfind('/') + 1);
        CHECK(error.kind() == ErrorKind::input);
        const bool named = what.find(field) != std::string::npos ||
                           what.find("column ") != std::string::npos ||
                           what.find("row ") != std::string::npos;
        if (!named) CHECK(what == field);
        ++refused;
      }
    }
  }
  CHECK(refused > 300 / every);
  CHECK(shown > 300 / every);
}

TEST_CASE("a timeline that names what is not there is refused") {
  const std::string at = "runs[0].timeline.";
  CHECK(refusal_with([](Json& j) { j["runs"][0]["timeline"]["commands"][1][0] = 2; }) ==
        at + "commands: row 1: device 2 of 2");
  CHECK(refusal_with([](Json& j) { j["runs"][0]["timeline"]["commands"][1][1] = "copy"; }) ==
        at + "commands: row 1: unknown word \"copy\"");
  CHECK(refusal_with([](Json& j) {
          j["runs"][0]["timeline"]["spans"][0] = {0, "idle"};
        }) == at + "spans: row 0: a list of 4 values expected");
  CHECK(refusal_with([](Json& j) { j["runs"][0]["timeline"]["columns"]["slices"][0] = "gpu"; }) ==
        at + "columns.slices: other columns than this tool reads");
  CHECK(refusal_with([](Json& j) { j["runs"][0]["timeline"]["devices"] = 3; }) ==
        at + "devices: more than the run's own list of devices");
  CHECK(refusal_with([](Json& j) { j["runs"][0]["timeline"]["uncertainty_ns"] = {1}; }) ==
        at + "uncertainty_ns: not one for each device");
  CHECK(refusal_with([](Json& j) { j["runs"][0]["timeline"]["merge"]["on"] = 5; }) ==
        at + "merge.on: no such device");
}

TEST_CASE("a file that is missing or a directory is refused by name") {
  const test::TemporaryFolder folder;
  CHECK_THROWS_WITH_AS(read_report(folder.path()),
                       (folder.path().string() + ": is a directory, not a result file").c_str(),
                       Error);
  const auto missing = folder.path() / "none.json";
  CHECK_THROWS_WITH_AS(read_report(missing),
                       (missing.string() + ": cannot be opened: No such file or directory").c_str(),
                       Error);
}
