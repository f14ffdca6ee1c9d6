// Merkle trees on the devices there are, against the recursion of RFC 6962 on OpenSSL: every size
// and shape, both kernel paths.
#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "suites/merkle/merkle_workload.hpp"
#include "suites/suites.hpp"
#include "tests/support/ct_vectors.hpp"
#include "tests/support/machine.hpp"
#include "tests/support/merkle_reference.hpp"
#include "tests/support/thorough.hpp"

using namespace mgpu;
using mgpu::merkle::TreeKind;

namespace {

using testing::Path;

// The root, and with VerifyLevel::sample what verification says of it.
std::string root_of(merkle::MerkleWorkload& workload, const std::string& strategy, Mode mode,
                    Path path, Items pipeline = 0) {
  testing::Programs made = testing::make_programs(workload, mode, path, pipeline);
  testing::take_sample(workload, made, strategy, mode);
  for (std::size_t i = 0; i < made.programs.size(); ++i) {
    OpenDevice& device = *testing::machine().open[i];
    made.programs[i]->publish(device.stream());
    testing::wait_for(device);
    made.programs[i]->published();
  }
  CHECK(workload.verify(VerifyLevel::sample, 7).status == Verdict::Status::passed);
  return workload.digest();
}

void check_size(TreeKind kind, std::uint64_t leaves, const std::string& strategy, Mode mode,
                Path path, Items pipeline = 0) {
  CAPTURE(leaves);
  CAPTURE(strategy);
  CAPTURE(merkle::tree_names[static_cast<std::size_t>(kind)]);
  CAPTURE(to_string(mode));
  merkle::MerkleWorkload workload(kind, merkle::Leaves::random(leaves, 11 + leaves, 2), 2);
  const auto expected =
      merkle::hex(testing::recursive_root(kind, testing::split_leaves(workload.leaves().bytes())));
  CHECK(root_of(workload, strategy, mode, path, pipeline) == expected);
}

}  // namespace

TEST_CASE(
    "trees of every small size and around powers of two have the reference's root, on the device's "
    "own kernels") {
  for (const TreeKind kind : {TreeKind::plain, TreeKind::rfc6962}) {
    for (std::uint64_t leaves = kind == TreeKind::plain ? 1 : 0; leaves <= 70;
         leaves += leaves < 4 ? 1 : 3) {
      check_size(kind, leaves, "equal", leaves % 2 ? Mode::resident : Mode::end_to_end, Path::own);
    }
    for (const std::uint64_t power : {128, 1024, 4096}) {
      for (const std::uint64_t leaves : {power - 1, power, power + 1})
        check_size(kind, leaves, "dynamic", Mode::end_to_end, Path::own);
    }
  }
}

TEST_CASE(
    "trees of random sizes up to 4,000 have the reference's root under every strategy, slicing and "
    "mode, on both kernel paths") {
  std::mt19937_64 random(20260601);
  for (const Path path : {Path::own, Path::gpu}) {
    for (int n = 0; n < (testing::is_thorough() ? 16 : 6); ++n) {
      const auto& strategies = all_strategies();
      const std::string strategy = strategies[static_cast<std::size_t>(n) % strategies.size()].name;
      const TreeKind kind = n % 3 == 0 ? TreeKind::rfc6962 : TreeKind::plain;
      check_size(kind, 1 + random() % 4'000, strategy, n % 2 ? Mode::resident : Mode::end_to_end,
                 path, 1 + random() % 40);
    }
  }
}

TEST_CASE("the kernels for GPUs give the reference's roots for small and ragged trees") {
  for (const TreeKind kind : {TreeKind::plain, TreeKind::rfc6962, TreeKind::rfc6962_digests}) {
    for (const std::uint64_t leaves : {1, 2, 3, 31, 32, 33, 100, 1023, 1025, 70'001})
      check_size(kind, leaves, "equal", Mode::resident, Path::gpu);
  }
}

TEST_CASE("a larger ragged tree has the reference's root under every strategy") {
  for (const StrategyInfo& info : all_strategies())
    check_size(TreeKind::plain, 100'000, info.name, Mode::end_to_end, Path::own);
}

TEST_CASE(
    "fed the published leaf hashes, devices give the published RFC 6962 roots of sizes 0 to 8, on "
    "both kernel paths") {
  const auto file =
      std::filesystem::temp_directory_path() / ("mgpu-ct-" + std::to_string(::getpid()));
  for (const Path path : {Path::own, Path::gpu}) {
    for (std::size_t size = 0; size <= 8; ++size) {
      CAPTURE(size);
      {
        std::ofstream out(file, std::ios::binary);
        for (std::size_t i = 0; i < size; ++i) {
          const std::string hex = testing::published_leaf_hashes[i];
          for (std::size_t byte = 0; byte < 32; ++byte)
            out.put(static_cast<char>(std::stoi(hex.substr(2 * byte, 2), nullptr, 16)));
        }
      }
      merkle::MerkleWorkload workload(
          TreeKind::rfc6962_digests,
          merkle::Leaves::from_file(file, size, merkle::Remainder::refuse), 1);
      CHECK(root_of(workload, "equal", Mode::end_to_end, path) == testing::published_roots[size]);
    }
  }
  std::filesystem::remove(file);
}

TEST_CASE(
    "a short last leaf is hashed as it is: every length of it, every place in a group of leaves, "
    "strategy and mode, on both "
    "paths") {
  const auto file =
      std::filesystem::temp_directory_path() / ("mgpu-short-" + std::to_string(::getpid()));
  const auto root_of_bytes = [&](std::span<const std::byte> bytes, const std::string& strategy,
                                 Mode mode, Path path, Items pipeline) {
    CAPTURE(bytes.size());
    CAPTURE(strategy);
    std::ofstream(file, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    const std::uint64_t count = (bytes.size() + 31) / 32;
    merkle::MerkleWorkload workload(
        TreeKind::rfc6962, merkle::Leaves::from_file(file, count, merkle::Remainder::short_leaf),
        2);
    CHECK(root_of(workload, strategy, mode, path, pipeline) ==
          merkle::hex(testing::recursive_root_of_bytes(bytes)));
  };
  const merkle::Leaves random = merkle::Leaves::random(3'000, 31, 2);
  const auto& strategies = all_strategies();
  for (const Path path : {Path::own, Path::gpu}) {
    for (std::size_t n = 0; n < (testing::is_thorough() ? 70u : 40u);
         n += testing::is_thorough() ? 1 : 3) {
      const std::size_t whole = n < 36 ? n : n * 137 % 2999;  // leaves before it
      root_of_bytes(random.bytes().first(32 * whole + 1 + n * 7 % 31),
                    strategies[n % strategies.size()].name,
                    n % 2 == 0 ? Mode::resident : Mode::end_to_end, path, 1 + n % 40);
    }
    for (const auto& [content, hash] : testing::published_short_leaves) {
      std::ofstream(file, std::ios::binary) << content;
      merkle::MerkleWorkload workload(
          TreeKind::rfc6962, merkle::Leaves::from_file(file, 1, merkle::Remainder::short_leaf), 1);
      CHECK(root_of(workload, "equal", Mode::resident, path) == hash);
    }
  }
  std::filesystem::remove(file);
}
