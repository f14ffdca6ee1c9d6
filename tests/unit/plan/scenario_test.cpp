// Scenarios that get more devices than they had.
#include "lib/plan/scenario.hpp"

#include <doctest/doctest.h>

using namespace mgpu;
using namespace std::chrono_literals;

namespace {

Scenario slow_and_fast() {
  Scenario scenario;
  ScenarioDevice slow, fast;
  slow.name = "slow";
  fast.name = "fast";
  slow.estimate.items_per_s = 100;
  fast.estimate.items_per_s = 300;
  fast.estimate.fixed = 20us;
  fast.estimate.per_peer_contention = 5us;
  scenario.devices = {slow, fast};
  scenario.exchange.links = PeerLinks(2, {PeerPath::direct, 100e9, 3us});
  scenario.exchange.links.of(1, 0).bytes_per_s = 50e9;
  scenario.given = SetEstimates{{slow.estimate, fast.estimate}, {}, {}, {}, scenario.exchange, {}};
  return scenario;
}

}  // namespace

TEST_CASE("devices beyond a scenario's are like its last, links to them like its last") {
  Scenario scenario = slow_and_fast();
  grow(scenario, 4);
  REQUIRE(scenario.devices.size() == 4);
  CHECK(scenario.devices[0].name == "slow");
  for (const std::size_t i : {1, 2, 3}) {
    CHECK(scenario.devices[i].name == "fast");
    CHECK(scenario.devices[i].estimate.items_per_s == 300);
    CHECK(scenario.devices[i].estimate.fixed == 30us);  // with two more devices
  }
  REQUIRE(scenario.exchange.links.devices() == 4);
  CHECK(scenario.exchange.links.of(1, 0).bytes_per_s == 50e9);
  CHECK(scenario.exchange.links.of(3, 0).bytes_per_s == 100e9);
  CHECK(scenario.exchange.links.of(2, 3).latency == 3us);
  CHECK(scenario.exchange.links.of(3, 3) == PeerLink());
  REQUIRE(scenario.given->devices.size() == 4);
  CHECK(scenario.given->devices[3].fixed == 30us);
  CHECK(scenario.given->exchange.links.devices() == 4);
}

TEST_CASE("a scenario does not shrink, and one device alone says nothing of links") {
  Scenario scenario = slow_and_fast();
  grow(scenario, 1);
  CHECK(scenario.devices.size() == 2);
  CHECK(scenario.devices[1].estimate.fixed == 20us);
  scenario.devices.resize(1);
  scenario.exchange = {};
  scenario.given.reset();
  grow(scenario, 3);
  CHECK(scenario.devices.size() == 3);
  CHECK(scenario.exchange.links.empty());
}
