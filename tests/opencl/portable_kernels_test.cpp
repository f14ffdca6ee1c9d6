// Kernels of the tropical, geometric, ntt and pipeline suites for GPUs of vendors other than
// NVIDIA, on the present devices. The tests of the command line run those of CPUs and of NVIDIA.
#include <doctest/doctest.h>

#include "tests/support/machine.hpp"
#include "tests/support/suite_params.hpp"
#include "tests/support/thorough.hpp"

namespace mgpu::testing {
namespace {

std::unique_ptr<Workload> workload_with(const char* suite, std::uint64_t size,
                                        const test::Options& given) {
  return test::suite_named(suite).make(test::suite_params(suite, size, given));
}

const How kAsGpu{.path = Path::gpu, .devices = 1};

}  // namespace

TEST_CASE(
    "portable kernels: tropical products are those of a plain loop, and which k they are of") {
  digest_of(*workload_with("tropical", 70,
                           {{"cols", "37"},
                            {"inner", "45"},
                            {"paths", "yes"},
                            {"data", "negative"},
                            {"density", "0.3"}}),
            {.path = Path::gpu, .devices = one_when_quick()});
}

// Uses blocks that are closed in two steps.
TEST_CASE("portable kernels: rounds of shortest paths give Dijkstra's lengths and paths") {
  digest_of(*workload_with("tropical", 290,
                           {{"op", "apsp"},
                            {"precision", "int32"},
                            {"paths", "yes"},
                            {"data", "negative"},
                            {"density", "0.03"}}),
            kAsGpu);
}

TEST_CASE("portable kernels: multivectors by way of local memory or not have the same bits") {
  const auto workload = workload_with("geometric", 700, {{"algebra", "2,1,1"}, {"op", "sandwich"}});
  const DeviceTraits traits = AsGpu(machine().open.front()->resources()).traits();
  const auto names = workload->tunable()->kernel_variants(traits);
  REQUIRE((names.front() == "staged 64 large" && names.back() == "direct 32 large"));
  const std::string staged = digest_of(*workload, kAsGpu);
  REQUIRE(workload->tunable()->prefer(traits, names.back()));
  CHECK(digest_of(*workload, kAsGpu) == staged);
}

// Blocks are transformed in two steps or three. Passes over 2^9 and 2^8 words of Goldilocks have
// different factors. A thorough test has a field of each kind of words.
TEST_CASE("portable kernels: transforms by work-groups give those of the host, in every order") {
  for (const char* field : {"koalabear", "goldilocks", "bls12_381"}) {
    if (field == std::string("bls12_381") && !is_thorough()) break;
    const test::Options inverse{{"field", field}, {"op", "intt"}, {"order", "rn"}};
    const Items size = field == std::string("goldilocks") ? 1 << 17 : 1 << 10;
    digest_of(*workload_with("ntt", size, inverse), kAsGpu);
  }
  digest_of(
      *workload_with("ntt", 1 << 10, {{"field", "koalabear"}, {"batch", "3"}, {"order", "nr"}}),
      {.mode = Mode::end_to_end, .path = Path::gpu, .devices = one_when_quick()});
  digest_of(
      *workload_with("ntt", 1 << 10,
                     {{"field", "koalabear"}, {"op", "lde"}, {"batch", "3"}, {"blowup", "4"}}),
      {.mode = Mode::end_to_end, .path = Path::gpu, .devices = one_when_quick()});
}

// The digest is that of the root in tests/data/ntt_vectors.txt.
TEST_CASE("portable kernels: a commitment by work-groups has the root that another program finds") {
  for (const char* partition : {"columns", "cosets", "relay"}) {
    const auto workload = test::suite_named("ntt").make(test::suite_params(
        "ntt", 1 << 6,
        {{"field", "koalabear"}, {"op", "commit"}, {"batch", "20"}, {"partition", partition}}, 0));
    CHECK(digest_of(*workload, kAsGpu, VerifyLevel::sample) ==
          "57d2455af532fb22c4776d178756351f46f42befe23b7a3abf5591528455ab58");
  }
}

TEST_CASE("portable kernels: batches go through stages in whole groups and ragged ones") {
  const auto workload = workload_with("pipeline", 150,
                                      {{"stages", "hash,transform:2,product:2,reduction"},
                                       {"place", "data"},
                                       {"width", "32"},
                                       {"batch", "70"}});
  const Programs made(*workload, kAsGpu);
  CHECK(made.programs.front()->kernel_variant() == "groups of 64");
  digest_of(*workload, kAsGpu);
}

TEST_CASE("portable kernels: fused stages have the bits of separate ones") {
  std::string digest;
  for (const char* fuse : {"no", "yes"}) {
    const std::string found = digest_of(
        *workload_with("pipeline", 150,
                       {{"stages", "product,transform:2,tropical:2,dual:2,clifford:2,reduction:2"},
                        {"place", "data"},
                        {"width", "32"},
                        {"batch", "70"},
                        {"fuse", fuse}}),
        kAsGpu);
    if (digest.empty()) digest = found;
    CHECK(found == digest);
  }
}

}  // namespace mgpu::testing
