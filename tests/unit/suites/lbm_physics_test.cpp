// What the lbm suite says of its results beyond bits: a vortex decays, a channel starts, a cavity
// is as others computed it, mass stays; and of the numbers in them that matter none can be another
// one unnoticed.
#include <doctest/doctest.h>

#include "suites/lbm/cavity_table.hpp"
#include "tests/support/lbm_sample.hpp"
#include "tests/support/refusal.hpp"

using namespace mgpu;
using namespace mgpu::test;

namespace {

struct Computed {
  explicit Computed(const LbmAsked& asked)
      : problem(lbm::problem_of(lbm_params(asked))), beginning(problem, {}) {
    cells =
        lbm::reference(problem, beginning, {{0, 0, 0}, {problem.n, problem.n, problem.planes}}, 2);
  }
  lbm::Physics physics() const { return physics_of(problem); }
  lbm::Physics physics_of(const lbm::Problem& other) const {
    return lbm::compare_physics(other, beginning, std::as_bytes(std::span(cells)), 2);
  }
  lbm::Problem problem;
  lbm::Beginning beginning;
  std::vector<lbm::Cell> cells;
};

void check_right(const Computed& computed, const char* told) {
  const lbm::Physics physics = computed.physics();
  CHECK_MESSAGE(physics.wrong.empty(), physics.wrong);
  CHECK_MESSAGE(physics.told.find(told) != std::string::npos, physics.told);
}

}  // namespace

TEST_CASE(
    "the Taylor-Green vortex decays as viscosity has it, and a vortex of another viscosity, time "
    "or wave does not pass") {
  for (const LbmAsked& asked :
       {LbmAsked{"taylor-green", 24, 24, 60}, LbmAsked{"taylor-green", 24, 12, 60},
        LbmAsked{"taylor-green", 32, 2, 80},
        LbmAsked{"taylor-green", 24, 24, 60, {{"collision", "trt"}, {"relaxation-time", "1.1"}}}}) {
    CAPTURE(asked.planes);
    const Computed computed(asked);
    check_right(computed, "mass is conserved");
    check_right(computed, "the decay of the Taylor-Green vortex, to 0.");
    lbm::Problem other = computed.problem;
    other.viscosity *= 1.5;
    CHECK_FALSE(computed.physics_of(other).wrong.empty());
    other = computed.problem;
    other.steps *= 2;
    CHECK_FALSE(computed.physics_of(other).wrong.empty());
  }
}

TEST_CASE("a channel starts from rest as viscosity and force have it, and ends as a parabola") {
  for (const LbmAsked& asked : {LbmAsked{"channel", 16, 1, 60}, LbmAsked{"channel", 16, 1, 2000},
                                LbmAsked{"channel", 16, 1, 3000, {{"collision", "trt"}}}}) {
    CAPTURE(asked.steps);
    const Computed computed(asked);
    check_right(computed, "the start of a channel from rest");
    lbm::Problem other = computed.problem;
    other.speed *= 1.2F;
    CHECK_FALSE(computed.physics_of(other).wrong.empty());
    if (asked.steps < 3000) continue;
    // With two relaxation times walls lie right between cells: the parabola is exact but for
    // rounding.
    for (std::uint64_t y = 0; y < 16; ++y) {
      const double at = static_cast<double>(y) + 0.5, wanted = 0.05 * 4 * at * (16 - at) / 256;
      CHECK(static_cast<double>(computed.cells[y * 16][0]) ==
            doctest::Approx(wanted).epsilon(2e-4));
    }
  }
}

TEST_CASE("a cavity at Reynolds number 100 is as Ghia et al. computed it, once it is steady") {
  const Computed computed({"cavity", 32, 1, 4000, {{"reynolds", "100"}, {"speed", "0.2"}}});
  check_right(computed, "Ghia et al. 1982, Reynolds number 100");
  lbm::Problem other = computed.problem;
  other.speed *= 1.1F;  // of the lid, by which velocities are measured
  other.viscosity *= 1.1;
  CHECK_FALSE(computed.physics_of(other).wrong.empty());
  const Computed early({"cavity", 32, 1, 400, {{"reynolds", "100"}, {"speed", "0.2"}}});
  CHECK(early.physics().told.find("Ghia") == std::string::npos);
  CHECK(lbm::cavity_table(400) != nullptr);
  CHECK(lbm::cavity_table(401) == nullptr);
}

TEST_CASE("mass that is lost anywhere is found, and so is what is not a number") {
  Computed computed({"cavity", 8, 8, 20});
  check_right(computed, "mass is conserved");
  computed.cells[100][3] += 0.01F;
  CHECK(computed.physics().wrong.find("mass is not conserved") != std::string::npos);
  computed.cells[100][3] = std::numeric_limits<float>::quiet_NaN();
  CHECK_FALSE(computed.physics().wrong.empty());
}
