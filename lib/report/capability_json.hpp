// A measured capability <-> JSON, the same in the result file and in the calibration cache.
// Internal to lib/report, except for writing, which `devices --json` and `calibrate --json` use
// too.
#pragma once

#include <optional>

#include "lib/device/capability.hpp"
#include "lib/device/peer_links.hpp"
#include "lib/report/json_build.hpp"

namespace mgpu {

class JsonReader;

// Returns an empty object if unknown; a figure that was not measured is null.
JsonValue capability_json(const std::optional<Capability>& capability);
// Returns none for an empty object and for null. Throws Error(input) that names a missing or
// impossible figure.
std::optional<Capability> read_capability(const JsonReader& json);

// Returns a rate in operations or bytes per second. Throws Error(input) that names an impossible
// one.
double read_rate(const JsonReader& json);

// Returns a number if the rate does not depend on how many devices copy (0: no limit), else a list.
JsonValue link_rate_json(const LinkRate& rate);
// Throws Error(input) that names a figure that is not a possible rate: below 0, or 0 in a list.
LinkRate read_link_rate(const JsonReader& json);

// Tells whether everything is measured but fp64, which some devices lack.
bool is_complete(const Capability& capability);

// PeerLinks in files: scenarios, results and the calibration cache. Internal to lib/report, except
// for `calibrate --json`, which prints them.

class JsonReader;

// Writes the values common to all pairs, and in "pairs" the pairs that differ, with their positions
// "from" and "to". Null if there are no devices.
JsonValue peer_links_json(const PeerLinks& links);
JsonValue peer_links_schema(bool by_hand = false);
// Reads the links of `devices` devices, two or more. A pair inherits omitted values from all pairs;
// by default it is direct, without limit or latency. Throws Error(input) for an impossible figure,
// an unknown path, an invalid pair or a duplicate. Ignores unknown keys.
PeerLinks read_peer_links(const JsonReader& json, std::size_t devices);

}  // namespace mgpu
