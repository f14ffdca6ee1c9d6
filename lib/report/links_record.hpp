// What `mgpu-bench links` measured, as plain data: written as JSON and as tables (links_json.cpp, links_text.cpp).
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/units.hpp"
#include "lib/device/device.hpp"
#include "lib/device/peer_path.hpp"
#include "lib/report/table_writer.hpp"

namespace mgpu {

// Data that moved from one place to another, or both ways. Each place is a device of the set, or the host (none).
struct LinkCell {
  std::optional<std::uint32_t> from, to;
  std::optional<PeerPath> path;  // none: the link to the host
  std::vector<Nanos> times;      // of every repetition, for `bytes` of the matrix in each direction
};

// As nvbandwidth shows them: a row a source, a column a destination.
struct LinkMatrix {
  std::string name;  // "one way", "both ways"
  Bytes bytes = 0;
  std::vector<LinkCell> cells;
};

// How long it takes two devices, or all, to meet with nothing to exchange.
struct LatencyRow {
  std::vector<std::uint32_t> devices;
  std::vector<Nanos> alone, back_to_back;  // from the call until it is known to be complete; of one of many calls enqueued together
};

struct CollectiveRow {
  std::string collective, element, reduction;  // reduction empty: it combines nothing
  std::uint64_t count = 0;                     // of elements
  Bytes bytes = 0;                             // of these
  std::uint32_t devices = 0;                   // the first so many of the set
  double bus_factor = 0;
  std::vector<Nanos> alone, back_to_back;  // as above; none where a result was wrong
  std::uint64_t wrong = 0;                 // elements of all devices' outputs that are not what they should be
  std::string skipped;                     // why it was not measured
};

struct LinksRecord {
  std::string started;  // RFC 3339
  std::string version;
  std::vector<Device> devices;
  std::string peer;                // what was asked for: "auto", "direct", ...
  std::vector<std::string> notes;  // why pairs do not have the path that was looked for
  std::vector<LinkMatrix> matrices;
  std::vector<CollectiveRow> collectives;
  std::vector<LatencyRow> latencies;
  std::vector<Nanos> everything;  // all ordered pairs at once, `everything_bytes` each
  Bytes everything_bytes = 0;

  bool any_wrong() const;
};

// bytes/s of the median; 0: none was measured. The algorithm bandwidth of a collective is bytes / time of the calls back to back.
double rate_of(Bytes bytes, const std::vector<Nanos>& times);

nlohmann::ordered_json links_json(const LinksRecord& record);  // mgpu-bench/links, see links.schema.json
std::string links_text(const LinksRecord& record, const TableStyle& style);

}  // namespace mgpu
