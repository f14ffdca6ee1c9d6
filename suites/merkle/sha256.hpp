// SHA-256 on the host for the few nodes that are left when the devices are done: plain, scalar,
// portable. Not the reference: that is OpenSSL (reference.hpp), and shares nothing with this.
#pragma once

#include <cstddef>
#include <span>

#include "suites/merkle/tree.hpp"

namespace mgpu::merkle {

// FIPS 180-4, of any number of bytes.
Digest sha256(std::span<const std::uint8_t> message);

// The node above two others. About 0.45 us (plain).
Digest hash_node(TreeKind kind, const Digest& left, const Digest& right);

// Digests as devices hold them: eight native words.
std::array<std::uint32_t, 8> to_words(const Digest& digest);
Digest from_words(std::span<const std::uint32_t, 8> words);

// The root of `tree`, combining its frontier along the fixed tree.
Digest combine(TreeKind kind, const PartialTree& tree);

}  // namespace mgpu::merkle
