// SHA-256 by OpenSSL's Init/Update/Final functions. They are deprecated since 3.0, but are the
// fastest public interface: 7.8 M nodes/s per core, against 6.1 by EVP with a reused context.
#define OPENSSL_SUPPRESS_DEPRECATED
#include "suites/merkle/reference.hpp"

#include <openssl/sha.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "lib/workload/parallel_for.hpp"
#include "suites/merkle/hash.hpp"

namespace mgpu::merkle {
namespace {

Digest hash(const Rules& rules, std::initializer_list<std::span<const std::uint8_t>> parts) {
  Digest out;
  if (rules.hash == Hash::sha256) {
    SHA256_CTX context;
    SHA256_Init(&context);
    for (const auto& part : parts) SHA256_Update(&context, part.data(), part.size());
    SHA256_Final(out.data(), &context);
    return out;
  }
  std::vector<std::uint8_t> message;
  for (const auto& part : parts) message.insert(message.end(), part.begin(), part.end());
  return hash_message(rules.hash, message);
}

constexpr std::uint8_t leaf_prefix[] = {0x00}, node_prefix[] = {0x01};

Digest above(const Rules& rules, const Digest& left, const Digest& right) {
  if (rules.has_prefixes()) return hash(rules, {node_prefix, left, right});
  const Digest once = hash(rules, {left, right});
  return rules.is_bitcoin() ? hash(rules, {once}) : once;
}

// Returns the root of leaves begin .. end. RFC 6962, 2.1: MTH(D[n]) = H(0x01 || MTH(D[0:k]) ||
// MTH(D[k:n])), k the largest power of two below n. Bitcoin: below level `height`, a node is paired
// with itself.
template <class Leaf>
Digest subtree(const Rules& rules, const Leaf& leaf, std::uint64_t begin, std::uint64_t end,
               unsigned height) {
  const unsigned levels = ceil_log2(end - begin);
  Digest root;
  if (levels == 0) {
    root = leaf(begin);
  } else {
    const std::uint64_t middle = begin + (std::uint64_t{1} << (levels - 1));
    root = above(rules, subtree(rules, leaf, begin, middle, levels - 1),
                 subtree(rules, leaf, middle, end, levels - 1));
  }
  if (rules.is_bitcoin())
    for (unsigned level = levels; level < height; ++level) root = above(rules, root, root);
  return root;
}

}  // namespace

Digest reference_root(const Rules& rules, std::span<const std::byte> leaves, unsigned threads,
                      unsigned height) {
  const std::uint64_t count = ceil_div(leaves.size(), rules.leaf_bytes);
  if (count == 0) return hash(rules, {});
  const auto leaf = [&](std::uint64_t i) {
    const auto at = leaves.subspan(
        i * rules.leaf_bytes, std::min(rules.leaf_bytes, leaves.size() - i * rules.leaf_bytes));
    const std::span bytes(reinterpret_cast<const std::uint8_t*>(at.data()), at.size());
    if (rules.kind == TreeKind::rfc6962) return hash(rules, {leaf_prefix, bytes});
    if (rules.hashes_leaves()) return hash(rules, {bytes});
    Digest out;
    std::memcpy(out.data(), bytes.data(), digest_bytes);
    return out;
  };
  // An aligned power of two, so that each part is a complete subtree of the recursion.
  constexpr unsigned levels_at_once = 12;
  constexpr std::uint64_t at_once = std::uint64_t{1} << levels_at_once;
  std::vector<Digest> roots((count - 1) / at_once + 1);
  const unsigned part_height = roots.size() > 1 ? levels_at_once : height;
  parallel_for(roots.size(), threads, [&](std::uint64_t i) {
    roots[i] = subtree(rules, leaf, i * at_once, std::min(count, (i + 1) * at_once), part_height);
  });
  return reference_top(rules, roots, std::max(height, part_height) - part_height);
}

Digest reference_top(const Rules& rules, std::span<const Digest> nodes, unsigned height) {
  return subtree(
      rules, [&](std::uint64_t i) { return nodes[i]; }, 0, nodes.size(), height);
}

std::string_view reference_name(Hash hash) { return hash == Hash::sha256 ? "OpenSSL" : "the host"; }

}  // namespace mgpu::merkle
