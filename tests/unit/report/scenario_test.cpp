// Scenario files: accepted ones, refusals with the place and the accepted values, and cases of
// results that become scenarios.
#include <doctest/doctest.h>

#include <filesystem>

#include "lib/base/error.hpp"
#include "lib/report/scenario_json.hpp"
#include "tests/support/json_texts.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/sample_report.hpp"

using namespace mgpu;
using namespace mgpu::test;

namespace {

const std::string kSmall = R"({"devices": [{"items_per_s": 1e9}], "work": {"items": 1000}})";

DeviceEstimate estimated_device(double items_per_s) {
  DeviceEstimate estimate;
  estimate.items_per_s = items_per_s;
  estimate.fits = 90'000;
  estimate.pipeline = 12'500;
  return estimate;
}

// Returns a report whose cases 1 and 2 have estimates.
Report estimated_report() {
  Report report = sample_report();
  for (const std::size_t i : {1u, 2u}) {
    const DeviceEstimate estimate = estimated_device(5e8 * static_cast<double>(i));
    report.runs[i].plan.estimates = {
        {estimate, estimate}, LinkRate({5e10, 1e11}), 9e10, {Nanos{70}, Nanos{7}}};
    report.runs[i].plan.work = PlannedWork{100'000, 8, {32, 0.5, 0, 4096}};
  }
  return report;
}

}  // namespace

TEST_CASE("a scenario is read with its counts, and what is left out has its default") {
  const Scenario scenario = scenario_from_text(R"({"schema": "mgpu-bench/scenario",
    "devices": [{"name": "H200", "count": 3, "items_per_s": 2e9, "launch_ns": 5, "fixed_ns": 6,
                 "transfer_ns": 7, "up": 1e10, "down": 2e10, "memory": 1000, "fits": 50,
                 "pipeline": 20, "score": 90, "slow": 2.5, "type": "cpu", "reserve": true},
                {"items_per_s": 1}],
    "link": {"up": 3e10},
    "work": {"name": "merkle", "unit": "nodes/s", "items": 4096, "granularity": 16, "ops": 2,
             "in_bytes": 32, "out_bytes": 0.25, "replicated": 77, "pipeline": 64,
             "merge_fixed_ns": 8, "merge_per_slice_ns": 9}})");
  REQUIRE(scenario.devices.size() == 4);
  const ScenarioDevice &first = scenario.devices[2], &last = scenario.devices[3];
  const DeviceEstimate& estimate = first.estimate;
  CHECK(first.name == "H200");
  CHECK((first.type == DeviceType::cpu && last.type == DeviceType::gpu));
  CHECK((first.slow == 2.5 && last.slow == 1));
  CHECK((first.memory == 1000 && last.memory == 0 && estimate.free_memory == 1000));
  CHECK((estimate.items_per_s == 2e9 && estimate.score == 90 && last.estimate.score == 100));
  CHECK(std::vector{estimate.launch, estimate.fixed, estimate.transfer} ==
        std::vector{Nanos{5}, Nanos{6}, Nanos{7}});
  CHECK((estimate.up == 1e10 && estimate.down == 2e10 && last.estimate.up == 0));
  CHECK((estimate.fits == 50 && estimate.pipeline == 20 && estimate.reserve));
  CHECK(scenario.link_up == 3e10);
  CHECK_FALSE(scenario.link_down.limited());
  const auto& work = scenario.work;
  CHECK((work.items == 4096 && work.granularity == 16 && work.pipeline == 64));
  CHECK((work.cost.ops == 2 && work.cost.in_bytes == 32 && work.cost.out_bytes == 0.25));
  CHECK(work.cost.replicated == 77);
  CHECK((work.merge.fixed == Nanos{8} && work.merge.per_slice == Nanos{9}));
  CHECK(work.rate_unit == "nodes/s");
}

TEST_CASE("what is wrong in a scenario is named by its place, with what is accepted") {
  check_refusals(kSmall, refusal_of_scenario, R"(
    /devices/0/items_per_sec 1      => devices[0] & "items_per_sec" & items_per_s
    /work/itmes        1            => work & "itmes" & items
    /lnk               {}           => unknown key "lnk" & link
    /link              {"upp": 1}   => link & "upp" & up, down
    /devices/0/items_per_s
    /work/items
    /work
    /devices           []           => & at least one
    /devices           5            => & a list
    /devices/0         1            => & an object
    /schema            "mgpu-bench/result" => & mgpu-bench/scenario
    /devices/0/items_per_s 0        => & above 0
    /devices/0/items_per_s -1e9     => & -1 & above 0
    /devices/0/items_per_s "fast"   => & fast & above 0
    /devices/0/items_per_s null     => & above 0
    /devices/0/items_per_s 1e19     => & above 0
    /devices/0/count   0            => & "0" & from 1 to 4096
    /devices/0/count   2.5          => & "2.5" & whole number
    /devices/0/count   5000         => & "5000" & 4096
    /devices/0/count   1e300        => & 4096
    /devices/0/launch_ns -5         => & "-5" & from 0
    /devices/0/slow    0.5          => & "0.5" & from 1
    /devices/0/up      -1           => & "-1" & from 0
    /devices/0/score   101          => & "101" & at most 100
    /devices/0/type    "tpu"        => & "tpu" & gpu, cpu
    /devices/0/memory  0            => & "0" & from 1
    /devices/0/reserve 1            => & true or false
    /devices/0/first_slice_discount_ns 1 => & from 0 to 0
    /devices/0/fixed_shared_ns 1    => & from 0 to 0
    /devices/1         {"items_per_s": 1, "count": 4096} => devices[1].count & 4097 & 4096
    /work/items        0            => & "0" & from 1
    /work/items        1.5          => & "1.5"
    /work/items        -4           => & "-4"
    /work/granularity  0            => & "0"
    /work/in_bytes     -0.5         => & "-0.5"
    /link              {"up": [5e10, 0]}   => link.up[1] & "0" & a number above 0
    /link              {"up": [5e10, "1"]} => link.up[1] & a number above 0
    /link              {"up": -5}          => link.up & "-5" & a number from 0
    /link              {"up": []}          => link.up & at least one)");
  for (const char* text : {"", "{", "[]"}) CHECK_FALSE(refusal_of_scenario(text).empty());
  CHECK_THROWS_AS(read_scenario("/nonexistent/s.json"), Error);
  CHECK_THROWS_AS(read_scenario("/"), Error);
}

TEST_CASE("what would take for ever is refused before it begins, and the device is named") {
  struct Known {
    const char *device, *part, *edits;
  };
  for (const Known& known :
       {Known{"device 0 ", "up to 1e+07 s", "/devices/0/items_per_s 1e-6"},
        {"device 0 ", "alone", "/work/in_bytes 1e15\n/link {\"up\": 1}"},
        {"device 0 ", "10000000", "/work/items 10000000\n/work/pipeline 1"},
        {"device 0 ", "slices", "/work/items 10000000\n/devices/0/fits 2"},
        {"device 2000 ", "1e+07 s", "/devices/0/count 4000\n/devices/0/items_per_s 0.2"},
        {"device ", "fewer devices",
         "/devices/0/count 1000\n/work/items 1000000\n/work/pipeline 1000"},
        // The joint rates of two or more devices.
        {"device 0 ", "up to 1e+07 s", "/link {\"up\": [1e9, 1e-300]}\n/work/in_bytes 8"},
        {"device 0 ", "up to 1e+07 s",
         "/work/merge_per_slice_ns 1000000000000\n/work/items 100000\n/work/pipeline 1"},
        {"device 0 ", "up to 1e+07 s",
         "/devices/0/count 2\n/work/replicated 1000000000\n/links {\"bytes_per_s\": 1}"},
        {"device 1 ", "3e+05 slices",
         "/devices/0/count 2\n/links {}\n/work/rounds 150000\n/work/halo_bytes 4096"},
        {"device 0 ", "up to 1e+07 s",
         "/devices/0/count 2\n/links {\"bytes_per_s\": 1000}\n/work/rounds 100000\n"
         "/work/halo_bytes 1000000"}}) {
    const std::string message = refusal_of_scenario(edited(kSmall, known.edits));
    CAPTURE(message);
    CHECK(message.starts_with(known.device));
    CHECK(message.find(known.part) != std::string::npos);
  }
}

TEST_CASE("a link may carry more for more devices; a first-slice discount is at most the launch") {
  const Scenario scenario = scenario_from_text(edited(kSmall, R"(
    /link {"up": [5e10, 1e11, 1.3e11]}
    /devices/0/launch_ns 7
    /devices/0/first_slice_discount_ns 7
    /devices/0/per_peer_contention_ns 9)"));
  CHECK(scenario.link_up == LinkRate({5e10, 1e11, 1.3e11}));
  CHECK(scenario.link_up.of(9) == 1.3e11);
  CHECK(scenario.devices[0].estimate.first_slice_discount == Nanos{7});
  CHECK(scenario.devices[0].estimate.per_peer_contention == Nanos{9});
}

TEST_CASE("links between devices are alike but for pairs that are named, one way each") {
  const std::string three = edited(kSmall, R"(
    /devices/0/count 3
    /devices/0/fixed_ns 90
    /devices/0/fixed_shared_ns 80
    /work/merge_bytes 4096
    /links {"path": "host", "bytes_per_s": 2e10, "latency_ns": 700, "pairs": []}
    /links/pairs/- {"from": 0, "to": 2, "bytes_per_s": 1e9}
    /links/pairs/- {"from": 2, "to": 1, "path": "staged"})");
  const Scenario scenario = scenario_from_text(three);
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
  CHECK(scenario_from_text(edited(three, "/links {}")).exchange.links == PeerLinks(3));
  CHECK_FALSE(scenario_from_text(edited(three, "/links")).exchange.any());
}

TEST_CASE("links that cannot be, and rounds without what they need, are named") {
  const std::string pair = edited(kSmall, R"(
    /devices/0/count 2
    /links {"pairs": [{"from": 0, "to": 1}]})");
  check_refusals(pair, refusal_of_scenario, R"(
    /links 5                             => & an object
    /links/way "direct"                  => links & "way" & path, bytes_per_s, latency_ns, pairs
    /links/path "nvlink"                 => & "nvlink" & direct, staged, host
    /links/bytes_per_s -1                => & "-1" & from 0
    /links/bytes_per_s "fast"            => & a number
    /links/latency_ns -1                 => & from 0 to 1000000000000
    /links/pairs 1                       => & a list
    /links/pairs/1 {"from": 0}           => links.pairs[1].to
    /links/pairs/1 {"from": 0, "to": 2}  => links.pairs[1].to & "2" & from 0 to 1
    /links/pairs/1 {"from": 1, "to": 1}  => links.pairs[1].to & two devices
    /links/pairs/1 {"from": 0, "to": 1}  => & before
    /links/pairs/1 {"from": 1, "to": 0, "rate": 1} => & "rate"
    /devices/0/count 1                   => links & at least two
    /devices/0/count 129                 => links & 129 & up to 128)");
  const std::string rounds = edited(pair, "/work/rounds 100\n/work/halo_bytes 4096");
  check_refusals(rounds, refusal_of_scenario, R"(
    /links                               => work.rounds & links
    /work/rounds                         => work.halo_bytes & rounds
    /work/merge_bytes 1                  => & rounds
    /work/rounds -1                      => & from 2 to 200000
    /work/rounds 1                       => & from 2 to 200000
    /work/rounds 200001                  => & from 2 to 200000)");
  CHECK(scenario_from_text(edited(kSmall, "/work/rounds 100")).work.rounds == 100);
  const Scenario scenario = scenario_from_text(rounds);
  CHECK(scenario.exchange.rounds == 99);  // no exchange follows the last iteration
  CHECK(scenario.exchange.halo == 4096);
  CHECK(scenario_from_text(edited(rounds, "/work/halo_bytes")).exchange.halo == 0);
}

TEST_CASE("the published examples are scenarios") {
  const std::filesystem::path folder = test::source_folder() / "tests/data";
  CHECK(read_scenario(folder / "node8.scenario.json").devices.size() == 8);
  CHECK(read_scenario(folder / "cluster1024.scenario.json").devices.size() == 1024);
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
  CHECK_FALSE(scenario.exchange.any());
  CHECK_FALSE(scenario.peer);
  CHECK_THROWS_WITH_AS(scenario_of(report, 0, Figures::measured),
                       doctest::Contains("plan.estimates"), Error);
  CHECK_THROWS_WITH_AS(scenario_of(report, 99, Figures::measured), doctest::Contains("99"), Error);
  CHECK_THROWS_AS(largest_estimated_run(sample_report()), Error);
}

TEST_CASE("what devices exchanged, and in how many rounds, is part of a case's scenario") {
  Report report = estimated_report();
  PlanRecord& plan = report.runs[2].plan;
  plan.estimates.exchange = {PeerLinks(2, {PeerPath::host, 1.5e10, Nanos{70'000}}), true, 4096};
  plan.estimates.exchange.links.of(1, 0).bytes_per_s = 1.0 / 3 * 1e10;
  const Scenario gathering = scenario_of(report, 2, Figures::predicted);
  CHECK(gathering.exchange.links == plan.estimates.exchange.links);
  CHECK(gathering.peer == PeerPath::host);  // devices use it only if told to
  plan.work->rounds = 20;
  plan.estimates.exchange = {PeerLinks(2), false, 0, 9, 1024};
  const Scenario rounds = scenario_of(report, 2, Figures::predicted);
  CHECK(rounds.work.rounds == 20);
  CHECK(rounds.exchange.rounds == 9);
  CHECK(rounds.exchange.halo == 1024);
  plan.estimates.exchange = {};
  const Scenario unknown = scenario_of(report, 2, Figures::predicted);
  CHECK(unknown.exchange.links == PeerLinks(2));
  CHECK(unknown.exchange.rounds == 19);
}

TEST_CASE("devices of a case are as its sample found them, if it was measured and none failed") {
  Report report = sample_report();
  RunRecord& run = report.runs[1];
  DeviceEstimate estimate = estimated_device(1e9);
  estimate.fits = estimate.pipeline = 1000;
  run.plan.estimates = {{estimate, estimate}, {}, {}, {Nanos{100}, Nanos{}}};
  run.plan.work = PlannedWork{1000, 1, {}};
  run.merge = Nanos{50};
  run.timeline.makespan = Nanos{2100};
  run.timeline.slices = {{DeviceIndex{1}, 0, 500, 1000, {}, Nanos{1000}},
                         {DeviceIndex{0}, 0, 0, 500, {}, Nanos{2000}}};
  run.per_device[0].parts.finish = Nanos{2000};
  run.per_device[1].parts.finish = Nanos{950};
  run.per_device[1].contention = 1.25;
  const auto rates = [&](Figures figures) {
    const Scenario scenario = scenario_of(report, 1, figures);
    return std::pair(scenario.devices[0].estimate.items_per_s,
                     scenario.devices[1].estimate.items_per_s);
  };
  const std::pair given(1e9, 1e9);
  CHECK(rates(Figures::predicted) == given);
  CHECK(rates(Figures::measured).first ==
        doctest::Approx(500 / 2050e-9));  // the host saw the end 50 ns later
  CHECK(rates(Figures::measured).second == doctest::Approx(500 / 1000e-9));
  const Scenario measured = scenario_of(report, 1, Figures::measured);
  CHECK(measured.work.merge.fixed == Nanos{50});
  REQUIRE(measured.given);
  CHECK(measured.given->devices[0].items_per_s == 1e9);
  const auto told = [&](std::size_t i) {
    return estimates_among(measured, run.mode, {&i, 1}).given.devices.front().items_per_s;
  };
  CHECK(told(0) == 1e9);
  CHECK(told(1) == 1.25e9);  // as it was probed alone
  CHECK(measured.given->merge.fixed == Nanos{100});
  CHECK_FALSE(scenario_of(report, 1, Figures::predicted).given);

  SUBCASE("but for one that failed") { run.status = Status::failed; }
  SUBCASE("but for one in which a device failed") {
    run.faults = {{"0:1", "hang", "sample", "it hung"}};
  }
  SUBCASE("but for one whose slices are not all there") { run.timeline.slices.pop_back(); }
  if (run.status != Status::ok || !run.faults.empty() || run.timeline.slices.size() != 2)
    CHECK(rates(Figures::measured) == given);
}
