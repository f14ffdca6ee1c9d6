// Devices of several nodes: every time below is computed by hand. An item takes a nanosecond, a
// byte on a link too.
#include "lib/plan/network.hpp"

#include <doctest/doctest.h>

#include "lib/base/error.hpp"
#include "lib/plan/queue_model.hpp"
#include "lib/plan/rounds.hpp"
#include "lib/plan/scaling.hpp"
#include "lib/plan/simulator.hpp"
#include "lib/plan/static_source.hpp"
#include "tests/support/plan_problem.hpp"

using namespace mgpu;

namespace {

constexpr double kOneNs = 1e9;  // items/s, or bytes/s

// So many nodes, of so many devices each.
struct Nodes {
  Nodes(std::size_t nodes, std::size_t devices, Items items, Items piece,
        Mode mode = Mode::resident)
      : estimates(test::alike_devices(nodes * devices, items, piece)) {
    network.nodes.assign(nodes, {devices, 0});
    request.items = items;
    request.mode = mode;
  }
  const PlanRequest& asked(bool with_network = true) {
    request.devices = estimates;
    request.network = with_network ? &network : nullptr;
    return request;
  }
  Simulation shares(const std::vector<Items>& items) {
    const PlanRequest& real = asked();
    return simulate(real, *make_static_source(real, items));
  }
  Simulation under(const StrategyChoice& strategy, bool with_network = true) {
    const PlanRequest& real = asked(with_network);
    return simulate(real, *begin_strategy(*strategy.info, strategy.params, real, {}));
  }

  std::vector<DeviceEstimate> estimates;
  NodeNetwork network;
  PlanRequest request;
};

Scenario of_one_node() {
  Scenario scenario;
  scenario.devices.resize(2);
  for (ScenarioDevice& device : scenario.devices) {
    device.estimate.items_per_s = kOneNs;
    device.estimate.score = 100;
  }
  scenario.work.items = 1000;
  return scenario;
}

}  // namespace

TEST_CASE(
    "what a device elsewhere does begins a message later, and is heard of a message after its "
    "end") {
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

TEST_CASE("resident, only the first message and the last are not hidden") {
  Nodes two(2, 1, 2000, 100);
  two.network.latency = Nanos{30};
  // 30 there, ten slices of 100 without a gap, and the collection's end 30 back.
  CHECK(two.shares({1000, 1000}).makespan == Nanos{1060});
  // A slice that is shorter than two messages does not hide them: two in flight, then a message
  // back and one there for the next.
  two.network.latency = Nanos{200};
  two.estimates[1].pipeline = 500;
  CHECK(two.shares({1000, 1000}).makespan == Nanos{1400});
  two.estimates[1].pipeline = 100;
  // Slices end at 300 and 400 and are known at 500 and 600, the next begin at 700 and 800, and so
  // on: five pairs, 500 apart. The last but one ends at 2300, is known at 2500, and what collects
  // goes then: there at 2700, behind the last, and back at 2900.
  CHECK(two.shares({1000, 1000}).makespan == Nanos{2900});
}

TEST_CASE(
    "end to end, what goes to other nodes takes its bytes divided by what node 0's link bears") {
  Nodes three(3, 1, 300, 100, Mode::end_to_end);
  for (DeviceEstimate& device : three.estimates) device.items_per_s = 1e18;
  three.request.cost.in_bytes = 1000;
  three.network.root_bytes_per_s = kOneNs;
  // 200 items elsewhere are 200,000 bytes; both nodes have half of the link. Node 0 sends itself
  // nothing.
  Simulation simulated = three.shares({100, 100, 100});
  CHECK(simulated.makespan == Nanos{200'000});
  CHECK(simulated.devices[0].finish == Nanos{0});
  CHECK(simulated.sending == Nanos{200'000});
  CHECK(simulated.receiving == Nanos{0});
  // A node whose own link is slower leaves the rest to the other: 100,000 bytes at a quarter, and
  // at three quarters.
  three.network.nodes[1].bytes_per_s = kOneNs / 4;
  simulated = three.shares({100, 100, 100});
  CHECK(simulated.devices[1].finish == Nanos{400'000});
  CHECK(simulated.devices[2].finish == Nanos{133'333});
  // Results come back over it likewise, while inputs go.
  three.request.cost.in_bytes = 0;
  three.request.cost.out_bytes = 1000;
  simulated = three.shares({100, 100, 100});
  CHECK(simulated.devices[1].finish == Nanos{400'000});
  CHECK(simulated.receiving == Nanos{400'000});
}

TEST_CASE("the network and the node's own link follow one another, piece by piece") {
  Nodes two(2, 1, 100, 100, Mode::end_to_end);
  two.estimates[1].up = kOneNs;
  two.estimates[1].items_per_s = 1e18;
  two.request.cost.in_bytes = 1;
  two.network.nodes[1].bytes_per_s = kOneNs;
  CHECK(two.shares({0, 100}).makespan == Nanos{200});
  two.estimates[1].pipeline = 50;
  CHECK(two.shares({0, 100}).makespan == Nanos{150});
  // The host link is each node's own: two devices of one share it, one of another has it alone.
  Nodes four(2, 2, 400, 100, Mode::end_to_end);
  for (DeviceEstimate& device : four.estimates) device.items_per_s = 1e18;
  four.request.cost.in_bytes = 1;
  four.request.link_up = kOneNs;
  const Simulation simulated = four.shares({100, 100, 200, 0});
  CHECK(simulated.devices[0].finish == Nanos{200});
  CHECK(simulated.devices[2].finish == Nanos{200});
}

TEST_CASE("node 0 hands out one slice after the other") {
  Nodes four(4, 1, 400, 100);
  four.network.hand_out = Nanos{10};
  const Simulation simulated = four.shares({100, 100, 100, 100});
  CHECK(simulated.devices[0].finish == Nanos{100});
  CHECK(simulated.devices[1].finish == Nanos{110});
  CHECK(simulated.devices[3].finish == Nanos{130});
  CHECK(simulated.handing_out == Nanos{60});  // three slices, three collections
}

TEST_CASE("over a network that costs nothing every strategy takes as long as on one machine") {
  for (const Mode mode : {Mode::resident, Mode::end_to_end}) {
    for (const StrategyChoice& strategy : parse_strategies("all,auto")) {
      Nodes nodes(3, 2, 60'000, 500, mode);
      for (std::size_t i = 0; i < nodes.estimates.size(); ++i) {
        nodes.estimates[i].items_per_s = kOneNs / static_cast<double>(1 + i % 2);
        nodes.estimates[i].up = nodes.estimates[i].down = kOneNs * 4;
        nodes.estimates[i].launch = Nanos{50};
        nodes.estimates[i].transfer = Nanos{20};
      }
      nodes.request.cost.in_bytes = 2;
      nodes.request.cost.out_bytes = 1;
      CHECK_MESSAGE(nodes.under(strategy).makespan == nodes.under(strategy, false).makespan,
                    strategy.label());
    }
  }
}

TEST_CASE("what strategies weigh is what the network leaves each device") {
  Nodes nodes(3, 2, 1000, 100, Mode::end_to_end);
  for (DeviceEstimate& device : nodes.estimates) device.up = 10 * kOneNs;
  nodes.request.link_up = 16 * kOneNs;
  nodes.network.nodes[2].bytes_per_s = kOneNs;
  nodes.network.root_bytes_per_s = 12 * kOneNs;
  nodes.network.latency = Nanos{7};
  std::vector<DeviceEstimate> devices;
  const PlanRequest flat = without_network(nodes.asked(), devices);
  CHECK(flat.network == nullptr);
  CHECK_FALSE(flat.link_up.limited());
  CHECK(devices[0].up == 8 * kOneNs);    // half of its host link
  CHECK(devices[2].up == 3 * kOneNs);    // a quarter of what node 0 sends
  CHECK(devices[4].up == kOneNs / 2);    // half of its node's link
  CHECK(devices[4].down == kOneNs / 2);  // and back
  CHECK(devices[0].down == 0);           // no limit
  CHECK(devices[0].fixed == Nanos{0});
  CHECK(devices[4].fixed == Nanos{14});
}

TEST_CASE("nodes are like the one that a scenario describes, but for those that differ") {
  Scenario scenario = of_one_node();
  scenario.nodes = ScenarioNodes{3, Nanos{5}, Nanos{2}, 4e9, std::nullopt, {{1, 0.5, 2e9}}};
  const Scenario three = on_nodes(scenario, 3);
  REQUIRE(three.devices.size() == 6);
  CHECK(three.node_devices == std::vector<std::size_t>{2, 2, 2});
  CHECK(three.devices[1].estimate.items_per_s == kOneNs);
  CHECK(three.devices[2].estimate.items_per_s == kOneNs / 2);
  CHECK(three.network.nodes[1].bytes_per_s == 2e9);
  CHECK(three.network.nodes[2].bytes_per_s == 4e9);
  CHECK(three.network.root_bytes_per_s == 4e9);
  CHECK(three.network.latency == Nanos{5});
  CHECK(nodes_of_devices(three) == std::vector<std::uint32_t>{0, 0, 1, 1, 2, 2});
  CHECK_FALSE(on_nodes(scenario, 1).network.any());
  scenario.work.rounds = 4;
  CHECK_THROWS_AS(on_nodes(scenario, 2), Error);
}

TEST_CASE(
    "of a scenario of several nodes those beyond are like the last, and its figures have the "
    "network in them") {
  Scenario scenario = of_one_node();
  scenario.devices[1].estimate.items_per_s = kOneNs / 2;
  scenario.node_devices = {1, 1};
  const Scenario four = on_nodes(scenario, 4);
  CHECK(four.node_devices == std::vector<std::size_t>{1, 1, 1, 1});
  CHECK(four.devices[0].estimate.items_per_s == kOneNs);
  CHECK(four.devices[3].estimate.items_per_s == kOneNs / 2);
  CHECK_FALSE(four.network.any());
}

TEST_CASE(
    "strong scaling keeps the work, weak scaling the work of a node, and the latency of messages "
    "is what both lose") {
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
  CHECK(rows[1].time == Nanos{334});  // 333 of 1,000 items on each fast device at most 334
  CHECK(rows[1].efficiency == doctest::Approx(1).epsilon(0.01));
}
