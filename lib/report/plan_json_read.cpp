// JSON -> PlanRecord: what was predicted, and what that was made of.
#include <limits>

#include "lib/plan/scenario.hpp"
#include "lib/report/capability_json.hpp"
#include "lib/report/given_limits.hpp"
#include "lib/report/json_reader.hpp"
#include "lib/report/peer_links_json.hpp"
#include "lib/report/record.hpp"

namespace mgpu {

namespace {

DeviceEstimate read_estimate(const JsonReader& j) {
  const auto time = [&](const char* name) {
    return j.has(name) ? j.at(name).duration(kMostGivenTime) : Nanos{};
  };
  DeviceEstimate estimate;
  estimate.items_per_s = j.at("items_per_s").number(0, kMostGivenRate);
  estimate.fixed = j.at("fixed_ns").duration(kMostGivenTime);
  estimate.launch = j.at("launch_ns").duration(kMostGivenTime);
  estimate.minimum_slice =
      time("minimum_slice_ns");  // files of the first versions lack these three
  estimate.first_slice_discount = time("first_slice_discount_ns");
  estimate.per_peer_contention = time("per_peer_contention_ns");
  estimate.fixed_shared = time("fixed_shared_ns");
  estimate.transfer = j.at("transfer_ns").duration(kMostGivenTime);
  estimate.up = j.at("up").number(0, kMostGivenRate);
  estimate.down = j.at("down").number(0, kMostGivenRate);
  estimate.fits = j.at("fits").integer<Items>(0, kMostGivenItems);
  estimate.pipeline = j.at("pipeline").integer<Items>(0, kMostGivenItems);
  estimate.free_memory = j.at("free_memory").integer<Bytes>(0, kMostGivenItems);
  return estimate;
}

}  // namespace

Nanos read_prediction(const JsonReader& j) {
  return j.duration(std::numeric_limits<std::int64_t>::max());
}

PlanRecord read_plan(const JsonReader& j) {
  PlanRecord plan;
  plan.decision = j.at("decision_ns")
                      .optional([](const JsonReader& v) { return v.duration(); })
                      .value_or(Nanos{});
  plan.predicted = j.at("predicted_ns").optional(read_prediction);
  if (j.has("chosen")) {
    const JsonReader chosen = j.at("chosen");
    plan.chosen = {chosen.at("strategy").string(), chosen.at("devices").strings(),
                   chosen.at("reasons").strings()};
  }
  if (j.has("estimates"))
    j.at("estimates").elements([&](const JsonReader& e) {
      plan.estimates.devices.push_back(read_estimate(e));
    });
  if (!j.has("request")) return plan;
  const JsonReader r = j.at("request");
  plan.work = PlannedWork{
      r.at("items").integer<Items>(0, kMostGivenItems),
      r.at("granularity").integer<Items>(0, kMostGivenItems),
      {r.at("in_bytes").number(0, kMostGivenBytes), r.at("out_bytes").number(0, kMostGivenBytes), 0,
       r.at("replicated").integer<Bytes>(0, kMostGivenItems)}};
  if (r.has("rounds")) plan.work->rounds = r.at("rounds").integer<std::uint32_t>();
  plan.estimates.link_up = read_link_rate(r.at("link_up"));
  plan.estimates.link_down = read_link_rate(r.at("link_down"));
  plan.estimates.merge.fixed = r.at("merge_fixed_ns").duration(kMostGivenTime);
  plan.estimates.merge.per_slice = r.at("merge_per_slice_ns").duration(kMostGivenTime);
  if (r.has("merge_tree")) plan.estimates.merge.tree = r.at("merge_tree").boolean();
  if (!r.has("exchange")) return plan;
  const JsonReader exchange = r.at("exchange");
  const std::size_t devices = plan.estimates.devices.size();
  exchange.expect(devices >= 2 && devices <= kMostLinkedDevices,
                  "estimates of two devices, up to 128,");
  plan.estimates.exchange = {read_peer_links(exchange.at("links"), devices),
                             exchange.at("gathers").boolean(),
                             exchange.at("merge_bytes").integer<Bytes>(0, kMostGivenItems)};
  if (!exchange.has("rounds")) return plan;
  plan.estimates.exchange.rounds = exchange.at("rounds").integer<std::uint32_t>();
  plan.estimates.exchange.halo = exchange.at("halo_bytes").integer<Bytes>(0, kMostGivenItems);
  return plan;
}

}  // namespace mgpu
