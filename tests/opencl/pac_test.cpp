// Phase-amplitude coupling on the devices there are: against the reference, with the same bits
// whatever is split, by whatever strategy, and by either way of surrogates, those for GPUs run on
// whatever there is.
#include <doctest/doctest.h>

#include "suites/pac/pac_workload.hpp"
#include "tests/support/machine.hpp"
#include "tests/support/pac_problem.hpp"
#include "tests/support/thorough.hpp"

using namespace mgpu;
using mgpu::testing::pac_params;
using mgpu::testing::Path;

namespace {

struct How {
  std::string strategy = "equal";
  Mode mode = Mode::resident;
  Path path = Path::own;
  Items pipeline = 0;
  std::size_t devices = 0;  // 0: all
};

// Of one sample, published and verified.
std::string digest_of(const SuiteParams& params, const How& how = {}) {
  for (const auto& [name, value] : params.options) CAPTURE(name + "=" + value);
  CAPTURE(how.strategy);
  CAPTURE(to_string(how.mode));
  pac::PacWorkload workload(params);
  testing::Programs made =
      testing::make_programs(workload, how.mode, how.path, how.pipeline, how.devices, " -DROLLED");
  workload.begin_sample();
  testing::take_sample(workload, made, how.strategy, how.mode);
  for (std::size_t i = 0; i < made.programs.size(); ++i) {
    OpenDevice& device = *testing::machine().open[i];
    made.programs[i]->publish(device.stream());
    testing::wait_for(device);
    made.programs[i]->published();
  }
  const Verdict verdict = workload.verify(VerifyLevel::full, 3);
  CHECK_MESSAGE(verdict.status == Verdict::Status::passed, verdict.message);
  return workload.digest();
}

SuiteParams with(const std::map<std::string, std::string>& given, std::uint64_t batch = 3) {
  return pac_params(batch, given);
}

}  // namespace

TEST_CASE("all three axes, both modes and all ways of surrogates have one digest") {
  const std::string first = digest_of(with({}));
  for (const char* axis : {"batch", "channel", "permutation"}) {
    CHECK(digest_of(with({{"axis", axis}}), {"dynamic", Mode::end_to_end, Path::own, 1}) == first);
    if (testing::is_thorough() || axis == std::string_view("batch"))
      CHECK(digest_of(with({{"axis", axis}, {"sums", "transform"}})) == first);
  }
  // Slices of one, two and four classes: transforms of every modulus.
  CHECK(digest_of(with({{"axis", "permutation"}, {"sums", "transform"}}),
                  {"dynamic", Mode::resident, Path::own, 3}) == first);
  CHECK(digest_of(with({{"axis", "channel"}, {"sums", "transform-local"}}),
                  {"equal", Mode::end_to_end, Path::own, 1, 1}) == first);
}

TEST_CASE("kernels for GPUs, with their work-groups and local memory, give the same bits") {
  const std::string first = digest_of(with({}), {"equal", Mode::resident, Path::own, 0, 1});
  CHECK(digest_of(with({{"sums", "direct"}}), {"equal", Mode::resident, Path::gpu, 0, 1}) == first);
  CHECK(digest_of(with({{"sums", "transform"}}), {"equal", Mode::resident, Path::gpu, 0, 1}) ==
        first);
}

TEST_CASE(
    "series of a length that is no power of two, of the shortest, one alone, and no surrogates are "
    "right") {
  digest_of(with({{"length", "243"}, {"bins", "5"}}, 2),
            {"equal", Mode::resident, Path::own, 0, 1});
  digest_of(
      with({{"length", "16"}, {"fs", "16"}, {"pha", "4:4:1"}, {"amp", "6:6:1"}, {"bins", "2"}}, 1));
  digest_of(with({{"channels", "1"}, {"perm", "0"}}, 1));
  digest_of(with({{"channels", "1"}, {"perm", "1"}, {"axis", "permutation"}}, 1),
            {"dynamic", Mode::end_to_end, Path::own, 1});
}

TEST_CASE(
    "the counts of bins may be pooled or left out, and both ways of surrogates agree on that") {
  for (const char* index : {"tensorpac", "gpac-sum"}) {
    const std::string direct =
        digest_of(with({{"mi", index}}, 1), {"equal", Mode::resident, Path::own, 0, 1});
    CHECK(digest_of(with({{"mi", index}, {"sums", "transform"}}, 1),
                    {"equal", Mode::resident, Path::own, 0, 1}) == direct);
    CHECK(direct != digest_of(with({}, 1), {"equal", Mode::resident, Path::own, 0, 1}));
  }
}

TEST_CASE("coupling that was planted is where the largest mean index is, and its z is large") {
  SuiteParams params = with({{"channels", "4"},
                             {"length", "2048"},
                             {"pha", "6:14:3"},
                             {"amp", "60:100:3"},
                             {"perm", "40"}},
                            4);
  pac::PacWorkload workload(params);
  testing::Programs made = testing::make_programs(workload, Mode::end_to_end, Path::own, 0, 1);
  workload.begin_sample();
  testing::take_sample(workload, made, "equal", Mode::end_to_end);
  CHECK(workload.verify(VerifyLevel::sample, 1).method.find("is at 80 Hz of 10 Hz") !=
        std::string::npos);
  double z = 0, elsewhere = 0;
  for (std::size_t i = 0; i < workload.result().size(); ++i) {
    const double one = pac::result_of(workload.result()[i], 40).z;
    if (i % 9 == 4) z += one / 16;
    if (i % 9 == 0) elsewhere += one / 16;
  }
  CHECK(z > 2);
  CHECK(std::abs(elsewhere) < 0.8);
}
