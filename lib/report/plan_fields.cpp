// The fields of plans in result files: predictions and their inputs.
#include <limits>

#include "lib/plan/scenario.hpp"
#include "lib/report/capability_json.hpp"
#include "lib/report/given_limits.hpp"
#include "lib/report/record_fields.hpp"

namespace mgpu {

namespace {

using GivenTime = Duration<kMostGivenTime>;
using GivenItems = Whole<Items, 0, kMostGivenItems>;
using GivenRate = Real<0, static_cast<std::int64_t>(kMostGivenRate)>;
using GivenBytes = Real<0, static_cast<std::int64_t>(kMostGivenBytes)>;

}  // namespace

// Only writes: reading needs the number of devices, see PlanRecord.
template <>
struct Kind<PeerLinks> {
  static JsonValue write(const PeerLinks& links) { return peer_links_json(links); }
  static JsonValue schema(JsonValue&) { return peer_links_schema(); }
};

template <>
const Description<DeviceEstimate>& description<DeviceEstimate>() {
  using E = DeviceEstimate;
  static const Description<E> kEstimate{
      {field_as<GivenRate, &E::items_per_s>("items_per_s", "speed of its kernels").in("items/s"),
       field_as<GivenTime, &E::fixed>("fixed_ns",
                                      "cost of a sample that does not depend on its items"),
       field_as<GivenTime, &E::per_peer_contention>(
           "per_peer_contention_ns", "of fixed_ns, for each other device that takes part"),
       field_as<GivenTime, &E::launch>("launch_ns", "of a slice, whatever its size"),
       field_as<GivenTime, &E::minimum_slice>("minimum_slice_ns",
                                              "of a slice's kernels, whatever its size"),
       field_as<GivenTime, &E::first_slice_discount>("first_slice_discount_ns",
                                                     "of launch_ns, in a sample's first slice"),
       field_as<GivenTime, &E::transfer>("transfer_ns",
                                         "of a slice and direction, whatever its size"),
       field_as<GivenRate, &E::up>("up", "host to device").in("bytes/s"),
       field_as<GivenRate, &E::down>("down", "device to host").in("bytes/s"),
       field_as<GivenItems, &E::fits>("fits", "largest slice that it can take at once").in("items"),
       field_as<GivenItems, &E::pipeline>(
           "pipeline", "size of the pieces of a static share, so that transfers overlap kernels")
           .in("items"),
       field_as<GivenItems, &E::free_memory>("free_memory", "before its buffers were allocated")
           .in("bytes"),
       field_as<GivenTime, &E::fixed_shared>(
           "fixed_shared_ns",
           "of fixed_ns, what each of m devices that exchange data does one m-th of; absent: 0")
           .if_any()}};
  return kEstimate;
}

template <>
const Description<PlanChosen>& description<PlanChosen>() {
  static const Description<PlanChosen> kChosen{
      {field<&PlanChosen::strategy>("strategy", "its name"),
       field<&PlanChosen::devices>("devices", "ids of the devices that it uses"),
       field<&PlanChosen::reasons>("reasons", "sentences")}};
  return kChosen;
}

template <>
const Description<PlanRecord>& description<PlanRecord>() {
  using P = PlanRecord;
  static constexpr auto kWork = &P::work;
  static constexpr auto kEstimates = &P::estimates;
  static const Description<P> kPlan{
      {field_as<Prediction, &P::predicted>(
           "predicted_ns", "predicted before the first sample; null: not predicted"),
       field<&P::chosen>("chosen", "what the strategy auto chose").if_any(),
       field<kEstimates, &SetEstimates::devices>(
           "estimates",
           "what the strategy was given about each device of the set; rates and bytes per second, "
           "0 when not known")
           .if_any(),
       group<P>(
           "request",
           "what it was asked to split; bytes are per item, but for replicated; links in bytes "
           "per second, of all devices or a list of what one, two and so on carry together that "
           "copy at once; 0 when not known",
           {field_as<GivenItems, kWork, &PlannedWork::items>("items", "number of items")
                .in("items"),
            field_as<GivenItems, kWork, &PlannedWork::granularity>("granularity",
                                                                   "items of the smallest piece")
                .in("items"),
            field_as<GivenBytes, kWork, &PlannedWork::cost, &ItemCost::in_bytes>(
                "in_bytes", "uploaded per item")
                .in("bytes"),
            field_as<GivenBytes, kWork, &PlannedWork::cost, &ItemCost::out_bytes>(
                "out_bytes", "downloaded per item")
                .in("bytes"),
            field_as<GivenItems, kWork, &PlannedWork::cost, &ItemCost::replicated>(
                "replicated", "uploaded to every device")
                .in("bytes"),
            field<kEstimates, &SetEstimates::link_up>("link_up", "host to devices").in("bytes/s"),
            field<kEstimates, &SetEstimates::link_down>("link_down", "devices to host")
                .in("bytes/s"),
            field_as<GivenTime, kEstimates, &SetEstimates::merge, &MergeEstimate::fixed>(
                "merge_fixed_ns", "cost of a merge"),
            field_as<GivenTime, kEstimates, &SetEstimates::merge, &MergeEstimate::per_slice>(
                "merge_per_slice_ns", "cost of a merge, per part"),
            field<kEstimates, &SetEstimates::merge, &MergeEstimate::tree>(
                "merge_tree",
                "results are combined along the binary tree over the items, so a range leaves a "
                "part "
                "for each node that covers it"),
            field_as<Whole<std::uint32_t, 1>, kWork, &PlannedWork::rounds>(
                "rounds",
                "iterations of the work, in which all items together cost what is estimated; "
                "absent: none")
                .if_any(),
            group<P>(
                "exchange",
                "what devices exchange with each other, as far as links between them are known; "
                "absent: nothing, or nothing that is predicted to take time",
                {field<kEstimates, &SetEstimates::exchange, &ExchangeEstimate::gathers>(
                     "gathers",
                     "replicated inputs are uploaded once, a part by each device, and gathered"),
                 field_as<GivenItems, kEstimates, &SetEstimates::exchange,
                          &ExchangeEstimate::combines>(
                     "merge_bytes",
                     "of a part of the result: parts are combined among the devices; 0: on the "
                     "host"),
                 computed<[](const P& plan) { return plan.estimates.exchange.links; }>(
                     "links",
                     "what all pairs of devices have, and those that differ, one way each"),
                 field_as<Whole<std::uint32_t, 1>, kEstimates, &SetEstimates::exchange,
                          &ExchangeEstimate::rounds>("rounds",
                                                     "number of iterations per exchange, in which "
                                                     "each device sends halo_bytes to its "
                                                     "neighbours; absent: there is none")
                     .if_any(),
                 field_as<GivenItems, kEstimates, &SetEstimates::exchange, &ExchangeEstimate::halo>(
                     "halo_bytes", "sent to each neighbour per exchange")
                     .when([](const P& plan) { return plan.estimates.exchange.rounds > 0; })})
                .when([](const P& plan) { return plan.estimates.exchange.any(); })})
           .when([](const P& plan) { return plan.work.has_value(); })},
      "",
      nullptr,
      [](const JsonReader& json, P& plan) {
        if (!json.has("request") || !json.at("request").has("exchange")) return;
        const JsonReader exchange = json.at("request").at("exchange");
        const std::size_t devices = plan.estimates.devices.size();
        exchange.expect(devices >= 2 && devices <= kMostLinkedDevices,
                        "estimates of two devices, up to 128,");
        plan.estimates.exchange.links = read_peer_links(exchange.at("links"), devices);
      }};
  return kPlan;
}

}  // namespace mgpu
