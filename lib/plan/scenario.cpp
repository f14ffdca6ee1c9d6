#include "lib/plan/scenario.hpp"

#include <algorithm>
#include <utility>

namespace mgpu {
namespace {

// A link of a device that is new is that of the last two there were; where there was one, nothing is known of any.
PeerLinks grown(const PeerLinks& links, std::size_t devices) {
  const std::size_t known = links.devices();
  if (known < 2) return {};
  PeerLinks all(devices, links.of(known - 2, known - 1));
  for (std::size_t from = 0; from < known; ++from)
    for (std::size_t to = 0; to < known; ++to) all.of(from, to) = links.of(from, to);
  return all;
}

// In larger company each contends with more others.
DeviceEstimate among(DeviceEstimate estimate, std::size_t more) {
  estimate.fixed += estimate.per_peer_contention * static_cast<std::int64_t>(more);
  return estimate;
}

}  // namespace

void grow(Scenario& scenario, std::size_t devices) {
  const std::size_t before = scenario.devices.size();
  if (before == 0 || devices <= before) return;
  for (ScenarioDevice& device : scenario.devices) device.estimate = among(device.estimate, devices - before);
  scenario.devices.resize(devices, ScenarioDevice(scenario.devices.back()));
  scenario.exchange.links = grown(scenario.exchange.links, devices);
  if (!scenario.given) return;
  SetEstimates& given = *scenario.given;
  for (DeviceEstimate& estimate : given.devices) estimate = among(estimate, devices - before);
  given.devices.resize(devices, DeviceEstimate(given.devices.back()));
  given.exchange.links = grown(given.exchange.links, devices);
}

}  // namespace mgpu
