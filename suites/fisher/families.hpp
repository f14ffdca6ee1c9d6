// The distributions whose Fisher matrix is known in closed form: names, parameters and domains. The
// formulas are in kernels/fisher_closed.cl and, independently, in closed_reference.cpp.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace mgpu::fisher {

enum class Family {
  normal,            // (mu, sigma)
  normal_variance,   // (mu, sigma^2)
  gamma,             // (shape, rate)
  gamma_mean,        // (shape, mean)
  beta,              // (a, b)
  dirichlet,         // alpha
  categorical,       // logits
  categorical_free,  // p_1 .. p_{K-1}; p_K is 1 minus their sum
  poisson,           // lambda
  geometric,         // p
  exponential,       // rate
  laplace,           // (m, b)
  binomial           // p, with 10 trials
};
constexpr std::array<std::string_view, 13> family_names{
    "normal",      "normal-variance",  "gamma",   "gamma-mean", "beta",        "dirichlet",
    "categorical", "categorical-free", "poisson", "geometric",  "exponential", "laplace",
    "binomial"};
constexpr unsigned binomial_trials = 10;

Family family_of(std::string_view name);

// Returns the number of parameters of a point, which is also the dimension of its matrix; nothing
// if --dim sets it.
std::optional<unsigned> parameters(Family family);

// Domain of a parameter, which messages name too. simplex: each parameter, and their sum, is in
// (0, 1).
enum class Domain { real, positive, unit, simplex };
Domain domain(Family family, unsigned parameter);
std::string_view to_string(Domain domain);

}  // namespace mgpu::fisher
