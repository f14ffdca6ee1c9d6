
#include "lib/report/capability_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "lib/base/quote.hpp"
#include "lib/report/given_limits.hpp"
#include "lib/report/json_build.hpp"
#include "lib/report/json_reader.hpp"
#include "lib/report/record_fields.hpp"

namespace mgpu {

template <>
const Description<PeerLink>& description<PeerLink>() {
  static const Description<PeerLink> kLink{
      {field<&PeerLink::path>("path",
                              "direct: into the other's memory; staged: by way of pinned host "
                              "memory; host: both are CPUs"),
       field_as<Real<0>, &PeerLink::bytes_per_s>(
           "bytes_per_s", "of large copies each way, while both send; 0: without limit"),
       field<&PeerLink::latency>("latency_ns",
                                 "of a zero-byte exchange, one of many enqueued together")}};
  return kLink;
}

// Far above any hardware: a larger figure is damage.
constexpr double kMostRate = 1e18;

JsonValue capability_json(const std::optional<Capability>& capability) {
  return capability ? Kind<Capability>::write(*capability) : json_object();
}

double read_rate(const JsonReader& json) {
  const double rate = json.number();
  json.expect(rate > 0 && rate <= kMostRate, "a number above zero, up to 1e18,");
  return rate;
}

std::optional<Capability> read_capability(const JsonReader& json) {
  if (json.is_null()) return std::nullopt;
  json.expect(json.is_object(), "an object");
  if (json.size() == 0) return std::nullopt;
  return Kind<Capability>::read(json);
}

JsonValue link_rate_json(const LinkRate& rate) {
  if (rate.by_count().size() > 1) return JsonItem(rate.by_count());
  return finite_json(rate.all());
}

LinkRate read_link_rate(const JsonReader& json) {
  const auto rate = [&](const JsonReader& one, bool zero) {
    const double read = one.number_or_nan();
    if (read >= 0 && read <= kMostRate && (zero || read > 0)) return read;
    one.fail(fmt::format("{}; expected: a number {} 0, at most {:g}",
                         in_quotes(flat_json(one.json())), zero ? "from" : "above", kMostRate));
  };
  if (!json.is_list()) return rate(json, true);
  std::vector<double> by_count;
  json.elements([&](const JsonReader& one) { by_count.push_back(rate(one, false)); });
  json.expect(!by_count.empty(), "at least one number");
  return LinkRate(std::move(by_count));
}

bool is_complete(const Capability& of) {
  const auto rates = {of.fp32_flops,  of.int32_ops,   of.memory_bytes_per_s, of.pinned_up,
                      of.pinned_down, of.pageable_up, of.pageable_down};
  return std::all_of(rates.begin(), rates.end(), [](double rate) { return rate > 0; }) &&
         of.launch > Nanos{} && of.next_launch > Nanos{};
}

namespace {

// Reads a link; omitted members are those of `standard`.
PeerLink read_link(const JsonReader& object, const PeerLink& standard) {
  PeerLink link = standard;
  if (object.has("path")) link.path = Kind<PeerPath>::read(object.at("path"));
  if (object.has("bytes_per_s"))
    link.bytes_per_s = object.at("bytes_per_s").finite(0, kMostGivenRate);
  if (object.has("latency_ns")) link.latency = object.at("latency_ns").duration(kMostGivenTime);
  return link;
}

}  // namespace

JsonValue peer_links_json(const PeerLinks& links) {
  if (links.devices() < 2) return {};
  const PeerLink& standard = links.of(0, 1);
  JsonValue json;
  write_fields(description<PeerLink>().fields, standard, json);
  JsonValue pairs = json_list();
  bool differ = false;
  for (std::size_t from = 0; from < links.devices(); ++from) {
    for (std::size_t to = 0; to < links.devices(); ++to) {
      if (from == to || links.of(from, to) == standard) continue;
      JsonValue pair = json_object({{"from", from}, {"to", to}});
      write_fields(description<PeerLink>().fields, links.of(from, to), pair);
      append(pairs, std::move(pair));
      differ = true;
    }
  }
  if (differ) put(json, "pairs", std::move(pairs));
  return json;
}

JsonValue peer_links_schema(bool by_hand) {
  JsonValue none = json_object();
  auto fields = description<PeerLink>().fields;
  if (by_hand)
    for (auto& field : fields) field = field.if_any();
  JsonValue pair = object_schema("");
  add_property(pair, "from", true, described(whole_schema(0), "position in devices", nullptr));
  add_property(pair, "to", true, described(whole_schema(0), "position in devices", nullptr));
  add_properties(pair, schema_of_fields(fields, "", nullptr, none));
  JsonValue links = schema_of_fields(
      fields, "what all pairs of devices have, and those that differ, one way each", nullptr, none);
  add_property(links, "pairs", false,
               described(list_schema(std::move(pair)), "those that differ", nullptr));
  return links;
}

PeerLinks read_peer_links(const JsonReader& json, std::size_t devices) {
  json.expect(json.is_object(), "an object");
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
