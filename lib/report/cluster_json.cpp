#include "lib/report/cluster_json.hpp"

#include <nlohmann/json.hpp>

#include "lib/report/json_reader.hpp"

namespace mgpu {
namespace {

using Json = nlohmann::ordered_json;

Json offset_json(const std::optional<ClockOffset>& offset) {
  return offset ? Json::array({offset->low.count(), offset->high.count()}) : Json(nullptr);
}

ClockOffset read_offset(const JsonReader& j) {
  std::vector<Nanos> bounds;
  j.elements([&](const JsonReader& e) { bounds.push_back(Nanos{e.integer<std::int64_t>()}); });
  j.expect(bounds.size() == 2 && bounds.front() <= bounds.back(), "two bounds in ascending order");
  return {bounds.front(), bounds.back()};
}

}  // namespace

Json cluster_json(const ClusterRecord& record) {
  Json j = {{"library", record.library}, {"nodes", Json::array()}};
  for (const NodeRecord& node : record.nodes)
    j["nodes"].push_back({{"node", node.node},
                          {"host", node.host},
                          {"offset_begin_ns", offset_json(node.begin)},
                          {"offset_end_ns", offset_json(node.end)},
                          {"lost", node.lost ? Json(*node.lost) : Json(nullptr)}});
  return j;
}

ClusterRecord read_cluster(const JsonReader& j) {
  ClusterRecord record;
  record.library = j.at("library").string();
  j.at("nodes").elements([&](const JsonReader& e) {
    NodeRecord& node = record.nodes.emplace_back();
    node.node = e.at("node").integer<std::uint32_t>();
    node.host = e.at("host").string();
    node.begin = e.at("offset_begin_ns").optional(read_offset);
    node.end = e.at("offset_end_ns").optional(read_offset);
    node.lost = e.at("lost").optional([](const JsonReader& v) { return v.string(); });
  });
  return record;
}

}  // namespace mgpu
