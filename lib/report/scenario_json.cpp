// Strict reading: every key is known, every number in its range.
#include "lib/report/scenario_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "lib/base/quote.hpp"
#include "lib/plan/as_measured.hpp"
#include "lib/plan/exchange.hpp"
#include "lib/report/capability_json.hpp"
#include "lib/report/json_reader.hpp"
#include "lib/report/record_fields.hpp"

namespace mgpu {
namespace {

constexpr double kMostSeconds =
    1e7;  // of all devices, one after another: times stay far from where nanoseconds overflow
constexpr double kMostSlices =
    2e5;  // of all devices alone together, and of a case: each takes microseconds to simulate

void read_devices(const JsonReader& json, std::vector<ScenarioDevice>& devices) {
  const StrictObject object(json, {"name",
                                   "count",
                                   "type",
                                   "items_per_s",
                                   "launch_ns",
                                   "minimum_slice_ns",
                                   "first_slice_discount_ns",
                                   "fixed_ns",
                                   "per_peer_contention_ns",
                                   "fixed_shared_ns",
                                   "transfer_ns",
                                   "up",
                                   "down",
                                   "memory",
                                   "free_memory",
                                   "fits",
                                   "pipeline",
                                   "score",
                                   "slow",
                                   "reserve"});
  ScenarioDevice device;
  device.name = object.text("name", "device");
  const std::string type = object.text("type", "gpu");
  const auto known = from_string<DeviceType>(type);
  if (!known)
    object.at("type").fail(in_quotes(type) +
                           " is unknown; expected: gpu, cpu, accelerator, custom");
  device.type = *known;
  device.slow = object.number("slow", 1, 1e6, 1.0);
  device.memory = object.whole<Bytes>("memory", 1, kMostGivenItems, Bytes{0});
  DeviceEstimate& estimate = device.estimate;
  estimate.items_per_s = object.number("items_per_s", 0, kMostGivenRate, {}, false);
  estimate.score = object.number("score", 0, 100, 100.0);
  estimate.fixed = object.nanos("fixed_ns");
  estimate.per_peer_contention = object.nanos("per_peer_contention_ns");
  estimate.fixed_shared =
      Nanos{object.whole<std::int64_t>("fixed_shared_ns", 0, estimate.fixed.count(), 0)};
  estimate.launch = object.nanos("launch_ns");
  estimate.minimum_slice = object.nanos("minimum_slice_ns");
  estimate.first_slice_discount =
      Nanos{object.whole<std::int64_t>("first_slice_discount_ns", 0, estimate.launch.count(), 0)};
  estimate.transfer = object.nanos("transfer_ns");
  estimate.up = object.number("up", 0, kMostGivenRate, 0.0);
  estimate.down = object.number("down", 0, kMostGivenRate, 0.0);
  estimate.fits = object.whole<Items>("fits", 1, kMostGivenItems, Items{0});
  estimate.pipeline = object.whole<Items>("pipeline", 1, kMostGivenItems, Items{0});
  estimate.free_memory = object.whole<Bytes>("free_memory", 0, kMostGivenItems, device.memory);
  if (object.has("reserve")) estimate.reserve = object.at("reserve").boolean();
  const auto count = object.whole<std::size_t>("count", 1, kMostScenarioDevices, std::size_t{1});
  if (devices.size() + count > kMostScenarioDevices) {
    object.at("count").fail(fmt::format("makes {} devices in all; expected: up to {}",
                                        devices.size() + count, kMostScenarioDevices));
  }
  devices.insert(devices.end(), count, device);
}

ScenarioWork read_work(const JsonReader& json, ExchangeEstimate& exchange, std::size_t devices) {
  const StrictObject object(
      json, {"name", "unit", "items", "granularity", "ops", "in_bytes", "out_bytes", "replicated",
             "pipeline", "merge_fixed_ns", "merge_per_slice_ns", "merge_tree", "merge_bytes",
             "rounds", "halo_bytes"});
  ScenarioWork work;
  work.name = object.text("name", work.name);
  work.rate_unit = object.text("unit", work.rate_unit);
  work.items = object.whole<Items>("items", 1, kMostGivenItems);
  work.granularity = object.whole<Items>("granularity", 1, kMostGivenItems, Items{1});
  work.cost.ops = object.number("ops", 0, kMostGivenRate, 1.0, false);
  work.cost.in_bytes = object.number("in_bytes", 0, kMostGivenBytes, 0.0);
  work.cost.out_bytes = object.number("out_bytes", 0, kMostGivenBytes, 0.0);
  work.cost.replicated = object.whole<Bytes>("replicated", 0, kMostGivenItems, Bytes{0});
  work.pipeline = object.whole<Items>("pipeline", 1, kMostGivenItems, Items{0});
  work.merge = {object.nanos("merge_fixed_ns"), object.nanos("merge_per_slice_ns")};
  if (object.has("merge_tree")) work.merge.tree = object.at("merge_tree").boolean();
  exchange.combines = object.whole<Bytes>("merge_bytes", 0, kMostGivenItems, Bytes{0});
  work.rounds =
      object.whole<std::uint32_t>("rounds", 2, static_cast<std::uint32_t>(kMostSlices), 0u);
  exchange.halo = object.whole<Bytes>("halo_bytes", 0, kMostGivenItems, Bytes{0});
  if (work.rounds == 0 && object.has("halo_bytes"))
    object.at("halo_bytes").fail("only with rounds, after which it is sent");
  if (work.rounds == 0) return work;
  if (devices > 1 && exchange.links.empty())
    object.at("rounds").fail("links between the devices expected, over which they exchange");
  if (exchange.combines > 0) object.at("merge_bytes").fail("not with rounds");
  exchange.rounds = work.rounds - 1;
  return work;
}

ExchangeEstimate read_exchange(const JsonReader& json, std::size_t devices) {
  if (devices < 2) json.fail("links are between devices: at least two expected");
  if (devices > kMostLinkedDevices)
    json.fail(fmt::format("between {} devices; expected: up to {}", devices, kMostLinkedDevices));
  const StrictObject links(json, {"path", "bytes_per_s", "latency_ns", "pairs"});
  if (links.has("pairs")) {
    links.at("pairs").elements([](const JsonReader& pair) {
      StrictObject(pair, {"from", "to", "path", "bytes_per_s", "latency_ns"});
    });
  }
  return {read_peer_links(json, devices), true, 0};
}

ScenarioNodes read_nodes(const JsonReader& json, const Scenario& scenario) {
  const StrictObject object(
      json, {"count", "latency_ns", "bytes_per_s", "root_bytes_per_s", "hand_out_ns", "different"});
  ScenarioNodes nodes;
  nodes.count = object.whole<std::size_t>("count", 1, kMostNodes);
  if (nodes.count * scenario.devices.size() > kMostNodeDevices) {
    object.at("count").fail(fmt::format("nodes of {} devices make {}; expected: up to {}",
                                        scenario.devices.size(),
                                        nodes.count * scenario.devices.size(), kMostNodeDevices));
  }
  nodes.latency = object.nanos("latency_ns");
  nodes.hand_out = object.nanos("hand_out_ns");
  nodes.bytes_per_s = object.number("bytes_per_s", 0, kMostGivenRate, 0.0);
  if (object.has("root_bytes_per_s"))
    nodes.root_bytes_per_s = object.number("root_bytes_per_s", 0, kMostGivenRate);
  if (object.has("different")) {
    object.at("different").elements([&](const JsonReader& each) {
      const StrictObject one(each, {"node", "rate", "bytes_per_s"});
      ScenarioNodes::Different& different = nodes.different.emplace_back();
      different.node = one.whole<std::size_t>("node", 0, kMostNodes - 1);
      different.rate = one.number("rate", 0, 1e6, 1.0, false);
      if (one.has("bytes_per_s"))
        different.bytes_per_s = one.number("bytes_per_s", 0, kMostGivenRate);
    });
  }
  if (scenario.work.rounds > 0)
    json.fail("not with work.rounds: devices of several nodes exchange nothing");
  return nodes;
}

// What a device would take and make of the work, all alone.
struct Extent {
  double seconds = 0, slices = 0;
};

// What the others cost a device at most: gathering, putting a part of the result to them, and what
// goes to two after rounds.
struct Exchanging {
  double gathering = 0, of_part = 0, rounds = 0;  // seconds
};

Exchanging exchanging(const Scenario& scenario) {
  const ExchangeEstimate& exchange = scenario.exchange;
  PeerLink slowest;
  for (std::size_t from = 0; from < exchange.links.devices(); ++from) {
    for (std::size_t to = 0; to < exchange.links.devices(); ++to) {
      const PeerLink& link = exchange.links.of(from, to);
      if (from == to) continue;
      slowest.latency = std::max(slowest.latency, link.latency);
      if (link.bytes_per_s > 0 &&
          !(slowest.bytes_per_s > 0 && slowest.bytes_per_s < link.bytes_per_s))
        slowest.bytes_per_s = link.bytes_per_s;
    }
  }
  const double others = std::max(1.0, static_cast<double>(exchange.links.devices())) - 1,
               latency = seconds(slowest.latency);
  const auto carried = [&](Bytes bytes) {
    return slowest.bytes_per_s > 0 ? static_cast<double>(bytes) / slowest.bytes_per_s : 0;
  };
  Exchanging most;
  if (exchange.gathers)
    most.gathering =
        others * (kGatherPieces * latency + carried(scenario.work.cost.replicated)) + latency;
  if (exchange.combines > 0)
    most.of_part = others * (latency + carried(exchange.combines)) + latency;
  most.rounds = exchange.rounds * (2 * (latency + carried(exchange.halo)) + 2 * latency);
  return most;
}

Extent alone(const Scenario& scenario, const ScenarioDevice& device, const Exchanging& exchanging) {
  const ScenarioWork& work = scenario.work;
  const DeviceEstimate& estimate = device.estimate;
  const auto items = static_cast<double>(work.items),
             replicated = static_cast<double>(work.cost.replicated);
  const double in = items * work.cost.in_bytes + replicated, out = items * work.cost.out_bytes;
  const auto takes = [](double bytes, double own, const LinkRate& link) {
    const double slowest =
        link.limited() ? *std::min_element(link.by_count().begin(), link.by_count().end()) : 0;
    return std::max(own > 0 ? bytes / own : 0, slowest > 0 ? bytes / slowest : 0);
  };
  Extent extent{0, 1};
  const auto cut = [&](double piece) {
    if (piece > 0)
      extent.slices =
          std::max(extent.slices, items / std::max(piece, static_cast<double>(work.granularity)));
  };
  cut(static_cast<double>(estimate.pipeline > 0 ? estimate.pipeline : work.pipeline));
  cut(static_cast<double>(estimate.fits));
  extent.slices = std::max(extent.slices, static_cast<double>(work.rounds));
  // Too little memory for that makes cases unsupported, which takes no time.
  const double held = (static_cast<double>(device.memory) - replicated) /
                      (2 * (work.cost.in_bytes + work.cost.out_bytes));
  if (device.memory > 0 && held * kMostSlices >= items) cut(held);
  const MergeEstimate& merge = work.merge;
  const double each = seconds(std::max(estimate.launch, estimate.minimum_slice) +
                              2 * estimate.transfer + merge.per_slice) +
                      exchanging.of_part;
  extent.seconds =
      items / estimate.items_per_s * device.slow + takes(in, estimate.up, scenario.link_up) +
      takes(out, estimate.down, scenario.link_down) + seconds(estimate.fixed + merge.fixed) +
      exchanging.gathering + exchanging.rounds + each * device.slow * extent.slices;
  return extent;
}

}  // namespace

void check_extent(const Scenario& scenario) {
  Extent sum;
  const Exchanging exchange = exchanging(scenario);
  for (std::size_t i = 0; i < scenario.devices.size(); ++i) {
    const ScenarioDevice& device = scenario.devices[i];
    const Extent mine = alone(scenario, device, exchange);
    sum.seconds += mine.seconds;
    sum.slices += mine.slices;
    const auto whose = [&](bool by_itself) {
      return fmt::format("device {} ({}) alone{}", i, in_quotes(device.name),
                         by_itself ? "" : ", added to those before it,");
    };
    if (!(sum.seconds <= kMostSeconds)) {
      throw Error(ErrorKind::input,
                  fmt::format("{} would take {:.3g} s for the work; expected: up to {:g} s",
                              whose(!(mine.seconds <= kMostSeconds)),
                              std::max(mine.seconds, sum.seconds), kMostSeconds));
    }
    if (!(sum.slices <= kMostSlices)) {
      throw Error(ErrorKind::input,
                  fmt::format("{} would take {} items in {:.3g} slices; expected: up to {:g}, by "
                              "larger pieces, more memory or fewer devices",
                              whose(!(mine.slices <= kMostSlices)), scenario.work.items, sum.slices,
                              kMostSlices));
    }
  }
}

namespace {

const Device& device_of(const Report& report, const std::string& id) {
  for (const DeviceRecord& record : report.devices) {
    if (record.device.id == id) return record.device;
  }
  throw Error(ErrorKind::input, "device " + id + " of the case is not in the list of devices");
}

// Returns the parameter that is the size: the only number without a default. None: it is not clear.
std::optional<ParamMap::value_type> size_of(const Report& report, const RunRecord& run) {
  const auto defaults = report.defaults.find(run.suite);
  if (defaults == report.defaults.end()) return std::nullopt;
  std::optional<ParamMap::value_type> size;
  for (const auto& param : run.params) {
    const auto* number = std::get_if<std::int64_t>(&param.second);
    if (number == nullptr || *number <= 0 || defaults->second.contains(param.first)) continue;
    if (size) return std::nullopt;
    size.emplace(param);
  }
  return size;
}

std::size_t at_work(const RunRecord& run) {
  return static_cast<std::size_t>(
      std::count_if(run.per_device.begin(), run.per_device.end(),
                    [](const PerDevice& device) { return device.parts.items > 0; }));
}

// Notes how the device was with no other at work, if that was measured.
void correct_alone(Scenario& scenario, std::size_t device, const RunRecord& run) {
  const auto& time = run.per_device[device].alone;
  if (!time || *time <= Nanos{} || seconds(*time) > kMostSeconds) return;
  try {
    const SetEstimates by_itself = estimates_among(scenario, run.mode, {&device, 1}).given;
    scenario.devices[device].alone =
        as_measured_alone(request_of(scenario.work, run.mode, by_itself), *time);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unsupported) throw;  // it cannot do that alone
  }
}

// Nothing, where the case tells nothing.
void correct(Scenario& scenario, const RunRecord& run) {
  const std::size_t count = scenario.devices.size();
  if (run.status != Status::ok || !run.faults.empty() || run.per_device.size() != count) return;
  MeasuredSample sample;
  sample.devices.resize(count);
  sample.merge = run.merge;
  sample.makespan = run.timeline.makespan;
  for (std::size_t i = 0; i < count; ++i) {
    if (!run.per_device[i].parts.unknown.empty()) return;
    const DeviceParts& parts = run.per_device[i].parts;
    sample.devices[i].finish = parts.finish;
    sample.devices[i].busy = parts.busy - parts.exchange;
  }
  std::vector<SliceRecord> slices = run.timeline.slices;
  if (static_cast<double>(slices.size()) > kMostSlices) return;
  std::sort(slices.begin(), slices.end(),
            [](const auto& a, const auto& b) { return a.slice < b.slice; });
  std::vector<Nanos> finished(count);  // of each device's slices so far, the last
  for (const SliceRecord& slice : slices) {
    const std::size_t i = slice.device.value;
    if (i >= count) return;
    auto& given = sample.devices[i].slices;
    given.push_back({{slice.begin, slice.end}, !given.empty() && slice.enqueued >= finished[i]});
    finished[i] = std::max(finished[i], slice.finished);
  }
  std::vector<DeviceEstimate> estimates;
  for (const ScenarioDevice& device : scenario.devices) estimates.push_back(device.estimate);
  const ScenarioWork& work = scenario.work;
  const PlanRequest request{work.items,        work.granularity, run.mode,           work.cost,
                            estimates,         scenario.link_up, scenario.link_down, work.merge,
                            scenario.exchange, work.rounds};
  SetEstimates corrected;
  try {
    corrected = as_measured(request, sample);
    for (std::size_t i = 0; i < count; ++i) correct_alone(scenario, i, run);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::usage) throw;
    return;
  }
  scenario.given = {std::move(estimates), scenario.link_up, scenario.link_down, work.merge,
                    scenario.exchange};
  for (std::size_t i = 0; i < count; ++i) scenario.devices[i].estimate = corrected.devices[i];
  scenario.link_up = corrected.link_up;
  scenario.link_down = corrected.link_down;
  scenario.work.merge = corrected.merge;
  scenario.exchange = corrected.exchange;
}

}  // namespace

Scenario read_scenario_value(const JsonReader& json) {
  const StrictObject object(json, {"schema", "devices", "link", "links", "nodes", "work"});
  constexpr const char* kName = "mgpu-bench/scenario";
  if (object.text("schema", kName) != kName)
    object.at("schema").fail(std::string("expected: ") + kName);
  Scenario scenario;
  object.at("devices").elements(
      [&](const JsonReader& device) { read_devices(device, scenario.devices); });
  if (scenario.devices.empty()) object.at("devices").fail("at least one device expected");
  if (object.has("link")) {
    const StrictObject link(object.at("link"), {"up", "down"});
    if (link.has("up")) scenario.link_up = read_link_rate(link.at("up"));
    if (link.has("down")) scenario.link_down = read_link_rate(link.at("down"));
  }
  if (object.has("links"))
    scenario.exchange = read_exchange(object.at("links"), scenario.devices.size());
  scenario.work = read_work(object.at("work"), scenario.exchange, scenario.devices.size());
  if (object.has("nodes")) scenario.nodes = read_nodes(object.at("nodes"), scenario);
  check_extent(scenario);
  return scenario;
}

std::size_t largest_estimated_run(const Report& report) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < report.runs.size(); ++i) {
    const PlanRecord& plan = report.runs[i].plan;
    if (plan.estimates.devices.empty() || !plan.work) continue;
    if (!best || at_work(report.runs[i]) > at_work(report.runs[*best])) best = i;
  }
  if (!best)
    throw Error(ErrorKind::input,
                "no case of it carries estimates of its devices (plan.estimates, plan.request)");
  return *best;
}

Scenario scenario_of(const Report& report, std::size_t index, Figures figures) {
  if (index >= report.runs.size()) {
    throw Error(ErrorKind::input,
                fmt::format("it has {} cases, there is no number {}", report.runs.size(), index));
  }
  const RunRecord& run = report.runs[index];
  if (run.plan.estimates.devices.size() != run.devices.size() || run.devices.empty() ||
      !run.plan.work) {
    throw Error(
        ErrorKind::input,
        fmt::format("case {} carries no estimates of its devices (plan.estimates, plan.request)",
                    index));
  }
  const PlannedWork& work = *run.plan.work;
  const SetEstimates& estimates = run.plan.estimates;
  Scenario scenario;
  scenario.link_up = estimates.link_up;
  scenario.link_down = estimates.link_down;
  scenario.work.name = run.suite;
  scenario.work.rate_unit = run.rate_unit.empty() ? scenario.work.rate_unit : run.rate_unit;
  if (const auto size = size_of(report, run)) {
    scenario.work.size_name = size->first;
    scenario.work.size = static_cast<std::uint64_t>(std::get<std::int64_t>(size->second));
  }
  scenario.work.items = work.items;
  scenario.work.granularity = work.granularity;
  scenario.work.cost = work.cost;
  scenario.work.rounds = work.rounds;
  scenario.work.cost.ops = work.items > 0 ? run.work.ops / static_cast<double>(work.items) : 0;
  scenario.work.merge = estimates.merge;
  scenario.exchange = estimates.exchange;
  if (work.rounds > 0 && run.devices.size() > 1 && scenario.exchange.links.empty() &&
      run.devices.size() <= kMostLinkedDevices) {
    scenario.exchange.links = PeerLinks(
        run.devices.size());  // not known: exchanges take no time, but devices wait for each other
    scenario.exchange.rounds = work.rounds - 1;
  }
  if (scenario.exchange.any() && scenario.exchange.links.of(0, 1).path != PeerPath::direct)
    scenario.peer = scenario.exchange.links.of(0, 1).path;  // that of all pairs was asked for
  if (run.devices.size() > kMostScenarioDevices) {
    throw Error(ErrorKind::input, fmt::format("case {} has {} devices; expected: up to {}", index,
                                              run.devices.size(), kMostScenarioDevices));
  }
  if (work.items == 0 || work.granularity == 0)
    throw Error(ErrorKind::input, fmt::format("case {} has no items", index));
  std::vector<std::uint32_t>
      nodes;  // in the order of the devices, which those of a node follow one another in
  for (std::size_t i = 0; i < run.devices.size(); ++i) {
    const Device& facts = device_of(report, run.devices[i]);
    ScenarioDevice device{facts.name, facts.type, estimates.devices[i], 1, 0};
    device.id = facts.id;
    device.estimate.score = facts.score;
    device.estimate.first_slice_discount =
        std::min(device.estimate.first_slice_discount, device.estimate.launch);
    device.estimate.fixed_shared = std::min(device.estimate.fixed_shared, device.estimate.fixed);
    if (!(device.estimate.items_per_s > 0)) {
      throw Error(ErrorKind::input, fmt::format("case {}: the rate of device {} was not known",
                                                index, run.devices[i]));
    }
    scenario.devices.push_back(std::move(device));
    const std::uint32_t node = facts.node ? facts.node->number : 0;
    if (i == 0 || nodes.back() != node) {
      nodes.push_back(node);
      scenario.node_devices.push_back(0);
    }
    ++scenario.node_devices.back();
  }
  check_extent(scenario);
  if (figures == Figures::measured) correct(scenario, run);
  check_extent(scenario);
  return scenario;
}

}  // namespace mgpu
