#include "suites/fisher/gram_reference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <random>

#include "lib/workload/parallel_for.hpp"
#include "suites/common/number_text.hpp"

namespace mgpu::fisher {
namespace {

constexpr std::uint64_t chunks = 64;  // parts of the input's rows, each worked on by one thread

// Returns the largest error of a chain of n roundings, relative to the sum of magnitudes. The worst
// case is n u; as the signs of errors are random, 8 sqrt(n) u is not reached (Higham, Mary: A new
// approach to probabilistic rounding error analysis, 2019).
double roundings(double n, double epsilon) {
  return (std::min(n, 8 * std::sqrt(n)) + 4) * epsilon / 2;
}

}  // namespace

struct GramReference::Row {
  std::vector<double> x;
  std::vector<double> weights;  // weights of x x^T for each pair of classes: diag p - p p^T
  // Sums of magnitudes of the terms of a weight in the kernel: sum over y of
  // p_y |e_y - p| |e_y - p|^T.
  std::vector<double> magnitudes;
};

Bytes GramReference::bytes(const Problem& problem) {
  return chunks * (problem.dim + problem.width + 3 * problem.classes * problem.classes) *
         sizeof(double) * 8;
}

double GramReference::value(std::uint64_t row, std::uint64_t column) const {
  const std::byte* const at =
      data_.input().data() + (row * problem_.width + column) * problem_.element();
  return problem_.wide ? *reinterpret_cast<const double*>(at)
                       : static_cast<double>(*reinterpret_cast<const float*>(at));
}

template <class Body>
void GramReference::for_rows(std::uint64_t first, std::uint64_t end, const Body& body) const {
  const std::uint64_t classes = problem_.classes, width = problem_.width;
  const std::span<const std::byte> params = data_.params();
  Row row{std::vector<double>(width), std::vector<double>(classes * classes, 1),
          std::vector<double>(classes * classes, 1)};
  std::vector<double> p(classes), others(classes);
  for (std::uint64_t r = first; r < end; ++r) {
    for (std::uint64_t k = 0; k < width; ++k) row.x[k] = value(r, k);
    double largest_sum = 1;  // largest sum of the magnitudes of a logit's terms
    if (problem_.model != Model::scores) {
      for (std::uint64_t y = 0; y < classes; ++y) {
        p[y] = 0;
        double without_signs = 0;
        for (std::uint64_t k = 0; k < width; ++k) {
          const std::uint64_t at = y * width + k;
          const double w =
              problem_.wide
                  ? reinterpret_cast<const double*>(params.data())[at]
                  : static_cast<double>(reinterpret_cast<const float*>(params.data())[at]);
          p[y] += w * row.x[k];
          without_signs += std::abs(w * row.x[k]);
        }
        largest_sum = std::max(largest_sum, without_signs);
      }
    }
    if (problem_.model == Model::logistic) {
      row.weights[0] = row.magnitudes[0] = 1 / ((1 + std::exp(p[0])) * (1 + std::exp(-p[0])));
    } else if (problem_.model == Model::softmax) {
      const double largest = *std::max_element(p.begin(), p.end());
      double sum = 0;
      for (double& x : p) sum += x = std::exp(x - largest);
      for (double& x : p) x /= sum;
      // 1 - p is small if p is near 1, and is therefore summed from the others.
      for (std::uint64_t a = 0; a < classes; ++a) {
        others[a] = 0;
        for (std::uint64_t y = 0; y < classes; ++y) others[a] += y == a ? 0 : p[y];
      }
      for (std::uint64_t a = 0; a < classes; ++a) {
        for (std::uint64_t b = 0; b < classes; ++b) {
          row.weights[a * classes + b] = p[a] * (a == b ? others[a] : -p[b]);
          double& magnitude = row.magnitudes[a * classes + b] = 0;
          for (std::uint64_t y = 0; y < classes; ++y)
            magnitude += p[y] * (y == a ? others[a] : p[a]) * (y == b ? others[b] : p[b]);
        }
      }
    }
    if (problem_.model != Model::scores) {  // errors of the logits carry over to probabilities
      const double epsilon = problem_.wide
                                 ? std::numeric_limits<double>::epsilon()
                                 : static_cast<double>(std::numeric_limits<float>::epsilon());
      const double more =
          1 + 4 * roundings(static_cast<double>(width), epsilon) * largest_sum / relative_;
      for (double& magnitude : row.magnitudes) magnitude *= more;
    }
    body(row);
  }
}

void GramReference::classify() {
  if (classified_) return;
  classified_ = true;
  struct Seen {
    bool finite = true, integers = true;
    double largest = 0;
  };
  std::vector<Seen> seen(chunks);
  const std::uint64_t each = ceil_div(problem_.points, chunks);
  parallel_for(chunks, threads_, [&](std::uint64_t chunk) {
    Seen here;
    for (std::uint64_t r = chunk * each; r < std::min(problem_.points, (chunk + 1) * each); ++r) {
      for (std::uint64_t k = 0; k < problem_.width; ++k) {
        const double x = value(r, k);
        here.finite = here.finite && std::isfinite(x);
        here.integers = here.integers && x == std::trunc(x);
        here.largest = std::max(here.largest, std::abs(x));
      }
    }
    seen[chunk] = here;
  });
  bool integers = problem_.model == Model::scores;
  double largest = 0;
  for (const Seen& one : seen) {
    finite_ &= one.finite;
    integers &= one.integers;
    largest = std::max(largest, one.largest);
  }
  const Blocks blocks = Blocks::of(problem_);
  const double square = largest * largest,
               block = static_cast<double>(blocks.block_rows * problem_.scores);
  const double epsilon = problem_.wide ? std::numeric_limits<double>::epsilon()
                                       : static_cast<double>(std::numeric_limits<float>::epsilon());
  // Every partial sum of a block is below 2 / epsilon, and the whole sum is so far below 2^53 that
  // F times n gives the integer back.
  exact_ = finite_ && integers && square * block < 2 / epsilon &&
           square * static_cast<double>(problem_.points) < 0x1p51;
  relative_ = roundings(block, epsilon) + roundings(static_cast<double>(blocks.blocks) + 16,
                                                    std::numeric_limits<double>::epsilon());
  if (problem_.model == Model::scores) return;
  relative_ += epsilon * (64 + static_cast<double>(problem_.classes));
}

// Returns how an element differs from the reference; empty if it does not.
std::string GramReference::differs(double got, double expected, double magnitude, std::uint64_t i,
                                   std::uint64_t j) const {
  const double tiny = problem_.wide ? std::numeric_limits<double>::min()
                                    : static_cast<double>(std::numeric_limits<float>::min());
  bool right;
  if (std::isnan(expected)) {
    right = std::isnan(got);
  } else if (!std::isfinite(expected)) {
    right = got == expected;
  } else {
    right = std::abs(got - expected) <= magnitude * relative_ + tiny;
  }
  if (right) return "";
  return "F[" + std::to_string(i) + "," + std::to_string(j) + "] is " + number_text(got) +
         ", the reference says " + number_text(expected);
}

std::string GramReference::check_rows(std::span<const double> f, std::uint64_t seed,
                                      std::string& method) const {
  const std::uint64_t dim = problem_.dim, width = problem_.width, classes = problem_.classes;
  std::mt19937_64 random(seed);
  // The number of rows is what all threads sum in about a third of a second, from 2 to 12.
  const double cost =
      static_cast<double>(dim) * static_cast<double>(std::max<std::uint64_t>(problem_.points, 1));
  const auto wanted = static_cast<std::size_t>(std::clamp(1.5e8 * threads_ / cost, 2.0, 12.0));
  std::vector<std::uint64_t> rows{0, dim - 1};
  while (rows.size() < wanted) rows.push_back(random() % dim);
  const std::size_t size = rows.size() * dim;
  std::vector<double> sum(size), magnitude(size);
  std::mutex mutex;
  const std::uint64_t each = ceil_div(problem_.points, chunks);
  parallel_for(chunks, threads_, [&](std::uint64_t chunk) {
    std::vector<double> my_sum(size), my_magnitude(size);
    for_rows(chunk * each, std::min(problem_.points, (chunk + 1) * each), [&](const Row& row) {
      for (std::size_t n = 0; n < rows.size(); ++n) {
        const std::uint64_t a = rows[n] / width;
        const double x = row.x[rows[n] % width];
        for (std::uint64_t b = 0; b < classes; ++b) {
          const double weight = row.weights[a * classes + b] * x,
                       large = row.magnitudes[a * classes + b] * std::abs(x);
          double* const to = my_sum.data() + n * dim + b * width;
          double* const to_magnitude = my_magnitude.data() + n * dim + b * width;
          for (std::uint64_t j = 0; j < width; ++j) {
            to[j] += weight * row.x[j];
            to_magnitude[j] += large * std::abs(row.x[j]);
          }
        }
      }
    });
    const std::scoped_lock lock(mutex);
    for (std::size_t e = 0; e < size; ++e) {
      sum[e] += my_sum[e];
      magnitude[e] += my_magnitude[e];
    }
  });
  method = std::to_string(rows.size()) + " rows of F in float64";
  const auto points = static_cast<double>(problem_.points);
  for (std::size_t e = 0; e < size; ++e) {
    const std::uint64_t i = rows[e / dim], j = e % dim;
    const std::string message =
        differs(f[i * dim + j], sum[e] / points, magnitude[e] / points, i, j);
    if (!message.empty()) return message;
  }
  return "";
}

std::string GramReference::check_signs(std::span<const double> f, std::uint64_t seed,
                                       std::string& method) const {
  const std::uint64_t dim = problem_.dim, width = problem_.width, classes = problem_.classes;
  std::mt19937_64 random(seed);
  std::vector<double> v(dim), expected(dim), allowed(dim);
  for (double& x : v) x = random() & 1 ? 1 : -1;
  std::mutex mutex;
  const std::uint64_t each = ceil_div(problem_.points, chunks);
  parallel_for(chunks, threads_, [&](std::uint64_t chunk) {
    std::vector<double> sum(dim), magnitude(dim), times(classes);
    for_rows(chunk * each, std::min(problem_.points, (chunk + 1) * each), [&](const Row& row) {
      double length = 0;
      for (const double x : row.x) length += std::abs(x);
      for (std::uint64_t b = 0; b < classes; ++b) {
        times[b] = 0;
        for (std::uint64_t j = 0; j < width; ++j) times[b] += row.x[j] * v[b * width + j];
      }
      for (std::uint64_t a = 0; a < classes; ++a) {
        double factor = 0, large = 0;
        for (std::uint64_t b = 0; b < classes; ++b) {
          factor += row.weights[a * classes + b] * times[b];
          large += row.magnitudes[a * classes + b] * length;
        }
        for (std::uint64_t i = 0; i < width; ++i) {
          sum[a * width + i] += factor * row.x[i];
          magnitude[a * width + i] += large * std::abs(row.x[i]);
        }
      }
    });
    const std::scoped_lock lock(mutex);
    for (std::uint64_t i = 0; i < dim; ++i) {
      expected[i] += sum[i];
      allowed[i] += magnitude[i];
    }
  });
  method = "all of F times a vector in float64";
  const auto points = static_cast<double>(problem_.points);
  std::vector<char> wrong(dim);
  parallel_for(dim, threads_, [&](std::uint64_t i) {
    double got = 0;
    for (std::uint64_t j = 0; j < dim; ++j) got += f[i * dim + j] * v[j];
    wrong[i] = !differs(got, expected[i] / points, allowed[i] / points, i, 0).empty();
  });
  const auto first = std::find(wrong.begin(), wrong.end(), 1);
  return first == wrong.end() ? ""
                              : "row " + std::to_string(first - wrong.begin()) +
                                    " of F times a vector is not what it should be";
}

std::string GramReference::check_words(std::span<const double> f, std::uint64_t seed,
                                       std::string& method) const {
  const std::uint64_t dim = problem_.dim;
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> v(dim), expected(dim);
  for (std::uint64_t& x : v) x = random();
  const auto word = [](double x) {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(x));
  };
  std::mutex mutex;
  const std::uint64_t each = ceil_div(problem_.points, chunks);
  parallel_for(chunks, threads_, [&](std::uint64_t chunk) {
    std::vector<std::uint64_t> sum(dim), row(dim);
    for (std::uint64_t r = chunk * each; r < std::min(problem_.points, (chunk + 1) * each); ++r) {
      std::uint64_t times = 0;
      for (std::uint64_t j = 0; j < dim; ++j) {
        row[j] = word(value(r, j));
        times += row[j] * v[j];
      }
      for (std::uint64_t i = 0; i < dim; ++i) sum[i] += row[i] * times;
    }
    const std::scoped_lock lock(mutex);
    for (std::uint64_t i = 0; i < dim; ++i) expected[i] += sum[i];
  });
  method = "all of F times a vector, exactly";
  const auto points = static_cast<double>(problem_.points);
  std::vector<char> wrong(dim);
  parallel_for(dim, threads_, [&](std::uint64_t i) {
    std::uint64_t got = 0;
    for (std::uint64_t j = 0; j < dim; ++j) {
      const double x = f[i * dim + j], whole = std::round(x * points);
      if (!(std::abs(whole) < 0x1p62) || whole / points != x) wrong[i] = 1;
      if (!wrong[i]) got += word(whole) * v[j];
    }
    if (got != expected[i]) wrong[i] = 1;
  });
  const auto first = std::find(wrong.begin(), wrong.end(), 1);
  return first == wrong.end() ? ""
                              : "row " + std::to_string(first - wrong.begin()) +
                                    " of F is not that of the integers given";
}

Verdict GramReference::check(std::span<const double> f, VerifyLevel level, std::uint64_t seed) {
  classify();
  if (problem_.points == 0) {
    const bool right = std::all_of(f.begin(), f.end(), [](double x) { return std::isnan(x); });
    return {right ? Verdict::Status::passed : Verdict::Status::failed,
            "the mean of nothing is not a number", right ? "" : "F has numbers"};
  }
  std::string method, message = check_rows(f, seed, method);
  if (message.empty() && level == VerifyLevel::full && finite_) {
    std::string more;
    message = exact_ ? check_words(f, seed + 1, more) : check_signs(f, seed + 1, more);
    method += "; " + more;
  }
  return {message.empty() ? Verdict::Status::passed : Verdict::Status::failed, method, message};
}

}  // namespace mgpu::fisher
