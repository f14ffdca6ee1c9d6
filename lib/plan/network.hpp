// NodeNetwork: what lies between nodes, as lib/cluster uses it. Node 0 plans for all and holds all
// inputs and results. What it has a device of another node do is a message to that node, what has
// ended there is one back; inputs and results are in these messages, which are one more link in
// series with the node's own. Which messages move when is in lib/plan/queue_model.hpp.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lib/base/units.hpp"

namespace mgpu {

struct DeviceEstimate;
struct PlanRequest;

struct NetworkNode {
  std::size_t devices = 0;
  double bytes_per_s = 0;  // of its link to the network, each way; 0: no limit
};

struct NodeNetwork {
  std::vector<NetworkNode>
      nodes;  // the devices of a request belong to them in order; up to one: there is no network
  Nanos latency{};   // of a message, one way
  Nanos hand_out{};  // of node 0 for each slice and each collection elsewhere: one after the other
  double root_bytes_per_s =
      0;  // of node 0's link: all that goes elsewhere, and all that comes back; 0: no limit

  bool any() const { return nodes.size() > 1; }
  std::size_t devices() const;
  std::vector<std::uint32_t> node_of_devices() const;
  NodeNetwork among(
      std::span<const std::size_t> devices) const;  // the same nodes, with these of their devices
};

// The request without its network: what strategies weigh, whose closed forms know of one host link.
// A device of another node has in its own link what the network leaves it while all are at work,
// and each device what its node's host link does; a message each way counts once a sample, as it is
// hidden under the slice before. `devices` holds its estimates.
PlanRequest without_network(const PlanRequest& request, std::vector<DeviceEstimate>& devices);

}  // namespace mgpu
