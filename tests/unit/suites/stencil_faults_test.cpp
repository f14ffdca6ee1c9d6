// Whole sessions of the stencil suite on the fake backend, one of whose devices is lost in the
// middle of a sample: the others begin it again, from a checkpoint where there is one, and its
// result is right.
#include <doctest/doctest.h>

#include "lib/workload/checkpoints.hpp"
#include "tests/support/rounds_session.hpp"
#include "tests/support/stencil_kernels.hpp"
#include "tests/support/thorough.hpp"

using namespace mgpu;

namespace {

constexpr std::uint32_t kSteps = test::kRounds;

struct Asked {
  std::map<std::string, std::string> options = {};
  Mode mode = Mode::resident;
  std::vector<FakeScript> scripts{};
};

Report run(const Asked& asked) {
  return test::run_rounds(
      {"stencil", test::stencil_kernels<float>(0, 2), asked.options, asked.mode, asked.scripts});
}

FakeScript fails(std::uint64_t launch) { return test::fails_at_launch(launch); }

}  // namespace

TEST_CASE(
    "a sample that loses a device is begun again by the others, whenever that is, and its result "
    "is right") {
  for (const char* kind : {"jacobi2d", "heat3d", "star"}) {
    for (const char* every : {"none", "7"}) {
      for (const Mode& mode : {Mode::resident, Mode::end_to_end}) {
        // Of the twelve, six in which every two of them meet.
        const bool odd_kind = kind == std::string("heat3d"), keeps = every == std::string("7");
        if (!testing::is_thorough() && (keeps != odd_kind) != (mode == Mode::resident)) continue;
        std::size_t begun_again = 0, from_a_checkpoint = 0;
        for (std::uint64_t launch = 20; launch < 900; launch += 97) {
          CAPTURE(kind);
          CAPTURE(every);
          CAPTURE(to_string(mode));
          CAPTURE(launch);
          std::map<std::string, std::string> options{{"kind", kind}, {"checkpoint-rounds", every}};
          if (kind == std::string("jacobi2d")) options["check-every"] = "3";
          const auto fault = test::fault_of(run({options, mode, {{}, fails(launch)}}));
          if (!fault) continue;
          REQUIRE(fault->round);
          REQUIRE(fault->begun_again);
          ++begun_again;
          const std::uint32_t from = fault->begun_again->round;
          CHECK(from <= *fault->round);
          CHECK(*fault->round <= kSteps);
          CHECK((every == std::string("none") ? from == 0 : from % 7 == 0));
          CHECK(fault->begun_again->after >= Nanos{});
          CHECK(fault->items_redone == fault->items_lost);
          CHECK(fault->recovery.value_or(Nanos{}) >= fault->begun_again->after);
          from_a_checkpoint += from > 0;
        }
        CHECK(begun_again > 2);
        CHECK((from_a_checkpoint > 0) == (every != std::string("none")));
      }
    }
  }
}

TEST_CASE(
    "two devices lost in one sample: the one that is left begins it again, and goes on alone") {
  std::size_t both = 0;
  for (std::uint64_t second = 300; second < 700; second += 20) {
    CAPTURE(second);
    const Report report =
        run({{{"checkpoint-rounds", "5"}}, Mode::resident, {{}, fails(300), fails(second)}});
    REQUIRE(report.runs.size() == 1);
    const RunRecord& record = report.runs.front();
    CHECK(record.status == Status::ok);
    for (const DisturbedSample& sample : record.disturbed)
      CHECK(sample.verify == VerifyStatus::passed);
    both += record.disturbed.size() == 1 && record.faults.size() == 2;
  }
  CHECK(both > 0);
}

TEST_CASE("when every device of a sample is lost there is no result, and the record says so") {
  const Report report =
      run({{{"checkpoint-rounds", "5"}}, Mode::resident, {fails(300), fails(300), fails(300)}});
  REQUIRE(report.runs.size() == 1);
  CHECK(report.runs.front().status != Status::ok);
  CHECK_FALSE(report.runs.front().reason.value_or("").empty());
}

TEST_CASE(
    "a checkpoint counts when all items of it have arrived, and keeps its place until the next one "
    "does") {
  Checkpoints checkpoints(10, 4);
  checkpoints.begin_sample();
  CHECK(checkpoints.may_take(4));
  checkpoints.arrived({0, 6}, 4);
  CHECK(checkpoints.complete() == 0);
  CHECK_FALSE(checkpoints.may_take(8));
  checkpoints.arrived({6, 10}, 4);
  CHECK(checkpoints.complete() == 4);
  CHECK(checkpoints.may_take(8));
  CHECK_FALSE(checkpoints.may_take(12));
  CHECK(checkpoints.place(4) != checkpoints.place(8));
  checkpoints.arrived({0, 9}, 8);
  checkpoints.forget_incomplete();  // begun again: every item comes again
  checkpoints.arrived({0, 9}, 8);
  CHECK(checkpoints.complete() == 4);
  checkpoints.arrived({9, 10}, 8);
  CHECK(checkpoints.complete() == 8);
}
