#include "lib/plan/network.hpp"

#include <algorithm>
#include <limits>

#include "lib/plan/slice_source.hpp"

namespace mgpu {
namespace {

// Returns the bytes per second of one of `devices` that share a link; infinite: no limit.
double part(double bytes_per_s, std::size_t devices) {
  return bytes_per_s > 0 ? bytes_per_s / static_cast<double>(std::max<std::size_t>(devices, 1))
                         : std::numeric_limits<double>::infinity();
}

double known(double bytes_per_s) {
  return bytes_per_s < std::numeric_limits<double>::infinity() ? bytes_per_s : 0;
}

}  // namespace

std::size_t NodeNetwork::devices() const {
  std::size_t all = 0;
  for (const NetworkNode& node : nodes) all += node.devices;
  return all;
}

std::vector<std::uint32_t> NodeNetwork::node_of_devices() const {
  std::vector<std::uint32_t> of;
  for (std::uint32_t node = 0; node < nodes.size(); ++node)
    of.insert(of.end(), nodes[node].devices, node);
  return of;
}

NodeNetwork NodeNetwork::among(std::span<const std::size_t> some) const {
  if (!any()) return {};
  NodeNetwork network = *this;
  const std::vector<std::uint32_t> node = node_of_devices();
  for (NetworkNode& each : network.nodes) each.devices = 0;
  for (const std::size_t device : some) ++network.nodes[node.at(device)].devices;
  return network;
}

PlanRequest without_network(const PlanRequest& request, std::vector<DeviceEstimate>& devices) {
  devices.assign(request.devices.begin(), request.devices.end());
  PlanRequest flat = request;
  flat.network = nullptr;
  flat.link_up = flat.link_down = {};
  flat.devices = devices;
  const NodeNetwork& network = *request.network;
  const std::size_t elsewhere = network.devices() - network.nodes.front().devices;
  std::size_t i = 0;
  for (std::size_t n = 0; n < network.nodes.size(); ++n) {
    const NetworkNode& node = network.nodes[n];
    const double over = n == 0 ? part(0, 1)
                               : std::min(part(node.bytes_per_s, node.devices),
                                          part(network.root_bytes_per_s, elsewhere));
    for (std::size_t k = 0; k < node.devices; ++k, ++i) {
      DeviceEstimate& device = devices[i];
      const auto own = [&](double rate, const LinkRate& host) {
        return known(std::min({part(rate, 1), part(host.of(node.devices), node.devices), over}));
      };
      device.up = own(device.up, request.link_up);
      device.down = own(device.down, request.link_down);
      if (n > 0) device.fixed += 2 * network.latency;
    }
  }
  return flat;
}

}  // namespace mgpu
