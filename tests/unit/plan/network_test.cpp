// Devices of several nodes. Every time below is computed by hand; an item takes a nanosecond, as
// does a byte on a link.
#include "lib/plan/network.hpp"

#include <doctest/doctest.h>

#include "lib/base/error.hpp"
#include "lib/plan/queue_model.hpp"
#include "lib/plan/scaling.hpp"
#include "tests/support/simulated_set.hpp"

using namespace mgpu;
using test::kOnePerNs;
using test::SimulatedSet;

namespace {

Scenario of_one_node() {
  Scenario scenario;
  scenario.devices.resize(2);
  for (ScenarioDevice& device : scenario.devices) {
    device.estimate.items_per_s = kOnePerNs;
    device.estimate.score = 100;
  }
  scenario.work.items = 1000;
  return scenario;
}

}  // namespace

TEST_CASE("what a device elsewhere does begins a message later, and is heard of one later") {
  NodeNetwork network;
  network.nodes = {{1, 0}, {1, 0}};
  network.latency = Nanos{10};
  QueueModel model(0, 0, &network);
  const DeviceIndex here = model.add_device(0, 0, 0), there = model.add_device(0, 0, 1);
  model.enqueue(here, QueueModel::compute, Nanos{100}, 0, 1);
  model.enqueue(there, QueueModel::compute, Nanos{100}, 0, 2);
  std::vector<QueueModel::Ended> ended;
  model.advance(Nanos{119}, ended);
  REQUIRE(ended.size() == 1);
  CHECK(ended[0].tag == 1);
  CHECK(ended[0].ended == Nanos{100});
  model.advance(Nanos{120}, ended);
  REQUIRE(ended.size() == 2);
  CHECK(ended[1].tag == 2);
  CHECK(ended[1].started == Nanos{10});
  CHECK(ended[1].ended == Nanos{110});
  CHECK(model.busy(there) == Nanos{100});
  CHECK(model.next() == Nanos::max());
}

TEST_CASE("over a network, times are those computed by hand") {
  test::check_simulations(R"(
    resident, only the first message and the last are not hidden: 30 there, ten slices of 100, and
    the collection's end 30 back
      2 2000 100 nodes=2 latency=30 : 1000 1000 = 1060
    a slice shorter than two messages does not hide them: two in flight, then a message back and one
    there for the next
      2 2000 100 nodes=2 latency=200 pipeline.1=500 : 1000 1000 = 1400
    five pairs of slices, 500 apart: they end at 300 and 400, are known at 500 and 600, the next
    begin at 700 and 800. The last but one ends at 2300, is known at 2500, and what collects goes
    then: there at 2700, behind the last, and back at 2900
      2 2000 100 nodes=2 latency=200 : 1000 1000 = 2900
    200 items elsewhere are 200,000 bytes; both nodes have half of the root's link
      3 300 100 nodes=3 end-to-end rate=1e9 in=1000 root=1 : 100 100 100 = 200000 0 200000
    a slower node leaves the rest to the other: 100,000 bytes at a quarter, and at three quarters
      3 300 100 nodes=3 end-to-end rate=1e9 in=1000 root=1 node.1=0.25 : 100 100 100
      = 400000 0 400000 133333
    results come back over it likewise, while inputs go
      3 300 100 nodes=3 end-to-end rate=1e9 out=1000 root=1 node.1=0.25 : 100 100 100
      = 400000 0 400000
    the network and the node's own link follow one another, piece by piece
      2 100 100 nodes=2 end-to-end up.1=1 rate.1=1e9 in=1 node.1=1 : 0 100 = 200
      2 100 100 nodes=2 end-to-end up.1=1 rate.1=1e9 in=1 node.1=1 pipeline.1=50 : 0 100 = 150
    the host link is each node's own: two devices of one share it, one of another has it alone
      4 400 100 nodes=2 end-to-end rate=1e9 in=1 link=1 : 100 100 200 0 = 200 200 200 200
    node 0 hands out one slice after the other
      4 400 100 nodes=4 hand_out=10 : 100 100 100 100 = 130 100 110 120 130)");
}

TEST_CASE("a simulation tells what node 0 sent, received and handed out") {
  SimulatedSet three(3, 300, 100, "nodes=3 end-to-end rate=1e9 in=1000 root=1");
  CHECK(three.shares({100, 100, 100}).sending == Nanos{200'000});
  CHECK(three.shares({100, 100, 100}).receiving == Nanos{0});
  three.set("in=0 out=1000 node.1=0.25");
  CHECK(three.shares({100, 100, 100}).receiving == Nanos{400'000});
  SimulatedSet four(4, 400, 100, "nodes=4 hand_out=10");
  CHECK(four.shares({100, 100, 100, 100}).handing_out == Nanos{60});  // slices and collections
}

TEST_CASE("over a network that costs nothing every strategy takes as long as on one machine") {
  for (const std::string mode : {"resident", "end-to-end"}) {
    for (const StrategyChoice& strategy : parse_strategies("all,auto")) {
      SimulatedSet set(6, 60'000, 500,
                       mode +
                           " nodes=3 up=4 down=4 launch=50 transfer=20 in=2 out=1 "
                           "rate.1=0.5 rate.3=0.5 rate.5=0.5");
      CHECK_MESSAGE(set.under(strategy).makespan == set.under(strategy, false).makespan,
                    strategy.label());
    }
  }
}

TEST_CASE("what strategies weigh is what the network leaves each device") {
  SimulatedSet nodes(6, 1000, 100, "nodes=3 end-to-end up=10 link=16 node.2=1 root=12 latency=7");
  std::vector<DeviceEstimate> devices;
  const PlanRequest flat = without_network(nodes.asked(), devices);
  CHECK(flat.network == nullptr);
  CHECK_FALSE(flat.link_up.limited());
  CHECK(devices[0].up == 8 * kOnePerNs);    // half of its host link
  CHECK(devices[2].up == 3 * kOnePerNs);    // a quarter of what node 0 sends
  CHECK(devices[4].up == kOnePerNs / 2);    // half of its node's link
  CHECK(devices[4].down == kOnePerNs / 2);  // the other direction
  CHECK(devices[0].down == 0);              // no limit
  CHECK(devices[0].fixed == Nanos{0});
  CHECK(devices[4].fixed == Nanos{14});
}

TEST_CASE("nodes are like the one that a scenario describes, but for those that differ") {
  Scenario scenario = of_one_node();
  scenario.nodes = ScenarioNodes{3, Nanos{5}, Nanos{2}, 4e9, std::nullopt, {{1, 0.5, 2e9}}};
  const Scenario three = on_nodes(scenario, 3);
  REQUIRE(three.devices.size() == 6);
  CHECK(three.node_devices == std::vector<std::size_t>{2, 2, 2});
  CHECK(three.devices[1].estimate.items_per_s == kOnePerNs);
  CHECK(three.devices[2].estimate.items_per_s == kOnePerNs / 2);
  CHECK(three.network.nodes[1].bytes_per_s == 2e9);
  CHECK(three.network.nodes[2].bytes_per_s == 4e9);
  CHECK(three.network.root_bytes_per_s == 4e9);
  CHECK(three.network.latency == Nanos{5});
  CHECK(nodes_of_devices(three) == std::vector<std::uint32_t>{0, 0, 1, 1, 2, 2});
  CHECK_FALSE(on_nodes(scenario, 1).network.any());
  scenario.work.rounds = 4;
  CHECK_THROWS_AS(on_nodes(scenario, 2), Error);
}

TEST_CASE("of a scenario of several nodes those beyond are like the last") {
  Scenario scenario = of_one_node();
  scenario.devices[1].estimate.items_per_s = kOnePerNs / 2;
  scenario.node_devices = {1, 1};
  const Scenario four = on_nodes(scenario, 4);
  CHECK(four.node_devices == std::vector<std::size_t>{1, 1, 1, 1});
  CHECK(four.devices[0].estimate.items_per_s == kOnePerNs);
  CHECK(four.devices[3].estimate.items_per_s == kOnePerNs / 2);
  CHECK_FALSE(four.network.any());
}

TEST_CASE("strong scaling keeps the work, weak that of a node; both lose the latency") {
  Scenario scenario = of_one_node();
  scenario.nodes = ScenarioNodes{2, Nanos{50}, {}, 0, std::nullopt, {}};
  ScalingRequest request{parse_strategies("equal"), {Mode::resident}, {1, 2, 4}, 2};
  const std::vector<ScalingRow> rows =
      simulate_scaling(scenario, request, [](const ScalingRow&) { return true; });
  REQUIRE(rows.size() == 6);
  const auto is = [&](std::size_t i, Scales scales, std::size_t nodes, Items items,
                      std::int64_t time) {
    INFO(i);
    CHECK(rows[i].scales == scales);
    CHECK(rows[i].nodes == nodes);
    CHECK(rows[i].devices == 2 * nodes);
    CHECK(rows[i].items == items);
    CHECK(rows[i].time == Nanos{time});
  };
  is(0, Scales::strong, 1, 1000, 500);
  is(1, Scales::strong, 2, 1000, 250 + 100);
  is(2, Scales::strong, 4, 1000, 125 + 100);
  is(3, Scales::weak, 1, 500, 250);
  is(4, Scales::weak, 2, 1000, 250 + 100);
  is(5, Scales::weak, 4, 2000, 250 + 100);
  CHECK(rows[1].speedup == doctest::Approx(500.0 / 350));
  CHECK(rows[1].efficiency == doctest::Approx(500.0 / 350 / 2));
  CHECK(rows[5].speedup == doctest::Approx(4 * 250.0 / 350));
  CHECK(rows[5].efficiency == doctest::Approx(250.0 / 350));
}

TEST_CASE("efficiency is beside how fast the devices are, where nodes differ") {
  Scenario scenario = of_one_node();
  scenario.nodes = ScenarioNodes{2, {}, {}, 0, std::nullopt, {{1, 0.5, std::nullopt}}};
  ScalingRequest request{parse_strategies("capability"), {Mode::resident}, {1, 2}, 1};
  const std::vector<ScalingRow> rows =
      simulate_scaling(scenario, request, [](const ScalingRow&) { return true; });
  CHECK(rows[1].time == Nanos{334});  // 333 of 1,000 items on each fast device, at most 334
  CHECK(rows[1].efficiency == doctest::Approx(1).epsilon(0.01));
}
