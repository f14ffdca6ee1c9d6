// Poseidon2 on the host next to vectors of Plonky3, and what is made of it.
#include "suites/ntt/poseidon2.hpp"

#include <doctest/doctest.h>

#include <numeric>

#include "suites/ntt/problem.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/suite_params.hpp"

namespace mgpu::ntt {
namespace {

// Input of test_default_..._poseidon2_width_16 in koala-bear and baby-bear of Plonky3 (MIT
// licence).
constexpr Poseidon2::State kInput{
    894848333, 1437655012, 1200606629, 1690012884, 71131202,  1749206695, 1717947831, 120589055,
    19776022,  42382981,   1831865506, 724844064,  171220207, 1299207443, 227047920,  1783754913};

Problem commitment(std::uint64_t n, const test::Options& more, std::size_t devices) {
  test::Options options{{"op", "commit"}};
  options.insert(more.begin(), more.end());
  SuiteParams params = test::suite_params("ntt", n, options);
  params.devices = devices;
  return problem_of(params);
}

}  // namespace

TEST_CASE("poseidon2: permutations are those of Plonky3, and so are the generated constants") {
  Poseidon2::State state = kInput;
  Poseidon2(Field::koalabear).permute(state);
  CHECK(state == Poseidon2::State{1934285469, 604889435, 133449501, 1026180808, 1830659359,
                                  176667110, 1391183747, 351743874, 1238264085, 1292768839,
                                  2023573270, 1201586780, 1360691759, 1230682461, 748270449,
                                  651545025});
  state = kInput;
  Poseidon2(Field::babybear).permute(state);
  CHECK(state == Poseidon2::State{516096821, 90309867, 1101817252, 1660784290, 360715097,
                                  1789519026, 1788910906, 563338433, 319524748, 1741414159,
                                  1650859320, 894311162, 1121347488, 1692793758, 1052633829,
                                  1344246938});
}

// Computed by tests/data/ntt_vectors.py, as the hash of rows next to kernels is.
TEST_CASE("poseidon2: hashes of rows and trees") {
  const Poseidon2 hash(Field::koalabear);
  std::vector<Poseidon2::Digest> leaves(16);
  for (std::uint64_t row = 0; row < leaves.size(); ++row) {
    std::vector<std::uint64_t> words(20);
    std::iota(words.begin(), words.end(), 20 * row);
    leaves[row] = hash.hash(words);
  }
  CHECK(hash.root(leaves) == Poseidon2::Digest{838465951, 1318537380, 1312819305, 2048785678,
                                               487629076, 1314274252, 816866852, 110187855});
  leaves.resize(8);
  for (std::uint32_t i = 0; i < leaves.size(); ++i)
    std::iota(leaves[i].begin(), leaves[i].end(), 8 * i);
  CHECK(hash.root(leaves) == Poseidon2::Digest{247723360, 241813743, 486290347, 1279896638,
                                               804742603, 938158548, 1652764870, 1645716073});
}

TEST_CASE("poseidon2: shares of a commitment cover all columns, by whole blocks but the last") {
  for (const char* partition : {"columns", "cosets", "relay"}) {
    for (const char* batch : {"1", "8", "43", "257"}) {
      const Problem problem = commitment(1 << 8, {{"batch", batch}, {"partition", partition}}, 2);
      const Items items = shape_of(problem).items;
      CHECK(items * problem.block_rows() == problem.rows());
      std::uint64_t columns = 0;
      for (Items i = 0; i < items; ++i) {
        const Problem::Range range = problem.columns_of({i, i + 1});
        CHECK(range.begin == columns);
        CHECK((range.begin % Poseidon2::rate == 0 && range.end >= range.begin));
        columns = range.end;
      }
      CHECK(columns == problem.batch);
      CHECK(problem.columns_of({items - 1, items}).size() > 0);
    }
  }
}

TEST_CASE("poseidon2: devices share a commitment so that they receive the fewest bytes") {
  CHECK(commitment(1 << 8, {{"batch", "256"}}, 2).partition == Partition::relay);
  CHECK(commitment(1 << 8, {{"batch", "8"}}, 2).partition == Partition::columns);
  CHECK(commitment(1 << 8, {{"batch", "8"}, {"blowup", "8"}}, 2).partition == Partition::cosets);
  CHECK(commitment(1 << 8, {{"batch", "8"}, {"blowup", "8"}}, 1).partition == Partition::columns);
  CHECK(test::refusal([] {
          commitment(1 << 8, {{"partition", "cosets"}}, 3);
        }) ==
        "--partition: \"cosets\": 2 cosets (--blowup) for 3 devices; expected: at least one per "
        "device, or columns, relay");
}

}  // namespace mgpu::ntt
