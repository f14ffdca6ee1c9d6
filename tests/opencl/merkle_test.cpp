// Merkle trees on the present devices, compared with the recursion of RFC 6962 and Bitcoin's rule
// on OpenSSL: sizes and shapes, hashes, both kernel paths.
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

// Several devices compute SHA-256 of plain and of RFC 6962 trees, in the quick tier one the others.
std::string digest_of(MerkleWorkload& workload, How how) {
  const Rules& rules = workload.rules();
  if (rules.hash != Hash::sha256 || rules.is_bitcoin() || rules.kind == TreeKind::hashed)
    how.devices = testing::one_when_quick();
  return testing::digest_of(workload, how, VerifyLevel::sample);
}

std::string root_of(const Rules& rules, Leaves leaves, const How& how) {
  MerkleWorkload workload(rules, std::move(leaves), 2);
  return digest_of(workload, how);
}

// Returns whether the tier has this combination: each compiles kernels. The quick one has those
// that contain every pair of a hash, a prefix and a path.
bool is_due(Hash hash, TreeKind kind, Path path) {
  return testing::is_thorough() ||
         (static_cast<int>(hash) + Rules(kind).has_prefixes() + (path == Path::gpu)) % 2 == 0;
}

std::string text_of(const Rules& rules) {
  return std::string(tree_names[static_cast<std::size_t>(rules.kind)]) + ", " +
         std::string(hash_names[static_cast<std::size_t>(rules.hash)]) + ", leaves of " +
         std::to_string(rules.leaf_bytes);
}

void check_size(const Rules& rules, std::uint64_t count, const How& how) {
  INFO(count, " leaves, ", text_of(rules));
  const auto leaves = [&] { return Leaves::random(count, 11 + count, 2, rules.leaf_bytes); };
  CHECK(root_of(rules, leaves(), how) == hex(testing::root_of_bytes(rules, leaves().bytes())));
}

void check_trees(const Rules& rules, std::uint64_t count, std::uint64_t trees, const How& how) {
  INFO(trees, " trees of ", count, " leaves, ", text_of(rules));
  const auto all = [&] { return Leaves::random(count * trees, 11 + count, 2, rules.leaf_bytes); };
  const Leaves leaves = all();
  std::vector<std::uint8_t> roots;
  for (std::uint64_t tree = 0; tree < trees; ++tree) {
    const Digest root =
        testing::root_of_bytes(rules, leaves.bytes(tree * count, (tree + 1) * count));
    roots.insert(roots.end(), root.begin(), root.end());
  }
  MerkleWorkload workload(rules, all(), 2, trees);
  CHECK(digest_of(workload, how) == hex(testing::openssl_sha256(roots)));
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
            hex(testing::root_of_bytes(TreeKind::rfc6962, bytes)));
    }
    for (const auto& [content, hash] : testing::published_short_leaves)
      CHECK(root(std::as_bytes(std::span(content)), {.path = path}) == hash);
  }
}

TEST_CASE("merkle: trees of every hash have the reference's root under every strategy and mode") {
  std::size_t turn = 0;
  const auto next = [&](Path path) { return ++turn, how_of(turn, path, 1 + turn * 7 % 50); };
  for (const Hash hash : {Hash::keccak256, Hash::blake3}) {
    for (const TreeKind kind : testing::first_when_quick(
             2,
             {TreeKind::plain, TreeKind::rfc6962, TreeKind::hashed, TreeKind::rfc6962_digests})) {
      for (const Path path : {Path::own, Path::gpu}) {
        if (!is_due(hash, kind, path)) continue;
        for (const std::uint64_t leaves : {1, 33, 1000})
          check_size({kind, hash}, leaves, next(path));
        check_trees({kind, hash}, 100, 40, next(path));
      }
    }
    const TreeKind kind = hash == Hash::blake3 ? TreeKind::plain : TreeKind::rfc6962;
    for (const StrategyInfo& info : all_strategies())
      for (const Mode mode : {Mode::resident, Mode::end_to_end})
        check_size({kind, hash}, 10'001, {info.name, mode});
  }
}

TEST_CASE("merkle: Bitcoin's trees of every number of leaves have the reference's root") {
  std::size_t turn = 0;
  const auto next = [&](Path path) { return ++turn, how_of(turn, path, 1 + turn * 7 % 50); };
  for (const Path path : {Path::own, Path::gpu}) {
    for (std::uint64_t leaves = 1; leaves <= 70; leaves += testing::is_thorough() ? 1 : leaves % 7)
      check_size(TreeKind::bitcoin, leaves, next(path));
    for (const std::uint64_t leaves : {97, 1023, 1025, 1057, 4097, 33'001, 66'000, 70'001})
      check_size(TreeKind::bitcoin, leaves, next(path));
    for (const auto& [leaves, trees] :
         {std::pair{1, 3}, {2, 40}, {7, 1100}, {33, 70}, {100, 2000}, {1057, 3}, {4100, 5}})
      check_trees(TreeKind::bitcoin, static_cast<std::uint64_t>(leaves),
                  static_cast<std::uint64_t>(trees), next(path));
  }
  auto is_chosen = testing::one_in(3);
  for (const StrategyInfo& info : all_strategies())
    for (const Mode mode : {Mode::resident, Mode::end_to_end})
      if (is_chosen()) check_size(TreeKind::bitcoin, 66'061, {info.name, mode});
}

TEST_CASE("merkle: a device merges what others handed over to the root that the host merges") {
  for (const Rules& rules : {Rules(TreeKind::rfc6962), Rules(TreeKind::bitcoin),
                             Rules(TreeKind::rfc6962, Hash::blake3)}) {
    for (const std::uint64_t leaves : {33, 97, 161, 1057, 33'001}) {
      INFO(leaves, " leaves, ", text_of(rules));
      MerkleWorkload workload(rules, Leaves::random(leaves, 5, 2), 2);
      const bool alone = rules.is_bitcoin() || rules.hash != Hash::sha256;
      testing::Programs made(
          workload,
          {.path = Path::gpu, .pipeline = 1, .devices = alone ? testing::one_when_quick() : 0});
      workload.begin_sample();
      made.sample(workload, "dynamic");
      const std::string expected = workload.digest();
      OpenDevice& device = *testing::machine().open.front();
      const Completion merged = made.programs.front()->interfaces().merging->merge(device.stream());
      testing::wait_for(device);
      workload.set_roots({});
      merged();
      CHECK(workload.digest() == expected);
    }
  }
}

TEST_CASE("merkle: leaves of any length are hashed as the reference does, the last one too") {
  std::size_t turn = 0;
  const auto next = [&](Path path) { return ++turn, how_of(turn, path, 1 + turn * 7 % 50); };
  const auto check = [&](const Rules& rules, Path path) {
    const How how = next(path);
    check_size(rules, 1 + turn * 13 % 70, how);
    const Leaves random = Leaves::random(40, turn, 2, rules.leaf_bytes);
    const auto bytes =
        random.bytes().first(39 * rules.leaf_bytes + 1 + turn * 7 % rules.leaf_bytes);
    INFO(bytes.size(), " bytes, ", text_of(rules));
    const BytesFile file(bytes);
    CHECK(root_of(rules, Leaves::from_file(file.path, 40, Remainder::short_leaf, rules.leaf_bytes),
                  how) == hex(testing::root_of_bytes(rules, bytes)));
  };
  for (const Hash hash : {Hash::sha256, Hash::keccak256, Hash::blake3})
    for (const TreeKind kind : {TreeKind::hashed, TreeKind::rfc6962})
      for (const Path path : {Path::own, Path::gpu})
        for (const Bytes bytes : {1, 3, 31, 54, 55, 56, 63, 64, 65, 134, 135, 136, 137, 1023, 1024,
                                  1025, 2049, 4096, 15'000})
          if (is_due(hash, kind, path)) check({kind, hash, bytes}, path);
}

}  // namespace mgpu::merkle
