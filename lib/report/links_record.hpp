// What `links` measured, as plain records: what moves between the host and the devices and among
// the devices, how long an exchange of nothing takes, and collectives over sizes. The file is
// lib/report/links_json.hpp's, the tables are links_tables.hpp's.
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
inline constexpr const char* kLinksHost = "host";  // beside ids of devices, as an end of a transfer

// Pair by pair.
enum class LinkTraffic { one_way, both_ways };
const char* to_string(LinkTraffic traffic);  // "one-way", "both-ways"

// Everything of a kind at the same time.
enum class LinkCrowd {
  up,
  down,
  up_and_down,
  devices
};                                       // from the host, to it, both; each device to every other
const char* to_string(LinkCrowd crowd);  // "up", "down", "up-and-down", "devices"

// A repetition moves `bytes` in all, in the time from the first begin to the last end; `wrong`:
// 32-bit words that did not arrive as they were sent, over all repetitions that were checked.
struct LinkMoves {
  Bytes bytes = 0;
  std::vector<Nanos> samples{};
  std::uint64_t wrong = 0;
};

struct LinkTransfer {
  LinkTraffic traffic = LinkTraffic::one_way;
  std::string from, to;            // ids of devices, or kLinksHost
  std::optional<PeerPath> path{};  // none: between the host and a device
  bool in_use = true;  // false: a path that these devices do not take, measured to compare with
  LinkMoves moves{};
};

struct LinkShare {
  std::string device;  // its id
  Bytes bytes = 0;     // sent by it; of transfers with the host, those of this device
  std::vector<Nanos> samples{};
};

struct LinkAtOnce {
  LinkCrowd crowd = LinkCrowd::devices;
  std::string path{};  // "direct", "staged", ...; "mixed" where pairs differ; empty: with the host
  bool in_use = true;
  LinkMoves moves{};
  std::vector<LinkShare> devices{};
};

// Each device signals every other and waits for their signals, and nothing is moved.
struct LinkLatency {
  std::vector<std::string> devices{};  // ids
  std::string path{};
  bool in_use = true;
  std::vector<Nanos> alone{};   // from the call until all of them are known to be complete
  std::vector<Nanos> queued{};  // of `queued_calls` calls that were enqueued together
  std::uint64_t queued_calls = 1;
};

struct CollectiveRecord {
  std::string op, element, reduction;  // reduction: empty where nothing is combined
  std::uint64_t count = 0;             // elements
  Bytes size = 0;                      // their bytes
  std::vector<std::string> devices{};  // ids
  std::string path{};
  double bus_factor = 0;
  std::vector<Nanos> alone{};   // as of LinkLatency
  std::vector<Nanos> queued{};  // likewise
  std::uint64_t queued_calls = 1;
  std::uint64_t wrong = 0;  // elements of outputs, of all devices
};

struct LinkPair {
  std::string from, to;
  PeerPath path = PeerPath::staged;  // the one in use
};

struct LinksReport {
  bool complete = false;
  std::optional<std::string> failure{};  // what ended it before it was complete
  ToolInfo tool{};
  std::map<std::string, std::string> environment{};
  ParamMap options{};
  std::string started{};  // RFC 3339 in UTC
  std::vector<Device> devices{};
  std::vector<LinkPair> pairs{};
  std::vector<std::string> notes{};  // why pairs are staged
  std::vector<LinkTransfer> transfers{};
  std::vector<LinkAtOnce> at_once{};
  std::vector<LinkLatency> latencies{};
  std::vector<CollectiveRecord> collectives{};
  std::vector<std::string> warnings{};
};

// Nothing for none.
std::optional<Nanos> median_of(const std::vector<Nanos>& samples);
// Bytes per second at the median; none where nothing was measured, or something was wrong: a wrong
// result has no numbers.
std::optional<double> rate_of(const LinkMoves& moves);
// Of a device among several at once.
std::optional<double> rate_of(const LinkShare& share, const LinkMoves& all);
// Of one of the calls that were enqueued together, in nanoseconds.
std::optional<double> queued_ns(const std::vector<Nanos>& queued, std::uint64_t calls);
// size / time and that times the bus factor, in bytes per second, where the time is that of calls
// enqueued together, as in nccl-tests. None where something was wrong.
std::optional<double> algorithm_bandwidth(const CollectiveRecord& row);
std::optional<double> bus_bandwidth(const CollectiveRecord& row);
// Words and elements, over everything.
std::uint64_t wrong_in(const LinksReport& report);

// What `compare` and exports see of it: a case for each cell of a matrix, each latency and each row
// of a collective. What was wrong is a case that failed.
Report as_cases(const LinksReport& report);

}  // namespace mgpu
