// The host side of the merkle suite: reference, hash, geometry, merging, verification, leaves,
// input and output, and the division of a tree into launches. tests/opencl tests the devices'
// results.
#include <doctest/doctest.h>
#include <openssl/evp.h>

#include <fstream>
#include <numeric>
#include <random>
#include <set>

#include "suites/merkle/hash.hpp"
#include "suites/merkle/merkle_workload.hpp"
#include "suites/merkle/passes.hpp"
#include "suites/merkle/reference.hpp"
#include "tests/support/merkle_reference.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/suite_params.hpp"
#include "tests/support/thorough.hpp"

namespace mgpu::merkle {
namespace {

using test::kind_of_error;

SuiteParams params_with(std::uint64_t size, const std::string& tree) {
  return test::suite_params("merkle", size, {{"tree", tree}});
}

const SuiteInfo& suite() { return test::suite_named("merkle"); }

struct LeafFile {
  explicit LeafFile(const std::string& content)
      : path(std::filesystem::temp_directory_path() /
             ("merkle_test_" + std::to_string(std::random_device{}()))) {
    write(content);
  }
  ~LeafFile() { std::filesystem::remove(path); }
  void write(const std::string& content) const { std::ofstream(path, std::ios::binary) << content; }
  std::filesystem::path path;
};

const std::vector<Rules> all_rules{TreeKind::plain,
                                   TreeKind::rfc6962,
                                   TreeKind::rfc6962_digests,
                                   TreeKind::hashed,
                                   TreeKind::bitcoin,
                                   {TreeKind::plain, Hash::keccak256},
                                   {TreeKind::rfc6962, Hash::keccak256},
                                   {TreeKind::hashed, Hash::keccak256, 137},
                                   {TreeKind::plain, Hash::blake3},
                                   {TreeKind::rfc6962, Hash::blake3, 1025}};

// Returns whether the tier has a tree of so many leaves: the host's Keccak-256 is slow, and large
// trees of all hashes are cut alike.
bool has_size(const Rules& rules, std::uint64_t leaves) {
  return rules.hash != Hash::keccak256 || leaves <= 1000 || testing::is_thorough();
}

Digest from_hex(const std::string& text) {
  Digest digest{};
  for (std::size_t i = 0; i < digest.size(); ++i)
    digest[i] = static_cast<std::uint8_t>(std::stoul(text.substr(2 * i, 2), nullptr, 16));
  return digest;
}

// A workload in which the reference plays the devices: it delivers the roots of all items as the
// covers of random ranges.
struct Played {
  Played(const Rules& rules, std::uint64_t leaves, unsigned seed, std::uint64_t trees = 1)
      : Played(rules, Leaves::random(leaves * trees, 5, 2, rules.leaf_bytes), seed, trees) {}
  Played(const Rules& rules, Leaves leaves, unsigned seed, std::uint64_t trees = 1)
      : workload(rules, std::move(leaves), 2, trees),
        geometry(workload.geometry()),
        roots(geometry.items) {
    workload.begin_sample();
    const auto item = [&](Items i) {
      return workload.leaves().content(geometry.first_leaf(i), geometry.first_leaf(i + 1));
    };
    for (Items i = 0; i < geometry.items; ++i)
      roots[i] = reference_root(rules, item(i), 1, geometry.per_tree > 1 ? geometry.height : 0);
    std::mt19937 random(seed);
    std::vector<Partial> partials;
    const Items per_tree = geometry.per_tree;
    for (std::uint64_t tree = 0; tree < trees; ++tree) {
      const std::span all = std::span(roots).subspan(tree * per_tree, per_tree);
      for (Items at = 0, end; at < per_tree; at = end) {
        end = std::min<Items>(per_tree, at + 1 + random() % 200);
        for (const TreeNode& node : cover_items(rules, at, end, per_tree)) {
          partials.push_back(
              {tree, node,
               reference_top(rules, all.subspan(node.begin(), node.end(per_tree) - node.begin()))});
        }
      }
    }
    std::shuffle(partials.begin(), partials.end(), random);
    for (const Partial& partial : partials) workload.add_partials({&partial, 1});
  }
  MerkleWorkload workload;
  Geometry geometry;
  std::vector<Digest> roots;
};

}  // namespace

TEST_CASE("merkle: the reference gives the published RFC 6962 roots of sizes 0 to 8") {
  std::vector<Digest> leaves;
  for (std::size_t n = 0; n <= 8; ++n) {
    CHECK(hex(reference_root(TreeKind::rfc6962_digests, std::as_bytes(std::span(leaves)), 1)) ==
          testing::published_roots[n]);
    if (n < 8) leaves.push_back(from_hex(testing::published_leaf_hashes[n]));
  }
}

TEST_CASE(
    "merkle: the reference is the recursion of RFC 6962 for small sizes and across its chunks") {
  std::vector<std::uint64_t> sizes(71);
  std::iota(sizes.begin(), sizes.end(), 0);
  for (const std::uint64_t n : {4095, 4096, 4097, 8193}) sizes.push_back(n);
  for (const Rules& rules : all_rules) {
    for (const std::uint64_t n : sizes) {
      if (!has_size(rules, n)) continue;
      const Leaves leaves = Leaves::random(n, 3, 1, rules.leaf_bytes);
      CHECK(reference_root(rules, leaves.bytes(), 3) ==
            testing::root_of_bytes(rules, leaves.bytes()));
    }
  }
  const Leaves leaves = Leaves::random(5, 3, 1);  // other trees over the same leaves: other roots
  std::set<Digest> roots;
  for (const Rules& rules : all_rules)
    roots.insert(reference_root({rules.kind, rules.hash}, leaves.bytes(), 1));
  CHECK(roots.size() == all_rules.size());
}

TEST_CASE("merkle: the host's SHA-256 is OpenSSL's for every length up to three blocks") {
  std::mt19937 random(1);
  for (std::size_t n = 0; n <= 200; ++n) {
    std::vector<std::uint8_t> message(n);
    for (auto& byte : message) byte = static_cast<std::uint8_t>(random());
    CHECK(sha256(message) == testing::openssl_sha256(message));
  }
}

TEST_CASE("merkle: the host's hashes have the published digests") {
  std::ifstream file(test::source_folder() / "tests/data/hash_vectors.txt");
  std::size_t count = 0;
  for (std::string hash, message, digest; file >> hash;) {
    if (hash == "#" || hash == "txid" || hash == "root") {
      std::getline(file, digest);
      continue;
    }
    REQUIRE((file >> message >> digest));
    CAPTURE(hash + " of " + message);
    std::vector<std::uint8_t> bytes;
    const std::size_t star = message.find('*'), times = std::stoul(message.substr(star + 1));
    for (std::size_t i = 0; i < times; ++i) {
      if (star == std::string::npos) bytes.push_back(static_cast<std::uint8_t>(i % 251));
      if (star != std::string::npos)
        bytes.insert(bytes.end(), message.begin(),
                     message.begin() + static_cast<std::ptrdiff_t>(star));
    }
    const auto* name = std::find(hash_names.begin(), hash_names.end(), hash);
    REQUIRE(name != hash_names.end());
    CHECK(hex(hash_message(static_cast<Hash>(name - hash_names.begin()), bytes)) == digest);
    ++count;
  }
  CHECK(count == 43);
}

TEST_CASE("merkle: the host's Keccak with the padding of SHA-3 is OpenSSL's SHA3-256") {
  std::vector<std::uint8_t> message;
  for (std::size_t n = 0; n <= 500; ++n) {
    Digest expected{};
    REQUIRE(EVP_Digest(message.data(), n, expected.data(), nullptr, EVP_sha3_256(), nullptr) == 1);
    CHECK(keccak256(message, 0x06) == expected);
    message.push_back(static_cast<std::uint8_t>(n * 7));
  }
}

TEST_CASE("merkle: the root of a Bitcoin block is that of its header") {
  std::ifstream file(test::source_folder() / "tests/data/hash_vectors.txt");
  std::vector<Digest> txids;
  std::string expected;
  // Displayed with their bytes in reverse order.
  const auto reversed = [](const std::string& text) {
    Digest digest = from_hex(text);
    std::reverse(digest.begin(), digest.end());
    return digest;
  };
  for (std::string word, text; file >> word; std::getline(file, text)) {
    if (word == "txid" && file >> text) txids.push_back(reversed(text));
    if (word == "root" && file >> text) expected = hex(reversed(text));
  }
  REQUIRE(txids.size() == 9);
  CHECK(hex(reference_root(TreeKind::bitcoin, std::as_bytes(std::span(txids)), 1)) == expected);
}

TEST_CASE("merkle: hashes, trees and lengths of leaves that do not go together are refused") {
  const auto refusal = [](const test::Options& options) {
    return test::refusal([&] { suite().check(test::suite_params("merkle", 8, options)); },
                         ErrorKind::usage);
  };
  CHECK(test::has(refusal({{"tree", "bitcoin"}, {"hash", "blake3"}}), "--hash sha256"));
  CHECK(test::has(refusal({{"tree", "bitcoin"}, {"leaf-bytes", "33"}}), "--tree hashed"));
  CHECK(test::has(refusal({{"leaf-bytes", "33"}}), "--tree plain are digests"));
  CHECK(test::has(refusal({{"hash", "md5"}}), "keccak256"));
  for (const char* bytes : {"0", "1073741825"})
    CHECK(test::has(refusal({{"tree", "hashed"}, {"leaf-bytes", bytes}}), "1 to 1073741824"));
  SuiteParams many = test::suite_params("merkle", std::uint64_t{1} << 40,
                                        {{"tree", "hashed"}, {"leaf-bytes", "1000000000"}});
  CHECK(kind_of_error([&] { suite().check(many); }) == ErrorKind::usage);
  SuiteParams given = test::suite_params("merkle", 8, {{"tree", "hashed"}, {"leaf-bytes", "33"}});
  suite().optional.resolve(given);
  CHECK(given.options == test::Options{{"tree", "hashed"}, {"leaf-bytes", "33"}});
  CHECK(suite().shape(given).bytes_in == 8 * 33);
}

TEST_CASE("merkle: items are aligned subtrees: at most 1024, at least 32 leaves, of all leaves") {
  for (const std::uint64_t n : {1ull, 31ull, 32ull, 33ull, 100000ull, 1ull << 15, (1ull << 15) + 1,
                                1ull << 26, (1ull << 26) + 1, 1ull << 40}) {
    const Geometry g = Geometry::of(n);
    CHECK(g.items >= 1);
    CHECK(g.items <= Geometry::max_items);
    CHECK(g.height >= (n < 32 ? 1 : 5));
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

TEST_CASE("merkle: items of many trees are whole trees or subtrees of one, in order") {
  for (const auto& [leaves, trees] : {std::pair{100'000ull, 1000ull},
                                      {100'000, 4},
                                      {33, 3},
                                      {1, 5},
                                      {8, 3000},
                                      {1 << 20, 600},
                                      {0, 7}}) {
    CAPTURE(leaves);
    const Geometry g = Geometry::of(leaves, trees);
    CHECK(g.items == g.per_tree * trees);
    CHECK((g.items <= Geometry::max_items || g.per_tree == 1));
    CHECK(g.height >= 1);
    for (std::uint64_t tree = 0; tree <= trees; ++tree)
      CHECK(g.first_leaf(tree * g.per_tree) == tree * leaves);
    for (Items i = 0; i < g.items && leaves > 0; ++i) {
      CHECK(g.first_leaf(i) < g.first_leaf(i + 1));
      CHECK(g.first_leaf(i + 1) - g.first_leaf(i) <= g.leaves_of_item());
    }
  }
  CHECK(Geometry::of(100'000, 1000).per_tree == 1);
  CHECK(Geometry::of(100'000, 4).per_tree > 64);
}

TEST_CASE("merkle: a partial tree with a hole is refused, one with overlapping nodes is not") {
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

TEST_CASE("merkle: merging gives the reference's root for any partition, ragged trees included") {
  for (const Rules& rules : all_rules) {
    for (const std::uint64_t n : {1ull, 2ull, 5ull, 32ull, 33ull, 65ull, 1000ull, 32769ull}) {
      if (!has_size(rules, n)) continue;
      Played played(rules, n, static_cast<unsigned>(n));
      played.workload.merge();
      CHECK(played.workload.digest() ==
            hex(reference_root(rules, played.workload.leaves().bytes(), 2)));
      played.workload.add_item_roots(0, played.roots);
      CHECK(played.workload.verify(VerifyLevel::full, 1).status == Verdict::Status::passed);
      CHECK(played.workload.verify(VerifyLevel::sample, 1).status == Verdict::Status::passed);
      CHECK(played.workload.verify(VerifyLevel::off, 1).status == Verdict::Status::off);
    }
  }
}

TEST_CASE("merkle: verification finds a wrong root, a wrong item, and a root not of the items") {
  Played played(TreeKind::plain, 500, 1);  // 16 items: each is likely to be among the 16 checks
  MerkleWorkload& workload = played.workload;
  workload.merge();
  const std::string right = workload.digest();

  workload.set_roots({Digest{}});
  const Verdict full = workload.verify(VerifyLevel::full, 1);
  CHECK(full.status == Verdict::Status::failed);
  CHECK(test::has(full.message, right));
  workload.add_item_roots(0, played.roots);
  CHECK(workload.verify(VerifyLevel::sample, 1).status == Verdict::Status::failed);

  workload.merge();
  played.roots[3][0] ^= 1;
  workload.add_item_roots(0, played.roots);
  for (std::uint64_t seed = 0; seed < 8; ++seed)
    CHECK(workload.verify(VerifyLevel::sample, seed).status == Verdict::Status::failed);
}

TEST_CASE("merkle: items that were not published are computed by the reference") {
  Played played(TreeKind::rfc6962, 500, 1);
  played.workload.merge();
  played.workload.add_item_roots(4, std::span(played.roots).subspan(4, 3));
  CHECK(played.workload.verify(VerifyLevel::sample, 3).status == Verdict::Status::passed);
}

TEST_CASE("merkle: many trees are merged and verified each by itself") {
  for (const auto& [leaves, trees] : {std::pair{1000ull, 3ull}, {33, 40}, {5, 2000}, {0, 3}}) {
    CAPTURE(leaves);
    Played played(TreeKind::rfc6962, leaves, 9, trees);
    MerkleWorkload& workload = played.workload;
    workload.merge();
    std::vector<std::uint8_t> roots;
    for (std::uint64_t tree = 0; tree < trees; ++tree) {
      const Digest root = testing::root_of_bytes(
          TreeKind::rfc6962, workload.leaves().bytes(tree * leaves, (tree + 1) * leaves));
      roots.insert(roots.end(), root.begin(), root.end());
    }
    CHECK(workload.digest() == hex(testing::openssl_sha256(roots)));
    workload.add_item_roots(0, played.roots);
    for (const VerifyLevel level : {VerifyLevel::full, VerifyLevel::sample})
      CHECK(workload.verify(level, 1).status == Verdict::Status::passed);
    std::vector<Digest> wrong(trees);
    for (std::uint64_t tree = 0; tree < trees; ++tree)
      std::copy_n(roots.begin() + static_cast<std::ptrdiff_t>(32 * tree), 32, wrong[tree].begin());
    wrong.back()[3] ^= 1;
    workload.set_roots(wrong);
    const Verdict verdict = workload.verify(VerifyLevel::full, 1);
    CHECK(verdict.status == Verdict::Status::failed);
    CHECK(test::has(verdict.message, "tree " + std::to_string(trees - 1) + " "));
    if (leaves > 0)
      CHECK(workload.verify(VerifyLevel::sample, 1).status == Verdict::Status::failed);
    workload.begin_sample();
    if (leaves > 0) CHECK(kind_of_error([&] { workload.merge(); }) == ErrorKind::internal);
  }
}

TEST_CASE("merkle: a sampled check names the subtree and its tree") {
  Played played(TreeKind::plain, 64, 1, 3);  // six items: each is among the 16 checks
  played.workload.merge();
  played.roots[5][0] ^= 1;
  played.workload.add_item_roots(0, played.roots);
  CHECK(test::has(played.workload.verify(VerifyLevel::sample, 2).message, "subtree 1 of tree 2 "));
}

TEST_CASE("merkle: trees of a file have one size, and their number is in range") {
  const LeafFile file(std::string(32 * 6, 'a') + "bcd");
  SuiteParams params = params_with(0, "rfc6962");
  params.input = file.path;
  const auto size_with = [&](const std::string& trees) {
    params.options["trees"] = trees;
    return suite().size_of_input(params);
  };
  CHECK(size_with("7") == 1);
  CHECK(size_with("1") == 7);
  const std::string message = test::refusal([&] { size_with("3"); }, ErrorKind::input);
  for (const char* part : {"7 leaves", "multiple", "3 of --trees"}) CHECK(test::has(message, part));
  for (const char* trees : {"0", "2000000000"}) {
    SuiteParams many = params_with(64, "plain");
    many.options["trees"] = trees;
    CHECK(kind_of_error([&] { suite().check(many); }) == ErrorKind::usage);
  }
  SuiteParams one = params_with(64, "plain");
  one.options["trees"] = "1";
  suite().optional.resolve(one);
  CHECK_FALSE(one.options.contains("trees"));
  one.options["trees"] = "5";
  suite().optional.resolve(one);
  const Shape shape = suite().shape(one);
  CHECK((shape.ops == 5 * 63 && shape.bytes_out == 5 * 32 && shape.bytes_in == 5 * 64 * 32));
}

TEST_CASE("merkle: the roots of many trees are written as a line each") {
  Played played(TreeKind::plain, 100, 1, 3);
  played.workload.merge();
  const LeafFile file("old");
  played.workload.write_result(file.path);
  std::ifstream stream(file.path);
  std::string line;
  for (std::uint64_t tree = 0; tree < 3; ++tree) {
    REQUIRE(std::getline(stream, line));
    CHECK(line ==
          hex(reference_root(TreeKind::plain,
                             played.workload.leaves().content(tree * 100, tree * 100 + 100), 1)));
  }
  CHECK_FALSE(std::getline(stream, line));
}

TEST_CASE("merkle: a new sample forgets the root and the partials") {
  Played played(TreeKind::plain, 500, 1);
  played.workload.merge();
  played.workload.begin_sample();
  CHECK(kind_of_error([&] { (void)played.workload.digest(); }) == ErrorKind::internal);
  CHECK(kind_of_error([&] { played.workload.merge(); }) == ErrorKind::internal);
}

TEST_CASE(
    "merkle: many scattered partials are merged on a GPU, few or those of a CPU on the host") {
  DeviceTraits gpu, cpu;
  cpu.cpu = true;
  MerkleWorkload workload(TreeKind::plain, Leaves::random(1 << 15, 1, 1), 1);
  const Digest any{};
  for (const Items half : {0, 1}) {
    const Partial partial{0, {9, half}, any};
    workload.add_partials({&partial, 1});
  }
  constexpr Nanos kPerPart{450};
  CHECK_FALSE(workload.merge_on_device(gpu, kPerPart));
  workload.begin_sample();
  for (Items i = 0; i < 1024; ++i) {
    const Partial partial{0, {0, i}, any};
    workload.add_partials({&partial, 1});
  }
  CHECK(workload.merge_on_device(gpu, kPerPart));
  CHECK_FALSE(workload.merge_on_device(gpu, Nanos{100}));
  CHECK_FALSE(workload.merge_on_device(gpu, Nanos{}));
  CHECK_FALSE(workload.merge_on_device(cpu, kPerPart));
}

TEST_CASE("merkle: the reference hashes a short last leaf as it is") {
  for (const auto& [content, hash] : testing::published_short_leaves) {
    CHECK(hex(reference_root(TreeKind::rfc6962, std::as_bytes(std::span(content)), 1)) == hash);
  }
  const Leaves random = Leaves::random(4200, 8, 1);
  for (const std::size_t size : {1, 31, 33, 63, 64, 95, 1000, 1025, 4096 * 32 + 1, 4200 * 32 - 1}) {
    const auto bytes = random.bytes().first(size);
    CHECK(reference_root(TreeKind::rfc6962, bytes, 2) ==
          testing::root_of_bytes(TreeKind::rfc6962, bytes));
  }
}

TEST_CASE("merkle: a tree with a short last leaf is merged and verified") {
  for (const std::uint64_t size : {1ull, 33ull, 32ull * 500 - 31, 32ull * 33001 - 5}) {
    const Leaves random = Leaves::random(size / 32 + 1, 5, 2);
    const LeafFile file(std::string(reinterpret_cast<const char*>(random.bytes().data()), size));
    Played played(TreeKind::rfc6962,
                  Leaves::from_file(file.path, size / 32 + 1, Remainder::short_leaf), 7);
    played.workload.merge();
    CHECK(played.workload.digest() ==
          hex(testing::root_of_bytes(TreeKind::rfc6962, random.bytes().first(size))));
    played.workload.add_item_roots(0, played.roots);
    CHECK(played.workload.verify(VerifyLevel::full, 1).status == Verdict::Status::passed);
    CHECK(played.workload.verify(VerifyLevel::sample, 1).status == Verdict::Status::passed);
  }
}

TEST_CASE("merkle: an empty plain tree, unknown trees and sizes beyond memory are refused") {
  CHECK(kind_of_error([&] { suite().make(params_with(0, "plain")); }) == ErrorKind::usage);
  CHECK(kind_of_error([&] { suite().make(params_with(8, "binary")); }) == ErrorKind::usage);
  CHECK(kind_of_error([&] { suite().make(params_with(~0ull, "plain")); }) == ErrorKind::usage);
  CHECK(kind_of_error([&] { suite().host_bytes(params_with(1ull << 60, "plain")); }) ==
        ErrorKind::usage);
  CHECK(suite().host_bytes(params_with(1 << 20, "plain")) >= (32u << 20));
  for (const std::string& tree : suite().options.at(0).values)
    CHECK(suite().make(params_with(40, tree))->shape().items == 2);
  for (const auto& [size, tree, ops] :
       {std::tuple{1000, "plain", 999}, {1000, "rfc6962", 999}, {1, "plain", 0}})
    CHECK(suite().make(params_with(static_cast<std::uint64_t>(size), tree))->shape().ops == ops);
}

TEST_CASE("merkle: an empty RFC 6962 tree is the hash of nothing") {
  const auto workload = suite().make(params_with(0, "rfc6962"));
  CHECK(workload->shape().items == 1);
  CHECK(workload->shape().ops == 0);
  CHECK(workload->transfer_memory().empty());
  workload->begin_sample();
  workload->merge();
  CHECK(workload->digest() == testing::published_roots[0]);
  CHECK(workload->verify(VerifyLevel::sample, 1).status == Verdict::Status::passed);
}

TEST_CASE("merkle: the root is written as a line of hex, an impossible place is an output error") {
  Played played(TreeKind::plain, 100, 1);
  played.workload.merge();
  const LeafFile file("old");
  played.workload.write_result(file.path);
  std::ifstream stream(file.path);
  const std::string text((std::istreambuf_iterator<char>(stream)), {});
  CHECK(text == played.workload.digest() + "\n");
  CHECK(kind_of_error([&] { played.workload.write_result("/dev/null/root"); }) ==
        ErrorKind::output);
}

TEST_CASE("merkle: random leaves depend on the seed and their index only") {
  const auto bytes = [](const Leaves& leaves) {
    return std::vector(leaves.bytes().begin(), leaves.bytes().end());
  };
  const auto one = bytes(Leaves::random(200001, 7, 1));
  CHECK(one == bytes(Leaves::random(200001, 7, 4)));
  const auto fewer = bytes(Leaves::random(1000, 7, 3));
  CHECK(std::equal(fewer.begin(), fewer.end(), one.begin()));
  CHECK(fewer != bytes(Leaves::random(1000, 8, 3)));
  // SplitMix64 from 1234567: the first output of the published reference implementation is
  // 6457827717110365317 (0x599ed017fb08fc85).
  const Leaves known = Leaves::random(1, 1234567, 1);
  CHECK(std::to_integer<int>(known.bytes()[0]) == 0x85);
  CHECK(std::to_integer<int>(known.bytes()[7]) == 0x59);
}

TEST_CASE("merkle: a file's leaves are its bytes, the last one padded where that is asked for") {
  const LeafFile file(std::string(64, 'a') + "bcd");
  CHECK(count_in_file(file.path, Remainder::pad) == 3);
  const auto leaves =
      testing::split_leaves(Leaves::from_file(file.path, 3, Remainder::pad).bytes());
  CHECK(leaves[1] == leaves[0]);
  CHECK(leaves[0][31] == 'a');
  CHECK(leaves[2][2] == 'd');
  CHECK(std::all_of(leaves[2].begin() + 3, leaves[2].end(), [](auto byte) { return byte == 0; }));

  file.write(std::string(64, 'a'));
  for (const Remainder any : {Remainder::refuse, Remainder::pad, Remainder::short_leaf}) {
    CHECK(count_in_file(file.path, any) == 2);
    const Leaves two = Leaves::from_file(file.path, 2, any);
    CHECK(two.content(0, 2).size() == 64);
    CHECK(two.unused_bytes() == 0);
    CHECK(kind_of_error([&] { Leaves::from_file(file.path, 3, any); }) == ErrorKind::input);
  }
  file.write("");
  CHECK(count_in_file(file.path, Remainder::refuse) == 0);
  CHECK(Leaves::from_file(file.path, 0, Remainder::refuse).bytes().empty());
}

TEST_CASE("merkle: a file of no multiple of 32 bytes is refused, but for --pad and RFC 6962") {
  const LeafFile file(std::string(64, 'a') + "bcd");
  const auto size_of = [&](const std::string& tree, bool pad) {
    SuiteParams p = params_with(0, tree);
    if (pad) p.options["pad"] = "yes";
    p.input = file.path;
    return suite().size_of_input(p);
  };
  for (const std::string tree : {"plain", "rfc6962-digests"}) {
    CHECK(kind_of_error([&] { size_of(tree, false); }) == ErrorKind::input);
    CHECK(size_of(tree, true) == 3);
    SuiteParams p = params_with(3, tree);
    p.input = file.path;
    CHECK(kind_of_error([&] { suite().make(p); }) == ErrorKind::input);
  }
  CHECK(size_of("rfc6962", false) == 3);
  CHECK(size_of("rfc6962", true) == 3);
  const Leaves leaves = Leaves::from_file(file.path, 3, Remainder::short_leaf);
  CHECK(leaves.content(0, 2).size() == 64);
  CHECK(leaves.content(2, 3).size() == 3);
  CHECK(leaves.bytes().size() == 96);
  CHECK(leaves.unused_bytes() == 29);
  const std::string message = test::refusal([&] { size_of("plain", false); }, ErrorKind::input);
  for (const char* part : {"67 B", "3 ", "--pad", "rfc6962"}) CHECK(test::has(message, part));
}

TEST_CASE("merkle: a directory or a missing file is an input error") {
  CHECK(kind_of_error([] {
          count_in_file(std::filesystem::temp_directory_path(), Remainder::pad);
        }) == ErrorKind::input);
  CHECK(kind_of_error([] { count_in_file("no such file", Remainder::pad); }) == ErrorKind::input);
  SuiteParams gone = params_with(3, "plain");
  gone.input = "no such file";
  CHECK(kind_of_error([&] { suite().make(gone); }) == ErrorKind::input);
}

namespace {

DeviceTraits traits_with(bool cpu, Bytes memory, Bytes allocation) {
  DeviceTraits device;
  device.cpu = cpu;
  device.max_work_group = 1024;
  device.global_memory = memory;
  device.max_allocation = allocation;
  return device;
}

constexpr Bytes gib = Bytes{1} << 30;

}  // namespace

TEST_CASE("merkle: the launches of any height add up to it, each within what its kernel can do") {
  for (const bool cpu : {false, true}) {
    for (unsigned height = 1; height <= 46; ++height) {
      const auto chain = passes(traits_with(cpu, gib, gib), TreeKind::rfc6962, height);
      unsigned sum = 0;
      for (std::size_t i = 0; i < chain.size(); ++i) {
        sum += chain[i].levels;
        CHECK((chain[i].levels >= 1 && chain[i].levels <= (cpu ? 6u : chain[i].group ? 10u : 3u)));
        CHECK(chain[i].group == (!cpu && i + 1 == chain.size() && height > 3));
        CHECK(((chain[i].flags & (in_leaves | hash_leaves)) != 0) == (i == 0));
        // A pass reads blocks exactly if the pass before it wrote blocks.
        CHECK(((chain[i].flags & in_blocks) != 0) ==
              (i > 0 && (chain[i - 1].flags & out_blocks) != 0));
        CHECK(((chain[i].flags & out_blocks) != 0) == (cpu && i + 1 < chain.size()));
      }
      CHECK(sum == height);
    }
  }
}

TEST_CASE(
    "merkle: a resident tree is one piece where its leaves fit, and nothing where they do not") {
  const Geometry tree = Geometry::of(std::uint64_t{1} << 26);  // 2 GiB of leaves
  const Capacity large =
      capacity(traits_with(false, 140 * gib, 35 * gib), TreeKind::plain, tree, Mode::resident);
  CHECK((large.fits == tree.items && large.pipeline == tree.items && large.reason.empty()));
  CHECK((large.resident > 2 * gib && large.resident < 3 * gib));
  for (const auto& [memory, allocation] :
       {std::pair{140 * gib, gib}, std::pair{2 * gib, 2 * gib}}) {
    const Capacity none =
        capacity(traits_with(false, memory, allocation), TreeKind::plain, tree, Mode::resident);
    CHECK((none.fits == 0 && !none.reason.empty()));
  }
}

TEST_CASE("merkle: scratch memory stays under a gibibyte however many leaves there are") {
  const Geometry tree = Geometry::of(std::uint64_t{1} << 30);
  const DeviceTraits device = traits_with(false, 140 * gib, 35 * gib);
  const Layout plan = layout(device, TreeKind::plain, tree, Mode::resident, tree.items);
  CHECK(plan.scratch[0] + plan.scratch[1] <= gib);
  CHECK(plan.piece < tree.items);
  CHECK(plan.piece >= tree.items / 8);
}

TEST_CASE("merkle: end to end, a tree larger than the device goes through two slots in pieces") {
  const Geometry tree = Geometry::of(std::uint64_t{1} << 30);  // 32 GiB of leaves
  const DeviceTraits device = traits_with(false, gib, gib / 4);
  const Capacity capacity_small = capacity(device, TreeKind::plain, tree, Mode::end_to_end);
  CHECK(capacity_small.fits >= 1);
  CHECK(capacity_small.pipeline <= capacity_small.fits);
  CHECK(capacity_small.pipeline * (digest_bytes << tree.height) <= (32u << 20));
  CHECK(capacity_small.resident <= gib / 10 * 9);
  const Layout plan = layout(device, TreeKind::plain, tree, Mode::end_to_end, capacity_small.fits);
  CHECK(plan.leaf_buffers == 2);
  CHECK(plan.leaves <= device.max_allocation);
  CHECK(plan.total() == capacity_small.resident);
}

TEST_CASE("merkle: end to end, pieces are large enough to hide costs, and as many as overlap") {
  constexpr Bytes mib = 1 << 20;
  const auto piece_of = [](std::uint64_t leaves, bool cpu) {
    const Geometry tree = Geometry::of(leaves);
    return capacity(traits_with(cpu, 16 * gib, 4 * gib), TreeKind::plain, tree, Mode::end_to_end)
               .pipeline *
           (digest_bytes << tree.height);
  };
  CHECK(piece_of(1 << 18, false) == 4 * mib);  // the leaves are 8 MiB
  CHECK(piece_of(1 << 22, false) == 8 * mib);  // the leaves are 128 MiB
  CHECK(piece_of(1 << 24, false) == 16 * mib);
  CHECK(piece_of(1 << 28, false) == 32 * mib);
  CHECK(piece_of(1 << 18, true) == mib);
  CHECK(piece_of(1 << 24, true) == 8 * mib);
  const Geometry tiny = Geometry::of(100);
  CHECK(capacity(traits_with(false, 16 * gib, 4 * gib), TreeKind::plain, tiny, Mode::end_to_end)
            .pipeline == tiny.items);
}

}  // namespace mgpu::merkle
