// Phase-amplitude coupling on the present devices, compared with the reference. The bits must not
// depend on the axis that is split, the strategy or the way of surrogates; the kernels for GPUs run
// on any device.
#include <doctest/doctest.h>

#include "suites/pac/pac_workload.hpp"
#include "tests/support/machine.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/suite_params.hpp"
#include "tests/support/thorough.hpp"

namespace mgpu::pac {
namespace {

using testing::How;
using testing::Path;

std::string digest_of(const test::Options& given, const How& how = {}, std::uint64_t batch = 3) {
  std::string text;
  for (const auto& [name, value] : given) text += name + '=' + value + ' ';
  CAPTURE(text);
  PacWorkload workload(test::pac_params(batch, given));
  return testing::digest_of(workload, how);
}

const How kOne{.devices = 1};

}  // namespace

TEST_CASE("pac: all axes, both modes, all ways of surrogates and kernels have one digest" *
          testing::if_thorough()) {
  const std::string first = digest_of({});
  for (const char* axis : {"batch", "channel", "permutation"})
    CHECK(digest_of({{"axis", axis}}, {"dynamic", Mode::end_to_end, Path::own, 1}) == first);
  CHECK(digest_of({{"sums", "transform"}}, kOne) == first);
  // Slices of one, two and four classes give transforms of every modulus.
  CHECK(digest_of({{"axis", "permutation"}, {"sums", "transform"}},
                  {"dynamic", Mode::resident, Path::own, 3, 1}) == first);
  CHECK(digest_of({{"axis", "channel"}, {"sums", "transform-local"}},
                  {"equal", Mode::end_to_end, Path::own, 1, 1}) == first);
  for (const char* sums : {"direct", "transform"})  // with work-groups and local memory
    CHECK(digest_of({{"sums", sums}}, {"equal", Mode::resident, Path::gpu, 0, 1}) == first);
}

TEST_CASE("pac: series of any length, of the shortest, one alone, and no surrogates are right") {
  digest_of({{"length", "243"}, {"bins", "5"}}, kOne, 2);
  digest_of({{"length", "16"}, {"fs", "16"}, {"pha", "4:4:1"}, {"amp", "6:6:1"}, {"bins", "2"}},
            kOne, 1);
  digest_of({{"channels", "1"}, {"perm", "0"}}, kOne, 1);
  digest_of({{"channels", "1"}, {"perm", "1"}, {"axis", "permutation"}},
            {"dynamic", Mode::end_to_end, Path::own, 1}, 1);
}

TEST_CASE("pac: counts of bins may be pooled or left out, and both ways of surrogates agree") {
  const std::string usual = digest_of({}, kOne, 1);
  for (const char* index : testing::first_when_quick(1, {"tensorpac", "gpac-sum"})) {
    const std::string direct = digest_of({{"mi", index}}, kOne, 1);
    CHECK(digest_of({{"mi", index}, {"sums", "transform"}}, kOne, 1) == direct);
    CHECK(direct != usual);
  }
}

TEST_CASE("pac: coupling that was planted is where the largest mean index is, its z is large") {
  PacWorkload workload(test::pac_params(4, {{"channels", "4"},
                                            {"length", "2048"},
                                            {"pha", "6:14:3"},
                                            {"amp", "60:100:3"},
                                            {"perm", "40"}}));
  testing::digest_of(workload, kOne, VerifyLevel::sample);
  CHECK(test::has(workload.verify(VerifyLevel::sample, 1).method, "80 Hz of 10 Hz"));
  double z = 0, elsewhere = 0;
  for (std::size_t i = 0; i < workload.result().size(); ++i) {
    const double one = result_of(workload.result()[i], 40).z;
    if (i % 9 == 4) z += one / 16;
    if (i % 9 == 0) elsewhere += one / 16;
  }
  CHECK((z > 2 && std::abs(elsewhere) < 0.8));
}

}  // namespace mgpu::pac
