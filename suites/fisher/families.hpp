// The distributions whose Fisher matrix is known in closed form: names, parameters and domains. The
// formulas are in kernels/fisher_closed.cl and, independently, in closed_reference.cpp.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace mgpu::fisher {

enum class Family {
  normal,
  normal_variance,
  gamma,
  gamma_mean,
  beta,
  dirichlet,
  categorical,
  categorical_free,
  poisson,
  geometric,
  exponential,
  laplace,
  binomial
};
constexpr std::array<std::string_view, 13> family_names{
    "normal",      "normal-variance",  "gamma",   "gamma-mean", "beta",        "dirichlet",
    "categorical", "categorical-free", "poisson", "geometric",  "exponential", "laplace",
    "binomial"};
// Parameters of a point, for people; the last ones name binomial_trials.
constexpr std::array<std::string_view, 13> family_parameters{
    "mu, sigma",
    "mu, sigma^2",
    "shape, rate",
    "shape, mean",
    "a, b",
    "alpha_1 .. alpha_K",
    "K logits, not probabilities",
    "p_1 .. p_{K-1}, and p_K is 1 minus their sum",
    "lambda",
    "p",
    "rate",
    "location, scale",
    "p of 10 trials"};
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
