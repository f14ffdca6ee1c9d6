// A measured capability <-> JSON, the same in the result file and in the calibration cache.
// Internal to lib/report, but for writing, which `devices --json` and `calibrate --json` do too.
#pragma once

#include <optional>

#include "lib/device/capability.hpp"
#include "lib/device/peer_links.hpp"
#include "lib/report/json_build.hpp"

namespace mgpu {

class JsonReader;

// An empty object when unknown; a figure that was not measured is null.
JsonValue capability_json(const std::optional<Capability>& capability);
// None for an empty object and for null. Throws Error(input) naming the field when one is missing
// or no possible figure.
std::optional<Capability> read_capability(const JsonReader& json);

// Of operations or bytes per second. Throws Error(input) likewise.
double read_rate(const JsonReader& json);

// A number where it does not depend on how many devices copy (0: no limit), else a list.
JsonValue link_rate_json(const LinkRate& rate);
// Throws Error(input) naming the figure that is not a possible rate: below 0, or 0 in a list.
LinkRate read_link_rate(const JsonReader& json);

// Is everything measured but fp64, which not every device has?
bool is_complete(const Capability& capability);

// PeerLinks in files: scenarios, results and the calibration cache. Internal to lib/report, but for
// what `calibrate --json` prints.

class JsonReader;

// Writes what all pairs have, and in "pairs" those that differ, with "from" and "to", positions.
// Null: of nobody.
JsonValue peer_links_json(const PeerLinks& links);
JsonValue peer_links_schema();
// Reads the links of so many devices, two or more. A pair that leaves something out has what all
// pairs have; left out there, too, it is direct, without limit or latency. Throws Error(input) for
// an impossible figure, an unknown path, a pair that is none, and one that is there twice. Unknown
// keys are skipped.
PeerLinks read_peer_links(const JsonReader& json, std::size_t devices);

}  // namespace mgpu
