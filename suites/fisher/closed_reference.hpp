// The independent reference of Fisher matrices in closed form, on the host in 80-bit floats.
// Trigamma is by Boost.Math; differences that would cancel are computed by integrals and series. It
// shares no code with the kernels.
#pragma once

#include <vector>

#include "suites/fisher/problem.hpp"

namespace mgpu::fisher {

// The upper half of a matrix, row after row, and the error allowed in each element.
struct ReferenceMatrix {
  std::vector<double> values, allowed;
};

// Returns the matrix at `theta`, the parameters as the problem's precision holds them. The error
// allowed, relative to the element and in units in the last place u of that precision, is 16 and in
// addition:
// - sums over K parameters: K / 8 + 8, for chains of K / 16 and a tree over 16 of these; trigamma
//   doubles relative errors;
// - categorical: the condition number of the probabilities in the logits, in terms of how far
//   logits lie below the largest: that of both parameters, plus twice the others' mean, weighted
//   by probability;
// - free categorical: K u / p_K of the sum's roundings, where p_K is what the others leave of 1; at
//   most all of them.
ReferenceMatrix closed_reference(const Problem& problem, const std::vector<double>& theta);

// Returns 1 - sum p, exact to the last bits of 80.
long double what_is_left(const std::vector<long double>& p);

// Return psi1(x) - psi1(x + d) for 0 <= d <= x, and psi1(x) - 1 / x, accurate to about 1e-18.
long double trigamma_difference(long double x, long double d);
long double trigamma_less_reciprocal(long double x);

}  // namespace mgpu::fisher
