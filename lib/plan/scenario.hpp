// Scenario: devices and a piece of work that need not exist, as a file states them or as an earlier
// run estimated them. Plain data: reading files is in lib/report, simulating a session of it in
// lib/session/simulated.hpp.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/device/device.hpp"
#include "lib/plan/slice_source.hpp"

namespace mgpu {

struct ScenarioDevice {
  std::string name;
  DeviceType type = DeviceType::gpu;
  DeviceEstimate estimate;  // what strategies are given. `fits`, `pipeline` 0: as its memory and
                            // the work allow
  double slow = 1;          // its kernels take this many times as long as it tells
  Bytes memory = 0;         // 0: enough for anything
  std::string id = {};      // empty: "0:0", "0:1", ... by its position; of another node "1/0:8"
  // Describes it while no other device of the set is at work; none: as `estimate`.
  std::optional<DeviceEstimate> alone = {};
};

// What a device with so much memory takes of it at once, and the piece its share is handed out in.
struct Holds {
  Items fits = 0, pipeline = 0;
  std::string why_not;  // where fits is 0
};

struct ScenarioWork {
  std::string name;  // of the suite it stands for; may be empty
  std::string size_name = "items", rate_unit = "items/s";
  std::uint64_t size = 0;  // of the problem, as the suite counts it; 0: its items
  Items items = 0, granularity = 1;
  ItemCost cost{0, 0, 1, 0};
  Items pipeline = 0;  // the piece a static share is handed out in; 0: an eighth of an equal share
  // Above 0: it goes in rounds, in all of which an item costs what is stated; devices exchange
  // ExchangeEstimate::halo after as many as ExchangeEstimate::rounds says, but not after the last.
  std::uint32_t rounds = 0;
  MergeEstimate merge;
};

// Nodes that are alike: each has the devices of the scenario and a host link as it has, but for
// what is said of some.
struct ScenarioNodes {
  struct Different {
    std::size_t node = 0;
    double rate = 1;                    // its devices compute so many times as fast, as is known
    std::optional<double> bytes_per_s;  // of its link
  };
  std::size_t count = 1;
  Nanos latency{}, hand_out{};             // as NodeNetwork has them
  double bytes_per_s = 0;                  // of the link of each, each way; 0: no limit
  std::optional<double> root_bytes_per_s;  // of node 0; none: as of each
  std::vector<Different> different;
};

struct Scenario {
  std::vector<ScenarioDevice> devices;
  LinkRate link_up, link_down;  // of the host link all share; with a network those of a node do
  ScenarioWork work;
  ExchangeEstimate
      exchange;  // what devices exchange, where their paths are direct or as `peer` says
  std::optional<PeerPath> peer;
  std::optional<SetEstimates>
      given;  // what strategies are given; none: how the devices are, but for `slow`
  std::optional<ScenarioNodes>
      nodes;  // to be made of the devices, by on_nodes(); none: one machine
  std::vector<std::size_t>
      node_devices;     // so many of the devices are of each node; empty: all are of one
  NodeNetwork network;  // between these; none where what it costs is in the figures of the devices
};

// More devices, up to `devices`: those beyond are like the last one, and so are the links to them.
// The host link stays as it is: how many devices use it at once is what it is known for. A set that
// is no smaller stays.
void grow(Scenario& scenario, std::size_t devices);

// One of so many devices; memory 0: enough. At most 128 pieces in all: one device of 1,024 alone
// should not be given 8,192.
Holds held_by(const ScenarioWork& work, Bytes memory, Mode mode, std::size_t devices,
              Items most_pieces = 128);

// The same work on so many nodes. Of a scenario that is of one, each is like it as `nodes` says,
// else as over a network that costs nothing. Of one that is of several: the first ones, and those
// beyond are like the last, what the network costs is in the devices' figures. Devices do not
// contend with those of other nodes. Throws Error(usage) for what devices of several nodes cannot
// do: work in rounds.
Scenario on_nodes(const Scenario& scenario, std::size_t nodes);
// Items so that each node has as many as it has on `of` nodes; whole granules, at least one.
Items items_for_nodes(const ScenarioWork& work, std::size_t of, std::size_t nodes);
std::vector<std::uint32_t> nodes_of_devices(const Scenario& scenario);
// Returns the devices as reports show them, in their order.
std::vector<Device> devices_of(const Scenario& scenario);

// Describes some devices of a scenario: as strategies are told, and as they are.
struct ScenarioEstimates {
  SetEstimates given, real;
  std::vector<std::optional<DeviceEstimate>>
      alone;  // of each, with no other at work; none: as real
};
// Returns the estimates of these devices, by position. Throws Error(unsupported) if one of them
// cannot hold the work.
ScenarioEstimates estimates_among(const Scenario& scenario, Mode mode,
                                  std::span<const std::size_t> devices, Items most_pieces = 128);
// Returns how the devices are in a sample in which they have these shares; empty: any may work.
SetEstimates while_at_work(const ScenarioEstimates& estimates, std::span<const Items> shares);
// Returns the request of that work on these devices; views the estimates.
PlanRequest request_of(const ScenarioWork& work, Mode mode, const SetEstimates& estimates);

inline constexpr std::size_t kMostNodes = 4096;
inline constexpr std::size_t kMostNodeDevices = 32768;  // of all nodes

// More are refused: each device alone is a case of every session.
inline constexpr std::size_t kMostScenarioDevices = 4096;
// With links between them: all send something to all others.
inline constexpr std::size_t kMostLinkedDevices = 128;

}  // namespace mgpu
