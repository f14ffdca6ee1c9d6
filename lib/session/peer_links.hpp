// What predictions need of the links between devices, measured in short: `links`
// (lib/session/links.hpp) measures them at length.
#pragma once

#include <span>

#include "lib/device/peer_links.hpp"
#include "lib/exec/backend.hpp"

namespace mgpu {

// Of opened devices, two or more, over the path that each pair has: bytes per second each way while
// both send, as all do who gather an input; an exchange of nothing, one of many enqueued together.
// Medians, as plans need what is usual. Blocks for some 40 ms a pair. Throws Error(device), also
// for data that did not arrive as it was sent, Error(out_of_memory), Error(timeout),
// Error(interrupted).
PeerLinks measure_peer_links(Backend& backend, std::span<OpenDevice* const> devices);

}  // namespace mgpu
