// Counts of operations. Each fp32 or fp64 instruction counts as two, as it takes the slot of a
// multiply-add. Counted in the kernels' text, with a division (correctly rounded) as 9 instructions
// and a square root as 8. None of these functions uses a device's special ones but for the first
// guess of a division or root: even matrices of beta, three divisions each, ask for a twelfth of
// what an H200's special unit (16 a clock and multiprocessor) does while their bytes move.
#include "suites/fisher/demand.hpp"

namespace mgpu::fisher {
namespace {

constexpr double division = 9;

// Instructions of fisher_math.cl's trigamma: of each step of the recurrence 4, the series, and one
// division.
double trigamma(bool wide) { return wide ? 7 * 4 + 22 + division : 3 * 4 + 14 + division; }
// The differences of two of them: of each step 12, of each term of the series 3, and two divisions.
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
    case Family::categorical:  // largest, exponential, sum and quotient; then a product an element
      return width * (exponential(problem.wide) + 3) + division + elements;
    case Family::categorical_free:
      return width * (division + 6) + division;
    default:
      return division + 3;
  }
}

// Philox of seven rounds: 14 wide products, each of which takes two slots of the pipe that
// multiplies; exclusive ors run beside them.
constexpr double call_of_philox = 14 * 2;

Demand of_models(const Problem& problem) {
  const auto points = static_cast<double>(problem.points),
             scores = static_cast<double>(problem.scores), dim = static_cast<double>(problem.dim),
             elements = static_cast<double>(problem.triangle()),
             calls = static_cast<double>((problem.dim + 7) / 8);
  double fp = 0, philox = 0;  // of a point
  if (problem.model == Model::softmax) {
    fp = dim * (exponential(false) + 3 + division) + 4 * elements + 2 * scores;
    philox = scores / 4;
  } else if (problem.model == Model::logistic) {  // a component: itself, its part of the logit, the
                                                  // factor; a score: the chance
    fp = scores * (elements + 3 * dim + exponential(false) + 2 * division);
    philox = scores * (calls + 1);
  } else {  // two coordinates: a logarithm of 16, a root, sine and cosine of 12, and six more
    fp = scores * (elements + dim / 4 * (16 + 8 + 12 + 6));
    philox = scores * calls;
  }
  Demand demand;
  demand.fp32 = 2 * points * fp;
  demand.int32 = 2 * points * philox * call_of_philox;
  return demand;
}

}  // namespace

// Models: instructions of their kernels. Closed forms: numbers read and written, which is what
// limits most of them.
double work_of_point(const Problem& problem) {
  if (problem.regime == Regime::closed)
    return static_cast<double>(problem.width + problem.triangle());
  Problem one = problem;
  one.points = 1;
  const Demand demand = of_models(one);
  return demand.fp32 + demand.int32;
}

// Empirical: a chain of multiply-adds for each element of the half that is kept. The matrix of
// softmax regression is made of those of its classes' pairs, each of the design's dimension: score
// vectors of all classes, as the kernels have them, are more work than that.
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
