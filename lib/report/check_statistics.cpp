#include "lib/report/check_statistics.hpp"

#include <algorithm>
#include <cmath>

#include "lib/base/add_once.hpp"
#include "lib/base/significance.hpp"
#include "lib/base/stats.hpp"

namespace mgpu {
namespace {

constexpr double kMadToDeviation = 1.4826, kDeviations = 3;
// Standard error of a median relative to that of a mean, of normal values.
constexpr double kOfMedian = 1.2533;
// Fewest others from whose spread a floor follows.
constexpr std::size_t kSpreadNeeds = 4;

}  // namespace

TrimmedMean trimmed_mean(std::vector<double> logs) {
  const std::size_t n = logs.size();
  if (n < 3) return {median(logs), 0, 0};
  std::sort(logs.begin(), logs.end());
  const std::size_t cut = n / 5, kept = n - 2 * cut;
  double mean = 0, all = 0, spread = 0;
  for (std::size_t k = cut; k < n - cut; ++k) mean += logs[k] / static_cast<double>(kept);
  const auto pulled_in = [&](std::size_t k) { return logs[std::clamp(k, cut, n - cut - 1)]; };
  for (std::size_t k = 0; k < n; ++k) all += pulled_in(k) / static_cast<double>(n);
  for (std::size_t k = 0; k < n; ++k) spread += std::pow(pulled_in(k) - all, 2);
  const double error = std::sqrt(spread / static_cast<double>(n - 1)) *
                       std::sqrt(static_cast<double>(n)) / static_cast<double>(kept);
  return {mean, error, static_cast<double>(kept - 1)};
}

std::vector<double> logs_of(std::span<const double> rates) {
  std::vector<double> logs;
  for (const double rate : rates) logs.push_back(std::log(rate));
  return logs;
}

double Quantiles::at(double freedom) {
  const long whole = std::max(1L, static_cast<long>(freedom));
  const auto known = known_.find(whole);
  if (known != known_.end()) return known->second;
  return known_[whole] = student_quantile(alpha_, static_cast<double>(whole));
}

void Others::add(const TrimmedMean& one, const std::string& session) {
  all_.push_back(one);
  if (one.freedom == 0) return;
  const std::size_t before = sessions_.size();
  if (!session.empty()) add_once(sessions_, session);
  independent_ += session.empty() || sessions_.size() > before ? 1 : 0;
}

TrimmedMean Others::middle() const {
  std::vector<double> means, errors, freedoms;
  TrimmedMean middle;
  for (const TrimmedMean& one : all_) {
    means.push_back(one.mean);
    if (one.freedom == 0) continue;
    errors.push_back(one.error);
    freedoms.push_back(one.freedom);
  }
  middle.mean = median(means);
  if (errors.empty()) return middle;
  const double count = static_cast<double>(independent_);
  middle.error = median(errors) / std::sqrt(count) * (independent_ > 1 ? kOfMedian : 1);
  middle.freedom = median(freedoms) * count;
  return middle;
}

double Others::spread() const {
  if (all_.size() < kSpreadNeeds) return 0;
  const double center = middle().mean;
  std::vector<double> apart, errors;
  for (const TrimmedMean& one : all_) {
    apart.push_back(std::abs(one.mean - center));
    errors.push_back(one.error);
  }
  const double seen = kMadToDeviation * median(apart), error = median(errors);
  return kDeviations * std::sqrt(std::max(0.0, seen * seen - error * error));
}

Slowness slowness_of(const TrimmedMean& mine, const TrimmedMean& others, Quantiles& quantiles) {
  const double a = mine.error * mine.error, b = others.error * others.error;
  double freedom = mine.freedom;
  if (others.freedom > 0 && a + b > 0)
    freedom = (a + b) * (a + b) / (a * a / mine.freedom + b * b / others.freedom);
  const double half = quantiles.at(freedom) * std::sqrt(a + b), behind = others.mean - mine.mean;
  const auto share = [](double log) { return 1 - std::exp(-log); };
  return {share(behind), share(behind - half), share(behind + half)};
}

}  // namespace mgpu
