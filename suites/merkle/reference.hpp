// The independent reference: trees hashed by OpenSSL. Shares no code with the kernels or with the
// host hash of merge().
#pragma once

#include <cstddef>
#include <span>

#include "suites/merkle/tree.hpp"

namespace mgpu::merkle {

// Root of the tree over `leaves` (32 bytes each, of TreeKind::rfc6962 the last perhaps fewer; none:
// SHA-256 of nothing, which only the RFC 6962 trees have). Splits at the largest power of two below
// n, as RFC 6962 (2.1) defines it. `threads` host threads; about 0.13 to 0.5 us a node on each.
Digest reference_root(TreeKind kind, std::span<const std::byte> leaves, unsigned threads);

// Root of the tree over nodes of equal height (the last may be lower): what is above the items.
Digest reference_top(TreeKind kind, std::span<const Digest> nodes);

}  // namespace mgpu::merkle
