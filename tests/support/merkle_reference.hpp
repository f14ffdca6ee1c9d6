// A second, slow reference for Merkle trees in tests: the recursion of RFC 6962 (2.1) word for
// word, on OpenSSL's one-shot SHA-256. Shares nothing with suites/merkle but the names of the trees
// and the digest type.
#pragma once

#include <openssl/sha.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "suites/merkle/tree.hpp"

namespace mgpu::testing {

using Bytes32 = merkle::Digest;

inline Bytes32 openssl_sha256(const std::vector<std::uint8_t>& message) {
  Bytes32 out;
  SHA256(message.data(), message.size(), out.data());
  return out;
}

// Root over 32-byte leaves; none: SHA-256 of nothing.
inline Bytes32 recursive_root(merkle::TreeKind kind, std::span<const Bytes32> leaves) {
  std::vector<std::uint8_t> message;
  if (leaves.empty()) return openssl_sha256(message);
  if (leaves.size() == 1) {
    if (kind != merkle::TreeKind::rfc6962) return leaves[0];
    message.assign(1 + leaves[0].size(), 0x00);
    std::copy(leaves[0].begin(), leaves[0].end(), message.begin() + 1);
    return openssl_sha256(message);
  }
  std::size_t k = 1;
  while (k * 2 < leaves.size()) k *= 2;
  const Bytes32 left = recursive_root(kind, leaves.first(k)),
                right = recursive_root(kind, leaves.subspan(k));
  const std::size_t prefix = kind == merkle::TreeKind::plain ? 0 : 1;
  message.assign(prefix + left.size() + right.size(), 0x01);
  const auto middle =
      std::copy(left.begin(), left.end(), message.begin() + static_cast<std::ptrdiff_t>(prefix));
  std::copy(right.begin(), right.end(), middle);
  return openssl_sha256(message);
}

// Likewise over leaves of 32 bytes but for the last, which has what is left, hashed as RFC 6962
// hashes leaves of any length.
inline Bytes32 recursive_root_of_bytes(std::span<const std::byte> bytes) {
  std::vector<Bytes32> hashes;
  for (std::size_t at = 0; at < bytes.size(); at += 32) {
    std::vector<std::uint8_t> message{0x00};
    for (const std::byte byte : bytes.subspan(at, std::min<std::size_t>(32, bytes.size() - at)))
      message.push_back(std::to_integer<std::uint8_t>(byte));
    hashes.push_back(openssl_sha256(message));
  }
  return recursive_root(merkle::TreeKind::rfc6962_digests, hashes);
}

inline std::vector<Bytes32> split_leaves(std::span<const std::byte> bytes) {
  std::vector<Bytes32> leaves(bytes.size() / 32);
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    for (std::size_t b = 0; b < 32; ++b)
      leaves[i][b] = std::to_integer<std::uint8_t>(bytes[i * 32 + b]);
  }
  return leaves;
}

}  // namespace mgpu::testing
