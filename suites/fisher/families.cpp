#include "suites/fisher/families.hpp"

#include <algorithm>

namespace mgpu::fisher {

Family family_of(std::string_view name) {
  return static_cast<Family>(std::find(family_names.begin(), family_names.end(), name) -
                             family_names.begin());
}

std::optional<unsigned> parameters(Family family) {
  switch (family) {
    case Family::dirichlet:
    case Family::categorical:
    case Family::categorical_free:
      return std::nullopt;
    case Family::poisson:
    case Family::geometric:
    case Family::exponential:
    case Family::binomial:
      return 1;
    default:
      return 2;
  }
}

Domain domain(Family family, unsigned parameter) {
  switch (family) {
    case Family::normal:
    case Family::normal_variance:
    case Family::laplace:
      return parameter == 0 ? Domain::real : Domain::positive;
    case Family::categorical:
      return Domain::real;
    case Family::categorical_free:
      return Domain::simplex;
    case Family::geometric:
    case Family::binomial:
      return Domain::unit;
    default:
      return Domain::positive;
  }
}

std::string_view to_string(Domain domain) {
  switch (domain) {
    case Domain::real:
      return "a finite number";
    case Domain::positive:
      return "a finite number above 0";
    case Domain::unit:
      return "a number between 0 and 1, neither of them";
    default:
      return "numbers above 0 whose sum is below 1";
  }
}

}  // namespace mgpu::fisher
