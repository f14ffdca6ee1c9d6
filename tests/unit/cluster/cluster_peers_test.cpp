// Exchanges between devices of ranks that are threads.
#include "lib/cluster/cluster_peers.hpp"

#include <doctest/doctest.h>

#include "lib/exec/wait.hpp"
#include "tests/support/cluster_ranks.hpp"
#include "tests/support/collective_check.hpp"
#include "tests/support/collective_kernels.hpp"
#include "tests/support/thorough.hpp"

namespace mgpu {
namespace {

using test::device_of;

// Four devices of three ranks: ranks 0 and 1 have one each, rank 2 has two.
struct FourOfThreeRanks {
  explicit FourOfThreeRanks(bool takes_device_memory = false) : network(3, takes_device_memory) {
    cluster = test::join_as(0, network, {device_of(0, 1e9)}, test::collective_kernels());
    backend = cluster->backend();
    for (const Device& device : backend->enumerate().devices) {
      open.push_back(backend->open(device, {}));
      devices.push_back(open.back().get());
    }
  }
  // Closes all devices and leaves the cluster.
  void leave(int code) {
    open.clear();
    backend.reset();
    cluster->leave(code);
    others.join();
  }

  test::MemoryNetwork network;
  test::OtherRanks others{network,
                          {{device_of(1, 1e9)}, {device_of(2, 1e9), device_of(2, 1e9, "0:1")}},
                          test::collective_kernels()};
  std::unique_ptr<Cluster> cluster;
  std::unique_ptr<Backend> backend;
  std::vector<std::unique_ptr<OpenDevice>> open;
  std::vector<OpenDevice*> devices;
};

}  // namespace

TEST_CASE("every collective between devices of several ranks equals a plain loop") {
  FourOfThreeRanks ranks;
  REQUIRE(ranks.open.size() == 4);
  {
    test::Connected connected(*ranks.backend, ranks.open, 4, {}, 8 << 10);
    const auto path = [&](std::uint32_t from, std::uint32_t to) {
      return connected.group().peer({from}).path({to});
    };
    CHECK(path(0, 1) == PeerPath::staged);
    CHECK(path(1, 2) == PeerPath::staged);
    CHECK(path(2, 3) == PeerPath::direct);  // devices of one rank
    std::uint64_t seed = 1;
    for (const Collective collective : all_collectives()) {
      for (const std::uint64_t count : testing::first_when_quick<std::uint64_t>(1, {33, 1, 1000})) {
        const CollectiveCall call{collective,
                                  Element::f64,
                                  Reduction::sum,
                                  count,
                                  {static_cast<std::uint32_t>(seed % 4)}};
        CAPTURE(to_string(collective));
        CAPTURE(count);
        CHECK(connected.right(call, ++seed, false, 0, 2));
      }
    }
  }
  ranks.leave(0);
  CHECK(ranks.others.said().empty());
}

TEST_CASE("data goes from memory of devices if the library takes it, and the record says which") {
  for (const bool takes : {true, false}) {
    FourOfThreeRanks ranks(takes);
    {
      test::Connected connected(*ranks.backend, ranks.open, 4, {}, 8 << 10);
      const CollectiveCall call{Collective::all_gather, Element::f64, Reduction::sum, 1000, {}};
      CHECK(connected.right(call, 5, false, 0, 3));
      CHECK((ranks.network.sent_in_place() > 0) == takes);
    }
    const auto record = ranks.backend->cluster();
    REQUIRE(record);
    for (const NodeRecord& node : record->nodes) {
      CHECK(node.exchange_memory == (takes ? "device" : "host"));
      CHECK(node.exchange_memory_reason == (takes ? "" : "memory takes none"));
    }
    ranks.leave(0);
  }
}

TEST_CASE("who waits for a device of a rank that is lost goes on, and says which it was") {
  FourOfThreeRanks ranks;
  {
    const auto group = ranks.backend->connect(ranks.devices, {});
    const DeviceIndex third{2};
    for (const std::uint32_t waiting : {0, 1})
      group->peer({waiting}).sync({}, std::span(&third, 1));
    const BatchId first = ranks.devices[0]->submit(), second = ranks.devices[1]->submit();
    CHECK(!ranks.devices[0]->complete(first));
    for (const std::uint32_t waiting : {0, 1})
      wait_until(
          *ranks.backend, "a wait that begins", std::chrono::seconds(5), {},
          [&] { return group->awaited_by({waiting}) == third; }, [] {});
    ranks.network.kill(2);
    const BatchId lost = ranks.devices[2]->submit();
    CHECK_THROWS_WITH_AS(wait_for(*ranks.backend, *ranks.devices[2], lost),
                         doctest::Contains("rank 2 on host2"), Error);
    ranks.devices[2]->abandon();
    group->mark_failed(third);
    wait_for(*ranks.backend, *ranks.devices[0], first);
    wait_for(*ranks.backend, *ranks.devices[1], second);
    for (const std::uint32_t waiting : {0, 1})
      CHECK_THROWS_WITH_AS(group->check({waiting}), doctest::Contains("device 2/0:0"), Error);
  }
  ranks.leave(5);
  CHECK(ranks.network.aborted_with() == 5);
}

TEST_CASE("devices of several ranks have no other path than by their hosts") {
  FourOfThreeRanks ranks;
  {
    CHECK_THROWS_WITH_AS(ranks.backend->connect(ranks.devices, PeerPath::direct),
                         doctest::Contains("from 0:0 to 1/0:0"), Error);
    CHECK(ranks.backend->connect(ranks.devices, PeerPath::staged)->peer({3}).path({2}) ==
          PeerPath::staged);
    CHECK(ranks.backend->connect(std::span(ranks.devices).subspan(2), PeerPath::direct)
              ->peer({0})
              .path({1}) == PeerPath::direct);
  }
  ranks.leave(0);
}

}  // namespace mgpu
