// Reference for a training without jets, reverse mode or trees: values of the network in fp64, and
// finite differences of them for every derivative by inputs and parameters.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "suites/pinn/evaluate.hpp"
#include "suites/pinn/outcome.hpp"
#include "suites/pinn/problem.hpp"

namespace mgpu::pinn {

struct Collocation {
  enum class Kind { domain = 1, boundary, initial } kind = Kind::domain;
  Place place;
  double value = 0;  // required value of boundary and initial points
};

// Returns the points of shards [begin, end) in step `step`.
std::vector<Collocation> collocation(const Problem& problem, std::uint64_t begin, std::uint64_t end,
                                     std::uint32_t step);

// A weighted sum of squares over points, and its uncertainty by rounding to fp32.
struct Loss {
  double value = 0, uncertain = 0;
};

class Check {
 public:
  Check(const Problem& problem, const Network& network, unsigned threads);
  // Returns the first error in one line, or an empty text. `full`: checks all shards, or as many as
  // take about half a second.
  std::string first_wrong(const Outcome& outcome, bool full, std::uint64_t seed);
  // Returns what the training was compared with; complete after first_wrong().
  const std::string& method() const { return method_; }

  // Checks Adam's update in the last step, given the moments.
  std::string wrong_step(const Ending& whole) const;
  // Checks the last loss and gradient at all points, for a training whose shards are not compared.
  std::string wrong_ending(const Ending& whole, const std::vector<Collocation>& points,
                           std::uint64_t seed) const;

  std::vector<Loss> losses(const std::vector<double>& parameters,
                           const std::vector<Collocation>& points) const;  // one per point
  Loss loss(const std::vector<double>& parameters, const std::vector<Collocation>& points) const;
  // Returns the gradient of the loss by every parameter, by central differences.
  std::vector<double> gradient(const std::vector<double>& parameters,
                               const std::vector<Collocation>& points) const;

 private:
  std::string wrong_snapshot(const Ending& whole, std::uint64_t count, std::uint64_t seed) const;
  std::string wrong_sums(const Outcome& outcome) const;
  // Expected values of a shard in the last step: its loss, and the slope of the loss in a direction
  // that `seed` chooses.
  struct Expected {
    Loss loss;
    double slope = 0, slopes = 0;  // sum over all points; sum of absolute values
  };
  using Groups = std::vector<std::vector<Collocation>>;
  // Returns one per group of points, each computed as if alone.
  std::vector<Expected> expected_at(const Ending& whole, const Groups& groups,
                                    std::uint64_t seed) const;
  std::string differs(const std::string& what, const Expected& known, const float* losses,
                      std::span<const float> gradient, std::uint64_t seed) const;
  std::string wrong_shard(const Ending& whole, const std::vector<std::uint64_t>& shards,
                          std::uint64_t seed);
  std::uint64_t affordable_parts(double flop, std::uint64_t most) const;

  const Problem problem_;
  const Network network_;
  const unsigned threads_;
  std::string method_ = "fp64 differences on the host";
  // Cached, since samples that end with the same parameters have the same expected values.
  std::vector<Expected> expected_;
  std::vector<float> expected_of_;
  std::vector<std::uint64_t> expected_shards_;
  std::uint64_t expected_seed_ = 0;
};

// Computes the first steps of a training by gradient(), starting from `state` (parameters and
// moments), and returns the loss of each. Returns nothing if that takes long.
std::vector<Loss> replay(const Problem& problem, const Network& network,
                         std::span<const float> state, unsigned threads);

// Returns the first of these steps with a different loss, in one line; empty: none.
std::string wrong_losses(const std::vector<Loss>& expected, const Ending& whole);

}  // namespace mgpu::pinn
