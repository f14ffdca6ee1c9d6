// A second, slow reference for Merkle trees in tests: the recursion of RFC 6962 (2.1) and Bitcoin's
// rule word for word, on OpenSSL's one-shot SHA-256. It shares nothing with suites/merkle but the
// rules, the digest type, and the host's Keccak-256 and BLAKE3, which published vectors test. It
// also has published vectors of RFC 6962 trees.
#pragma once

#include <openssl/sha.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "suites/merkle/hash.hpp"

namespace mgpu::testing {

using Bytes32 = merkle::Digest;

inline Bytes32 openssl_sha256(const std::vector<std::uint8_t>& message) {
  Bytes32 out;
  SHA256(message.data(), message.size(), out.data());
  return out;
}

inline Bytes32 hash_of(merkle::Hash hash, const std::vector<std::uint8_t>& message) {
  if (hash == merkle::Hash::sha256) return openssl_sha256(message);
  return hash == merkle::Hash::blake3 ? merkle::blake3(message) : merkle::keccak256(message);
}

inline Bytes32 hash_of_pair(const merkle::Rules& rules, const Bytes32& left, const Bytes32& right) {
  std::vector<std::uint8_t> message;
  if (rules.has_prefixes()) message.push_back(0x01);
  message.insert(message.end(), left.begin(), left.end());
  message.insert(message.end(), right.begin(), right.end());
  const Bytes32 once = hash_of(rules.hash, message);
  return rules.is_bitcoin() ? openssl_sha256({once.begin(), once.end()}) : once;
}

// Returns the root over digests.
inline Bytes32 root_of_digests(const merkle::Rules& rules, std::vector<Bytes32> level) {
  if (level.empty()) return hash_of(rules.hash, {});
  if (rules.is_bitcoin()) {
    while (level.size() > 1) {
      if (level.size() % 2 == 1) level.push_back(level.back());
      std::vector<Bytes32> next;
      for (std::size_t i = 0; i < level.size(); i += 2)
        next.push_back(hash_of_pair(rules, level[i], level[i + 1]));
      level = next;
    }
    return level[0];
  }
  if (level.size() == 1) return level[0];
  std::size_t k = 1;
  while (k * 2 < level.size()) k *= 2;
  const auto middle = level.begin() + static_cast<std::ptrdiff_t>(k);
  return hash_of_pair(rules, root_of_digests(rules, {level.begin(), middle}),
                      root_of_digests(rules, {middle, level.end()}));
}

// Returns the root over leaves, which may end with a shorter one.
inline Bytes32 root_of_bytes(const merkle::Rules& rules, std::span<const std::byte> bytes) {
  std::vector<Bytes32> digests;
  for (std::size_t at = 0; at < bytes.size(); at += rules.leaf_bytes) {
    std::vector<std::uint8_t> message;
    if (rules.kind == merkle::TreeKind::rfc6962) message.push_back(0x00);
    for (const std::byte byte :
         bytes.subspan(at, std::min<std::size_t>(rules.leaf_bytes, bytes.size() - at)))
      message.push_back(std::to_integer<std::uint8_t>(byte));
    if (rules.hashes_leaves()) {
      digests.push_back(hash_of(rules.hash, message));
    } else {
      std::copy(message.begin(), message.end(), digests.emplace_back().begin());
    }
  }
  return root_of_digests(rules, digests);
}

inline std::vector<Bytes32> split_leaves(std::span<const std::byte> bytes) {
  std::vector<Bytes32> leaves(bytes.size() / 32);
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    for (std::size_t b = 0; b < 32; ++b)
      leaves[i][b] = std::to_integer<std::uint8_t>(bytes[i * 32 + b]);
  }
  return leaves;
}

// Leaf hashes and roots of the Certificate Transparency test tree, from transparency-dev/merkle,
// testonly/constants.go.
inline constexpr const char* published_leaf_hashes[] = {
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
    "0298d122906dcfc10892cb53a73992fc5b9f493ea4c9badb27b791b4127a7fe7",
    "07506a85fd9dd2f120eb694f86011e5bb4662e5c415a62917033d4a9624487e7",
    "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
    "4271a26be0d8a84f0bd54c8c302e7cb3a3b5d1fa6780a40bcce2873477dab658",
    "b08693ec2e721597130641e8211e7eedccb4c26413963eee6c1e2ed16ffb1a5f",
    "46f6ffadd3d06a09ff3c5860d2755c8b9819db7df44251788c7d8e3180de8eb1"};
inline constexpr const char* published_roots[] = {
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"};

// The leaves of the same test tree that have 1 to 31 bytes, with their hashes: each hash is the
// root of the tree of that leaf alone.
inline const std::vector<std::pair<std::string, std::string>> published_short_leaves{
    {std::string(1, '\0'), published_leaf_hashes[1]},
    {"\x10", published_leaf_hashes[2]},
    {"\x20\x21", published_leaf_hashes[3]},
    {"\x30\x31", published_leaf_hashes[4]},
    {"\x40\x41\x42\x43", published_leaf_hashes[5]},
    {"\x50\x51\x52\x53\x54\x55\x56\x57", published_leaf_hashes[6]},
    {"\x60\x61\x62\x63\x64\x65\x66\x67\x68\x69\x6a\x6b\x6c\x6d\x6e\x6f", published_leaf_hashes[7]}};

}  // namespace mgpu::testing
