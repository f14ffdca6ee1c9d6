// The host side of the merkle suite: reference, host hash, geometry, merging, verification, input
// and output. What devices compute is tested in tests/opencl.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <numeric>
#include <random>

#include "lib/base/error.hpp"
#include "suites/merkle/merkle_workload.hpp"
#include "suites/merkle/reference.hpp"
#include "suites/merkle/sha256.hpp"
#include "tests/support/ct_vectors.hpp"
#include "tests/support/merkle_host.hpp"
#include "tests/support/merkle_reference.hpp"

using namespace mgpu;
using namespace mgpu::merkle;
using mgpu::test::kind_of_error;
using mgpu::test::merkle_params;
using mgpu::test::TemporaryFile;

namespace {

constexpr TreeKind kinds[] = {TreeKind::plain, TreeKind::rfc6962, TreeKind::rfc6962_digests};

Digest from_hex(const std::string& text) {
  Digest digest{};
  for (std::size_t i = 0; i < digest.size(); ++i)
    digest[i] = static_cast<std::uint8_t>(std::stoul(text.substr(2 * i, 2), nullptr, 16));
  return digest;
}

// A workload whose devices are played by the reference: roots of all items, handed over as the
// covers of random ranges.
struct Played {
  Played(TreeKind kind, std::uint64_t leaves, unsigned seed)
      : Played(kind, Leaves::random(leaves, 5, 2), seed) {}
  Played(TreeKind kind, Leaves leaves, unsigned seed)
      : workload(kind, std::move(leaves), 2), geometry(workload.geometry()), roots(geometry.items) {
    workload.begin_sample();
    const auto item = [&](Items i) {
      return workload.leaves().content(geometry.first_leaf(i), geometry.first_leaf(i + 1));
    };
    for (Items i = 0; i < geometry.items; ++i) roots[i] = reference_root(kind, item(i), 1);
    std::mt19937 random(seed);
    std::vector<TreeNode> nodes;
    for (Items at = 0, end; at < geometry.items; at = end) {
      end = std::min<Items>(geometry.items, at + 1 + random() % 200);
      for (const TreeNode& node : cover(at, end, geometry.items)) nodes.push_back(node);
    }
    std::shuffle(nodes.begin(), nodes.end(), random);
    for (const TreeNode& node : nodes) {
      const std::span all(roots);
      const Partial partial{
          node,
          reference_top(kind, all.subspan(node.begin(), node.end(geometry.items) - node.begin()))};
      workload.add_partials({&partial, 1});
    }
  }
  MerkleWorkload workload;
  Geometry geometry;
  std::vector<Digest> roots;
};

}  // namespace

TEST_CASE("the reference gives the published RFC 6962 roots of sizes 0 to 8") {
  std::vector<Digest> leaves;
  for (std::size_t n = 0; n <= 8; ++n) {
    CHECK(hex(reference_root(TreeKind::rfc6962_digests, std::as_bytes(std::span(leaves)), 1)) ==
          testing::published_roots[n]);
    if (n < 8) leaves.push_back(from_hex(testing::published_leaf_hashes[n]));
  }
}

TEST_CASE(
    "the reference agrees with the recursion of RFC 6962 for every small size, odd promotions "
    "included, and across its chunks") {
  std::vector<std::uint64_t> sizes(71);
  std::iota(sizes.begin(), sizes.end(), 0);
  for (const std::uint64_t n : {4095, 4096, 4097, 8193, 12289}) sizes.push_back(n);
  for (const TreeKind kind : kinds) {
    for (const std::uint64_t n : sizes) {
      const Leaves leaves = Leaves::random(n, 3, 1);
      CHECK(reference_root(kind, leaves.bytes(), 3) ==
            testing::recursive_root(kind, testing::split_leaves(leaves.bytes())));
    }
  }
}

TEST_CASE("the three trees over the same leaves have three roots") {
  const Leaves leaves = Leaves::random(100, 1, 1);
  const Digest plain = reference_root(kinds[0], leaves.bytes(), 1),
               rfc = reference_root(kinds[1], leaves.bytes(), 1),
               digests = reference_root(kinds[2], leaves.bytes(), 1);
  CHECK(plain != rfc);
  CHECK(rfc != digests);
  CHECK(plain != digests);
}

TEST_CASE("the host's SHA-256 is OpenSSL's for messages of every length up to three blocks") {
  std::mt19937 random(1);
  for (std::size_t n = 0; n <= 200; ++n) {
    std::vector<std::uint8_t> message(n);
    for (auto& byte : message) byte = static_cast<std::uint8_t>(random());
    CHECK(sha256(message) == testing::openssl_sha256(message));
  }
}

TEST_CASE(
    "the host's node hash is the tree of two leaves, and words and digests convert both ways") {
  for (const TreeKind kind : {TreeKind::plain, TreeKind::rfc6962_digests}) {
    const auto leaves = testing::split_leaves(Leaves::random(2, 9, 1).bytes());
    CHECK(hash_node(kind, leaves[0], leaves[1]) == testing::recursive_root(kind, leaves));
    CHECK(from_words(to_words(leaves[0])) == leaves[0]);
  }
  CHECK(to_words(from_hex(testing::published_roots[0]))[0] == 0xe3b0c442);
}

TEST_CASE(
    "items are aligned subtrees: at most 1024, at least 32 leaves each, and they cover the "
    "leaves") {
  for (const std::uint64_t n : {1ull, 31ull, 32ull, 33ull, 100000ull, 1ull << 15, (1ull << 15) + 1,
                                1ull << 26, (1ull << 26) + 1, 1ull << 40}) {
    const Geometry g = Geometry::of(n);
    CHECK(g.items >= 1);
    CHECK(g.items <= Geometry::max_items);
    CHECK(g.height >= 5);
    CHECK(g.first_leaf(0) == 0);
    CHECK(g.first_leaf(g.items - 1) < n);
    CHECK(g.first_leaf(g.items) == n);
    CHECK((g.items << g.height) >= n);
    if (g.height > 5) CHECK(g.items > Geometry::max_items / 2);
  }
  CHECK(Geometry::of(32).items == 1);
  CHECK(Geometry::of(33).items == 2);
  CHECK(Geometry::of(0).items == 1);
}

TEST_CASE(
    "a cover tiles its range in order with nodes of the tree, and no two of them are the halves of "
    "a third") {
  for (Items items = 1; items <= 40; ++items) {
    for (Items begin = 0; begin < items; ++begin) {
      for (Items end = begin; end <= items; ++end) {
        const auto nodes = cover(begin, end, items);
        Items at = begin;
        for (const TreeNode& node : nodes) {
          REQUIRE(node.begin() == at);
          REQUIRE(node.end(items) > at);
          at = node.end(items);
        }
        REQUIRE(at == end);
        for (std::size_t i = 0; i + 1 < nodes.size(); ++i) {
          const bool siblings = nodes[i].level == nodes[i + 1].level && nodes[i].index % 2 == 0 &&
                                nodes[i + 1].index == nodes[i].index + 1;
          REQUIRE_FALSE(siblings);
        }
      }
    }
    CHECK(cover(0, items, items).size() == 1);
  }
  CHECK(cover(5, 5, 9).empty());
}

TEST_CASE("ranges coalesce whatever their order") {
  CHECK(coalesce({{4, 6}, {0, 2}, {2, 4}, {8, 9}}) == std::vector<Range>{{0, 6}, {8, 9}});
  CHECK(coalesce({}).empty());
}

TEST_CASE("a partial tree with a hole is refused, and one with overlapping nodes is not") {
  const Digest any{};
  PartialTree tree(5);
  tree.set({1, 0}, any);
  tree.set({0, 2}, any);
  tree.set({0, 4}, any);
  CHECK(kind_of_error([&] { (void)tree.frontier(); }) == ErrorKind::internal);
  tree.set({0, 3}, any);
  tree.set({0, 1}, any);  // under {1, 0}
  CHECK(tree.frontier() == std::vector<TreeNode>{{1, 0}, {0, 2}, {0, 3}, {0, 4}});
  tree.clear();
  CHECK(kind_of_error([&] { (void)tree.frontier(); }) == ErrorKind::internal);
}

TEST_CASE(
    "merging gives the reference's root for any partition of the items, ragged trees included") {
  for (const TreeKind kind : kinds) {
    for (const std::uint64_t n :
         {1ull, 2ull, 32ull, 33ull, 65ull, 1000ull, 32768ull, 32769ull, 70001ull}) {
      Played played(kind, n, static_cast<unsigned>(n));
      played.workload.merge();
      CHECK(played.workload.digest() ==
            hex(reference_root(kind, played.workload.leaves().bytes(), 2)));
      played.workload.add_item_roots(0, played.roots);
      CHECK(played.workload.verify(VerifyLevel::full, 1).status == Verdict::Status::passed);
      CHECK(played.workload.verify(VerifyLevel::sample, 1).status == Verdict::Status::passed);
      CHECK(played.workload.verify(VerifyLevel::off, 1).status == Verdict::Status::off);
    }
  }
}

TEST_CASE(
    "verification finds a wrong root, a wrong item, and a root that does not follow from the "
    "items") {
  Played played(TreeKind::plain, 500, 1);  // 16 items: each is likely to be among the 16 checks
  MerkleWorkload& workload = played.workload;
  workload.merge();
  const std::string right = workload.digest();

  workload.set_root(Digest{});
  const Verdict full = workload.verify(VerifyLevel::full, 1);
  CHECK(full.status == Verdict::Status::failed);
  CHECK(full.message.find(right) != std::string::npos);
  workload.add_item_roots(0, played.roots);
  CHECK(workload.verify(VerifyLevel::sample, 1).status == Verdict::Status::failed);

  workload.merge();
  played.roots[3][0] ^= 1;
  workload.add_item_roots(0, played.roots);
  for (std::uint64_t seed = 0; seed < 8; ++seed)
    CHECK(workload.verify(VerifyLevel::sample, seed).status == Verdict::Status::failed);
}

TEST_CASE("items that were not published are computed by the reference") {
  Played played(TreeKind::rfc6962, 500, 1);
  played.workload.merge();
  played.workload.add_item_roots(4, std::span(played.roots).subspan(4, 3));
  CHECK(played.workload.verify(VerifyLevel::sample, 3).status == Verdict::Status::passed);
}

TEST_CASE("a new sample forgets the root and the partials") {
  Played played(TreeKind::plain, 500, 1);
  played.workload.merge();
  played.workload.begin_sample();
  CHECK(kind_of_error([&] { (void)played.workload.digest(); }) == ErrorKind::internal);
  CHECK(kind_of_error([&] { played.workload.merge(); }) == ErrorKind::internal);
}

TEST_CASE("many scattered partials are merged on a GPU, few or those of a CPU on the host") {
  DeviceTraits gpu, cpu;
  cpu.cpu = true;
  MerkleWorkload workload(TreeKind::plain, Leaves::random(1 << 15, 1, 1), 1);
  const Digest any{};
  for (const Items half : {0, 1}) {
    const Partial partial{{9, half}, any};
    workload.add_partials({&partial, 1});
  }
  CHECK_FALSE(workload.merge_on_device(gpu));
  workload.begin_sample();
  for (Items i = 0; i < 1024; ++i) {
    const Partial partial{{0, i}, any};
    workload.add_partials({&partial, 1});
  }
  CHECK(workload.merge_on_device(gpu));
  CHECK_FALSE(workload.merge_on_device(cpu));
}

TEST_CASE(
    "the reference hashes a short last leaf as it is: published leaf hashes, and the recursion of "
    "RFC 6962") {
  for (const auto& [content, hash] : testing::published_short_leaves) {
    CHECK(hex(reference_root(TreeKind::rfc6962, std::as_bytes(std::span(content)), 1)) == hash);
  }
  const Leaves random = Leaves::random(4200, 8, 1);
  for (const std::size_t size : {1, 31, 33, 63, 64, 95, 1000, 1025, 4096 * 32 + 1, 4200 * 32 - 1}) {
    const auto bytes = random.bytes().first(size);
    CHECK(reference_root(TreeKind::rfc6962, bytes, 2) == testing::recursive_root_of_bytes(bytes));
  }
}

TEST_CASE("a tree with a short last leaf is merged and verified") {
  for (const std::uint64_t size : {1ull, 33ull, 32ull * 500 - 31, 32ull * 70001 - 5}) {
    const Leaves random = Leaves::random(size / 32 + 1, 5, 2);
    const TemporaryFile file(
        std::string(reinterpret_cast<const char*>(random.bytes().data()), size));
    Played played(TreeKind::rfc6962,
                  Leaves::from_file(file.path, size / 32 + 1, Remainder::short_leaf), 7);
    played.workload.merge();
    CHECK(played.workload.digest() ==
          hex(testing::recursive_root_of_bytes(random.bytes().first(size))));
    played.workload.add_item_roots(0, played.roots);
    CHECK(played.workload.verify(VerifyLevel::full, 1).status == Verdict::Status::passed);
    CHECK(played.workload.verify(VerifyLevel::sample, 1).status == Verdict::Status::passed);
  }
}

TEST_CASE(
    "the suite refuses an empty plain tree, unknown trees and sizes beyond the address space") {
  const SuiteInfo suite = merkle_suite();
  CHECK(kind_of_error([&] { suite.make(merkle_params(0, "plain")); }) == ErrorKind::usage);
  CHECK(kind_of_error([&] { suite.make(merkle_params(8, "binary")); }) == ErrorKind::usage);
  CHECK(kind_of_error([&] { suite.make(merkle_params(~0ull, "plain")); }) == ErrorKind::usage);
  CHECK(kind_of_error([&] { suite.host_bytes(merkle_params(1ull << 60, "plain")); }) ==
        ErrorKind::usage);
  CHECK(suite.host_bytes(merkle_params(1 << 20, "plain")) >= (32u << 20));
  for (const std::string& tree : suite.options.at(0).values)
    CHECK(suite.make(merkle_params(40, tree))->shape().items == 2);
}

TEST_CASE("an empty RFC 6962 tree is the hash of nothing") {
  const auto workload = merkle_suite().make(merkle_params(0, "rfc6962"));
  CHECK(workload->shape().items == 1);
  CHECK(workload->shape().ops == 0);
  CHECK(workload->transfer_memory().empty());
  workload->begin_sample();
  workload->merge();
  CHECK(workload->digest() == testing::published_roots[0]);
  CHECK(workload->verify(VerifyLevel::sample, 1).status == Verdict::Status::passed);
}

TEST_CASE("the rate counts interior nodes") {
  CHECK(merkle_suite().make(merkle_params(1000, "plain"))->shape().ops == 999);
  CHECK(merkle_suite().make(merkle_params(1000, "rfc6962"))->shape().ops == 999);
  CHECK(merkle_suite().make(merkle_params(1, "plain"))->shape().ops == 0);
}

TEST_CASE("the root is written as a line of hex, and an impossible place is an output error") {
  Played played(TreeKind::plain, 100, 1);
  played.workload.merge();
  const TemporaryFile file("old");
  played.workload.write_result(file.path);
  std::ifstream stream(file.path);
  const std::string text((std::istreambuf_iterator<char>(stream)), {});
  CHECK(text == played.workload.digest() + "\n");
  CHECK(kind_of_error([&] { played.workload.write_result("/dev/null/root"); }) ==
        ErrorKind::output);
}
