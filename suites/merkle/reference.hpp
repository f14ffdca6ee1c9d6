// The independent reference: trees hashed by OpenSSL, or, with Keccak-256 and BLAKE3, which OpenSSL
// 3.0 does not have, by the host's own code. It shares no code with the kernels; that of SHA-256
// shares none with the host hash of merge() either.
#pragma once

#include <cstddef>
#include <span>

#include "suites/merkle/tree.hpp"

namespace mgpu::merkle {

// Returns the root of the tree over `leaves`; where these are hashed, the last may be shorter.
// Without leaves it is the hash of nothing, which only RFC 6962 trees define. Splits at the largest
// power of two below n, as RFC 6962 (2.1) does. In a larger tree whose odd nodes are paired with
// themselves, it is the node at level `height` above these leaves. Takes about 0.13 to 0.5 us per
// node of SHA-256 on each of `threads` host threads.
Digest reference_root(const Rules& rules, std::span<const std::byte> leaves, unsigned threads,
                      unsigned height = 0);

// Returns the root of the tree over nodes of equal height (the last may be lower, unless odd nodes
// are paired with themselves), such as item roots.
Digest reference_top(const Rules& rules, std::span<const Digest> nodes, unsigned height = 0);

// Returns the name of what hashes, for messages.
std::string_view reference_name(Hash hash);

}  // namespace mgpu::merkle
