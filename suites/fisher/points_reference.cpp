// Closed forms, and scores drawn again.
#include "suites/fisher/points_reference.hpp"

#include <algorithm>
#include <boost/math/special_functions/trigamma.hpp>
#include <cmath>
#include <limits>
#include <numbers>

namespace mgpu::fisher {
namespace {

using boost::math::trigamma;

constexpr double fp32 = std::numeric_limits<float>::epsilon() / 2;

// Two values: what an element is, and the magnitudes it is summed from.
struct Element {
  double value = 0, magnitude = 0;
  Element(double x) : value(x), magnitude(std::abs(x)) {}  // NOLINT: a number is an element
  Element(double x, double of) : value(x), magnitude(of) {}
};

Element less(double a, double b) { return {a - b, std::abs(a) + std::abs(b)}; }

// (1, 1), (1, 2), (2, 2) of the families of one and two parameters.
std::vector<Element> small_matrix(Family family, double a, double b) {
  switch (family) {
    case Family::normal:
      return {1 / (b * b), 0.0, 2 / (b * b)};
    case Family::normal_variance:
      return {1 / b, 0.0, 1 / (2 * b * b)};
    case Family::gamma:
      return {trigamma(a), -1 / b, a / (b * b)};
    case Family::gamma_mean:
      return {less(trigamma(a), 1 / a), 0.0, a / (b * b)};
    case Family::beta: {
      const double both = trigamma(a + b);
      return {less(trigamma(a), both), -both, less(trigamma(b), both)};
    }
    case Family::poisson:
      return {1 / a};
    case Family::geometric:
      return {Element{1 / (a * a * (1 - a)), 1 / (a * a * (1 - a) * (1 - a))}};
    case Family::exponential:
      return {1 / (a * a)};
    case Family::laplace:
      return {1 / (b * b), 0.0, 1 / (b * b)};
    default:
      return {Element{binomial_trials / (a * (1 - a)), binomial_trials / (a * (1 - a) * (1 - a))}};
  }
}

// F = diag(d) + common + factors of the families with as many parameters as wanted.
Element square_element(Family family, const std::vector<double>& v, double common, std::size_t i, std::size_t j) {
  const bool diagonal = i == j;
  switch (family) {
    case Family::dirichlet:
      return diagonal ? less(v[i], common) : Element{-common};
    case Family::categorical:
      return diagonal ? Element{v[i] * (1 - v[i]), v[i]} : Element{-v[i] * v[j]};
    default:
      return diagonal ? Element{v[i] + common} : Element{common};
  }
}

}  // namespace

std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  for (unsigned round = 0; round < 7; ++round) {
    const std::uint64_t a = std::uint64_t{0xd2511f53} * counter[0], b = std::uint64_t{0xcd9e8d57} * counter[2];
    counter = {static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
               static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key = {key[0] + 0x9e3779b9, key[1] + 0xbb67ae85};
  }
  return counter;
}

std::vector<double> PointsReference::parameters_of(std::uint64_t point) const {
  std::vector<double> theta(problem_.width);
  for (std::uint64_t k = 0; k < problem_.width; ++k) {
    const std::byte* const at = input_.data() + (point * problem_.width + k) * problem_.element();
    theta[k] = problem_.wide ? *reinterpret_cast<const double*>(at) : static_cast<double>(*reinterpret_cast<const float*>(at));
  }
  return theta;
}

double PointsReference::seconds_a_point() const {
  const auto triangle = static_cast<double>(problem_.triangle()), dim = static_cast<double>(problem_.dim);
  const auto scores = static_cast<double>(problem_.scores);
  if (problem_.regime == Regime::closed) return 4e-9 * triangle + 5e-7 * dim;
  return problem_.model == Model::softmax ? 4e-9 * triangle + 2e-8 * scores : scores * (1e-9 * triangle + 3e-8 * dim);
}

// Relative errors are a few units in the last place of what is summed; parameters of 2^-126 squared leave fp32, and are infinite
// there.
PointsReference::Matrix PointsReference::closed(const std::vector<double>& theta) const {
  const double unit = problem_.wide ? std::numeric_limits<double>::epsilon() / 2 : fp32;
  Matrix made;
  const auto add = [&](const Element& element) {
    made.values.push_back(element.value);
    made.allowed.push_back(element.magnitude * 64 * unit);
  };
  if (parameters(problem_.family)) {
    for (const Element& element : small_matrix(problem_.family, theta[0], theta[theta.size() - 1])) add(element);
    return made;
  }
  std::vector<double> v = theta;
  double common = 0;
  for (const double x : theta) common += x;
  if (problem_.family == Family::dirichlet) {
    for (double& x : v) x = trigamma(x);
    common = trigamma(common);
  } else if (problem_.family == Family::categorical) {
    const double largest = *std::max_element(v.begin(), v.end());
    double sum = 0;
    for (double& x : v) sum += x = std::exp(x - largest);
    for (double& x : v) x /= sum;
  } else {
    for (double& x : v) x = 1 / x;
    common = 1 / (1 - common);
  }
  // The sum over K parameters is a chain of so many roundings; 1 - sum cancels as far as p_K is small.
  const double chain =
      static_cast<double>(theta.size()) * unit * (problem_.family == Family::categorical_free ? std::abs(common) : 1);
  for (std::size_t i = 0; i < v.size(); ++i) {
    for (std::size_t j = i; j < v.size(); ++j) {
      const Element element = square_element(problem_.family, v, common, i, j);
      add(element);
      made.allowed.back() += 2 * chain * element.magnitude;
    }
  }
  return made;
}

// Counts of outcomes. A draw so near a bound that fp32 may put it on the other side makes its neighbours doubtful by one count.
PointsReference::Matrix PointsReference::categorical(std::uint64_t point, const std::vector<double>& theta) const {
  const std::size_t dim = theta.size();
  const double largest = *std::max_element(theta.begin(), theta.end());
  std::vector<double> bounds(dim), p(dim), n(dim), doubt(dim);
  double sum = 0;
  for (std::size_t k = 0; k < dim; ++k) bounds[k] = sum += p[k] = std::exp(theta[k] - largest);
  for (double& x : p) x /= sum;
  const double near = static_cast<double>(dim + 32) * fp32;
  for (std::uint64_t s = 0; s < problem_.scores; ++s) {
    const auto words =
        philox({static_cast<std::uint32_t>(s / 4), 0, static_cast<std::uint32_t>(point), static_cast<std::uint32_t>(point >> 32)},
               {static_cast<std::uint32_t>(problem_.seed), static_cast<std::uint32_t>(problem_.seed >> 32)});
    const double u = (words[s % 4] >> 9) * 0x1p-23 * sum;
    const std::size_t k = std::min<std::size_t>(
        dim - 1, static_cast<std::size_t>(std::upper_bound(bounds.begin(), bounds.end(), u) - bounds.begin()));
    n[k] += 1;
    for (std::size_t c = 0; c + 1 < dim; ++c) {
      if (std::abs(u - bounds[c]) > near * sum) continue;
      doubt[c] += 1;
      doubt[c + 1] += 1;
    }
  }
  const auto scores = static_cast<double>(problem_.scores);
  Matrix made;
  for (std::size_t i = 0; i < dim; ++i) {
    for (std::size_t j = i; j < dim; ++j) {
      const double qi = n[i] / scores, qj = n[j] / scores, own = i == j ? qi : 0;
      made.values.push_back(own - qi * p[j] - p[i] * qj + p[i] * p[j]);
      made.allowed.push_back((own + qi * p[j] + p[i] * qj + p[i] * p[j]) * (near + 64 * fp32) + 2 * (doubt[i] + doubt[j]) / scores);
    }
  }
  return made;
}

// Logistic: design vectors of 16-bit numbers, a label drawn for each, score (y - p) x. Gaussian: normals z by Box and Muller, score
// (z / sigma, (z^2 - 1) / sigma) of each coordinate's (mu, sigma).
PointsReference::Matrix PointsReference::from_scores(std::uint64_t point, const std::vector<double>& theta) const {
  const std::size_t dim = theta.size();
  const std::array<std::uint32_t, 2> key{static_cast<std::uint32_t>(problem_.seed),
                                         static_cast<std::uint32_t>(problem_.seed >> 32)};
  const auto low = static_cast<std::uint32_t>(point), high = static_cast<std::uint32_t>(point >> 32);
  Matrix made{std::vector<double>(problem_.triangle()), std::vector<double>(problem_.triangle())};
  const bool logistic = problem_.model == Model::logistic;
  std::vector<double> x((dim + 7) / 8 * 8);
  double doubt = 0;
  for (std::uint64_t s = 0; s < problem_.scores; ++s) {
    const auto number = static_cast<std::uint32_t>(s);
    for (std::size_t call = 0; call < x.size() / 8; ++call) {
      const auto words = philox({number, static_cast<std::uint32_t>(call), low, high}, key);
      double* const to = x.data() + 8 * call;
      for (std::size_t w = 0; w < 4; ++w) {
        if (logistic) {
          to[2 * w] = ((words[w] & 0xffff) + 0.5) * 0x1p-15 - 1;
          to[2 * w + 1] = ((words[w] >> 16) + 0.5) * 0x1p-15 - 1;
        } else if (w % 2 == 0) {
          const double r = std::sqrt(-2 * std::log(((words[w] >> 9) + 0.5) * 0x1p-23));
          const double angle = (words[w + 1] >> 30) * (std::numbers::pi / 2) +
                               (((words[w + 1] << 2 >> 9) + 0.5) * 0x1p-23 - 0.5) * (std::numbers::pi / 2);
          const double z0 = r * std::sin(angle), z1 = r * std::cos(angle);
          to[2 * w] = z0, to[2 * w + 1] = z0 * z0 - 1;
          to[2 * w + 2] = z1, to[2 * w + 3] = z1 * z1 - 1;
        }
      }
    }
    double factor = 1;
    if (logistic) {
      double logit = 0, large = 0;
      for (std::size_t k = 0; k < dim; ++k) {
        logit += theta[k] * x[k];
        large += std::abs(theta[k] * x[k]);
      }
      const double p = 1 / (1 + std::exp(-logit)), u = (philox({number, 0xffffffff, low, high}, key)[0] >> 9) * 0x1p-23;
      if (std::abs(u - p) <= fp32 * (16 + 8 * large)) doubt += 1;  // fp32 may draw the other label
      factor = (u < p ? 1 - p : p) * (u < p ? 1 - p : p);
    }
    std::size_t place = 0;
    for (std::size_t i = 0; i < dim; ++i) {
      for (std::size_t j = i; j < dim; ++j, ++place) {
        made.values[place] += factor * x[i] * x[j];
        made.allowed[place] += logistic ? factor * std::abs(x[i] * x[j]) : (std::abs(x[i]) + 1) * (std::abs(x[j]) + 1);
      }
    }
  }
  // A chain of `scores` roundings; the parts of a score are good to some 1e-6.
  const auto scores = static_cast<double>(problem_.scores);
  const double relative = fp32 * (std::min(scores, 8 * std::sqrt(scores)) + 64);
  std::size_t place = 0;
  for (std::size_t i = 0; i < dim; ++i) {
    for (std::size_t j = i; j < dim; ++j, ++place) {
      const double divisor = scores * (logistic ? 1 : theta[i | 1] * theta[j | 1]);
      made.values[place] /= divisor;
      made.allowed[place] = (made.allowed[place] * relative + doubt) / divisor;
    }
  }
  return made;
}

PointsReference::Matrix PointsReference::matrix(std::uint64_t point) const {
  const std::vector<double> theta = parameters_of(point);
  if (problem_.regime == Regime::closed) return closed(theta);
  return problem_.model == Model::softmax ? categorical(point, theta) : from_scores(point, theta);
}

std::string PointsReference::check(std::uint64_t point, const std::function<double(std::uint64_t place)>& got) const {
  const Matrix right = matrix(point);
  const double most = problem_.wide ? std::numeric_limits<double>::max() : static_cast<double>(std::numeric_limits<float>::max());
  const double tiny = problem_.wide ? std::numeric_limits<double>::min() : static_cast<double>(std::numeric_limits<float>::min());
  for (std::uint64_t place = 0; place < right.values.size(); ++place) {
    const double is = got(place), expected = right.values[place];
    if (std::abs(is - expected) <= right.allowed[place] + tiny || is == expected) continue;
    if (std::isinf(is) && std::abs(expected) >= most / 2) continue;  // beyond what the type holds
    return "element " + std::to_string(place) + " of the upper half of matrix " + std::to_string(point) + " is " +
           std::to_string(is) + ", the reference says " + std::to_string(expected);
  }
  return "";
}

}  // namespace mgpu::fisher
