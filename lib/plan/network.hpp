// NodeNetwork: the network between nodes, as lib/cluster uses it. Node 0 plans for all and has all
// inputs and results. A command for a device of another node is a message to that node, and its end
// is a message back; inputs and results travel in these messages, over one more link in series with
// the node's own. The order of messages is modelled in lib/plan/queue_model.hpp.
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
  double bytes_per_s = 0;  // bandwidth of its link to the network, each way; 0: no limit
};

struct NodeNetwork {
  // The devices of a request belong to them in order; at most one: there is no network.
  std::vector<NetworkNode> nodes;
  Nanos latency{};  // time of a message, one way
  // Time of node 0 for each slice and each collection of another node, which it handles one by one.
  Nanos hand_out{};
  // Bandwidth of node 0's link for all traffic to other nodes, and for all traffic back; 0: no
  // limit.
  double root_bytes_per_s = 0;

  bool any() const { return nodes.size() > 1; }
  std::size_t devices() const;
  std::vector<std::uint32_t> node_of_devices() const;
  // The same nodes, with these of their devices.
  NodeNetwork among(std::span<const std::size_t> devices) const;
};

// Returns the request without its network, for strategies, whose closed forms know only one host
// link. A device's own link gets the bandwidth that its node's host link, and for other nodes the
// network, leave it while all devices are at work. A message each way counts once per sample, as
// later ones overlap with the previous slice. `devices` stores the estimates of the returned
// request.
PlanRequest without_network(const PlanRequest& request, std::vector<DeviceEstimate>& devices);

}  // namespace mgpu
