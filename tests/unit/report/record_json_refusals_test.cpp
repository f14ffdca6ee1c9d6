// Result files that are refused: what the message names, and that no number in a file does harm.
#include <doctest/doctest.h>

#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "lib/base/error.hpp"
#include "lib/report/contradictions.hpp"
#include "lib/report/record_json.hpp"
#include "lib/report/table_writer.hpp"
#include "lib/report/trace_writer.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/json_texts.hpp"
#include "tests/support/sample_report.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/thorough.hpp"
#include "tests/support/trace_checker.hpp"

using namespace mgpu;
using namespace mgpu::test;
using Json = nlohmann::ordered_json;

TEST_CASE("a missing field, a wrong type or a reference to nothing is named by its path") {
  check_refusals(to_json_text(sample_report()), refusal_of_result, R"(
    /schema
    /schema            "something/else"     => & something/else & mgpu-bench/result
    /schema_version    4
    /schema_version    "1"                  => & a whole number
    /schema_version    0
    /complete          "yes"                => & true or false
    /devices/0/name    3                    => & a string
    /devices/0/state {"before": {"ecc": 1}} => devices[0].state.before.ecc
    /devices/0/state {"before": {}}         => devices[0].state.after
    /devices/0/handicap {"slow": 2}         => devices[0].handicap.slow_from_fraction
    /devices/0/compute_units 5000000000     => & from 0 to 4294967295
    /devices/1/capability 3                 => & an object
    /devices/1/capability {"fp32_flops": 1} => devices[1].capability.fp64_flops
    /devices/1/capability {"fp32_flops": -1} => devices[1].capability.fp32_flops & above zero
    /runs              7                    => & a list
    /runs/2/mode
    /runs/0/mode       "End to end"
    /runs/1/time_ns/median 1.5              => & 1.5 & from 0 to
    /runs/1/time_ns/ci95 [1]
    /runs/1/work/items -1
    /runs/0/sample_index 11
    /runs/3/faults/0/sample 1
    /runs/3/disturbed_samples/0/devices ["0:0"] => runs[3].disturbed_samples[0].timeline.devices
    /runs/0/timeline/commands/1/0 2         => runs[0].timeline.commands & row 1
    /runs/0/timeline/commands/1/1 "copy"    => runs[0].timeline.commands & row 1 & "copy"
    /runs/0/timeline/spans/0 [0, "idle"]    => runs[0].timeline.spans & row 0
    /runs/0/timeline/columns/slices/0 "gpu" => runs[0].timeline.columns.slices
    /runs/0/timeline/devices 3
    /runs/0/timeline/uncertainty_ns [1]
    /runs/0/timeline/merge/on 5)");
}

TEST_CASE("a case that cannot have come about is refused, by the field that says so") {
  check_refusals(to_json_text(sample_report()), refusal_of_result, R"(
    /runs/1/samples_ns     []
    /runs/1/samples_ns/3   0                => runs[1].samples_ns[3] & 0 ns
    /runs/1/metrics/speedup -1
    /runs/1/metrics/efficiency -5
    /runs/1/verify/status  "failed"         => runs[1].verify.status & ok
    /runs/1/verify/digest  "")");
}

TEST_CASE("a figure that is not of its own samples is named by its field") {
  const Json good = to_json(sample_report());
  for (std::size_t k = 0; k < good["runs"].size(); ++k)
    CHECK(contradictions(report_from_json(good).runs[k]).empty());
  for (const auto& [field, value] : {std::pair<const char*, double>{"time_ns/median", 1},
                                     {"time_ns/n", 1000},
                                     {"time_ns/ci95/0", 5},
                                     {"samples_ns/5", 7'000'000},
                                     {"metrics/speedup", 1e9},
                                     {"metrics/ideal_speedup", 3},
                                     {"metrics/efficiency", 0.9},
                                     {"rate/value", 5},
                                     {"per_device/0/alone_ns", 7}}) {
    CAPTURE(field);
    Json json = good;
    json[Json::json_pointer("/runs/1/" + std::string(field))] =
        value < 1 ? Json(value) : Json(static_cast<std::int64_t>(value));
    const std::vector<std::string> found = contradictions(report_from_json(json).runs[1]);
    REQUIRE_FALSE(found.empty());
    const std::string place = field;
    if (!place.starts_with("samples"))
      CHECK(found[0].starts_with(place.substr(0, place.find('/'))));
  }
}

TEST_CASE("a name that is twice in one object is refused") {
  const std::string good = to_json_text(sample_report());
  for (const char* name : {"complete", "schema"}) {
    std::string twice = good;
    twice.insert(twice.find('{') + 1, "\"" + std::string(name) + "\": 1, ");
    CHECK(refusal_of_result(twice).find(name) != std::string::npos);
  }
  CHECK(refusal_of_result(R"([{"a": "b\"a\": {", "b": {"a": 1}}, {"a": "a", "b": "a"}])")
            .find("twice") == std::string::npos);
}

TEST_CASE("references in what only some results have are checked as well") {
  check_refusals(golden_text("report_everything.json"), refusal_of_result, R"(
    /cluster/nodes/1/offset_begin_ns [7, -5]
    /runs/0/chain/slowest_device 2
    /runs/0/chain/stages/0/device 2         => runs[0].chain.stages
    /runs/0/chain/stages []
    /runs/0/chain/busy_ns "long"
    /runs/0/verify/found/curves/0/values [0.5]
    /runs/0/plan/request/exchange/links/path "nvlink")");
}

TEST_CASE("a file that is not a result file is refused in one line that says why") {
  const std::string good = to_json_text(sample_report());
  const std::string levels = std::string(100'000, '[') + std::string(100'000, ']');
  std::string inside = good, objects;
  inside.insert(inside.find("\"params\": {") + 11, "\"x\": " + levels + ", ");
  for (int k = 0; k < 100'000; ++k) objects += "{\"a\":";
  for (const auto& [text, part] :
       {std::pair<std::string, const char*>{"", "empty"},
        {good.substr(0, good.size() / 2), "cut off"},
        {"[1, 2]", "object"},
        {"{}", "schema"},
        {inside, "100 levels"},
        {objects + "1" + std::string(100'000, '}'), "100 levels"},
        {"[\"" + std::string(1000, '[') + "\"]", "object"}}) {  // brackets in a text are no levels
    CHECK(refusal_of_result(text).find(part) != std::string::npos);
  }
  const TemporaryFolder folder;
  for (const auto& file : {folder.path(), folder.path() / "none.json"})
    CHECK_THROWS_WITH_AS(read_report(file), doctest::Contains(file.c_str()), Error);
}

// Replaces every number of a result by each of these values: the file is refused with one line that
// names the number, or what is read can be shown.
TEST_CASE("no number in a result, however wrong, does harm") {
  const Json good = to_json(sample_report());
  std::map<std::string, Json::json_pointer>
      numbers;  // one of each kind, since elements of a list and rows of a table are alike
  const std::function<void(const Json&, const Json::json_pointer&, const std::string&)> find =
      [&](const Json& at, const Json::json_pointer& path, const std::string& kind) {
        if (at.is_number()) numbers.emplace(kind, path);
        if (!at.is_structured()) return;  // it would be the list's only item
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
  const std::size_t every = one_in(testing::is_thorough() ? 7 : 47);
  std::size_t refused = 0, shown = 0, turn = 0;
  for (const auto& number :
       numbers) {  // not a structured binding: clang 14 cannot capture one, and CAPTURE is a lambda
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
        summary_of(report);
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
