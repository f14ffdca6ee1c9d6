// Counts of operations, counted in the kernels' text. Each fp32 or fp64 instruction counts as two,
// because it takes the slot of a multiply-add; a correctly rounded division counts as 9
// instructions and a square root as 8. A device's special functions are used only for the first
// guess of a division or root: even matrices of beta, with three divisions each, need a twelfth of
// what an H200's special unit (16 per clock and multiprocessor) does while their bytes are moved.
#include "suites/fisher/demand.hpp"

namespace mgpu::fisher {
namespace {

constexpr double division = 9;

// Returns the instructions of fisher_math.cl's trigamma: 4 per step of the recurrence, the series,
// and one division.
double trigamma(bool wide) { return wide ? 7 * 4 + 22 + division : 3 * 4 + 14 + division; }
// Returns those of a difference of two: 12 per step, 3 per term of the series, and two divisions.
double trigammas(bool wide) {
  return (wide ? 7 * 12 + 10 * 3 : 3 * 12 + 4 * 3) + 30 + 2 * division;
}
double exponential(bool wide) { return wide ? 19 : 12; }

double closed_instructions(const Problem& problem) {
  const auto width = static_cast<double>(problem.width),
             elements = static_cast<double>(problem.triangle());
  switch (problem.family) {
    case Family::gamma:
      return trigamma(problem.wide) + division + 2;
    case Family::gamma_mean:
      return trigamma(problem.wide) + division + 10;
    case Family::beta:
      return trigamma(problem.wide) + trigammas(problem.wide) + 8;
    case Family::dirichlet:
      return (width + 1) * trigamma(problem.wide) + 2 * width;
    case Family::categorical:  // largest, exponential, sum and quotient; one product per element
      return width * (exponential(problem.wide) + 3) + division + elements;
    case Family::categorical_free:
      return width * (division + 6) + division;
    default:
      return division + 3;
  }
}

// Instructions of a call of Philox with seven rounds: 14 wide products, each of which takes two
// slots of the pipe that multiplies. Exclusive ors run in parallel.
constexpr double call_of_philox = 14 * 2;

Demand of_models(const Problem& problem) {
  const auto points = static_cast<double>(problem.points),
             scores = static_cast<double>(problem.scores), dim = static_cast<double>(problem.dim),
             elements = static_cast<double>(problem.triangle()),
             calls = static_cast<double>((problem.dim + 7) / 8);
  double fp = 0, philox = 0;  // instructions, and calls of Philox, per point
  if (problem.model == Model::softmax) {
    fp = dim * (exponential(false) + 3 + division) + 4 * elements + 2 * scores;
    philox = scores / 4;
  } else if (problem.model == Model::logistic) {
    // Counts per component its number, its part of the logit and the factor; per score the
    // probability.
    fp = scores * (elements + 3 * dim + exponential(false) + 2 * division);
    philox = scores * (calls + 1);
  } else {
    // Counts for two coordinates a logarithm of 16, a root, sine and cosine of 12, and six more.
    fp = scores * (elements + dim / 4 * (16 + 8 + 12 + 6));
    philox = scores * calls;
  }
  Demand demand;
  demand.fp32 = 2 * points * fp;
  demand.int32 = 2 * points * philox * call_of_philox;
  return demand;
}

}  // namespace

// For models, counts the instructions of their kernels; for closed forms, the numbers read and
// written, which are the bottleneck of most of them.
double work_of_point(const Problem& problem) {
  if (problem.regime == Regime::closed)
    return static_cast<double>(problem.width + problem.triangle());
  Problem one = problem;
  one.points = 1;
  const Demand demand = of_models(one);
  return demand.fp32 + demand.int32;
}

// Empirical matrices take one multiply-add per point and element of the upper half. The matrix of
// softmax regression consists of one matrix for each pair of classes, of the design's dimension.
// The kernels take more work than that, because they use score vectors of all classes.
Demand demand_of(const Problem& problem, const DeviceTraits& device) {
  Demand demand;
  const auto points = static_cast<double>(problem.points);
  if (problem.regime == Regime::empirical) {
    const auto pairs = static_cast<double>(problem.classes * (problem.classes + 1) / 2),
               elements = static_cast<double>(problem.width * (problem.width + 1) / 2);
    (problem.wide ? demand.fp64 : demand.fp32) = 2 * points * pairs * elements;
    demand.memory_bytes =
        static_cast<double>(problem.input_bytes() + problem.triangle() * sizeof(double));
    return demand;
  }
  if (device.cpu) return demand;
  if (problem.regime == Regime::models) {
    demand = of_models(problem);
  } else {
    (problem.wide ? demand.fp64 : demand.fp32) = 2 * points * closed_instructions(problem);
  }
  demand.memory_bytes = static_cast<double>(problem.input_bytes()) +
                        points * static_cast<double>(problem.triangle() * problem.element());
  return demand;
}

}  // namespace mgpu::fisher
