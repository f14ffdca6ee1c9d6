// The training problem: the equation, the network, the points, the steps. All of it
// follows from the options.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "lib/workload/workload.hpp"

namespace mgpu::pinn {

// burgers: u_t + u u_x = nu u_xx; allen_cahn: u_t = D u_xx - 5 (u^3 - u); helmholtz: u_xx + u_yy +
// u = f; poisson: without u.
enum class Equation { burgers, allen_cahn, helmholtz, poisson };
enum class Compute { chosen, shards, layers };
// Work that devices share: the points of one network; the parts of its domain, with a network each,
// which is a different problem; or independent networks of different seeds.
enum class Partition { data, domain, ensemble };

struct Range {
  double low = -1, high = 1;
};

struct Problem {
  Equation equation = Equation::burgers;
  std::uint32_t layers = 4, width = 256;  // hidden layers of tanh, and neurons per layer
  std::uint32_t points = 8192, boundary = 0, initial = 0;
  bool hard = false;  // boundary and initial values are built in, so there are no points for them
  std::uint32_t shards = 128;
  bool compressed = false;  // gradients are exchanged in bf16, with error feedback
  std::uint32_t steps = 0;
  std::uint32_t resample = 0;  // steps between new points; 0: never
  std::uint32_t checkpoint_rounds = 0;
  // Number of evenly spaced snapshots of the parameters, for the error of the solution over time.
  std::uint32_t snapshots = 0;
  // Parameters of Adam: the rate falls by the factor `decay` every `decay_steps` steps.
  double rate = 1e-3, decay = 0.9, decay_steps = 2000;
  double data_weight = 1;  // weight of boundary and initial points in the loss
  std::uint64_t seed = 0;
  Compute compute = Compute::chosen;
  Partition partition = Partition::data;
  std::uint32_t members = 1;  // size of an ensemble
  std::uint32_t parts = 1;    // parts of the domain, along the first input
  // Set for a part: its range, and at which of its ends another part follows.
  std::optional<Range> range;
  bool goes_on_below = false, goes_on_above = false;
  std::uint32_t steps_done = 0;  // steps of the training that --input continues

  bool in_time() const { return equation == Equation::burgers || equation == Equation::allen_cahn; }
  std::uint64_t all_points() const { return std::uint64_t{points} + boundary + initial; }
  // Blocks of shards, the smallest sums that are rounded to bf16: shares consist of whole blocks.
  std::uint32_t blocks() const { return std::min(shards, 32U); }
  std::uint32_t shards_of_block() const { return shards / blocks(); }
  // Ranges of the first input (x) and the second one (t or y).
  Range first() const { return range ? *range : whole(); }
  Range whole() const { return equation == Equation::poisson ? Range{0, 1} : Range{-1, 1}; }
  Range second() const {
    return in_time() || equation == Equation::poisson ? Range{0, 1} : Range{-1, 1};
  }
  double diffusion() const;                                                // nu or D
  double wave() const { return equation == Equation::helmholtz ? 1 : 0; }  // k^2
  // Factor of the product of sines on the right-hand side of helmholtz and poisson.
  double source() const;
  // Weights of a squared error in the loss, by kind of point: none, domain, boundary, initial.
  std::array<double, 4> weights() const;
  // Adam's constants in step `step` of this training, including the bias correction of the moments.
  struct Step {
    float rate = 0, epsilon = 0;
  };
  Step adam(std::uint32_t step) const;
  std::uint64_t seed_of_points(std::uint32_t step) const;
  // Returns the steps before snapshot `number`, which counts from 0.
  std::uint32_t steps_of_snapshot(std::uint32_t number) const {
    return static_cast<std::uint32_t>(std::uint64_t{steps} * (number + 1) / (snapshots + 1));
  }
  // Returns the FLOP of a step per point: three products per hidden layer with the 4 numbers of a
  // jet, where a multiply-add counts as two.
  double flop_per_point() const;
  // Returns the training of an ensemble's member, whose seed is `number` above this one.
  Problem member(std::uint64_t number) const;
  // Returns the training of a part of the domain. Its range of the first input overlaps its
  // neighbours by a tenth of its width. It has its share of the points, and a seed `number` above
  // this one.
  Problem part(std::uint64_t number) const;
  // Returns an upper bound of the boundary points at each end of a part.
  std::uint32_t points_of_end() const {
    return (boundary + (in_time() ? 1 : 3)) / (in_time() ? 2 : 4);
  }
};

inline constexpr std::uint64_t most_points = 1 << 23;

const char* name_of(Equation equation);

// Points [begin, end) of the `count` points that belong to shard `s` of `shards`.
struct PointRange {
  std::uint64_t begin = 0, end = 0;
  std::uint64_t size() const { return end - begin; }
};
constexpr PointRange points_of_shard(std::uint64_t count, std::uint64_t shards, std::uint64_t s) {
  return {s * count / shards, (s + 1) * count / shards};
}
// Returns the most points of all kinds together that a shard has.
std::uint32_t places_of_shard(const Problem& problem);

// Reads the problem. Throws Error(usage), Error(input).
Problem problem_of(const SuiteParams& params);
Shape shape_of(const Problem& problem);

}  // namespace mgpu::pinn
