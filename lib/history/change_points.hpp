// Change points in a series of medians, one per run, without any assumption on their distribution.
// Pure. The noise of a benchmark is between runs, not within one, so that only the order and the
// ranks of the medians count, never the spread inside a run.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace mgpu {

// Returns the threshold of the largest standardised rank sum over all splits of n values, which n
// exchangeable values exceed with probability 0.001 or 0.01. Needs no distribution: the tables come
// from random permutations (tests/unit/history/change_points_test.cpp draws them again).
double split_threshold(std::size_t n, double alpha);
// Returns the probability that n exchangeable values reach `z`: through both tables, log p is
// linear in the square of z.
double split_p(std::size_t n, double z);

// The split of values into an older and a newer part with the largest standardised rank sum.
struct RankSplit {
  std::size_t at = 0;               // index of the first value of the newer part
  double z = 0;                     // standardised rank sum, without sign
  std::size_t first = 0, last = 0;  // splits around `at` whose z is within 0.5 of that
};
// Returns none for fewer than 8 values: an older part has at least 5 values, a newer one 3.
std::optional<RankSplit> best_split(std::span<const double> values);

// Returns the relative shift from older to newer values: the median of all ratios, minus 1 (Hodges
// and Lehmann, Ann. Math. Stat. 34, 1963). Of more than 64 values an even choice counts.
double shift_between(std::span<const double> older, std::span<const double> newer);

// Returns the two-sided probability that `fewer` values, taken from all of them at random, have a
// rank sum this far from its mean. Exact, also with equal values.
double rank_sum_p(std::span<const double> fewer, std::span<const double> others);

// Tells whether the values leave their level step by step, so that a level and then a slope
// describe them clearly better than two levels that meet at index `at`.
bool is_drift(std::span<const double> values, std::size_t at);

// Values that lie around two levels, between which they go back and forth.
struct TwoStates {
  double low = 0, high = 0;   // medians of both
  std::vector<bool> is_high;  // by value
  std::size_t highs = 0;      // number of values at the higher level
};
// Returns the states if both have at least a fifth of the values, lie more than 4 standard
// deviations of either apart, and alternate: one change in time, or two, is a change and not a
// state. Needs 16 values.
std::optional<TwoStates> two_states(std::span<const double> values);

struct ChangePoint {
  RankSplit split;   // indices into all values
  double shift = 0;  // relative, between the segments on both sides
  double p = 1;      // split_p of both segments
};

struct Segmentation {
  std::vector<ChangePoint> points;  // in the order of the values
  // Segments of two states that are at least the floor apart: begin, and the states of the values
  // from there on.
  std::vector<std::pair<std::size_t, TwoStates>> states;
  // The values; those at the rarer level of two states are scaled to the other level.
  std::vector<double> levelled;
};
// Splits recursively where z is above the threshold for 0.001 and the shift is at least `floor`,
// looks at the newest 25, 50, 100, .. values of a segment if it has no such split, and at last
// tests every point against both neighbours, dropping the weakest until all hold.
Segmentation find_changes(std::span<const double> values, double floor);

inline constexpr std::size_t kShortHistory = 8;  // fewer runs predict nothing
inline constexpr std::size_t kNewestRuns = 40;   // of a segment that predict the next run
// Tells what to expect of the next run from the newest 40 runs of a segment.
struct Expected {
  double median = 0, margin = 0;  // a value further from the median is suspect
};
// Returns none for fewer than 8 values. The margin is 3 robust standard deviations of the next
// value, and at least half of the floor.
std::optional<Expected> expected_next(std::span<const double> segment, double floor);

// Fisher's exact test of a 2 x 2 table, two-sided (J. R. Stat. Soc. 85, 1922).
double fisher_p(std::size_t a, std::size_t b, std::size_t c, std::size_t d);

// Returns the largest p that may be called a discovery if at most the share `level` of the
// discoveries may be false (Benjamini and Hochberg, J. R. Stat. Soc. B 57, 1995); 0: none may.
double discovery_limit(std::vector<double> p, double level);

}  // namespace mgpu
