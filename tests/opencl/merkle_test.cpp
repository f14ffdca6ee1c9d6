// Merkle trees on the present devices, compared with the recursion of RFC 6962 on OpenSSL: sizes
// and shapes, both kernel paths.
#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "suites/merkle/merkle_workload.hpp"
#include "tests/support/machine.hpp"
#include "tests/support/merkle_reference.hpp"
#include "tests/support/thorough.hpp"

namespace mgpu::merkle {
namespace {

using testing::How;
using testing::Path;

std::string root_of(TreeKind kind, Leaves leaves, const How& how) {
  MerkleWorkload workload(kind, std::move(leaves), 2);
  return testing::digest_of(workload, how, VerifyLevel::sample);
}

void check_size(TreeKind kind, std::uint64_t count, const How& how) {
  INFO(count, " leaves, ", tree_names[static_cast<std::size_t>(kind)]);
  const Leaves leaves = Leaves::random(count, 11 + count, 2);
  CHECK(root_of(kind, Leaves::random(count, 11 + count, 2), how) ==
        hex(testing::recursive_root(kind, testing::split_leaves(leaves.bytes()))));
}

void check_trees(TreeKind kind, std::uint64_t count, std::uint64_t trees, const How& how) {
  INFO(trees, " trees of ", count, " leaves, ", tree_names[static_cast<std::size_t>(kind)]);
  const Leaves leaves = Leaves::random(count * trees, 11 + count, 2);
  std::vector<std::uint8_t> roots;
  for (std::uint64_t tree = 0; tree < trees; ++tree) {
    const Digest root = testing::recursive_root(
        kind, testing::split_leaves(leaves.bytes(tree * count, (tree + 1) * count)));
    roots.insert(roots.end(), root.begin(), root.end());
  }
  MerkleWorkload workload(kind, Leaves::random(count * trees, 11 + count, 2), 2, trees);
  CHECK(testing::digest_of(workload, how, VerifyLevel::sample) ==
        hex(testing::openssl_sha256(roots)));
}

// Cycles through the strategies and modes.
How how_of(std::size_t turn, Path path, Items pipeline = 0) {
  const auto& all = all_strategies();
  return {all[turn % all.size()].name, turn % 2 ? Mode::resident : Mode::end_to_end, path,
          pipeline};
}

struct BytesFile {
  explicit BytesFile(std::span<const std::byte> bytes)
      : path(std::filesystem::temp_directory_path() /
             ("mgpu-leaves-" + std::to_string(::getpid()))) {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }
  ~BytesFile() { std::filesystem::remove(path); }
  std::filesystem::path path;
};

}  // namespace

TEST_CASE("merkle: small trees and those around powers of two have the reference's root" *
          testing::if_thorough()) {
  for (const TreeKind kind : {TreeKind::plain, TreeKind::rfc6962}) {
    for (std::uint64_t leaves = kind == TreeKind::plain ? 1 : 0; leaves <= 70;
         leaves += leaves < 4               ? 1
                   : testing::is_thorough() ? 3
                                            : 17)
      check_size(kind, leaves, how_of(leaves, Path::own));
    for (const std::uint64_t power : {128, 1024, 4096})
      for (const std::uint64_t leaves : {power - 1, power, power + 1})
        check_size(kind, leaves, {"dynamic", Mode::end_to_end});
  }
  // Each kind is a kernel for each size of work-groups; the other tests cover that of digests.
  for (const TreeKind kind : testing::first_when_quick(
           1, {TreeKind::rfc6962, TreeKind::plain, TreeKind::rfc6962_digests}))
    for (const std::uint64_t leaves : testing::first_when_quick<std::uint64_t>(
             4, {1, 33, 1025, 70'001, 2, 3, 31, 32, 100, 1023}))
      check_size(kind, leaves, {.path = Path::gpu});
}

TEST_CASE("merkle: random and large sizes under every strategy, slicing and mode, on both paths") {
  std::mt19937_64 random(20260601);
  for (const Path path : {Path::own, Path::gpu}) {
    for (std::size_t n = 0; n < (testing::is_thorough() ? 16 : 3); ++n)
      check_size(n % 3 == 0 || path == Path::gpu ? TreeKind::rfc6962 : TreeKind::plain,
                 1 + random() % 4'000, how_of(n, path, 1 + random() % 40));
  }
  auto is_due = testing::one_in(3);
  for (const StrategyInfo& info : all_strategies())
    if (is_due()) check_size(TreeKind::plain, 100'000, {info.name, Mode::end_to_end});
}

TEST_CASE("merkle: trees of any size and number have the reference's roots, on both paths") {
  std::size_t turn = 0;
  for (const Path path : {Path::own, Path::gpu}) {
    for (const auto& [leaves, trees] : {std::pair{1ull, 3ull},
                                        {2, 40},
                                        {7, 1100},
                                        {32, 70},
                                        {33, 70},
                                        {100, 2000},
                                        {1000, 3},
                                        {1025, 40},
                                        {4100, 5}}) {
      ++turn;
      check_trees(path == Path::gpu || leaves % 2 ? TreeKind::rfc6962 : TreeKind::plain, leaves,
                  trees, how_of(turn, path, turn % 3 == 0 ? 0 : 1 + turn * 7 % 50));
    }
  }
  for (const StrategyInfo& info : all_strategies())
    check_trees(TreeKind::plain, 2047, 30, {info.name, Mode::end_to_end, Path::own, 7});
}

TEST_CASE("merkle: fed the published leaf hashes, devices give the published RFC 6962 roots") {
  std::vector<std::byte> leaves;
  for (std::size_t size = 0; size <= 8; ++size) {
    CAPTURE(size);
    const BytesFile file(leaves);
    for (const Path path : {Path::own, Path::gpu})
      CHECK(root_of(TreeKind::rfc6962_digests,
                    Leaves::from_file(file.path, size, Remainder::refuse),
                    {"equal", Mode::end_to_end, path}) == testing::published_roots[size]);
    const std::string digits = size < 8 ? testing::published_leaf_hashes[size] : "";
    for (std::size_t i = 0; i < digits.size(); i += 2)
      leaves.push_back(static_cast<std::byte>(std::stoi(digits.substr(i, 2), nullptr, 16)));
  }
}

TEST_CASE("merkle: a short last leaf is hashed as it is, whatever its length and place" *
          testing::if_thorough()) {
  const auto root = [](std::span<const std::byte> bytes, const How& how) {
    CAPTURE(bytes.size());
    const BytesFile file(bytes);
    return root_of(TreeKind::rfc6962,
                   Leaves::from_file(file.path, (bytes.size() + 31) / 32, Remainder::short_leaf),
                   how);
  };
  const Leaves random = Leaves::random(3'000, 31, 2);
  for (const Path path : {Path::own, Path::gpu}) {
    for (std::size_t n = 0; n < (testing::is_thorough() ? 70u : 40u);
         n += testing::is_thorough() ? 1 : 13) {
      const std::size_t whole = n < 36 ? n : n * 137 % 2999;  // leaves before the last one
      const auto bytes = random.bytes().first(32 * whole + 1 + n * 7 % 31);
      CHECK(root(bytes, how_of(n, path, 1 + n % 40)) ==
            hex(testing::recursive_root_of_bytes(bytes)));
    }
    for (const auto& [content, hash] : testing::published_short_leaves)
      CHECK(root(std::as_bytes(std::span(content)), {.path = path}) == hash);
  }
}

}  // namespace mgpu::merkle
