#include "lib/report/peer_links_json.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "lib/base/quote.hpp"
#include "lib/report/given_limits.hpp"
#include "lib/report/json_names.hpp"
#include "lib/report/json_reader.hpp"
#include "lib/report/json_text.hpp"

namespace mgpu {
namespace {

using Json = nlohmann::ordered_json;

void add_link(Json& json, const PeerLink& link) {
  json["path"] = to_string(link.path);
  json["bytes_per_s"] = number_json(link.bytes_per_s);
  json["latency_ns"] = link.latency.count();
}

// What is left out is as `standard`.
PeerLink read_link(const JsonReader& object, const PeerLink& standard) {
  PeerLink link = standard;
  if (object.has("path")) {
    const auto path = json_names::from_string(object.at("path").string(),
                                              {PeerPath::direct, PeerPath::staged, PeerPath::host});
    if (!path)
      object.at("path").fail(in_quotes(object.at("path").string()) +
                             " is unknown; accepted: direct, staged, host");
    link.path = *path;
  }
  if (object.has("bytes_per_s"))
    link.bytes_per_s = object.at("bytes_per_s").finite(0, kMostGivenRate);
  if (object.has("latency_ns")) link.latency = object.at("latency_ns").duration(kMostGivenTime);
  return link;
}

}  // namespace

Json peer_links_json(const PeerLinks& links) {
  if (links.devices() < 2) return nullptr;
  const PeerLink& standard = links.of(0, 1);
  Json json;
  add_link(json, standard);
  Json pairs = Json::array();
  for (std::size_t from = 0; from < links.devices(); ++from) {
    for (std::size_t to = 0; to < links.devices(); ++to) {
      if (from == to || links.of(from, to) == standard) continue;
      Json pair{{"from", from}, {"to", to}};
      add_link(pair, links.of(from, to));
      pairs.push_back(std::move(pair));
    }
  }
  if (!pairs.empty()) json["pairs"] = std::move(pairs);
  return json;
}

PeerLinks read_peer_links(const JsonReader& json, std::size_t devices) {
  json.expect(json.json().is_object(), "an object");
  const PeerLink standard = read_link(json, {});
  PeerLinks links(devices, standard);
  if (!json.has("pairs")) return links;
  std::set<std::pair<std::size_t, std::size_t>> seen;
  json.at("pairs").elements([&](const JsonReader& pair) {
    const auto last = devices - 1;
    const auto from = pair.at("from").integer<std::size_t>(0, last),
               to = pair.at("to").integer<std::size_t>(0, last);
    if (from == to)
      pair.at("to").fail(fmt::format("{} is where it comes from, too: two devices expected", to));
    if (!seen.insert({from, to}).second)
      pair.fail(fmt::format("from {} to {} was there before", from, to));
    links.of(from, to) = read_link(pair, standard);
  });
  return links;
}

}  // namespace mgpu
