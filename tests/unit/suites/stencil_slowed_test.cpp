// Whole sessions of the stencil suite on the fake backend, one of whose devices is slowed down on
// purpose.
#include <doctest/doctest.h>

#include "tests/support/rounds_session.hpp"
#include "tests/support/stencil_kernels.hpp"

using namespace mgpu;

namespace {

constexpr std::uint64_t kSide = 120;

// Three devices, the last of which takes twice as long from this share of its rounds on.
RunRecord run_slowed(const std::string& strategy, double from) {
  Handicap twice;
  twice.slow = 2;
  twice.slow_from_fraction = from;
  const Report report = test::run_rounds({"stencil",
                                          test::stencil_kernels<float>(0, 2),
                                          {},
                                          Mode::resident,
                                          {},
                                          kSide,
                                          strategy,
                                          {{}, {}, twice}});
  REQUIRE(report.runs.size() == 1);
  CHECK(report.runs.front().status == Status::ok);
  CHECK(report.runs.front().verify.status == VerifyStatus::passed);
  return report.runs.front();
}

}  // namespace

TEST_CASE(
    "where work goes in rounds, a slow-down from a share on begins when the device has done that "
    "share of its rounds") {
  const auto time = [](double from) { return seconds(run_slowed("equal", from).samples.front()); };
  const double always = time(0), half = time(0.5), last_tenth = time(0.9);
  CHECK(half / always == doctest::Approx(0.75).epsilon(0.08));
  CHECK(last_tenth / always == doctest::Approx(0.55).epsilon(0.08));
}

TEST_CASE(
    "adaptive that starts from equal shares finds within 20 rounds those of devices that are not "
    "alike") {
  const RunRecord run = run_slowed("adaptive:start=equal", 0);
  REQUIRE(run.borders.size() >= 1);
  const MovedBordersRecord& moved = run.borders.front();
  CHECK(moved.sample == 0);
  CHECK(moved.first == std::vector<Items>(3, kSide / 3));
  // A row takes 1 us and the three launches of a round 15, the slowed device twice as long: 51
  // rows, 51 and 18 end together.
  std::vector<Items> found;
  for (const MovedBordersRecord::Move& move : moved.moves)
    if (move.round <= 20) found = move.shares;
  REQUIRE(found.size() == 3);
  CHECK(std::abs(static_cast<double>(found[2]) - 18) <= 1);
}

TEST_CASE(
    "work of hundreds of rounds that takes seconds is not done a second time to warm up, and what "
    "takes less is") {
  constexpr std::size_t rounds = 300;
  const auto launches = [](double slow) {
    std::size_t count = 0;
    FakeKernels kernels = test::stencil_kernels<float>(0, 2);
    for (auto& [name, code] : kernels)
      code.run = [&count, run = code.run](const Grid& grid, std::span<const FakeArg> args) {
        ++count;
        run(grid, args);
      };
    Handicap slower;
    slower.slow = slow;
    const Report report = test::run_rounds({"stencil",
                                            kernels,
                                            {{"iterations", std::to_string(rounds)}},
                                            Mode::resident,
                                            {},
                                            30,
                                            "equal",
                                            {slower, slower, slower}});
    REQUIRE(report.runs.size() == 1);
    CHECK(report.runs.front().verify.status == VerifyStatus::passed);
    CHECK((seconds(report.runs.front().samples.front()) > 1) == (slow > 1));
    return count;
  };
  const std::size_t fewer = launches(200), more = launches(1);
  CHECK(more > fewer + rounds);
}
