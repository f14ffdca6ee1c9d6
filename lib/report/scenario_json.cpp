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

constexpr std::int64_t kWholeRate = static_cast<std::int64_t>(kMostGivenRate),
                       kWholeBytes = static_cast<std::int64_t>(kMostGivenBytes);
using StatedCount = Between<Items, 1, kMostGivenItems>;
using StatedBytes = Between<Bytes, 0, kMostGivenItems>;
using StatedRate = Finite<0, kWholeRate>;
struct StatedTime : Duration<kMostGivenTime> {
  static JsonValue schema(JsonValue&) { return whole_schema(0, kMostGivenTime); }
};

// A device of the file, which stands for `count` of them.
struct GivenDevice {
  GivenDevice() { device.name = "device"; }

  ScenarioDevice device;
  std::size_t count = 1;
};

struct GivenWork {
  ScenarioWork work;
  Bytes combines = 0, halo = 0;  // of ExchangeEstimate
};

struct GivenScenario {
  std::string schema = "mgpu-bench/scenario";
  std::vector<GivenDevice> devices;
  GivenWork work;
  Scenario scenario;
};

// Restricts a value that is read already: it is not above another one.
void at_most(const JsonReader& json, const char* name, Nanos value, Nanos most) {
  if (value > most) json.at(name).refuse_whole(std::int64_t{0}, most.count());
}

void finish_device(const JsonReader& json, GivenDevice& given) {
  DeviceEstimate& estimate = given.device.estimate;
  if (!json.has("score")) estimate.score = 100;
  if (!json.has("free_memory")) estimate.free_memory = given.device.memory;
  at_most(json, "fixed_shared_ns", estimate.fixed_shared, estimate.fixed);
  at_most(json, "first_slice_discount_ns", estimate.first_slice_discount, estimate.launch);
}

ExchangeEstimate read_exchange(const JsonReader& json, std::size_t devices) {
  if (devices < 2) json.fail("links are between devices: at least two expected");
  if (devices > kMostLinkedDevices)
    json.fail(fmt::format("between {} devices; expected: up to {}", devices, kMostLinkedDevices));
  json.refuse_other_keys({"path", "bytes_per_s", "latency_ns", "pairs"});
  if (json.has("pairs")) {
    json.at("pairs").elements([](const JsonReader& pair) {
      pair.refuse_other_keys({"from", "to", "path", "bytes_per_s", "latency_ns"});
    });
  }
  return {read_peer_links(json, devices), true, 0};
}

void add_exchange(const JsonReader& work, const GivenWork& given, Scenario& scenario) {
  ExchangeEstimate& exchange = scenario.exchange;
  exchange.combines = given.combines;
  exchange.halo = given.halo;
  const std::uint32_t rounds = given.work.rounds;
  if (rounds == 0 && work.has("halo_bytes"))
    work.at("halo_bytes").fail("only with rounds, after which it is sent");
  if (rounds == 0) return;
  if (scenario.devices.size() > 1 && exchange.links.empty())
    work.at("rounds").fail("links between the devices expected, over which they exchange");
  if (exchange.combines > 0) work.at("merge_bytes").fail("not with rounds");
  exchange.rounds = rounds - 1;
}

void check_nodes(const JsonReader& json, const Scenario& scenario) {
  const std::size_t all = scenario.nodes->count * scenario.devices.size();
  if (all > kMostNodeDevices)
    json.at("count").fail(fmt::format("nodes of {} devices make {}; expected: up to {}",
                                      scenario.devices.size(), all, kMostNodeDevices));
  if (scenario.work.rounds > 0)
    json.fail("not with work.rounds: devices of several nodes exchange nothing");
}

void finish_scenario(const JsonReader& json, GivenScenario& given) {
  Scenario& scenario = given.scenario;
  if (given.schema != GivenScenario{}.schema)
    json.at("schema").fail("expected: " + GivenScenario{}.schema);
  json.at("devices").elements([&, next = std::size_t{0}](const JsonReader& device) mutable {
    const auto& [made, count] = given.devices[next++];
    if (scenario.devices.size() + count > kMostScenarioDevices)
      device.at("count").fail(fmt::format("makes {} devices in all; expected: up to {}",
                                          scenario.devices.size() + count, kMostScenarioDevices));
    scenario.devices.insert(scenario.devices.end(), count, made);
  });
  if (scenario.devices.empty()) json.at("devices").fail("at least one device expected");
  if (json.has("links"))
    scenario.exchange = read_exchange(json.at("links"), scenario.devices.size());
  scenario.work = given.work.work;
  add_exchange(json.at("work"), given.work, scenario);
  if (scenario.nodes) check_nodes(json.at("nodes"), scenario);
  check_extent(scenario);
}

// The row of the links, which are read when the number of devices is known.
Field<GivenScenario> links_field(const char* meaning) {
  return Field<GivenScenario>{
      "links", meaning, [](const Field<GivenScenario>&, const GivenScenario&, JsonValue&) {},
      [](const Field<GivenScenario>&, const JsonReader&, GivenScenario&) {},
      [](const Field<GivenScenario>&, JsonValue&) { return peer_links_schema(true); }}
      .if_any();
}

}  // namespace

template <>
const Description<GivenDevice>& description<GivenDevice>() {
  using G = GivenDevice;
  using D = ScenarioDevice;
  using E = DeviceEstimate;
  static constexpr auto kDevice = &G::device;
  static constexpr auto kEstimate = &D::estimate;
  static const Description<G> kGiven{
      {field<kDevice, &D::name>("name", "for tables").if_any(),
       field_as<Between<std::size_t, 1, kMostScenarioDevices>, &G::count>(
           "count", "number of such devices, at most 4096 in all; default 1")
           .if_any(),
       field<kDevice, &D::type>("type", "default gpu").if_any(),
       field_as<Positive<kWholeRate>, kDevice, kEstimate, &E::items_per_s>("items_per_s",
                                                                           "of its kernels"),
       field_as<StatedTime, kDevice, kEstimate, &E::launch>("launch_ns",
                                                            "per slice, whatever its size")
           .if_any(),
       field_as<StatedTime, kDevice, kEstimate, &E::minimum_slice>(
           "minimum_slice_ns", "a slice's kernels take no less, whatever its size")
           .if_any(),
       field_as<StatedTime, kDevice, kEstimate, &E::first_slice_discount>(
           "first_slice_discount_ns",
           "of launch_ns, which it may not exceed, in a sample's first slice")
           .if_any(),
       field_as<StatedTime, kDevice, kEstimate, &E::fixed>(
           "fixed_ns", "per sample, to collect its part of the result")
           .if_any(),
       field_as<StatedTime, kDevice, kEstimate, &E::per_peer_contention>(
           "per_peer_contention_ns", "reduction of fixed_ns per device that takes no part")
           .if_any(),
       field_as<StatedTime, kDevice, kEstimate, &E::fixed_shared>(
           "fixed_shared_ns",
           "part of fixed_ns that m devices that exchange data share, each doing one m-th")
           .if_any(),
       field_as<StatedTime, kDevice, kEstimate, &E::transfer>(
           "transfer_ns", "per upload and download, whatever its size")
           .if_any(),
       field_as<StatedRate, kDevice, kEstimate, &E::up>(
           "up", "bytes per second of its own link; absent or 0: no limit")
           .if_any(),
       field_as<StatedRate, kDevice, kEstimate, &E::down>("down").if_any(),
       field_as<StatedCount, kDevice, &D::memory>("memory", "bytes; absent: enough").if_any(),
       field_as<StatedBytes, kDevice, kEstimate, &E::free_memory>(
           "free_memory", "free bytes, as given to strategies; default: its memory")
           .if_any(),
       field_as<StatedCount, kDevice, kEstimate, &E::fits>(
           "fits", "the largest slice it takes; default: what its memory allows")
           .if_any(),
       field_as<StatedCount, kDevice, kEstimate, &E::pipeline>(
           "pipeline", "the piece a static share is handed out in; default: the work's")
           .if_any(),
       field_as<Finite<0, 100>, kDevice, kEstimate, &E::score>("score", "static score; default 100")
           .if_any(),
       field_as<Finite<1, 1'000'000>, kDevice, &D::slow>(
           "slow",
           "its kernels take this many times as long, which strategies do not know; default 1")
           .if_any(),
       field<kDevice, kEstimate, &E::reserve>("reserve",
                                              "given work only when no other device is left")
           .if_any()},
      "",
      "device",
      finish_device,
      nullptr,
      Keys::named};
  return kGiven;
}

template <>
const Description<GivenWork>& description<GivenWork>() {
  using G = GivenWork;
  using W = ScenarioWork;
  static constexpr auto kWork = &G::work;
  static constexpr auto kCost = &W::cost;
  static constexpr auto kMerging = &W::merge;
  static const Description<G> kGiven{
      {field<kWork, &W::name>("name",
                              "the suite it stands for: tables and results call it simulated NAME")
           .if_any(),
       field<kWork, &W::rate_unit>("unit", "of rates; default items/s").if_any(),
       field_as<StatedCount, kWork, &W::items>("items"),
       field_as<StatedCount, kWork, &W::granularity>("granularity",
                                                     "slices are multiples of it; default 1")
           .if_any(),
       field_as<Positive<kWholeRate>, kWork, kCost, &ItemCost::ops>(
           "ops", "per item, in the unit of rates; default 1")
           .if_any(),
       field_as<Finite<0, kWholeBytes>, kWork, kCost, &ItemCost::in_bytes>("in_bytes",
                                                                           "per item, end to end")
           .if_any(),
       field_as<Finite<0, kWholeBytes>, kWork, kCost, &ItemCost::out_bytes>("out_bytes",
                                                                            "per item, end to end")
           .if_any(),
       field_as<StatedBytes, kWork, kCost, &ItemCost::replicated>(
           "replicated",
           "bytes that every participating device needs: sent whole to each, or gathered over "
           "links")
           .if_any(),
       field_as<StatedCount, kWork, &W::pipeline>(
           "pipeline",
           "the piece a static share is handed out in; default: everything at once when resident, "
           "else an eighth of an equal share, but at most 128 pieces in all")
           .if_any(),
       field_as<StatedTime, kWork, kMerging, &MergeEstimate::fixed>("merge_fixed_ns").if_any(),
       field_as<StatedTime, kWork, kMerging, &MergeEstimate::per_slice>(
           "merge_per_slice_ns",
           "once for consecutive slices of one device; nothing if one device has all")
           .if_any(),
       field<kWork, kMerging, &MergeEstimate::tree>(
           "merge_tree",
           "results are combined along the binary tree over the items: consecutive slices of one "
           "device count once per node that covers them; default false")
           .if_any(),
       field_as<Between<std::uint32_t, 2, static_cast<std::uint32_t>(kMostSlices)>, kWork,
                &W::rounds>(
           "rounds",
           "number of iterations, in all of which together an item costs what is stated: each "
           "device keeps its share, and after each iteration but the last waits for its "
           "neighbours, over links; default: it is not iterative")
           .if_any(),
       field_as<StatedBytes, &G::halo>(
           "halo_bytes",
           "that each device sends to each of its neighbours after an iteration; default 0")
           .if_any(),
       field_as<StatedBytes, &G::combines>(
           "merge_bytes",
           "size of a part of the result: with links, parts are combined among the devices instead "
           "of on the host; default 0: they are not")
           .if_any()},
      "",
      "work",
      nullptr,
      nullptr,
      Keys::named};
  return kGiven;
}

template <>
const Description<ScenarioNodes::Different>& description<ScenarioNodes::Different>() {
  using D = ScenarioNodes::Different;
  static const Description<D> kDifferent{
      {field_as<Between<std::size_t, 0, kMostNodes - 1>, &D::node>("node", "its number, from 0"),
       field_as<Positive<1'000'000>, &D::rate>(
           "rate", "how many times as fast its devices compute, as strategies know; default 1")
           .if_any(),
       field_as<StatedRate, &D::bytes_per_s>("bytes_per_s", "of its link").if_any()},
      "",
      nullptr,
      nullptr,
      nullptr,
      Keys::named};
  return kDifferent;
}

template <>
const Description<ScenarioNodes>& description<ScenarioNodes>() {
  using N = ScenarioNodes;
  static const Description<N> kNodes{
      {field_as<Between<std::size_t, 1, kMostNodes>, &N::count>(
           "count", "with 32768 devices at most in all"),
       field_as<StatedTime, &N::latency>("latency_ns", "of a message, one way").if_any(),
       field_as<StatedRate, &N::bytes_per_s>(
           "bytes_per_s", "of each node's link to the network, each way; absent or 0: no limit")
           .if_any(),
       field_as<StatedRate, &N::root_bytes_per_s>(
           "root_bytes_per_s",
           "of the link of node 0, which carries all bytes for other nodes; default: bytes_per_s")
           .if_any(),
       field_as<StatedTime, &N::hand_out>(
           "hand_out_ns",
           "that node 0 takes for each slice and each collection elsewhere, one after the other")
           .if_any(),
       field<&N::different>("different", "nodes that differ").if_any()},
      "Number of nodes, each with these devices and a link of its own like `link`. Node 0 plans "
      "for "
      "all and has inputs and results: messages carry work and its bytes to devices elsewhere, and "
      "results back. Devices of several nodes exchange nothing: rounds are refused, links unused",
      nullptr,
      nullptr,
      nullptr,
      Keys::named};
  return kNodes;
}

template <>
const Description<GivenScenario>& description<GivenScenario>() {
  using G = GivenScenario;
  using S = Scenario;
  static constexpr auto kScenario = &G::scenario;
  static const Description<G> kGiven{
      {field<&G::schema>("schema").with_schema(R"({"const": "mgpu-bench/scenario"})").if_any(),
       field<&G::devices>("devices").with_schema(R"({"minItems": 1})"),
       group<G>("link",
                "bytes per second that devices move together: all of them, or a list of what one, "
                "two and so on move that copy at once, the last for more; absent or 0: no limit",
                {field<kScenario, &S::link_up>("up").if_any(),
                 field<kScenario, &S::link_down>("down").if_any()})
           .if_any(),
       links_field(
           "between devices, of which there are 2 to 128 then: replicated is uploaded once, a part "
           "by each device, which puts it to the others, and with merge_bytes parts of the result "
           "are combined among the devices. Like a run in which all paths are direct, or all are "
           "the one that --peer names. pairs: those that differ, one way each. Defaults: direct, "
           "no limit, 0"),
       field<kScenario, &S::nodes>("nodes").if_any(), field<&G::work>("work")},
      "Hypothetical devices and work. A slice of k items takes transfer_ns + k * "
      "in_bytes / up in the device's upload queue, launch_ns + k / items_per_s but at least "
      "minimum_slice_ns in its compute queue, first_slice_discount_ns less if it is the sample's "
      "first, and transfer_ns + k * out_bytes / down in its download queue; resident samples only "
      "compute. Nothing is transferred if there are no bytes. Unknown keys are refused.",
      nullptr,
      finish_scenario,
      nullptr,
      Keys::named};
  return kGiven;
}

std::string scenario_schema() {
  return schema_document<GivenScenario>({"mgpu-bench/scenario", 1},
                                        "mgpu-bench scenario, what simulate reads", Keys::named);
}

Scenario read_scenario_value(const JsonReader& json) {
  return std::move(Kind<GivenScenario>::read(json).scenario);
}

namespace {

// Time and slices of a device that does all work alone.
struct Extent {
  double seconds = 0, slices = 0;
};

// Most time that the other devices cost a device: gathering, putting a part of the result to them,
// and sending halos to two of them after rounds.
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
  for (std::size_t i = 0; i < count; ++i) {
    scenario.devices[i].estimate = corrected.devices[i];
    const double contention = run.per_device[i].contention.value_or(1);
    if (contention > 0) scenario.devices[i].contention = contention;
  }
  scenario.link_up = corrected.link_up;
  scenario.link_down = corrected.link_down;
  scenario.work.merge = corrected.merge;
  scenario.exchange = corrected.exchange;
}

}  // namespace

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
  } else if (!run.work.unit.name.empty()) {
    scenario.work.size_name = run.work.unit.name;
    scenario.work.size = run.work.unit.count > 0 ? run.work.unit.count : work.items;
  }
  scenario.work.unit = run.work.unit;
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
  if (figures == Figures::measured && run.status == Status::ok && run.timeline.devices == 0)
    throw Error(ErrorKind::input,
                "the file holds no timeline (--no-timeline), from which device speeds would be "
                "taken; use --as-predicted");
  if (figures == Figures::measured) correct(scenario, run);
  check_extent(scenario);
  return scenario;
}

}  // namespace mgpu
