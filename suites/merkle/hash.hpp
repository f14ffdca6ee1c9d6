// Hashes on the host, for the few nodes that are left when the devices are done: plain, scalar,
// portable. They share no code with the kernels. For SHA-256 they are not the reference, which is
// OpenSSL (reference.hpp).
#pragma once

#include <cstddef>
#include <span>

#include "suites/merkle/tree.hpp"

namespace mgpu::merkle {

// Each returns the hash of a message of any length.
Digest sha256(std::span<const std::uint8_t> message);  // FIPS 180-4
// Ethereum's Keccak-256; SHA3-256 (FIPS 202) is the same with padding 0x06.
Digest keccak256(std::span<const std::uint8_t> message, std::uint8_t padding = 0x01);
Digest blake3(std::span<const std::uint8_t> message);
Digest hash_message(Hash hash, std::span<const std::uint8_t> message);

// Returns the node above two others. Takes about 0.45 us (plain, SHA-256).
Digest hash_node(const Rules& rules, const Digest& left, const Digest& right);

// Convert digests to and from the form that devices hold: eight native words.
std::array<std::uint32_t, 8> to_words(Hash hash, const Digest& digest);
Digest from_words(Hash hash, std::span<const std::uint32_t, 8> words);

// Returns the root of `tree` by combining its frontier along the fixed tree.
Digest combine(const Rules& rules, const PartialTree& tree);

}  // namespace mgpu::merkle
