// Simulates the gate: which exit codes comparisons of times with a known
// slow-down have, for few and many samples and cases.
#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <random>

#include "app/exit_codes.hpp"
#include "tests/support/sample_report.hpp"
#include "tests/support/thorough.hpp"

using namespace mgpu;

namespace {

using Random = std::mt19937_64;

struct Trial {
  double factor = 1;  // time of a slow case of NEW relative to BASE
  std::size_t samples = 5, cases = 1;
  double noise = 0.01, floor = 0.02;
  bool all = true;          // all cases are slow, or only the last one
  std::size_t runs = 1;     // of BASE
  double between_runs = 0;  // noise that the samples of a run share
};

// Returns a case of 10 ms whose samples vary by the noise around `factor` times
// that.
RunRecord noisy_case(std::int64_t number, double factor, const Trial& trial, Random& random) {
  RunRecord run = test::without_numbers(Status::ok, "equal", "");
  run.reason.reset();
  run.params = {{"leaves", number}};
  std::normal_distribution<double> noise(0, 1);
  const double of_run = trial.between_runs * noise(random);
  for (std::size_t k = 0; k < trial.samples; ++k)
    run.samples.push_back(
        from_seconds(10e-3 * factor * std::exp(of_run + trial.noise * noise(random))));
  return run;
}

ExitCode simulate(const Trial& trial, Random& random) {
  std::vector<Report> base(trial.runs);
  Report fresh;
  for (std::size_t k = 0; k < trial.cases; ++k) {
    const bool slow = trial.all || k + 1 == trial.cases;
    const auto number = static_cast<std::int64_t>(k);
    for (Report& run : base) run.runs.push_back(noisy_case(number, 1, trial, random));
    fresh.runs.push_back(noisy_case(number, slow ? trial.factor : 1, trial, random));
  }
  CompareOptions options;
  options.metrics = {Compared::time};
  options.floor = trial.floor;
  options.bootstrap.resamples = 100;
  return outcome(compare_reports(base, std::span(&fresh, 1), options));
}

template <typename T>
T pick(std::initializer_list<T> values, Random& random) {
  return values.begin()[random() % values.size()];
}

// Counts the exit codes of `trials` comparisons. Draws noise, floor, which
// cases are slow, and the number of cases, of which there are seldom many, as
// these take long.
std::map<ExitCode, std::size_t> codes(std::initializer_list<double> factors,
                                      std::initializer_list<std::size_t> samples,
                                      std::size_t trials) {
  Random random(1);
  std::map<ExitCode, std::size_t> found;
  for (std::size_t k = 0; k < trials; ++k) {
    Trial trial;
    trial.factor = pick(factors, random);
    trial.samples = pick(samples, random);
    trial.cases = k % 20 == 0 ? 100 : k % 4 == 0 ? 10 : 1 + random() % 2;
    trial.noise = pick({0.01, 0.03, 0.1}, random);
    trial.floor = pick({0.02, 0.1}, random);
    trial.all = random() % 2 == 0;
    ++found[simulate(trial, random)];
  }
  return found;
}

// Returns a tenth of `trials`, or all of them in the thorough tier.
std::size_t trials_of(std::size_t trials) { return testing::is_thorough() ? trials : trials / 10; }

double share(std::map<ExitCode, std::size_t> found, ExitCode code) {
  double all = 0;
  for (const auto& [any, n] : found) all += static_cast<double>(n);
  return static_cast<double>(found[code]) / all;
}

}  // namespace

TEST_CASE(
    "a slow-down by 2 or more never passes, and with 5 samples or more "
    "it is a regression") {
  CHECK(share(codes({2, 5, 10, 20}, {5, 6, 8, 9, 12, 30}, trials_of(6000)), ExitCode::regression) >=
        0.99);
  CHECK(share(codes({2, 5, 10, 20}, {1, 2, 3, 4}, trials_of(3000)), ExitCode::ok) == 0);
  CHECK(share(codes({10, 20}, {3, 4}, trials_of(3000)), ExitCode::regression) >= 0.99);
  Random random(1);
  for (const auto& [samples, cases] : {std::pair<std::size_t, std::size_t>{3, 1}, {9, 70}})
    CHECK(simulate({10, samples, cases}, random) == ExitCode::regression);
}

TEST_CASE("the same times again, or faster ones, are no regression") {
  CHECK(share(codes({1}, {2, 3, 4, 5, 6, 8, 9, 12, 30}, trials_of(6000)), ExitCode::regression) <=
        0.01);
  CHECK(share(codes({0.5, 0.1}, {2, 3, 4, 5, 9, 12, 30}, 200), ExitCode::regression) <= 0.01);
  Random random(1);
  for (const std::size_t samples : {5u, 9u, 30u})
    CHECK(simulate({0.5, samples, 10}, random) == ExitCode::ok);
  CHECK(simulate({1, 3, 10}, random) == ExitCode::usage);
}

TEST_CASE(
    "against three runs of BASE the noise between runs is no regression, and rarely a doubt") {
  Random random(1);
  for (const double between_runs : {0.0, 0.01, 0.02, 0.05}) {
    CAPTURE(between_runs);
    std::map<ExitCode, std::size_t> same, slow;
    for (std::size_t k = 0; k < trials_of(3000); ++k) {
      Trial trial{.samples = 12, .cases = 1 + k % 10, .runs = 3, .between_runs = between_runs};
      ++same[simulate(trial, random)];
      trial.factor = pick({2.0, 5.0, 20.0}, random);
      if (k % 3 == 0) ++slow[simulate(trial, random)];
    }
    CHECK(share(same, ExitCode::regression) <= 0.01);
    if (between_runs <= 0.02) CHECK(share(same, ExitCode::ok) >= 0.95);
    CHECK(share(slow, ExitCode::ok) == 0);
    CHECK(share(slow, ExitCode::regression) >= 0.9);
  }
}

TEST_CASE("twelve samples with a noise of 2 % show a slow-down by a fifth") {
  Random random(1);
  std::map<ExitCode, std::size_t> found;
  for (std::size_t k = 0; k < trials_of(2000); ++k)
    ++found[simulate({.factor = 1.2, .samples = 12, .cases = 1 + k % 10, .noise = 0.02}, random)];
  CHECK(share(found, ExitCode::regression) >= 0.95);
}
