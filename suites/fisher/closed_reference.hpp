// The independent reference of Fisher matrices in closed form, on the host in 80-bit floats:
// trigamma by Boost.Math, what would cancel by integrals and series that do not. Shares no code
// with the kernels.
#pragma once

#include <vector>

#include "suites/fisher/problem.hpp"

namespace mgpu::fisher {

// The upper half of a matrix, row after row; and how far off each element may be.
struct ReferenceMatrix {
  std::vector<double> values, allowed;
};

// At `theta`, the parameters as the problem's precision holds them. Allowed, in units in the last
// place u of that precision and relative to the element: 16, and besides
// - where K parameters are summed, K / 8 + 8: chains of K / 16, and a tree over 16 of those;
// trigamma doubles what is relative;
// - categorical: the condition number of the probabilities in the logits, which is how far these
// lie below the largest: that of both
//   parameters and twice the others' mean, weighted by probability;
// - free categorical: K u / p_K of the sum's roundings, p_K being what the others leave of 1; at
// most all of them.
ReferenceMatrix closed_reference(const Problem& problem, const std::vector<double>& theta);

// 1 less all of p, to the last bits of 80.
long double what_is_left(const std::vector<long double>& p);

// psi1(x) - psi1(x + d), 0 <= d <= x, and psi1(x) - 1 / x, to some 1e-18 of their values.
long double trigamma_difference(long double x, long double d);
long double trigamma_less_reciprocal(long double x);

}  // namespace mgpu::fisher
