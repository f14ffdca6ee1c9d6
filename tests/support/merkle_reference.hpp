// A second, slow reference for Merkle trees in tests: the recursion of RFC 6962 (2.1) word for word, on OpenSSL's one-shot SHA-256.
// Shares nothing with suites/merkle but the names of the trees and the digest type.
#pragma once

#include <openssl/sha.h>

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
    message.push_back(0x00);
    message.insert(message.end(), leaves[0].begin(), leaves[0].end());
    return openssl_sha256(message);
  }
  std::size_t k = 1;
  while (k * 2 < leaves.size()) k *= 2;
  const Bytes32 left = recursive_root(kind, leaves.first(k)), right = recursive_root(kind, leaves.subspan(k));
  if (kind != merkle::TreeKind::plain) message.push_back(0x01);
  message.insert(message.end(), left.begin(), left.end());
  message.insert(message.end(), right.begin(), right.end());
  return openssl_sha256(message);
}

inline std::vector<Bytes32> split_leaves(std::span<const std::byte> bytes) {
  std::vector<Bytes32> leaves(bytes.size() / 32);
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    for (std::size_t b = 0; b < 32; ++b) leaves[i][b] = std::to_integer<std::uint8_t>(bytes[i * 32 + b]);
  }
  return leaves;
}

}  // namespace mgpu::testing
