// Change points by simulation, with fixed seeds.
#include "lib/history/change_points.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <random>

#include "tests/support/thorough.hpp"

using namespace mgpu;

namespace {

using Random = std::mt19937_64;
using Draw = std::function<double(Random&)>;  // the median of a run, around 1

double normal(Random& random) {
  // Not std::normal_distribution, whose values differ between libraries.
  const auto uniform = [&] { return (static_cast<double>(random() >> 11) + 0.5) * 0x1p-53; };
  const double radius = std::sqrt(-2 * std::log(uniform()));
  return radius * std::cos(2 * 3.14159265358979 * uniform());
}
bool happens(Random& random, double p) { return static_cast<double>(random() >> 11) * 0x1p-53 < p; }

double quiet(Random& random) { return 1 + 0.01 * normal(random); }
double spiky(Random& random) { return quiet(random) * (happens(random, 0.05) ? 1.3 : 1); }
double noisy(Random& random) { return 1 + 0.05 * normal(random); }
double two_modes(Random& random) {
  return (1 + 0.002 * normal(random)) * (happens(random, 0.4) ? 1.13 : 1);
}
double tails(Random& random) {  // Student's t of 3 degrees
  double squares = 0;
  for (int k = 0; k < 3; ++k) squares += std::pow(normal(random), 2);
  return 1 + 0.01 * normal(random) / std::sqrt(squares / 3);
}

std::vector<double> draws(const Draw& draw, std::size_t n, Random& random, double level = 1) {
  std::vector<double> values(n);
  for (double& value : values) value = level * draw(random);
  return values;
}
void append(std::vector<double>& values, const std::vector<double>& more) {
  values.insert(values.end(), more.begin(), more.end());
}

// Makes runs that alternate between two states, which last for 7 runs on average.
Draw lasting_states() {
  return [high = false](Random& random) mutable {
    if (happens(random, 0.15)) high = !high;
    return (1 + 0.002 * normal(random)) * (high ? 1.13 : 1);
  };
}

// Returns the number of alarms in `appends` runs after 40 of each of `series` series: an alarm is a
// change that was not there one run before.
std::size_t false_alarms(const Draw& draw, std::size_t series, std::size_t appends) {
  Random random(1);
  std::size_t alarms = 0;
  for (std::size_t s = 0; s < series; ++s) {
    std::vector<double> values = draws(draw, 40, random);
    bool before = !find_changes(values, 0.02).points.empty();
    for (std::size_t k = 0; k < appends; ++k) {
      values.push_back(draw(random));
      const bool now = !find_changes(values, 0.02).points.empty();
      alarms += now && !before;
      before = now;
    }
  }
  return alarms;
}

struct Detection {
  double found = 0, in_range = 0;  // shares: of series, and of those found
};

// Returns how often a step after 40 runs is found within 15, and named among the suspects.
Detection detection(const Draw& draw, double level, double floor) {
  Random random(2);
  const std::size_t series = testing::is_thorough() ? 2000 : 200;
  std::size_t found = 0, in_range = 0;
  for (std::size_t s = 0; s < series; ++s) {
    std::vector<double> values = draws(draw, 40, random);
    for (std::size_t k = 0; k < 15; ++k) {
      values.push_back(level * draw(random));
      const Segmentation changes = find_changes(values, floor);
      if (changes.points.empty()) continue;
      const RankSplit& split = changes.points.back().split;
      ++found;
      in_range += split.first <= 40 && 40 <= split.last;
      break;
    }
  }
  return {static_cast<double>(found) / static_cast<double>(series),
          static_cast<double>(in_range) / static_cast<double>(found)};
}

}  // namespace

TEST_CASE("random orders exceed the thresholds as often as these say") {
  Random random(3);
  const std::size_t draws_each = testing::is_thorough() ? 400'000 : 20'000;
  for (const std::size_t n : {15u, 20u, 30u, 40u, 60u, 100u}) {
    std::vector<double> values(n);
    std::size_t thousandths = 0, hundredths = 0;
    for (std::size_t k = 0; k < n; ++k) values[k] = static_cast<double>(k);
    for (std::size_t k = 0; k < draws_each; ++k) {
      for (std::size_t i = n - 1; i > 0; --i) std::swap(values[i], values[random() % (i + 1)]);
      const double z = best_split(values)->z;
      thousandths += z > split_threshold(n, 0.001);
      hundredths += z > split_threshold(n, 0.01);
    }
    CAPTURE(n);
    const double all = static_cast<double>(draws_each);
    const double margin = 4 * std::sqrt(0.001 / all) + 0.0001;
    CHECK(static_cast<double>(thousandths) / all <= 0.001 + margin);
    CHECK(static_cast<double>(thousandths) / all >= 0.0007 - margin);
    CHECK(static_cast<double>(hundredths) / all == doctest::Approx(0.01).epsilon(0.3));
  }
  CHECK(split_p(40, split_threshold(40, 0.001)) == doctest::Approx(0.001));
  CHECK(split_p(40, split_threshold(40, 0.01)) == doctest::Approx(0.01));
  CHECK(split_p(40, 0) == 1);
}

TEST_CASE("of 1,000 runs that did not change at most one raises an alarm") {
  const std::size_t series = testing::is_thorough() ? 200 : 50, appends = 200;
  for (const Draw& draw :
       {Draw(quiet), Draw(tails), Draw(spiky), Draw(noisy), Draw(two_modes), lasting_states()})
    CHECK(1000 * false_alarms(draw, series, appends) <= series * appends);
}

TEST_CASE("a step is found, and named among the suspects") {
  for (const Draw& draw : {Draw(quiet), Draw(spiky), Draw(two_modes)}) {
    const Detection five = detection(draw, 1.05, 0.02);
    CHECK(five.found >= 0.95);
    CHECK(five.in_range >= 0.94);
  }
  CHECK(detection(quiet, 0.95, 0.02).found >= 0.95);
  const Detection two = detection(quiet, 1.02, 0.01);
  CHECK(two.found >= 0.9);
  CHECK(two.in_range >= 0.94);
}

TEST_CASE("twenty quiet runs and then steps of 1 % are named as a drift by the tenth step") {
  Random random(4);
  const std::size_t series = 100;
  std::size_t found = 0, named = 0, steps = 0;
  for (std::size_t s = 0; s < series; ++s) {
    std::vector<double> values = draws(quiet, 20, random);
    for (int k = 1; k <= 10; ++k) values.push_back((1 + 0.01 * k) * quiet(random));
    const Segmentation changes = find_changes(values, 0.02);
    if (changes.points.empty()) continue;
    const ChangePoint& last = changes.points.back();
    found += last.shift > 0;
    named += is_drift(values, last.split.at);
    std::vector<double> step = draws(quiet, 20, random);
    append(step, draws(quiet, 10, random, 1.06));
    steps += is_drift(step, 20);
  }
  CHECK(found == series);
  CHECK(named >= 85);
  CHECK(steps <= 2);
}

TEST_CASE("large changes among small ones are found, whatever the floor") {
  // The best first split of all values is between levels that are 3 % apart.
  Random random(9);
  std::vector<double> values;
  for (const auto& [level, n] : std::initializer_list<std::pair<double, std::size_t>>{{1, 15},
                                                                                      {0.886, 46},
                                                                                      {0.917, 10},
                                                                                      {1.063, 24},
                                                                                      {1.02, 22},
                                                                                      {1.04, 14},
                                                                                      {1.065, 63},
                                                                                      {1.1, 180}})
    append(values, draws([](Random& r) { return 1 + 0.005 * normal(r); }, n, random, level));
  const auto places = [&](double floor) {
    std::vector<std::size_t> all;
    for (const ChangePoint& point : find_changes(values, floor).points)
      all.push_back(point.split.at);
    return all;
  };
  CHECK(places(0.05) == std::vector<std::size_t>{15, 71});
  CHECK(places(0.02).size() >= 6);
}

TEST_CASE("a return to the old level after an improvement is a change for the worse") {
  Random random(5);
  for (int s = 0; s < 50; ++s) {
    std::vector<double> values = draws(quiet, 30, random);
    append(values, draws(quiet, 15, random, 0.9));
    append(values, draws(quiet, 10, random));
    const Segmentation changes = find_changes(values, 0.02);
    REQUIRE(changes.points.size() == 2);
    CHECK(changes.points[0].shift < 0);
    CHECK(changes.points[1].shift > 0);
  }
}

TEST_CASE("the newest run is judged by the present level, and repetitions decide") {
  Random random(6);
  std::size_t suspects = 0, confirmed = 0, alarms = 0, found = 0;
  const std::size_t series = 1000;
  for (std::size_t s = 0; s < series; ++s) {
    const std::vector<double> segment = draws(quiet, 40, random);
    const Expected next = *expected_next(segment, 0.02);
    const auto judge = [&](double level, std::size_t& suspicious, std::size_t& sure) {
      const std::vector<double> newest = draws(quiet, 4, random, level);
      if (std::abs(newest.front() - next.median) <= next.margin) return;
      ++suspicious;
      sure +=
          rank_sum_p(newest, segment) <= 0.001 && std::abs(shift_between(segment, newest)) >= 0.02;
    };
    judge(1, suspects, alarms);
    judge(1.05, found, confirmed);
  }
  CHECK(suspects <= series / 50);
  CHECK(alarms == 0);
  CHECK(confirmed >= series * 95 / 100 - 10);
  CHECK_FALSE(expected_next(std::vector<double>(7, 1.0), 0.02));
}

TEST_CASE("the level before a step does not widen what is expected after it") {
  Random random(7);
  std::vector<double> values = draws(quiet, 40, random);
  append(values, draws(quiet, 12, random, 1.3));
  const Segmentation changes = find_changes(values, 0.02);
  REQUIRE(changes.points.size() == 1);
  const std::size_t at = changes.points.front().split.at;
  CHECK(at == 40);
  const Expected after = *expected_next(std::span(values).subspan(at), 0.02);
  CHECK(after.median == doctest::Approx(1.3).epsilon(0.01));
  CHECK(after.margin < 0.1);
}

TEST_CASE("two states that alternate are states; one change and spikes are none") {
  Random random(8);
  const std::vector<double> mixed = draws(two_modes, 60, random);
  const auto states = two_states(mixed);
  REQUIRE(states);
  CHECK(states->low == doctest::Approx(1).epsilon(0.005));
  CHECK(states->high == doctest::Approx(1.13).epsilon(0.005));
  CHECK(states->highs ==
        static_cast<std::size_t>(std::count(states->is_high.begin(), states->is_high.end(), true)));
  std::vector<double> step = draws(quiet, 30, random);
  append(step, draws(quiet, 30, random, 1.2));
  CHECK_FALSE(two_states(step));
  CHECK_FALSE(two_states(draws(spiky, 60, random)));
  CHECK_FALSE(two_states(draws(quiet, 60, random)));
  CHECK(find_changes(mixed, 0.02).points.empty());
  std::vector<double> slower = mixed;  // a step of both states is still a change
  append(slower, draws(two_modes, 20, random, 1.06));
  CHECK(find_changes(slower, 0.02).points.size() == 1);
}

TEST_CASE("exact tests agree with values worked out by hand") {
  // 1 of C(5, 2) = 10 pairs has the greatest sum, 1 the least.
  const std::vector<double> two{4, 5}, three{1, 2, 3};
  CHECK(rank_sum_p(two, three) == doctest::Approx(0.2));
  CHECK(rank_sum_p(std::vector<double>{1}, std::vector<double>{1, 1, 1}) == doctest::Approx(1));
  CHECK(fisher_p(3, 0, 0, 3) == doctest::Approx(0.1));
  CHECK(fisher_p(1, 9, 11, 3) == doctest::Approx(0.002759456));
  CHECK(shift_between(std::vector<double>{1, 2}, std::vector<double>{2, 4}) == doctest::Approx(1));
  CHECK(discovery_limit({0.001, 0.5, 0.019}, 0.03) == doctest::Approx(0.02));
  CHECK(discovery_limit({0.02, 0.5}, 0.01) == 0);
  CHECK_FALSE(best_split(std::vector<double>(7, 1.0)));
  CHECK(find_changes({}, 0.02).points.empty());
}
