// Tables of what was renamed, and the places in a document where it was.
#include "lib/report/older_versions.hpp"

#include <nlohmann/json.hpp>
#include <span>
#include <utility>

namespace mgpu {
namespace {

using Json = nlohmann::ordered_json;

struct Renamed {
  const char* before;
  const char* now;
};

constexpr Renamed kRenamedEstimate[] = {{"crowd_ns", "per_peer_contention_ns"},
                                        {"least_ns", "minimum_slice_ns"},
                                        {"spared_ns", "first_slice_discount_ns"}};
constexpr const char* kDropped[] = {
    "merge_further_ns", "merge_additional_part_ns"};  // one estimate, which is no longer used
constexpr Renamed kRenamedMetrics[] = {{"s_max", "ideal_speedup"},
                                       {"ceiling_share", "roofline_fraction"}};
constexpr Renamed kRenamedWork[] = {{"ceiling", "roof"}};
constexpr Renamed kRenamedPerDevice[] = {{"way", "kernel_variant"}};

// Where both names are there, the old one stays, for the reader to refuse or to overlook.
void rename(Json& object, std::span<const Renamed> table) {
  if (!object.is_object()) return;
  for (const Renamed& name : table) {
    const auto found = object.find(name.before);
    if (found == object.end() || object.contains(name.now)) continue;
    Json value = std::move(*found);
    object.erase(found);
    object[name.now] = std::move(value);
  }
}

// The member of that name, or null where there is none.
Json* member(Json& object, const char* name) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}

void rename_in(Json& object, const char* name, std::span<const Renamed> table) {
  if (Json* inner = member(object, name)) rename(*inner, table);
}

void rename_in_each(Json& object, const char* name, std::span<const Renamed> table) {
  Json* list = member(object, name);
  if (list == nullptr || !list->is_array()) return;
  for (Json& element : *list) rename(element, table);
}

void drop_in(Json& object, const char* name) {
  if (Json* inner = member(object, name); inner != nullptr && inner->is_object()) {
    for (const char* dropped : kDropped) inner->erase(dropped);
  }
}

}  // namespace

void bring_result_up_to_date(Json& result) {
  Json* version = member(result, "schema_version");
  Json* runs = member(result, "runs");
  if (version == nullptr || runs == nullptr || !runs->is_array()) return;
  // Version 2 has numbers where version 3 has null, which readers take for what they are.
  if (*version == 2) *version = 3;
  if (*version != 1) return;
  for (Json& run : *runs) {
    rename_in(run, "metrics", kRenamedMetrics);
    rename_in(run, "work", kRenamedWork);
    rename_in_each(run, "per_device", kRenamedPerDevice);
    if (Json* plan = member(run, "plan")) {
      rename_in_each(*plan, "estimates", kRenamedEstimate);
      drop_in(*plan, "request");
    }
  }
  *version = 3;
}

void bring_scenario_up_to_date(Json& scenario) {
  rename_in_each(scenario, "devices", kRenamedEstimate);
  drop_in(scenario, "work");
}

}  // namespace mgpu
