// What a training has to be, found without jets, reverse mode or trees: values of the network in
// fp64, and differences of these for every derivative, by the inputs as well as by the parameters.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "suites/pinn/evaluate.hpp"
#include "suites/pinn/outcome.hpp"
#include "suites/pinn/problem.hpp"

namespace mgpu::pinn {

struct Collocation {
  enum class Kind { domain = 1, boundary, initial } kind = Kind::domain;
  Place place;
  double value = 0;  // that the network has to have there, on the boundary and initially
};

// The points of shards [begin, end) as they are in step `step`.
std::vector<Collocation> collocation(const Problem& problem, std::uint64_t begin, std::uint64_t end,
                                     std::uint32_t step);

// A weighted sum of squares over points, and how far rounding to fp32 may move it.
struct Loss {
  double value = 0, uncertain = 0;
};

class Check {
 public:
  Check(const Problem& problem, const Network& network, unsigned threads);
  // The first thing that does not hold, in a line; empty: all does. `full`: all shards, where that
  // does not take minutes.
  std::string first_wrong(const Outcome& outcome, bool full, std::uint64_t seed);
  const std::string& method() const {
    return method_;
  }  // what it was compared with, after first_wrong

  // What Adam makes of the moments in the last step.
  std::string wrong_step(const Ending& whole) const;
  // The last loss and gradient, at all points of a training whose shards are not looked at.
  std::string wrong_ending(const Ending& whole, const std::vector<Collocation>& points,
                           std::uint64_t seed) const;

  std::vector<Loss> losses(const std::vector<double>& parameters,
                           const std::vector<Collocation>& points) const;  // of each
  Loss loss(const std::vector<double>& parameters, const std::vector<Collocation>& points) const;
  // Of the loss by every parameter, by central differences.
  std::vector<double> gradient(const std::vector<double>& parameters,
                               const std::vector<Collocation>& points) const;

 private:
  std::string wrong_snapshot(const Ending& whole, bool full, std::uint64_t seed) const;
  std::string wrong_sums(const Outcome& outcome) const;
  // Of a shard in the last step: its loss, and how fast that grows along a direction which `seed`
  // chooses.
  struct Expected {
    Loss loss;
    double slope = 0, slopes = 0;  // along a direction; of all points, whatever their sign
  };
  Expected expected_at(const Ending& whole, const std::vector<Collocation>& points,
                       std::uint64_t seed) const;
  std::string differs(const std::string& what, const Expected& known, const float* losses,
                      std::span<const float> gradient, std::uint64_t seed) const;
  const Expected& expected(const Ending& whole, std::uint64_t shard, std::uint64_t seed);
  std::string wrong_shard(const Outcome& outcome, std::uint64_t shard, std::uint64_t seed);

  const Problem problem_;
  const Network network_;
  const unsigned threads_;
  std::string method_ = "fp64 differences on the host";
  std::map<std::uint64_t, Expected> expected_;  // by shard, with
  std::vector<float> expected_of_;              // these parameters
  std::uint64_t expected_seed_ = 0;
};

// The first steps of a training by gradient(): the loss in each of them, from `state`, parameters
// and moments. None where that would take long.
std::vector<Loss> replay(const Problem& problem, const Network& network,
                         std::span<const float> state, unsigned threads);

// The first of these steps whose loss is another, in a line; empty: none is.
std::string wrong_losses(const std::vector<Loss>& expected, const Ending& whole);

}  // namespace mgpu::pinn
