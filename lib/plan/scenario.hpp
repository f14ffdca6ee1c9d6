// Scenario: hypothetical devices and work, as stated in a file or as estimated by
// an earlier run. Plain data: reading files is in lib/report, simulating a session of it in
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
  // Estimate that strategies are given. `fits`, `pipeline` 0: as its memory and the work allow.
  DeviceEstimate estimate;
  double slow = 1;      // factor by which its kernels take longer than `estimate` says
  Bytes memory = 0;     // 0: enough for any work
  std::string id = {};  // empty: "0:0", "0:1", ... by its position; on another node "1/0:8"
  // Estimate while no other device of the set is at work; none: `estimate`.
  std::optional<DeviceEstimate> alone = {};
  // Factor by which strategies are told that it is faster alone than `Scenario::given` says.
  double contention = 1;
};

// Most items that a device has memory for at once, and the piece in which its share is handed out.
struct Holds {
  Items fits = 0, pipeline = 0;
  std::string why_not;  // the reason if `fits` is 0
};

struct ScenarioWork {
  std::string name;  // name of the suite it stands for; may be empty
  std::string size_name = "items", rate_unit = "items/s";
  std::uint64_t size = 0;  // size of the problem in the suite's unit; 0: its items
  ItemUnit unit = {};
  Items items = 0, granularity = 1;
  ItemCost cost{0, 0, 1, 0};
  // Piece in which a static share is handed out; 0: an eighth of an equal share.
  Items pipeline = 0;
  // Number of iterations of iterative work; 0: not iterative. The cost of an item is that of all
  // iterations. Devices exchange ExchangeEstimate::halo ExchangeEstimate::rounds times, but not
  // after the last iteration.
  std::uint32_t rounds = 0;
  MergeEstimate merge;
};

// Equal nodes: each has the devices and the host link of the scenario, with the listed differences.
struct ScenarioNodes {
  struct Different {
    std::size_t node = 0;
    // Factor by which its devices compute faster, which strategies know.
    double rate = 1;
    std::optional<double> bytes_per_s;  // bandwidth of its link
  };
  std::size_t count = 1;
  Nanos latency{}, hand_out{};             // see NodeNetwork
  double bytes_per_s = 0;                  // bandwidth of each node's link, each way; 0: no limit
  std::optional<double> root_bytes_per_s;  // bandwidth of node 0's link; none: as of each node
  std::vector<Different> different;
};

struct Scenario {
  std::vector<ScenarioDevice> devices;
  // Host link that all devices share; with a network, that of each node.
  LinkRate link_up, link_down;
  ScenarioWork work;
  // Exchanges of the devices if their paths are direct, or as `peer` says.
  ExchangeEstimate exchange;
  std::optional<PeerPath> peer;
  // Estimates that strategies are given; none: the devices' estimates, without `slow`.
  std::optional<SetEstimates> given;
  // Nodes that on_nodes() makes of the devices; none: one machine.
  std::optional<ScenarioNodes> nodes;
  // Number of devices of each node; empty: all are of one node.
  std::vector<std::size_t> node_devices;
  // Network between these nodes; none if the figures of the devices include its cost.
  NodeNetwork network;
};

// Adds devices up to `devices`: additional ones, and their links, are like the last one. The host
// link stays as it is, as it is known by how many devices use it at once. A set that is no smaller
// is not changed.
void grow(Scenario& scenario, std::size_t devices);

// Returns what one of `devices` devices holds; memory 0: enough. At most 128 pieces in all: a
// single one of 1,024 devices should not be given 8,192.
Holds held_by(const ScenarioWork& work, Bytes memory, Mode mode, std::size_t devices,
              Items most_pieces = 128);

// Returns the scenario with the same work on `nodes` nodes. If it is of one node, each node is like
// it, with the differences and the network in `nodes`, or a network without costs. If it is of
// several nodes, the result has the first of them, and additional ones are like the last; the
// figures of the devices include the cost of the network. Devices do not contend with those of
// other nodes. Throws Error(usage) for iterative work, which devices of several nodes cannot do.
Scenario on_nodes(const Scenario& scenario, std::size_t nodes);
// Returns the items with which each of `nodes` nodes has as many as on `of` nodes; whole granules,
// at least one.
Items items_for_nodes(const ScenarioWork& work, std::size_t of, std::size_t nodes);
std::vector<std::uint32_t> nodes_of_devices(const Scenario& scenario);
// Returns the devices as reports show them, in their order.
std::vector<Device> devices_of(const Scenario& scenario);

// Estimates of some devices of a scenario: those that strategies are given, and the real ones.
struct ScenarioEstimates {
  SetEstimates given, real;
  // Estimate of each device with no other at work; none: as in `real`.
  std::vector<std::optional<DeviceEstimate>> alone;
};
// Returns the estimates of these devices, by position. Throws Error(unsupported) if one of them
// does not have enough memory for the work.
ScenarioEstimates estimates_among(const Scenario& scenario, Mode mode,
                                  std::span<const std::size_t> devices, Items most_pieces = 128);
// Returns the real estimates in a sample in which the devices have these shares; empty: any device
// may work.
SetEstimates while_at_work(const ScenarioEstimates& estimates, std::span<const Items> shares);
// Returns the request of that work on these devices; views the estimates.
PlanRequest request_of(const ScenarioWork& work, Mode mode, const SetEstimates& estimates);

inline constexpr std::size_t kMostNodes = 4096;
inline constexpr std::size_t kMostNodeDevices = 32768;  // of all nodes together

// More devices are rejected: each device alone is a case of every session.
inline constexpr std::size_t kMostScenarioDevices = 4096;
// Limit for devices with links between them: all send something to all others.
inline constexpr std::size_t kMostLinkedDevices = 128;

}  // namespace mgpu
