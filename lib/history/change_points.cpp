#include "lib/history/change_points.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace mgpu {
namespace {

constexpr std::size_t kLeastOlder = 5, kLeastNewer = 3;
constexpr std::size_t kThinned = 64;
constexpr double kAlpha = 0.001, kNearMost = 0.5, kNearLikelihood = 4;

struct Threshold {
  std::size_t n;
  double thousandth, hundredth;
};
constexpr std::array kThresholds = {
    Threshold{15, 3.18, 2.83},  Threshold{20, 3.38, 2.97},  Threshold{30, 3.61, 3.11},
    Threshold{40, 3.70, 3.20},  Threshold{60, 3.84, 3.30},  Threshold{100, 3.97, 3.41},
    Threshold{200, 4.08, 3.52}, Threshold{500, 4.20, 3.64}, Threshold{1000, 4.24, 3.68}};

// Returns the values' ranks from 1; equal values have their mean rank.
std::vector<double> midranks(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    for (std::size_t k = begin; k < end; ++k)
      ranks[order[k]] = static_cast<double>(begin + end + 1) / 2;
  }
  return ranks;
}

// Returns z for every split; element t splits before value t, 0 where a part is too small.
std::vector<double> all_splits(std::span<const double> values) {
  const double n = static_cast<double>(values.size());
  const std::vector<double> ranks = midranks(values);
  std::vector<double> z(values.size(), 0.0);
  double sum = 0;
  for (std::size_t t = 1; t + kLeastNewer <= values.size(); ++t) {
    sum += ranks[t - 1];
    const double left = static_cast<double>(t);
    if (t >= kLeastOlder)
      z[t] = std::abs(sum - left * (n + 1) / 2) / std::sqrt(left * (n - left) * (n + 1) / 12);
  }
  return z;
}

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

// Returns the sum of the distances of the values to their median.
double distances_to_median(std::span<const double> values) {
  const double middle = median_of({values.begin(), values.end()});
  return std::accumulate(values.begin(), values.end(), 0.0,
                         [&](double sum, double v) { return sum + std::abs(v - middle); });
}

// Returns the split of these values near the one with the largest z. Ranks say that there is a
// change, but not well where, as they do not know how far values are apart: of the splits whose z
// is within 0.5 of the largest, the one that leaves the least distances to the medians is taken,
// and those are suspect that leave little more.
RankSplit locate(std::span<const double> values, const std::vector<double>& z, std::size_t most) {
  std::vector<std::pair<std::size_t, double>> near;  // split, distances
  std::pair<std::size_t, double> best{most, -1};
  for (std::size_t t = 0; t < z.size(); ++t) {
    if (z[t] == 0 || z[t] < z[most] - kNearMost) continue;
    near.emplace_back(
        t, distances_to_median(values.first(t)) + distances_to_median(values.subspan(t)));
    if (best.second < 0 || near.back().second < best.second) best = near.back();
  }
  RankSplit split{best.first, z[most], best.first, best.first};
  for (const auto& [t, distances] : near) {
    // The logarithm of a likelihood ratio, for deviations with a double exponential distribution.
    if (best.second > 0 &&
        static_cast<double>(values.size()) * std::log(distances / best.second) > kNearLikelihood)
      continue;
    if (best.second == 0 && distances > 0) continue;
    split.first = std::min(split.first, t);
    split.last = std::max(split.last, t);
  }
  return split;
}

// Returns at most 64 of the values, evenly spaced: more tell little more, and take long in pairs.
std::vector<double> thinned(std::span<const double> values) {
  const std::size_t n = std::min(values.size(), kThinned);
  std::vector<double> some(n);
  for (std::size_t k = 0; k < n; ++k) some[k] = values[k * values.size() / n];
  return some;
}

class Finder {
 public:
  Finder(std::span<const double> values, double floor)
      : floor_(floor), found_{{}, {}, {values.begin(), values.end()}} {}

  Segmentation run() {
    look(0, found_.levelled.size());
    std::sort(points_.begin(), points_.end());
    while (drop_weakest()) {
    }
    for (std::size_t k = 0; k < points_.size(); ++k) found_.points.push_back(point(k));
    std::sort(found_.states.begin(), found_.states.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    return std::move(found_);
  }

 private:
  std::span<const double> part(std::size_t begin, std::size_t end) const {
    return std::span(found_.levelled).subspan(begin, end - begin);
  }

  void look(std::size_t begin, std::size_t end) {
    if (auto states = two_states(part(begin, end));
        states && states->high / states->low >= 1 + floor_) {
      level(begin, *states);
      found_.states.emplace_back(begin, std::move(*states));
    }
    std::size_t at = split(begin, end);
    for (std::size_t newest = 25; at == 0 && newest < end - begin; newest *= 2)
      at = split(end - newest, end);
    if (at == 0) return;
    points_.push_back(at);
    look(begin, at);
    look(at, end);
  }

  // Scales the values at the rarer level to the other one.
  void level(std::size_t begin, const TwoStates& states) {
    const bool mostly_high = 2 * states.highs > states.is_high.size();
    const double factor = mostly_high ? states.high / states.low : states.low / states.high;
    for (std::size_t k = 0; k < states.is_high.size(); ++k)
      if (states.is_high[k] != mostly_high) found_.levelled[begin + k] *= factor;
  }

  // Returns the index of the split of these values; 0: they have none.
  std::size_t split(std::size_t begin, std::size_t end) const {
    const auto best = best_split(part(begin, end));
    if (!best || best->z < split_threshold(end - begin, kAlpha)) return 0;
    const std::size_t at = begin + best->at;
    return std::abs(shift_between(part(begin, at), part(at, end))) < floor_ ? 0 : at;
  }

  std::size_t begin_of(std::size_t k) const { return k == 0 ? 0 : points_[k - 1]; }
  std::size_t end_of(std::size_t k) const {
    return k + 1 == points_.size() ? found_.levelled.size() : points_[k + 1];
  }

  // Returns point k as a split of the segments on both sides.
  ChangePoint point(std::size_t k) const {
    const std::size_t begin = begin_of(k), end = end_of(k), at = points_[k];
    ChangePoint of;
    of.split = locate(part(begin, end), all_splits(part(begin, end)), at - begin);
    for (std::size_t* index : {&of.split.at, &of.split.first, &of.split.last}) *index += begin;
    of.shift = shift_between(part(begin, at), part(at, end));
    of.p = split_p(end - begin, of.split.z);
    return of;
  }

  // Drops the weakest of the points that do not hold against their neighbours.
  bool drop_weakest() {
    std::size_t weakest = points_.size();
    double least = 0;
    for (std::size_t k = 0; k < points_.size(); ++k) {
      const ChangePoint one = point(k);
      const double margin = one.split.z - split_threshold(end_of(k) - begin_of(k), kAlpha);
      const bool holds = margin >= 0 && std::abs(one.shift) >= floor_;
      if (holds || (weakest < points_.size() && margin >= least)) continue;
      weakest = k;
      least = margin;
    }
    if (weakest == points_.size()) return false;
    points_.erase(points_.begin() + static_cast<std::ptrdiff_t>(weakest));
    return true;
  }

  double floor_;
  Segmentation found_;
  std::vector<std::size_t> points_;
};

// Returns ln C(n, k).
double log_choose(std::size_t n, std::size_t k) {
  const auto log_factorial = [](std::size_t m) { return std::lgamma(static_cast<double>(m) + 1); };
  return log_factorial(n) - log_factorial(k) - log_factorial(n - k);
}

// Returns how many of the values are where the best single change in time would put them.
std::size_t agreement_with_one_change(const std::vector<bool>& is_high) {
  const std::size_t n = is_high.size();
  std::size_t highs = static_cast<std::size_t>(std::count(is_high.begin(), is_high.end(), true));
  std::size_t most = std::max(highs, n - highs), agreeing = highs;  // all high from the first on
  for (const bool high : is_high) {
    agreeing = high ? agreeing - 1 : agreeing + 1;  // low up to here
    most = std::max({most, agreeing, n - agreeing});
  }
  return most;
}

}  // namespace

double split_threshold(std::size_t n, double alpha) {
  const auto of = [&](const Threshold& t) { return alpha < 0.005 ? t.thousandth : t.hundredth; };
  if (n <= kThresholds.front().n) return of(kThresholds.front());
  for (std::size_t k = 1; k < kThresholds.size(); ++k) {
    const Threshold &below = kThresholds[k - 1], &above = kThresholds[k];
    if (n > above.n) continue;
    const auto log = [](std::size_t m) { return std::log(static_cast<double>(m)); };
    return of(below) +
           (of(above) - of(below)) * (log(n) - log(below.n)) / (log(above.n) - log(below.n));
  }
  return of(kThresholds.back());
}

double split_p(std::size_t n, double z) {
  const double thousandth = split_threshold(n, 0.001), hundredth = split_threshold(n, 0.01);
  const double slope = std::log(10.0) / (thousandth * thousandth - hundredth * hundredth);
  return std::min(1.0, 0.001 * std::exp(slope * (thousandth * thousandth - z * z)));
}

std::optional<RankSplit> best_split(std::span<const double> values) {
  if (values.size() < kLeastOlder + kLeastNewer) return std::nullopt;
  const std::vector<double> z = all_splits(values);
  const auto most = static_cast<std::size_t>(std::max_element(z.begin(), z.end()) - z.begin());
  return RankSplit{most, z[most], most, most};
}

double shift_between(std::span<const double> older, std::span<const double> newer) {
  std::vector<double> ratios;
  for (const double from : thinned(older))
    for (const double to : thinned(newer)) ratios.push_back(to / from);
  return ratios.empty() ? 0 : median_of(std::move(ratios)) - 1;
}

double rank_sum_p(std::span<const double> fewer, std::span<const double> others) {
  std::vector<double> all(fewer.begin(), fewer.end());
  all.insert(all.end(), others.begin(), others.end());
  // Twice the midranks are whole numbers: the sums of all subsets can be counted.
  std::vector<std::size_t> ranks;
  for (const double rank : midranks(all))
    ranks.push_back(static_cast<std::size_t>(std::lround(2 * rank)));
  const std::size_t k = fewer.size(), most = std::accumulate(ranks.begin(), ranks.end(), k);
  std::vector<std::vector<double>> counts(k + 1, std::vector<double>(most + 1, 0.0));
  counts[0][0] = 1;
  for (const std::size_t rank : ranks)
    for (std::size_t taken = k; taken > 0; --taken)
      for (std::size_t sum = most; sum >= rank; --sum)
        counts[taken][sum] += counts[taken - 1][sum - rank];
  const double mean = static_cast<double>(k) * static_cast<double>(all.size() + 1);
  const auto seen = std::accumulate(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(k),
                                    std::size_t{0});
  const double distance = std::abs(static_cast<double>(seen) - mean);
  double total = 0, beyond = 0;
  for (std::size_t sum = 0; sum <= most; ++sum) {
    total += counts[k][sum];
    if (std::abs(static_cast<double>(sum) - mean) >= distance) beyond += counts[k][sum];
  }
  return beyond / total;
}

bool is_drift(std::span<const double> values, std::size_t at) {
  constexpr std::size_t kLeast = 5, kAround = 64;
  const std::size_t begin = at - std::min(at, kAround);
  values = values.subspan(begin, std::min(values.size(), at + kAround) - begin);
  at -= begin;
  const double step =
      distances_to_median(values.first(at)) + distances_to_median(values.subspan(at));
  double least = step;
  std::vector<double> slopes;
  for (std::size_t t = 1; t + kLeast <= values.size(); ++t) {
    const double from =
        median_of({values.begin(), values.begin() + static_cast<std::ptrdiff_t>(t)});
    slopes.clear();
    for (std::size_t k = t; k < values.size(); ++k)
      slopes.push_back((values[k] - from) / static_cast<double>(k - t + 1));
    const double slope = median_of(slopes);
    double ramp = distances_to_median(values.first(t));
    for (std::size_t k = t; k < values.size(); ++k)
      ramp += std::abs(values[k] - from - slope * static_cast<double>(k - t + 1));
    least = std::min(least, ramp);
  }
  return step > 0 && static_cast<double>(values.size()) * std::log(step / least) > kNearLikelihood;
}

std::optional<TwoStates> two_states(std::span<const double> values) {
  const std::size_t n = values.size();
  if (n < 16) return std::nullopt;
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  // Finds the cut of the sorted values with the least sum of squares around both means.
  double low_sum = 0, low_squares = 0, high_sum = 0, high_squares = 0;
  const double origin = sorted[n / 2];
  for (double& v : sorted) high_sum += v -= origin, high_squares += v * v;
  double least = -1, gap = 0, within = 0;
  std::size_t cut = 0;
  for (std::size_t k = 1; k < n; ++k) {
    const double v = sorted[k - 1], low = static_cast<double>(k), high = static_cast<double>(n - k);
    low_sum += v, low_squares += v * v, high_sum -= v, high_squares -= v * v;
    const double rest =
        low_squares - low_sum * low_sum / low + high_squares - high_sum * high_sum / high;
    if (least >= 0 && rest >= least) continue;
    least = rest;
    cut = k;
    gap = high_sum / high - low_sum / low;
    within = std::sqrt(std::max(0.0, rest) / static_cast<double>(n - 2));
  }
  if (5 * std::min(cut, n - cut) < n || gap <= 4 * within) return std::nullopt;
  TwoStates states;
  const double border = (sorted[cut - 1] + sorted[cut]) / 2 + origin;
  std::vector<double> low, high;
  std::size_t changes = 0;
  for (const double v : values) {
    const bool is_high = v > border;
    (is_high ? high : low).push_back(v);
    changes += !states.is_high.empty() && states.is_high.back() != is_high;
    states.is_high.push_back(is_high);
  }
  if (changes < 4 || 10 * agreement_with_one_change(states.is_high) > 9 * n) return std::nullopt;
  states.highs = high.size();
  states.low = median_of(std::move(low));
  states.high = median_of(std::move(high));
  return states;
}

Segmentation find_changes(std::span<const double> values, double floor) {
  return Finder(values, floor).run();
}

std::optional<Expected> expected_next(std::span<const double> segment, double floor) {
  if (segment.size() < kShortHistory) return std::nullopt;
  if (segment.size() > kNewestRuns) segment = segment.last(kNewestRuns);
  Expected next;
  next.median = median_of({segment.begin(), segment.end()});
  std::vector<double> distances;
  for (const double v : segment) distances.push_back(std::abs(v - next.median));
  const double deviation = std::max(1.4826 * median_of(std::move(distances)), 0.0001 * next.median);
  next.margin = std::max(3 * deviation * std::sqrt(1 + 1.57 / static_cast<double>(segment.size())),
                         floor / 2 * next.median);
  return next;
}

double fisher_p(std::size_t a, std::size_t b, std::size_t c, std::size_t d) {
  const std::size_t row = a + b, column = a + c, n = a + b + c + d;
  const auto log_p = [&](std::size_t k) {
    return log_choose(column, k) + log_choose(n - column, row - k) - log_choose(n, row);
  };
  const double seen = log_p(a);
  double p = 0;
  for (std::size_t k = row > n - column ? row - (n - column) : 0; k <= std::min(row, column); ++k)
    if (log_p(k) <= seen + 1e-7) p += std::exp(log_p(k));
  return std::min(1.0, p);
}

double discovery_limit(std::vector<double> p, double level) {
  std::sort(p.begin(), p.end());
  for (std::size_t k = p.size(); k > 0; --k)
    if (const double limit = level * static_cast<double>(k) / static_cast<double>(p.size());
        p[k - 1] <= limit)
      return limit;
  return 0;
}

}  // namespace mgpu
