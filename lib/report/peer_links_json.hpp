// PeerLinks in files: scenarios, results and the calibration cache. Internal to lib/report, but for
// what `calibrate --json` prints.
#pragma once

#include "lib/device/peer_links.hpp"
#include "lib/report/json_build.hpp"

namespace mgpu {

class JsonReader;

// What pairs have, "path", "bytes_per_s", "latency_ns", and in "pairs" those that differ, with
// "from" and "to", positions. Null: of nobody.
JsonValue peer_links_json(const PeerLinks& links);
JsonValue peer_links_schema();
// Of so many devices, two or more; what is left out of a pair is as of all, and there: direct,
// without limit or latency. Throws Error(input) for an impossible figure, an unknown path, a pair
// that is none, and one that is there twice. Unknown keys are skipped.
PeerLinks read_peer_links(const JsonReader& json, std::size_t devices);

}  // namespace mgpu
