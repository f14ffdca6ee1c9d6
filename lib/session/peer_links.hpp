// Links between devices, measured briefly for predictions; `links` (lib/session/links.hpp) measures
// them in detail.
#pragma once

#include <span>

#include "lib/device/peer_links.hpp"
#include "lib/exec/backend.hpp"

namespace mgpu {

// Measures links between two or more opened devices, over the path that each pair has: bytes per
// second each way while both send, as when all gather an input, and the latency of a zero-byte
// exchange among many enqueued together. Returns medians, as plans need the usual value. Blocks for
// some 40 ms per pair. Throws Error(device), also for data that did not arrive as it was sent,
// Error(out_of_memory), Error(timeout), Error(interrupted).
PeerLinks measure_peer_links(Backend& backend, std::span<OpenDevice* const> devices);

}  // namespace mgpu
