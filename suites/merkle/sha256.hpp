// SHA-256 on the host, for the few nodes that are left when the devices are done: plain, scalar,
// portable. It is not the reference, which is OpenSSL (reference.hpp) and shares no code with this.
#pragma once

#include <cstddef>
#include <span>

#include "suites/merkle/tree.hpp"

namespace mgpu::merkle {

// Returns the SHA-256 (FIPS 180-4) of a message of any length.
Digest sha256(std::span<const std::uint8_t> message);

// Returns the node above two others. Takes about 0.45 us (plain).
Digest hash_node(TreeKind kind, const Digest& left, const Digest& right);

// Convert digests to and from the form that devices hold: eight native words.
std::array<std::uint32_t, 8> to_words(const Digest& digest);
Digest from_words(std::span<const std::uint32_t, 8> words);

// Returns the root of `tree` by combining its frontier along the fixed tree.
Digest combine(TreeKind kind, const PartialTree& tree);

}  // namespace mgpu::merkle
