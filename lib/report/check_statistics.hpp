// The statistics of a check: means of repeated rates, and how much slower one is than others. Pure.
// Internal to lib/report.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace mgpu {

// The mean of logarithms without the fifth at either end, its standard error and the degrees of
// freedom of that (Tukey and McLaughlin, Sankhya A 25, 1963).
struct TrimmedMean {
  double mean = 0, error = 0;
  double freedom = 0;  // 0: fewer than 3 values, whose error is not known
};
TrimmedMean trimmed_mean(std::vector<double> logs);
std::vector<double> logs_of(std::span<const double> rates);

// Quantiles of Student's t at one level, each computed once.
class Quantiles {
 public:
  explicit Quantiles(double alpha) : alpha_(alpha) {}
  double at(double freedom);

 private:
  const double alpha_;
  std::map<long, double> known_;
};

// Others that something is compared with, each by the mean of the logarithms of its rates.
class Others {
 public:
  // `session`: others of one session share what happened in it, so that more of them do not make
  // their middle more certain; empty: they share nothing.
  void add(const TrimmedMean& one, const std::string& session = {});
  std::size_t size() const { return all_.size(); }
  // Returns their middle, with the error of that.
  TrimmedMean middle() const;
  // Returns by how much equal things differ, apart from the errors of measurement: three standard
  // deviations. 0: they are too few to tell.
  double spread() const;

 private:
  std::vector<TrimmedMean> all_;
  std::vector<std::string> sessions_;
  std::size_t independent_ = 0;
};

// How much slower something is than others, as a share of their rate, and the interval of that.
struct Slowness {
  double slower = 0, low = 0, high = 0;
};
// Returns the interval of a difference of logarithms by Student's t, with Welch's degrees of
// freedom (Biometrika 34, 1947). `mine` and `others` must have freedom; that of `others` may be 0.
Slowness slowness_of(const TrimmedMean& mine, const TrimmedMean& others, Quantiles& quantiles);

}  // namespace mgpu
