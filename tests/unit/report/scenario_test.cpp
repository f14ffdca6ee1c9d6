// Scenario files: what is read, and what is refused with the key, the value and what is accepted.
#include "lib/report/record_json.hpp"
#include "tests/support/scenario_texts.hpp"

using namespace mgpu;
using namespace mgpu::test;

namespace {

// After one change to the first device, or to the work.
std::string with_device(const char* key, const Json& value) {
  Json json = small_scenario();
  json["devices"][0][key] = value;
  return refusal_of_scenario(json.dump());
}
std::string with_work(const char* key, const Json& value) {
  Json json = small_scenario();
  json["work"][key] = value;
  return refusal_of_scenario(json.dump());
}

}  // namespace

TEST_CASE("a scenario is read with its counts, and what is left out has its default") {
  const Scenario scenario = read_text(R"({"schema": "mgpu-bench/scenario",
    "devices": [{"name": "H200", "count": 3, "items_per_s": 2e9, "launch_ns": 5, "fixed_ns": 6, "transfer_ns": 7, "up": 1e10,
                 "down": 2e10, "memory": 1000, "fits": 50, "pipeline": 20, "score": 90, "slow": 2.5, "type": "cpu", "reserve": true},
                {"items_per_s": 1}],
    "link": {"up": 3e10},
    "work": {"name": "merkle", "unit": "nodes/s", "items": 4096, "granularity": 16, "ops": 2, "in_bytes": 32, "out_bytes": 0.25,
             "replicated": 77, "pipeline": 64, "merge_fixed_ns": 8, "merge_per_slice_ns": 9}})");
  REQUIRE(scenario.devices.size() == 4);
  const ScenarioDevice &first = scenario.devices[2], &last = scenario.devices[3];
  CHECK(first.name == "H200");
  CHECK(first.type == DeviceType::cpu);
  CHECK(first.slow == 2.5);
  CHECK(first.memory == 1000);
  CHECK(first.estimate.items_per_s == 2e9);
  CHECK(first.estimate.launch == Nanos{5});
  CHECK(first.estimate.fixed == Nanos{6});
  CHECK(first.estimate.transfer == Nanos{7});
  CHECK(first.estimate.up == 1e10);
  CHECK(first.estimate.down == 2e10);
  CHECK(first.estimate.fits == 50);
  CHECK(first.estimate.pipeline == 20);
  CHECK(first.estimate.score == 90);
  CHECK(first.estimate.free_memory == 1000);
  CHECK(first.estimate.reserve);
  CHECK(last.type == DeviceType::gpu);
  CHECK(last.slow == 1);
  CHECK(last.memory == 0);
  CHECK(last.estimate.up == 0);
  CHECK(last.estimate.score == 100);
  CHECK(scenario.link_up == 3e10);
  CHECK(scenario.link_down == 0);
  CHECK_FALSE(scenario.link_down.limited());
  CHECK(scenario.work.items == 4096);
  CHECK(scenario.work.granularity == 16);
  CHECK(scenario.work.cost.ops == 2);
  CHECK(scenario.work.cost.in_bytes == 32);
  CHECK(scenario.work.cost.out_bytes == 0.25);
  CHECK(scenario.work.cost.replicated == 77);
  CHECK(scenario.work.pipeline == 64);
  CHECK(scenario.work.merge.fixed == Nanos{8});
  CHECK(scenario.work.merge.per_slice == Nanos{9});
  CHECK(scenario.work.rate_unit == "nodes/s");
  CHECK(refusal_of_scenario(small_scenario().dump()) == "");
}

TEST_CASE("unknown and missing keys are named with those that are accepted") {
  has(with_device("items_per_sec", 1),
      {"devices[0]", "\"items_per_sec\"", "accepted", "items_per_s"});
  has(with_work("itmes", 1), {"work", "\"itmes\"", "accepted", "items"});
  Json json = small_scenario();
  json["lnk"] = Json::object();
  has(refusal_of_scenario(json.dump()), {"\"lnk\"", "accepted", "link"});
  json = small_scenario();
  json["link"]["upp"] = 1;
  has(refusal_of_scenario(json.dump()), {"link", "\"upp\"", "accepted: up, down"});
  json = small_scenario();
  json["devices"][0].erase("items_per_s");
  has(refusal_of_scenario(json.dump()), {"devices[0].items_per_s", "missing"});
  json = small_scenario();
  json["work"].erase("items");
  has(refusal_of_scenario(json.dump()), {"work.items", "missing"});
  json = small_scenario();
  json.erase("work");
  has(refusal_of_scenario(json.dump()), {"work", "missing"});
  json = small_scenario();
  json["devices"] = Json::array();
  has(refusal_of_scenario(json.dump()), {"devices", "at least one"});
  json["devices"] = 5;
  has(refusal_of_scenario(json.dump()), {"devices", "a list"});
  json = small_scenario();
  json["schema"] = "mgpu-bench/result";
  has(refusal_of_scenario(json.dump()), {"schema", "mgpu-bench/scenario"});
}

TEST_CASE("numbers out of range are refused with key, value and range") {
  for (const Json& bad : {Json(0), Json(-1e9), Json("fast"), Json(nullptr), Json(1e19)}) {
    has(with_device("items_per_s", bad),
        {"devices[0].items_per_s", bad.dump().substr(0, 3).c_str(), "above 0"});
  }
  has(with_device("count", 0), {"devices[0].count", "\"0\"", "from 1 to 4096"});
  has(with_device("count", 2.5), {"devices[0].count", "\"2.5\"", "whole number"});
  has(with_device("count", 5000), {"devices[0].count", "\"5000\"", "4096"});
  has(with_device("count", 1e300), {"devices[0].count", "4096"});
  has(with_device("launch_ns", -5), {"devices[0].launch_ns", "\"-5\"", "from 0"});
  has(with_device("slow", 0.5), {"devices[0].slow", "\"0.5\"", "from 1"});
  has(with_device("up", -1), {"devices[0].up", "\"-1\"", "from 0"});
  has(with_device("score", 101), {"devices[0].score", "\"101\"", "at most 100"});
  has(with_device("type", "tpu"), {"devices[0].type", "\"tpu\"", "gpu, cpu"});
  has(with_device("memory", 0), {"devices[0].memory", "\"0\"", "from 1"});
  has(with_device("reserve", 1), {"devices[0].reserve", "true or false"});
  has(with_work("items", 0), {"work.items", "\"0\"", "from 1"});
  has(with_work("items", 1.5), {"work.items", "\"1.5\""});
  has(with_work("items", -4), {"work.items", "\"-4\""});
  has(with_work("granularity", 0), {"work.granularity", "\"0\""});
  has(with_work("in_bytes", -0.5), {"work.in_bytes", "\"-0.5\""});
  Json json = small_scenario();
  json["devices"].push_back({{"items_per_s", 1}, {"count", 4096}});
  has(refusal_of_scenario(json.dump()), {"devices[1].count", "4097", "4096"});
}

TEST_CASE("what would take for ever is refused before it begins") {
  Json json = small_scenario();
  json["devices"][0]["items_per_s"] = 1e-6;
  has(refusal_of_scenario(json.dump()), {"device 0", "alone", "accepted: up to 1e+07 s"});
  json = small_scenario();
  json["work"]["in_bytes"] = 1e15;
  json["link"]["up"] = 1;
  has(refusal_of_scenario(json.dump()), {"device 0", "alone"});
  json = small_scenario();
  json["work"]["items"] = 10'000'000;
  json["work"]["pipeline"] = 1;
  has(refusal_of_scenario(json.dump()), {"device 0", "10000000", "slices"});
  json["work"].erase("pipeline");
  json["devices"][0]["fits"] = 2;
  has(refusal_of_scenario(json.dump()), {"device 0", "slices"});
}

TEST_CASE("what many devices together would take for ever is refused before it begins") {
  Json json = small_scenario();
  json["devices"][0]["count"] = 4000;
  json["devices"][0]["items_per_s"] =
      static_cast<double>(json["work"]["items"].get<std::int64_t>()) / 5000;
  has(refusal_of_scenario(json.dump()), {"device 2000", "added to those before it", "1e+07 s"});
  json = small_scenario();
  json["devices"][0]["count"] = 1000;
  json["work"]["items"] = 1'000'000;
  json["work"]["pipeline"] = 1000;
  has(refusal_of_scenario(json.dump()), {"added to those before it", "slices", "fewer devices"});
  json = small_scenario();
  json["link"]["up"] = {1e9, 1e-300};  // what two or more devices have together
  json["work"]["in_bytes"] = 8;
  has(refusal_of_scenario(json.dump()), {"device 0", "accepted: up to 1e+07 s"});
  json = small_scenario();
  json["work"]["merge_per_slice_ns"] = 1'000'000'000'000;
  json["work"]["items"] = 100'000;
  json["work"]["pipeline"] = 1;
  has(refusal_of_scenario(json.dump()), {"device 0", "accepted: up to 1e+07 s"});
}

TEST_CASE("a link may carry more for more devices; a first-slice discount is at most the launch") {
  Json json = small_scenario();
  json["link"]["up"] = {5e10, 1e11, 1.3e11};
  json["devices"][0]["launch_ns"] = 7;
  json["devices"][0]["first_slice_discount_ns"] = 7;
  json["devices"][0]["per_peer_contention_ns"] = 9;
  const Scenario scenario = read_text(json.dump());
  CHECK(scenario.link_up == LinkRate({5e10, 1e11, 1.3e11}));
  CHECK(scenario.link_up.of(2) == 1e11);
  CHECK(scenario.link_up.of(9) == 1.3e11);
  CHECK(scenario.devices[0].estimate.first_slice_discount == Nanos{7});
  CHECK(scenario.devices[0].estimate.per_peer_contention == Nanos{9});
  json["link"]["up"] = {5e10, 0};
  has(refusal_of_scenario(json.dump()), {"link.up[1]", "\"0\"", "a number above 0"});
  json["link"]["up"] = {5e10, "1"};
  has(refusal_of_scenario(json.dump()), {"link.up[1]", "a number above 0"});
  json["link"]["up"] = -5;
  has(refusal_of_scenario(json.dump()), {"link.up", "\"-5\"", "a number from 0"});
  json["link"]["up"] = Json::array();
  has(refusal_of_scenario(json.dump()), {"link.up", "at least one"});
  json = small_scenario();
  json["devices"][0]["first_slice_discount_ns"] = 1;
  has(refusal_of_scenario(json.dump()), {"devices[0].first_slice_discount_ns", "from 0 to 0"});
}

TEST_CASE("what is not a scenario at all is refused") {
  has(refusal_of_scenario(""), {"is empty"});
  has(refusal_of_scenario("{"), {"not JSON"});
  has(refusal_of_scenario("[]"), {"an object"});
  has(refusal_of_scenario("{\"devices\": [1], \"work\": {\"items\": 1}}"),
      {"devices[0]", "an object"});
  CHECK_THROWS_AS(read_scenario("/nonexistent/s.json"), Error);
  CHECK_THROWS_AS(read_scenario("/"), Error);
}

TEST_CASE("the published examples are scenarios") {
  const std::filesystem::path folder = std::filesystem::path(MGPU_SOURCE_DIR) / "tests/data";
  CHECK(read_scenario(folder / "node8.scenario.json").devices.size() == 8);
  CHECK(read_scenario(folder / "cluster1024.scenario.json").devices.size() == 1024);
}

TEST_CASE(
    "estimates and request of a plan come back from JSON, and are absent when they were not kept") {
  const Report report = estimated_report();
  const Report back = report_from_json(Json::parse(to_json_text(report)));
  CHECK(to_json_text(back) == to_json_text(report));
  const PlanRecord& plan = back.runs[2].plan;
  REQUIRE(plan.estimates.devices.size() == 2);
  CHECK(plan.estimates.devices[1].items_per_s == 1e9);
  CHECK(plan.estimates.devices[1].fixed == Nanos{1000});
  CHECK(plan.estimates.devices[1].launch == Nanos{2000});
  CHECK(plan.estimates.devices[1].first_slice_discount == Nanos{500});
  CHECK(plan.estimates.devices[1].per_peer_contention == Nanos{300});
  CHECK(plan.estimates.devices[1].transfer == Nanos{3000});
  CHECK(plan.estimates.devices[1].up == 5e10);
  CHECK(plan.estimates.devices[1].down == 4e10);
  CHECK(plan.estimates.devices[1].fits == 90'000);
  CHECK(plan.estimates.devices[1].pipeline == 12'500);
  CHECK(plan.estimates.devices[1].free_memory == Bytes{1} << 37);
  REQUIRE(plan.work);
  CHECK(plan.work->items == 100'000);
  CHECK(plan.work->granularity == 8);
  CHECK(plan.work->cost.in_bytes == 32);
  CHECK(plan.work->cost.out_bytes == 0.5);
  CHECK(plan.work->cost.replicated == 4096);
  CHECK(plan.estimates.link_up == LinkRate({5e10, 1e11}));
  CHECK(plan.estimates.link_down == 9e10);
  CHECK(plan.estimates.merge.fixed == Nanos{70});
  CHECK(plan.estimates.merge.per_slice == Nanos{7});
  CHECK_FALSE(to_json(report)["runs"][0]["plan"].contains("estimates"));
  CHECK_FALSE(back.runs[0].plan.work);
}

TEST_CASE("a case that carries estimates becomes a scenario; another does not") {
  const Report report = estimated_report();
  CHECK(largest_estimated_run(report) == 1);
  const Scenario scenario = scenario_of(report, 2, Figures::predicted);
  REQUIRE(scenario.devices.size() == 2);
  CHECK(scenario.devices[0].name == "NVIDIA H200");
  CHECK(scenario.devices[1].estimate.items_per_s == 1e9);
  CHECK(scenario.devices[1].estimate.score == 100);
  CHECK(scenario.devices[1].estimate.pipeline == 12'500);
  CHECK(scenario.link_down == 9e10);
  CHECK(scenario.work.name == "merkle");
  CHECK(scenario.work.rate_unit == "nodes/s");
  CHECK(scenario.work.cost.ops == doctest::Approx(0.99999));
  CHECK(scenario.work.cost.replicated == 4096);
  CHECK(scenario.work.merge.per_slice == Nanos{7});
  CHECK_THROWS_WITH_AS(scenario_of(report, 0, Figures::measured),
                       "case 0 carries no estimates of its devices (plan.estimates, plan.request)",
                       Error);
  CHECK_THROWS_WITH_AS(scenario_of(report, 99, Figures::measured),
                       "it has 7 cases, there is no number 99", Error);
  CHECK_THROWS_AS(largest_estimated_run(sample_report()), Error);
}

TEST_CASE("devices of a case are as its sample found them, if it was measured and none failed") {
  Report report = sample_report();
  RunRecord& run = report.runs[1];
  DeviceEstimate estimate;
  estimate.items_per_s = 1e9;
  estimate.fits = estimate.pipeline = 1000;
  run.plan.estimates = {{estimate, estimate}, {}, {}, {Nanos{100}, Nanos{}}};
  run.plan.work = PlannedWork{1000, 1, {}};
  run.merge = Nanos{50};
  run.timeline.makespan = Nanos{2100};
  run.timeline.slices = {{DeviceIndex{1}, 0, 500, 1000, {}, Nanos{1000}},
                         {DeviceIndex{0}, 0, 0, 500, {}, Nanos{2000}}};
  run.per_device.resize(2);
  run.per_device[0].parts.finish = Nanos{2000};
  run.per_device[1].parts.finish = Nanos{950};
  const auto rates = [&](Figures figures) {
    const Scenario scenario = scenario_of(report, 1, figures);
    return std::pair(scenario.devices[0].estimate.items_per_s,
                     scenario.devices[1].estimate.items_per_s);
  };
  const std::pair given(1e9, 1e9);
  CHECK(rates(Figures::predicted) == given);
  CHECK(rates(Figures::measured).first ==
        doctest::Approx(500 / 2050e-9));  // the host saw the end 50 ns after it
  CHECK(rates(Figures::measured).second == doctest::Approx(500 / 1000e-9));
  CHECK(scenario_of(report, 1, Figures::measured).work.merge.fixed == Nanos{50});
  const auto as_given = scenario_of(report, 1, Figures::measured).given;
  REQUIRE(as_given);
  CHECK(as_given->devices[0].items_per_s == 1e9);
  CHECK(as_given->merge.fixed == Nanos{100});
  CHECK_FALSE(scenario_of(report, 1, Figures::predicted).given);

  SUBCASE("but for one that failed") { run.status = Status::failed; }
  SUBCASE("but for one in which a device failed") {
    run.faults = {{"0:1", "hang", "sample", "it hung"}};
  }
  SUBCASE("but for one whose slices are not all there") { run.timeline.slices.pop_back(); }
  if (run.status != Status::ok || !run.faults.empty() || run.timeline.slices.size() != 2)
    CHECK(rates(Figures::measured) == given);
}
