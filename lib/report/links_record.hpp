// The measurements of `links` as plain records: transfers between the host and the devices and
// among the devices, the latency of empty exchanges, and collectives over sizes.
// lib/report/links_json.hpp writes the file, links_tables.hpp the tables.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/device/peer_links.hpp"
#include "lib/report/record.hpp"

namespace mgpu {

inline constexpr int kLinksSchemaVersion = 1;
inline constexpr const char* kLinksHost = "host";  // one end of a transfer, like a device's id

// Directions of a transfer between one pair.
enum class LinkTraffic { one_way, both_ways };
const char* to_string(LinkTraffic traffic);  // "one-way", "both-ways"

// Transfers of one kind that run at the same time.
enum class LinkCrowd {
  // Uploads, downloads, both; each device to every other.
  up,
  down,
  up_and_down,
  devices
};
const char* to_string(LinkCrowd crowd);  // "up", "down", "up-and-down", "devices"

// A transfer. Each repetition moves `bytes` in total, in the time from the first begin to the last
// end. `wrong`: 32-bit words that arrived wrong, over all checked repetitions.
struct LinkMoves {
  Bytes bytes = 0;
  std::vector<Nanos> samples{};
  std::uint64_t wrong = 0;
};

struct LinkTransfer {
  LinkTraffic traffic = LinkTraffic::one_way;
  std::string from, to;            // ids of devices, or kLinksHost
  std::optional<PeerPath> path{};  // none: between the host and a device
  bool in_use = true;              // false: a path that these devices do not take, for comparison
  LinkMoves moves{};
};

struct LinkShare {
  std::string device;  // its id
  Bytes bytes = 0;     // bytes that it sent; with the host, bytes of its transfers
  std::vector<Nanos> samples{};
};

struct LinkAtOnce {
  LinkCrowd crowd = LinkCrowd::devices;
  std::string path{};  // "direct", "staged", ...; "mixed" if pairs differ; empty: with the host
  bool in_use = true;
  LinkMoves moves{};
  std::vector<LinkShare> devices{};
};

// Latency of an exchange without data: each device signals every other and waits for their signals.
struct LinkLatency {
  std::vector<std::string> devices{};  // ids
  std::string path{};
  bool in_use = true;
  std::vector<Nanos> alone{};   // isolated: from the call to observed completion on all devices
  std::vector<Nanos> queued{};  // times of `queued_calls` calls enqueued together
  std::uint64_t queued_calls = 1;
};

struct CollectiveRecord {
  std::string op, element, reduction;  // reduction: empty if nothing is combined
  std::uint64_t count = 0;             // number of elements
  Bytes size = 0;                      // bytes of these elements
  std::vector<std::string> devices{};  // ids
  std::string path{};
  double bus_factor = 0;
  std::vector<Nanos> alone{};   // isolated, as in LinkLatency
  std::vector<Nanos> queued{};  // enqueued together, as in LinkLatency
  std::uint64_t queued_calls = 1;
  std::uint64_t wrong = 0;  // wrong elements in the outputs of all devices
};

struct LinkPair {
  std::string from, to;
  PeerPath path = PeerPath::staged;  // the path in use
};

struct LinksReport {
  bool complete = false;
  std::optional<std::string> failure{};  // reason why it ended early
  ToolInfo tool{};
  std::map<std::string, std::string> environment{};
  ParamMap options{};
  std::string started{};  // RFC 3339 in UTC
  std::vector<Device> devices{};
  std::vector<LinkPair> pairs{};
  std::vector<std::string> notes{};  // reasons why pairs are staged
  std::vector<LinkTransfer> transfers{};
  std::vector<LinkAtOnce> at_once{};
  std::vector<LinkLatency> latencies{};
  std::vector<CollectiveRecord> collectives{};
  std::vector<std::string> warnings{};
};

// Returns the median; none without samples.
std::optional<Nanos> median_of(const std::vector<Nanos>& samples);
// Returns bytes per second at the median. None without samples, or if something arrived wrong: a
// wrong result has no numbers.
std::optional<double> rate_of(const LinkMoves& moves);
// Returns the rate of a device among several at once.
std::optional<double> rate_of(const LinkShare& share, const LinkMoves& all);
// Returns the time in ns of one of the calls that were enqueued together.
std::optional<double> queued_ns(const std::vector<Nanos>& queued, std::uint64_t calls);
// Return size / time, and that times the bus factor, in bytes per second, with the time of calls
// enqueued together, as in nccl-tests. None for wrong results.
std::optional<double> algorithm_bandwidth(const CollectiveRecord& row);
std::optional<double> bus_bandwidth(const CollectiveRecord& row);
// Returns the number of wrong words and elements in the whole report.
std::uint64_t wrong_in(const LinksReport& report);

// Returns the result for `compare` and exports: a case for each cell of a matrix, each latency and
// each row of a collective. A wrong measurement is a failed case.
Report as_cases(const LinksReport& report);

}  // namespace mgpu
