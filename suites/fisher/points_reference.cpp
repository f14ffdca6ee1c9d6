// Draws the scores again; closed forms are in suites/fisher/closed_reference.cpp.
#include "suites/fisher/points_reference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "suites/common/number_text.hpp"
#include "suites/fisher/closed_reference.hpp"

namespace mgpu::fisher {
namespace {

constexpr double fp32 = std::numeric_limits<float>::epsilon() / 2;

}  // namespace

std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                    std::array<std::uint32_t, 2> key) {
  for (unsigned round = 0; round < 7; ++round) {
    const std::uint64_t a = std::uint64_t{0xd2511f53} * counter[0],
                        b = std::uint64_t{0xcd9e8d57} * counter[2];
    counter = {
        static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
        static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key = {key[0] + 0x9e3779b9, key[1] + 0xbb67ae85};
  }
  return counter;
}

std::vector<double> PointsReference::parameters_of(std::uint64_t point) const {
  std::vector<double> theta(problem_.width);
  for (std::uint64_t k = 0; k < problem_.width; ++k) {
    const std::byte* const at = input_.data() + (point * problem_.width + k) * problem_.element();
    theta[k] = problem_.wide ? *reinterpret_cast<const double*>(at)
                             : static_cast<double>(*reinterpret_cast<const float*>(at));
  }
  return theta;
}

double PointsReference::seconds_a_point() const {
  const auto triangle = static_cast<double>(problem_.triangle()),
             dim = static_cast<double>(problem_.dim);
  const auto scores = static_cast<double>(problem_.scores);
  if (problem_.regime == Regime::closed) return 4e-9 * triangle + 1e-6 * dim;
  return problem_.model == Model::softmax ? 4e-9 * triangle + 2e-8 * scores
                                          : scores * (1e-9 * triangle + 3e-8 * dim);
}

// Returns the matrix from counts of outcomes. If a draw is so near a bound that fp32 may put it on
// the other side, the counts on both sides are uncertain by one.
ReferenceMatrix PointsReference::categorical(std::uint64_t point,
                                             const std::vector<double>& theta) const {
  const std::size_t dim = theta.size();
  const double largest = *std::max_element(theta.begin(), theta.end());
  std::vector<double> bounds(dim), p(dim), n(dim), doubt(dim);
  double sum = 0;
  for (std::size_t k = 0; k < dim; ++k) bounds[k] = sum += p[k] = std::exp(theta[k] - largest);
  for (double& x : p) x /= sum;
  const double near = static_cast<double>(dim + 32) * fp32;
  for (std::uint64_t s = 0; s < problem_.scores; ++s) {
    const auto words =
        philox({static_cast<std::uint32_t>(s / 4), 0, static_cast<std::uint32_t>(point),
                static_cast<std::uint32_t>(point >> 32)},
               {static_cast<std::uint32_t>(problem_.seed),
                static_cast<std::uint32_t>(problem_.seed >> 32)});
    const double u = (words[s % 4] >> 9) * 0x1p-23 * sum;
    const std::size_t k = std::min<std::size_t>(
        dim - 1, static_cast<std::size_t>(std::upper_bound(bounds.begin(), bounds.end(), u) -
                                          bounds.begin()));
    n[k] += 1;
    for (std::size_t c = 0; c + 1 < dim; ++c) {
      if (std::abs(u - bounds[c]) > near * sum) continue;
      doubt[c] += 1;
      doubt[c + 1] += 1;
    }
  }
  const auto scores = static_cast<double>(problem_.scores);
  ReferenceMatrix made;
  for (std::size_t i = 0; i < dim; ++i) {
    for (std::size_t j = i; j < dim; ++j) {
      const double qi = n[i] / scores, qj = n[j] / scores, own = i == j ? qi : 0;
      made.values.push_back(own - qi * p[j] - p[i] * qj + p[i] * p[j]);
      made.allowed.push_back((own + qi * p[j] + p[i] * qj + p[i] * p[j]) * (near + 64 * fp32) +
                             2 * (doubt[i] + doubt[j]) / scores);
    }
  }
  return made;
}

// Returns the matrix from scores. Logistic: design vectors of 16-bit numbers, a label drawn for
// each, and the score (y - p) x. Gaussian: normals z by Box and Muller, and the score (z / sigma,
// (z^2 - 1) / sigma) for the (mu, sigma) of each coordinate.
ReferenceMatrix PointsReference::from_scores(std::uint64_t point,
                                             const std::vector<double>& theta) const {
  const std::size_t dim = theta.size();
  const std::array<std::uint32_t, 2> key{static_cast<std::uint32_t>(problem_.seed),
                                         static_cast<std::uint32_t>(problem_.seed >> 32)};
  const auto low = static_cast<std::uint32_t>(point),
             high = static_cast<std::uint32_t>(point >> 32);
  ReferenceMatrix made{std::vector<double>(problem_.triangle()),
                       std::vector<double>(problem_.triangle())};
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
          const double angle =
              (words[w + 1] >> 30) * (std::numbers::pi / 2) +
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
      const double p = 1 / (1 + std::exp(-logit)),
                   u = (philox({number, 0xffffffff, low, high}, key)[0] >> 9) * 0x1p-23;
      if (std::abs(u - p) <= fp32 * (16 + 8 * large)) doubt += 1;  // fp32 may draw the other label
      factor = (u < p ? 1 - p : p) * (u < p ? 1 - p : p);
    }
    std::size_t place = 0;
    for (std::size_t i = 0; i < dim; ++i) {
      for (std::size_t j = i; j < dim; ++j, ++place) {
        made.values[place] += factor * x[i] * x[j];
        made.allowed[place] +=
            logistic ? factor * std::abs(x[i] * x[j]) : (std::abs(x[i]) + 1) * (std::abs(x[j]) + 1);
      }
    }
  }
  // A chain has `scores` roundings; the components of a score are accurate to about 1e-6.
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

ReferenceMatrix PointsReference::matrix(std::uint64_t point) const {
  const std::vector<double> theta = parameters_of(point);
  if (problem_.regime == Regime::closed) return closed_reference(problem_, theta);
  return problem_.model == Model::softmax ? categorical(point, theta) : from_scores(point, theta);
}

std::string PointsReference::check(std::uint64_t point,
                                   const std::function<double(std::uint64_t place)>& got) const {
  const ReferenceMatrix right = matrix(point);
  const double tiny = problem_.wide ? std::numeric_limits<double>::min()
                                    : static_cast<double>(std::numeric_limits<float>::min());
  for (std::uint64_t place = 0; place < right.values.size(); ++place) {
    const double is = got(place), expected = right.values[place];
    if (std::abs(is - expected) <= right.allowed[place] + tiny || is == expected) continue;
    return "element " + std::to_string(place) + " of the upper half of matrix " +
           std::to_string(point) + " is " + number_text(is) + ", the reference says " +
           number_text(expected);
  }
  return "";
}

}  // namespace mgpu::fisher
