// Whole sessions of iterative suites on the fake backend, with a device that fails in the middle of
// a sample, which the others restart, from a checkpoint if there is one; and with throttled
// devices.
#include <doctest/doctest.h>

#include "suites/common/iterative.hpp"
#include "tests/support/lbm_kernels.hpp"
#include "tests/support/rounds_session.hpp"
#include "tests/support/stencil_kernels.hpp"
#include "tests/support/thorough.hpp"

namespace mgpu::test {
namespace {

FakeKernels kernels_of_rounds(const RoundsAsked& asked) {
  if (asked.suite == "stencil") return stencil_kernels<float>(2);
  return lbm_cl::kernels_of(asked.options.at("case") == "cavity" ? lbm::Flow::cavity
                                                                 : lbm::Flow::taylor_green);
}

// Makes device 1 fail at one launch after another.
void lose_at_any_launch(RoundsAsked asked, const std::string& every, std::uint64_t from) {
  asked.kernels = kernels_of_rounds(asked);
  asked.options["checkpoint-rounds"] = every;
  std::size_t restarted = 0, from_a_checkpoint = 0;
  for (std::uint64_t launch = from; launch < 900; launch += 97) {
    INFO(asked.suite, " ", asked.options.begin()->second, " ", every, " launch ", launch);
    asked.scripts = {{}, fails_at_launch(launch)};
    const auto fault = fault_of(run_rounds(asked));
    if (!fault) continue;
    REQUIRE((fault->round && fault->restarted));
    ++restarted;
    const std::uint32_t round = fault->restarted->round;
    CHECK((round <= *fault->round && *fault->round <= kRounds));
    CHECK((every == "none" ? round == 0 : round % 7 == 0));
    CHECK(fault->restarted->after >= Nanos{});
    CHECK(fault->items_redone == fault->items_lost);
    CHECK(fault->recovery.value_or(Nanos{}) >= fault->restarted->after);
    from_a_checkpoint += round > 0;
  }
  CHECK(restarted > 2);
  CHECK((from_a_checkpoint > 0) == (every != "none"));
}

Report run_stencil(Options options, std::vector<FakeScript> scripts) {
  return run_rounds({"stencil", stencil_kernels<float>(2), std::move(options), Mode::resident,
                     std::move(scripts)});
}

}  // namespace

TEST_CASE("rounds: a sample that loses a device is begun again, whenever, and its result right") {
  // Leaves out combinations, but in each product keeps every pair of choices.
  const auto left_out = [](bool a, bool b, bool c) {
    return !testing::is_thorough() && (a != b) != c;
  };
  for (const std::string every : {"none", "7"}) {
    for (const char* kind : {"jacobi2d", "heat3d", "star"}) {
      for (const Mode& mode : {Mode::resident, Mode::end_to_end}) {
        if (left_out(every == "7", kind == std::string("heat3d"), mode == Mode::resident)) continue;
        RoundsAsked asked{"stencil", {}, {{"kind", kind}}, mode};
        if (kind == std::string("jacobi2d")) asked.options["check-every"] = "3";
        if (kind == std::string("heat3d")) asked.size = 12;
        lose_at_any_launch(asked, every, 20);
      }
    }
    for (const std::string lattices : {"one", "two"}) {
      for (const std::string flow : {"taylor-green", "cavity"}) {
        if (left_out(lattices == "two", every == "7", flow == "cavity")) continue;
        RoundsAsked asked{"lbm", {}, {{"case", flow}, {"lattices", lattices}, {"planes", "12"}}};
        asked.size = 4;
        lose_at_any_launch(asked, every, 60);
      }
    }
  }
}

TEST_CASE("rounds: two devices lost in one sample, the last begins it again; all: no result") {
  std::size_t both = 0;
  for (std::uint64_t second = 300; second < 700; second += 50) {
    CAPTURE(second);
    const Report report = run_stencil({{"checkpoint-rounds", "5"}},
                                      {{}, fails_at_launch(300), fails_at_launch(second)});
    REQUIRE(report.runs.size() == 1);
    const RunRecord& record = report.runs.front();
    CHECK(record.status == Status::ok);
    for (const InvalidatedSample& sample : record.invalidated)
      CHECK(sample.verify == VerifyStatus::passed);
    both += record.invalidated.size() == 1 && record.faults.size() == 2;
  }
  CHECK(both > 0);
  const Report none =
      run_stencil({{"checkpoint-rounds", "5"}}, std::vector<FakeScript>(3, fails_at_launch(300)));
  REQUIRE(none.runs.size() == 1);
  CHECK(none.runs.front().status != Status::ok);
  CHECK_FALSE(none.runs.front().reason.value_or("").empty());
}

TEST_CASE(
    "rounds: a checkpoint counts when all of it arrived, and keeps its place until the next") {
  struct Kept final : Checkpoints {
    Kept() : Checkpoints(10, 4) {}
    using Checkpoints::forget_checkpoints, Checkpoints::place;
    bool repartition(std::span<const Owner>) override { return false; }
  } checkpoints;
  checkpoints.forget_checkpoints();
  CHECK(checkpoints.may_checkpoint(4));
  checkpoints.checkpointed({0, 6}, 4);
  CHECK(checkpoints.checkpointed_rounds() == 0);
  CHECK_FALSE(checkpoints.may_checkpoint(8));
  checkpoints.checkpointed({6, 10}, 4);
  CHECK(checkpoints.checkpointed_rounds() == 4);
  CHECK((checkpoints.may_checkpoint(8) && !checkpoints.may_checkpoint(12)));
  CHECK(checkpoints.place(4) != checkpoints.place(8));
  checkpoints.checkpointed({0, 9}, 8);
  checkpoints.restart();  // every item arrives again
  CHECK(checkpoints.begun_from() == 4);
  checkpoints.checkpointed({0, 9}, 8);
  CHECK(checkpoints.checkpointed_rounds() == 4);
  checkpoints.checkpointed({9, 10}, 8);
  CHECK(checkpoints.checkpointed_rounds() == 8);
}

namespace {

constexpr std::uint64_t kSlowedSide = 120;

RunRecord run_slowed(const FakeKernels& kernels, const Options& options, std::uint64_t side,
                     const std::string& strategy, const std::vector<Handicap>& handicaps) {
  const Report report =
      run_rounds({"stencil", kernels, options, Mode::resident, {}, side, strategy, handicaps});
  REQUIRE(report.runs.size() == 1);
  CHECK(report.runs.front().status == Status::ok);
  CHECK(report.runs.front().verify.status == VerifyStatus::passed);
  return report.runs.front();
}

// Runs three devices, the last of which takes twice as long from this fraction of its iterations
// onwards.
RunRecord run_slowed(const std::string& strategy, double from) {
  Handicap twice;
  twice.slow = 2;
  twice.slow_from_fraction = from;
  return run_slowed(stencil_kernels<float>(2), {}, kSlowedSide, strategy, {{}, {}, twice});
}

}  // namespace

TEST_CASE("rounds: a slow-down from a fraction on begins at that fraction of the rounds") {
  const auto time = [](double from) { return seconds(run_slowed("equal", from).samples.front()); };
  const double always = time(0);
  CHECK(time(0.5) / always == doctest::Approx(0.75).epsilon(0.08));
  CHECK(time(0.9) / always == doctest::Approx(0.55).epsilon(0.08));
}

TEST_CASE("rounds: adaptive finds within 20 rounds the shares of devices that are not alike") {
  const RunRecord run = run_slowed("adaptive:start=equal", 0);
  REQUIRE(run.rebalances.size() >= 1);
  const RebalanceRecord& moved = run.rebalances.front();
  CHECK(moved.sample == 0);
  CHECK(moved.first == std::vector<Items>(3, kSlowedSide / 3));
  // A row takes 1 us and the three launches of an iteration take 15 us, twice that on the slowed
  // device: 51, 51 and 18 rows end together.
  std::vector<Items> found;
  for (const RebalanceRecord::Move& move : moved.moves)
    if (move.round <= 20) found = move.shares;
  REQUIRE(found.size() == 3);
  CHECK(std::abs(static_cast<double>(found[2]) - 18) <= 1);

  // Rows that changed their device, by hand: borders at the first partition were 40 and 80.
  REQUIRE(!run.migrations.empty());
  const MigrationRecord& migration = run.migrations.front();
  CHECK(migration.sample == 0);
  CHECK(migration.first == moved.first);
  Items rows = 0, lower = 40, upper = 80;
  for (const RebalanceRecord::Move& move : moved.moves) {
    const Items next_lower = move.shares[0], next_upper = move.shares[0] + move.shares[1];
    rows += std::max(lower, next_lower) - std::min(lower, next_lower) +
            std::max(upper, next_upper) - std::min(upper, next_upper);
    lower = next_lower;
    upper = next_upper;
  }
  CHECK(migration.items == rows);
  // A row has 120 cells of 4 bytes; new neighbours are sent rows of halos, too.
  CHECK(migration.bytes >= rows * kSlowedSide * 4);
  CHECK(migration.bytes <= (rows + 8 * moved.moves.size()) * kSlowedSide * 4);
  CHECK(migration.time > Nanos{});
  CHECK(migration.time < 3 * run.samples[0] / 10);
  CHECK(run.metrics.moved_share == 0);  // the sample shown began with the shares found
  CHECK(run.metrics.moving_share == 0);
  CHECK(run.adaptations.empty());  // it was slow from the beginning
}

TEST_CASE("rounds: the time until a rebalance takes rows from a device that becomes slower") {
  const RunRecord run = run_slowed("adaptive", 0.3);
  REQUIRE(run.adaptations.size() == run.samples.size());
  const AdaptationRecord& first = run.adaptations.front();
  CHECK(first.device == "0:2");
  CHECK(first.cause == kSlowDownCause);
  CHECK(first.at > Nanos{});
  REQUIRE(first.latency);
  CHECK(*first.latency > Nanos{});
  // It becomes slower after 12 iterations; those up to 16 show it.
  CHECK(*first.latency < 8 * run.samples[0] / kRounds);
  REQUIRE(run.metrics.adaptation_ms);
  CHECK(run_slowed("equal", 0.3).adaptations.empty());  // it never moves work
}

TEST_CASE("rounds: hundreds that take seconds are not done a second time to warm up, fewer are") {
  constexpr std::size_t rounds = 300;
  const auto launches = [](double slow) {
    std::size_t count = 0;
    FakeKernels kernels = stencil_kernels<float>(2);
    for (auto& [name, code] : kernels)
      code.run = [&count, run = code.run](const Grid& grid, std::span<const FakeArg> args) {
        ++count;
        run(grid, args);
      };
    Handicap slower;
    slower.slow = slow;
    const RunRecord run = run_slowed(kernels, {{"iterations", std::to_string(rounds)}}, 30, "equal",
                                     std::vector<Handicap>(3, slower));
    CHECK((seconds(run.samples.front()) > 1) == (slow > 1));
    return count;
  };
  const std::size_t fewer = launches(200);
  CHECK(launches(1) > fewer + rounds);
}

}  // namespace mgpu::test
