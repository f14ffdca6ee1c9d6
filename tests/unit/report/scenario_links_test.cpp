// Links between devices in scenario files and results.
#include "lib/report/record_json.hpp"
#include "tests/support/scenario_texts.hpp"

using namespace mgpu;
using namespace mgpu::test;

TEST_CASE("links between devices are alike but for pairs that are named, one way each") {
  Json json = small_scenario();
  json["devices"][0]["count"] = 3;
  json["devices"][0]["fixed_ns"] = 90;
  json["devices"][0]["fixed_shared_ns"] = 80;
  json["work"]["merge_bytes"] = 4096;
  json["links"] = {{"path", "host"},
                   {"bytes_per_s", 2e10},
                   {"latency_ns", 700},
                   {"pairs",
                    {{{"from", 0}, {"to", 2}, {"bytes_per_s", 1e9}},
                     {{"from", 2}, {"to", 1}, {"path", "staged"}}}}};
  const Scenario scenario = read_text(json.dump());
  const PeerLinks& links = scenario.exchange.links;
  REQUIRE(links.devices() == 3);
  CHECK(links.of(0, 1) == PeerLink{PeerPath::host, 2e10, Nanos{700}});
  CHECK(links.of(0, 2) == PeerLink{PeerPath::host, 1e9, Nanos{700}});
  CHECK(links.of(2, 0) == PeerLink{PeerPath::host, 2e10, Nanos{700}});
  CHECK(links.of(2, 1) == PeerLink{PeerPath::staged, 2e10, Nanos{700}});
  CHECK(scenario.exchange.gathers);
  CHECK(scenario.exchange.combines == 4096);
  CHECK(scenario.devices[1].estimate.fixed_shared == Nanos{80});
  CHECK_FALSE(scenario.peer);
  json["links"] = Json::object();
  CHECK(read_text(json.dump()).exchange.links == PeerLinks(3));
  json.erase("links");
  CHECK_FALSE(read_text(json.dump()).exchange.any());
}

TEST_CASE("links that cannot be are named with what is accepted") {
  Json json = small_scenario();
  json["devices"][0]["count"] = 2;
  const auto refused = [&](const Json& links, std::initializer_list<const char*> words) {
    json["links"] = links;
    has(refusal_of_scenario(json.dump()), words);
  };
  refused(5, {"links", "an object"});
  refused({{"way", "direct"}},
          {"links", "\"way\"", "accepted", "path, bytes_per_s, latency_ns, pairs"});
  refused({{"path", "nvlink"}}, {"links.path", "\"nvlink\"", "accepted: direct, staged, host"});
  refused({{"bytes_per_s", -1}}, {"links.bytes_per_s", "\"-1\"", "from 0"});
  refused({{"bytes_per_s", "fast"}}, {"links.bytes_per_s", "a number"});
  refused({{"latency_ns", -1}}, {"links.latency_ns", "from 0 to 1000000000000"});
  refused({{"pairs", 1}}, {"links.pairs", "a list"});
  const auto refused_pair = [&](const Json& pair, std::initializer_list<const char*> words) {
    refused({{"pairs", {{{"from", 0}, {"to", 1}}, pair}}}, words);
  };
  refused_pair({{"from", 0}}, {"links.pairs[1].to", "missing"});
  refused_pair({{"from", 0}, {"to", 2}}, {"links.pairs[1].to", "\"2\"", "from 0 to 1"});
  refused_pair({{"from", 1}, {"to", 1}}, {"links.pairs[1].to", "two devices expected"});
  refused_pair({{"from", 0}, {"to", 1}}, {"links.pairs[1]", "from 0 to 1 was there before"});
  refused_pair({{"from", 1}, {"to", 0}, {"rate", 1}}, {"links.pairs[1]", "\"rate\"", "accepted"});
  json["devices"][0]["count"] = 1;
  refused(Json::object(), {"links", "at least two expected"});
  json["devices"][0]["count"] = 129;
  refused(Json::object(), {"links", "129", "up to 128"});
  json["devices"][0]["count"] = 2;
  json["work"]["replicated"] = 1'000'000'000;
  refused({{"bytes_per_s", 1}}, {"device 0", "accepted: up to 1e+07 s"});
  json = small_scenario();
  json["devices"][0]["fixed_shared_ns"] = 1;
  has(refusal_of_scenario(json.dump()), {"devices[0].fixed_shared_ns", "from 0 to 0"});
}

TEST_CASE(
    "work may go in rounds, over links where there are several devices, and says what goes to "
    "neighbours after them") {
  Json json = small_scenario();
  json["work"]["rounds"] = 100;
  CHECK(read_text(json.dump()).work.rounds == 100);
  json["devices"][0]["count"] = 2;
  json["links"] = Json::object();
  CHECK(read_text(json.dump()).exchange.halo == 0);
  json["work"]["halo_bytes"] = 4096;
  const Scenario scenario = read_text(json.dump());
  CHECK(scenario.work.rounds == 100);
  CHECK(scenario.exchange.rounds == 99);  // after the last nobody needs anything
  CHECK(scenario.exchange.halo == 4096);
  const auto refused = [&](const Json& changed, std::initializer_list<const char*> words) {
    has(refusal_of_scenario(changed.dump()), words);
  };
  Json wrong = json;
  wrong.erase("links");
  refused(wrong, {"work.rounds", "links between the devices expected"});
  wrong = json;
  wrong["work"].erase("rounds");
  refused(wrong, {"work.halo_bytes", "only with rounds"});
  wrong = json;
  wrong["work"]["merge_bytes"] = 1;
  refused(wrong, {"work.merge_bytes", "not with rounds"});
  for (const int rounds : {-1, 0, 1, 200'001}) {
    wrong = json;
    wrong["work"]["rounds"] = rounds;
    refused(wrong, {"work.rounds", "from 2 to 200000"});
  }
  wrong = json;
  wrong["work"]["rounds"] = 150'000;
  refused(wrong, {"device 1", "added to those before it", "3e+05 slices"});
  wrong["work"]["rounds"] = 100'000;
  wrong["work"]["halo_bytes"] = 1'000'000;
  wrong["links"]["bytes_per_s"] = 1000;
  refused(wrong, {"device 0", "accepted: up to 1e+07 s"});
}

TEST_CASE("rounds of a case come back from JSON, and are part of the scenario") {
  Report report = estimated_report();
  CHECK(to_json_text(report).find("rounds\"") == std::string::npos);
  PlanRecord& plan = report.runs[2].plan;
  plan.work->rounds = 20;
  plan.estimates.exchange = {PeerLinks(2), false, 0, 9, 1024};
  const Report back = report_from_json(Json::parse(to_json_text(report)));
  CHECK(to_json_text(back) == to_json_text(report));
  const Scenario scenario = scenario_of(back, 2, Figures::predicted);
  CHECK(scenario.work.rounds == 20);
  CHECK(scenario.exchange.rounds == 9);
  CHECK(scenario.exchange.halo == 1024);
  plan.estimates.exchange = {};
  const Scenario unknown = scenario_of(report, 2, Figures::predicted);
  CHECK(unknown.exchange.links == PeerLinks(2));
  CHECK(unknown.exchange.rounds == 19);
}

TEST_CASE("what devices exchanged comes back from JSON, and is part of the scenario") {
  Report report = estimated_report();
  SetEstimates& estimates = report.runs[2].plan.estimates;
  estimates.exchange = {PeerLinks(2, {PeerPath::host, 1.5e10, Nanos{70'000}}), true, 4096};
  estimates.exchange.links.of(1, 0).bytes_per_s = 1.0 / 3 * 1e10;
  estimates.devices[1].fixed_shared = Nanos{800};
  const Report back = report_from_json(Json::parse(to_json_text(report)));
  CHECK(to_json_text(back) == to_json_text(report));
  const ExchangeEstimate& exchange = back.runs[2].plan.estimates.exchange;
  CHECK(exchange.links == estimates.exchange.links);
  CHECK(exchange.gathers);
  CHECK(exchange.combines == 4096);
  CHECK(back.runs[2].plan.estimates.devices[1].fixed_shared == Nanos{800});
  CHECK_FALSE(to_json(report)["runs"][1]["plan"]["request"].contains("exchange"));
  CHECK(to_json(report)["runs"][2]["plan"]["request"]["exchange"]["links"]["pairs"].size() == 1);

  const Scenario scenario = scenario_of(back, 2, Figures::predicted);
  CHECK(scenario.exchange.links == estimates.exchange.links);
  CHECK(scenario.peer == PeerPath::host);  // which devices take only where they are told to
  CHECK_FALSE(scenario_of(back, 1, Figures::predicted).exchange.any());
  CHECK_FALSE(scenario_of(back, 1, Figures::predicted).peer);

  Json json = to_json(report);
  json["runs"][2]["plan"]["request"]["exchange"]["links"]["path"] = "nvlink";
  CHECK_THROWS_WITH_AS(report_from_json(json),
                       doctest::Contains("runs[2].plan.request.exchange.links.path"), Error);
}
