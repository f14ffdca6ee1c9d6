#include "lib/plan/scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/base/quantity.hpp"
#include "lib/plan/ledger.hpp"

namespace mgpu {
namespace {

// The first upload and the last download of eight pieces do not overlap.
constexpr Items kPiecesOfShare = 8;
constexpr Items kMostSlices = 200'000;

// Returns the links extended to `devices`: a new device's links are like that between the last two
// known devices. With one known device no link is known.
PeerLinks grown(const PeerLinks& links, std::size_t devices) {
  const std::size_t known = links.devices();
  if (known < 2) return {};
  PeerLinks all(devices, links.of(known - 2, known - 1));
  for (std::size_t from = 0; from < known; ++from)
    for (std::size_t to = 0; to < known; ++to) all.of(from, to) = links.of(from, to);
  return all;
}

// Adds the contention of a device with `more` other devices.
DeviceEstimate among(DeviceEstimate estimate, std::size_t more) {
  estimate.fixed += estimate.per_peer_contention * static_cast<std::int64_t>(more);
  return estimate;
}

DeviceEstimate slowed(DeviceEstimate estimate, double slow) {
  const auto slower = [&](Nanos time) { return from_seconds(seconds(time) * slow); };
  estimate.items_per_s /= slow;
  estimate.launch = slower(estimate.launch);
  estimate.minimum_slice = slower(estimate.minimum_slice);
  estimate.first_slice_discount = slower(estimate.first_slice_discount);
  return estimate;
}

// Returns an id. Devices are numbered through all nodes, unlike ids of ranks.
std::string id_of(std::size_t index, std::uint32_t node) {
  return node == 0 ? fmt::format("0:{}", index) : fmt::format("{}/0:{}", node, index);
}

}  // namespace

Holds held_by(const ScenarioWork& work, Bytes has, Mode mode, std::size_t devices,
              Items most_pieces) {
  const double memory = has > 0 ? static_cast<double>(has) : 9e18,
               whole = static_cast<double>(work.items);
  const double item = work.cost.in_bytes + work.cost.out_bytes,
               free = memory - static_cast<double>(work.cost.replicated);
  if (mode == Mode::resident) {
    if (item * whole <= free) return {work.items, work.items, {}};
    return {0, 0,
            fmt::format("inputs and outputs of {} do not fit its memory of {}",
                        format_bytes(memory - free + item * whole), format_bytes(memory))};
  }
  const double held = item > 0    ? std::floor(std::max(free, 0.0) / (2 * item))
                      : free >= 0 ? whole
                                  : 0;
  const Items fits =
      held < whole ? round_down(static_cast<Items>(held), work.granularity) : work.items;
  if (fits < std::min(work.granularity, work.items) || fits < work.items / kMostSlices) {
    return {0, 0,
            fmt::format("its memory of {} holds {:.0f} items at once, too few of {}",
                        format_bytes(memory), held, work.items)};
  }
  const Items standard =
      round_up(ceil_div(work.items, std::min<Items>(most_pieces, kPiecesOfShare * devices)),
               work.granularity);
  return {fits, std::min(fits, work.pipeline > 0 ? work.pipeline : standard), {}};
}

std::vector<std::uint32_t> nodes_of_devices(const Scenario& scenario) {
  std::vector<std::uint32_t> of;
  for (std::uint32_t node = 0; node < scenario.node_devices.size(); ++node)
    of.insert(of.end(), scenario.node_devices[node], node);
  of.resize(scenario.devices.size(), of.empty() ? 0 : of.back());
  return of;
}

std::vector<Device> devices_of(const Scenario& scenario) {
  const std::vector<std::uint32_t> node = nodes_of_devices(scenario);
  std::set<std::string> taken;
  for (const ScenarioDevice& device : scenario.devices) taken.insert(device.id);
  std::vector<Device> devices;
  for (std::size_t i = 0; i < scenario.devices.size(); ++i) {
    const ScenarioDevice& given = scenario.devices[i];
    Device& device = devices.emplace_back();
    device.id = given.id;
    for (std::size_t k = i; given.id.empty() && (k == i || !taken.insert(device.id).second); ++k)
      device.id = id_of(k, node[i]);
    if (node.back() > 0) device.node = DeviceNode{node[i], fmt::format("node{}", node[i])};
    device.name = given.name;
    device.vendor = device.platform = device.platform_vendor = "simulated";
    device.type = given.type;
    device.global_memory = device.max_allocation =
        given.memory > 0 ? given.memory : std::numeric_limits<std::int64_t>::max();
    device.compute_units = 1;
    device.score = given.estimate.score;
  }
  return devices;
}

ScenarioEstimates estimates_among(const Scenario& scenario, Mode mode,
                                  std::span<const std::size_t> devices, Items most_pieces) {
  const std::size_t all = scenario.devices.size();
  const auto among = [&](ExchangeEstimate exchange) {
    if (devices.size() < 2 || exchange.links.empty()) return ExchangeEstimate{};
    exchange.links = exchange.links.among(devices);
    return exchange;
  };
  ScenarioEstimates both;
  both.real = {{},
               scenario.link_up,
               scenario.link_down,
               scenario.work.merge,
               among(scenario.exchange),
               {},
               scenario.network.among(devices)};
  both.given = both.real;
  if (scenario.given) {
    both.given.link_up = scenario.given->link_up;
    both.given.link_down = scenario.given->link_down;
    both.given.merge = scenario.given->merge;
    both.given.exchange = among(scenario.given->exchange);
  }
  for (const std::size_t i : devices) {
    const ScenarioDevice& device = scenario.devices[i];
    const Holds holds = held_by(scenario.work, device.memory, mode, all, most_pieces);
    if (holds.fits == 0) throw Error(ErrorKind::unsupported, holds.why_not);
    const auto complete = [&](DeviceEstimate estimate) {
      estimate.fixed = fixed_of(estimate, devices.size(), all);
      estimate.on_cpu = device.type == DeviceType::cpu;
      estimate.fits = estimate.fits > 0 ? std::min(estimate.fits, holds.fits) : holds.fits;
      estimate.pipeline =
          std::min(estimate.fits, estimate.pipeline > 0 ? estimate.pipeline : holds.pipeline);
      return estimate;
    };
    both.given.devices.push_back(
        complete(scenario.given ? scenario.given->devices[i] : device.estimate));
    if (scenario.given && devices.size() == 1)
      both.given.devices.back().items_per_s *= device.contention;
    both.real.devices.push_back(slowed(complete(device.estimate), device.slow));
    auto& alone = both.alone.emplace_back();
    if (device.alone) alone = slowed(complete(*device.alone), device.slow);
  }
  return both;
}

SetEstimates while_at_work(const ScenarioEstimates& estimates, std::span<const Items> shares) {
  SetEstimates set = estimates.real;
  std::size_t at = 0;
  if (set.devices.size() > 1) {
    const auto works = [](Items share) { return share > 0; };
    if (std::count_if(shares.begin(), shares.end(), works) != 1) return set;
    at = static_cast<std::size_t>(std::find_if(shares.begin(), shares.end(), works) -
                                  shares.begin());
  }
  if (!estimates.alone[at]) return set;
  set.devices[at] = *estimates.alone[at];
  // Links and merge were corrected by a sample of several devices.
  set.link_up = estimates.given.link_up;
  set.link_down = estimates.given.link_down;
  set.merge = estimates.given.merge;
  return set;
}

PlanRequest request_of(const ScenarioWork& work, Mode mode, const SetEstimates& estimates) {
  PlanRequest request;
  request.items = work.items;
  request.granularity = work.granularity;
  request.mode = mode;
  request.cost = work.cost;
  request.devices = estimates.devices;
  request.link_up = estimates.link_up;
  request.link_down = estimates.link_down;
  request.merge = estimates.merge;
  request.exchange = estimates.exchange;
  request.rounds = work.rounds;
  request.network = estimates.network.any() ? &estimates.network : nullptr;
  return request;
}

Items items_for_nodes(const ScenarioWork& work, std::size_t of, std::size_t nodes) {
  const long double each =
      static_cast<long double>(work.items) / static_cast<long double>(std::max<std::size_t>(of, 1));
  const auto granules = static_cast<Items>(std::llround(
      each * static_cast<long double>(nodes) / static_cast<long double>(work.granularity)));
  return nodes == of ? work.items : std::max<Items>(granules, 1) * work.granularity;
}

Scenario on_nodes(const Scenario& scenario, std::size_t count) {
  if (count > 1 && scenario.work.rounds > 0)
    throw Error(ErrorKind::usage,
                "iterative work exchanges data after each iteration, and devices of several nodes "
                "exchange none");
  const bool measured = scenario.node_devices.size() > 1;
  const std::vector<std::size_t> known =
      measured ? scenario.node_devices : std::vector<std::size_t>{scenario.devices.size()};
  const ScenarioNodes nodes = scenario.nodes.value_or(ScenarioNodes{});
  Scenario all = scenario;
  all.nodes.reset();
  all.devices.clear();
  all.node_devices.clear();
  if (all.given) all.given->devices.clear();
  if (count > 1) all.exchange = {};
  if (count > 1 && all.given) all.given->exchange = {};
  std::size_t first = 0;  // position of the node's first device
  for (std::size_t node = 0; node < count; ++node) {
    if (node > 0 && node < known.size()) first += known[node - 1];
    const std::size_t devices = known[std::min(node, known.size() - 1)];
    double rate = 1;
    NetworkNode link{devices, nodes.bytes_per_s};
    for (const ScenarioNodes::Different& different : nodes.different) {
      if (different.node != node) continue;
      rate = different.rate;
      link.bytes_per_s = different.bytes_per_s.value_or(link.bytes_per_s);
    }
    const auto like = [&](DeviceEstimate estimate) {
      estimate.items_per_s *= rate;
      estimate.score *= std::min(1.0, rate);
      if (count > 1) estimate.per_peer_contention = {};
      return estimate;
    };
    for (std::size_t i = first; i < first + devices; ++i) {
      all.devices.push_back(scenario.devices[i]);
      ScenarioDevice& device = all.devices.back();
      device.estimate = like(device.estimate);
      if (device.alone) device.alone = like(*device.alone);
      if (node > 0 && !(measured && node < known.size())) device.id.clear();
      if (all.given) all.given->devices.push_back(like(scenario.given->devices[i]));
    }
    all.node_devices.push_back(devices);
    if (!measured) all.network.nodes.push_back(link);
  }
  all.network.latency = nodes.latency;
  all.network.hand_out = nodes.hand_out;
  all.network.root_bytes_per_s = nodes.root_bytes_per_s.value_or(
      all.network.nodes.empty() ? 0 : all.network.nodes.front().bytes_per_s);
  if (!all.network.any()) all.network = {};
  return all;
}

void grow(Scenario& scenario, std::size_t devices) {
  const std::size_t before = scenario.devices.size();
  if (before == 0 || devices <= before) return;
  for (ScenarioDevice& device : scenario.devices)
    device.estimate = among(device.estimate, devices - before);
  ScenarioDevice last = scenario.devices.back();
  last.id.clear();
  scenario.devices.resize(devices, last);
  scenario.exchange.links = grown(scenario.exchange.links, devices);
  if (!scenario.given) return;
  SetEstimates& given = *scenario.given;
  for (DeviceEstimate& estimate : given.devices) estimate = among(estimate, devices - before);
  given.devices.resize(devices, DeviceEstimate(given.devices.back()));
  given.exchange.links = grown(given.exchange.links, devices);
}

}  // namespace mgpu
