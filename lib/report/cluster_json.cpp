#include "lib/report/cluster_json.hpp"

#include <utility>

#include "lib/report/json_reader.hpp"

namespace mgpu {
namespace {

JsonValue offset_json(const std::optional<ClockOffset>& offset) {
  return offset ? json_list({offset->low, offset->high}) : JsonValue();
}

ClockOffset read_offset(const JsonReader& j) {
  std::vector<Nanos> bounds;
  j.elements([&](const JsonReader& e) { bounds.push_back(Nanos{e.integer<std::int64_t>()}); });
  j.expect(bounds.size() == 2 && bounds.front() <= bounds.back(), "two bounds in ascending order");
  return {bounds.front(), bounds.back()};
}

}  // namespace

JsonValue cluster_json(const ClusterRecord& record) {
  JsonValue nodes = json_list();
  for (const NodeRecord& node : record.nodes)
    append(nodes, json_object({{"node", node.node},
                               {"host", node.host},
                               {"offset_begin_ns", offset_json(node.begin)},
                               {"offset_end_ns", offset_json(node.end)},
                               {"lost", node.lost}}));
  return json_object({{"library", record.library}, {"nodes", std::move(nodes)}});
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
