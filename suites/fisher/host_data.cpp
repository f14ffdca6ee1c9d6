#include "suites/fisher/host_data.hpp"

#include <cmath>

#include "lib/workload/npy.hpp"
#include "lib/workload/parallel_for.hpp"
#include "lib/workload/splitmix64.hpp"
#include "suites/common/finite.hpp"
#include "suites/common/number_text.hpp"
#include "suites/common/uniform_element.hpp"

namespace mgpu::fisher {
namespace {

// Maps a uniform number in [-1, 1) to a parameter of its domain, over the orders of magnitude at
// which the formulas behave differently.
double placed(Domain domain, double u, std::uint64_t dim) {
  switch (domain) {
    case Domain::real:
      return 2 * u;
    case Domain::positive:
      return std::exp2(6 * u);  // 1/64 to 64
    case Domain::unit:
      return 0.5 + 0.48 * u;
    default:
      return (0.5 + 0.4 * u) / static_cast<double>(dim + 1);  // so that their sum stays below 0.9
  }
}

double element(const Problem& problem, std::uint64_t bits, std::uint64_t column) {
  const double u = problem.wide
                       ? uniform_element<double>(bits, problem.integers)
                       : static_cast<double>(uniform_element<float>(bits, problem.integers));
  if (problem.regime == Regime::closed)
    return placed(domain(problem.family, static_cast<unsigned>(column)), u, problem.dim);
  // Gaussian: (mu, sigma). Softmax: logits of up to +-2. Logistic: weights such that logits of
  // 16-bit design vectors stay moderate.
  if (problem.regime == Regime::models && problem.model == Model::gaussian && column % 2 == 1)
    return placed(Domain::positive, u / 3, 0);
  return problem.regime == Regime::models ? 2 * u : u;
}

template <class Real>
void fill(const Problem& problem, std::span<std::byte> to, std::uint64_t seed, unsigned threads) {
  auto* values = reinterpret_cast<Real*>(to.data());
  const std::uint64_t rows = to.size() / sizeof(Real) / problem.width;
  const std::uint64_t at_once =
      std::max<std::uint64_t>(1, (std::uint64_t{1} << 18) / problem.width);
  const bool plain = problem.regime == Regime::empirical;
  const auto fill_row = [&](std::uint64_t row) {
    Real* const to_row = values + row * problem.width;
    const std::uint64_t first = row * problem.width;
    for (std::uint64_t column = 0; column < problem.width; ++column) {
      const std::uint64_t bits = splitmix64(seed, first + column);
      to_row[column] = plain ? uniform_element<Real>(bits, problem.integers)
                             : static_cast<Real>(element(problem, bits, column));
    }
  };
  parallel_for(rows, threads, fill_row, at_once);
}

// Throws Error(input) for points at which the closed forms and models are not defined, before
// anything is computed with them.
template <class Real>
void check_points(const Problem& problem, const std::string& file,
                  std::span<const std::byte> bytes) {
  const auto* values = reinterpret_cast<const Real*>(bytes.data());
  const bool closed = problem.regime == Regime::closed, gaussian = problem.model == Model::gaussian;
  const bool simplex = closed && domain(problem.family, 0) == Domain::simplex;
  for (std::uint64_t row = 0; row < problem.points; ++row) {
    double sum = 0;
    for (std::uint64_t column = 0; column < problem.width; ++column) {
      const Domain wanted = closed ? domain(problem.family, static_cast<unsigned>(column))
                            : gaussian && column % 2 == 1 ? Domain::positive
                                                          : Domain::real;
      const double x = values[row * problem.width + column];
      sum += x;
      if (std::isfinite(x) && (wanted == Domain::real || x > 0) &&
          (wanted != Domain::unit || x < 1) && (!simplex || sum < 1))
        continue;
      throw Error(ErrorKind::input, "--input: " + file + ", row " + std::to_string(row) +
                                        ", column " + std::to_string(column) + ": " +
                                        number_text(values[row * problem.width + column]) +
                                        "; expected: " + std::string(to_string(wanted)));
    }
  }
}

}  // namespace

Bytes HostData::bytes(const Problem& problem, Bytes result) {
  return in_pages(problem.input_bytes()) + in_pages(problem.params_bytes()) + in_pages(result + 1);
}

HostData::HostData(const Problem& problem, const SuiteParams& params, Bytes result)
    : input_size_(problem.input_bytes()),
      params_at_(in_pages(input_size_)),
      params_size_(problem.regime == Regime::empirical ? problem.params_bytes() : 0),
      result_at_(params_at_ + in_pages(params_size_)),
      result_size_(result),
      pages_(result_at_ + result,
             std::to_string(result_at_ + result) + " bytes of points and matrices") {
  const std::span<std::byte> input(pages_.data(), input_size_),
      model(pages_.data() + params_at_, params_size_);
  const auto seeded = [&](std::span<std::byte> to, std::uint64_t seed) {
    if (problem.wide) {
      fill<double>(problem, to, seed, params.host_threads);
    } else {
      fill<float>(problem, to, seed, params.host_threads);
    }
  };
  const auto read = [&](const std::filesystem::path& file, std::uint64_t rows,
                        std::span<std::byte> to, const char* option) {
    const NpyShape shape{rows, problem.width, problem.element()};
    read_npy(file, shape, to, option);
    const std::string caveat =
        non_finite_caveat(std::string(option) + " " + file.string(), shape, to);
    if (!caveat.empty()) caveats_.push_back(caveat);
  };
  if (params.input) {
    read(*params.input, problem.points, input, "--input");
    if (problem.regime != Regime::empirical) {
      const std::string name = params.input->string();
      problem.wide ? check_points<double>(problem, name, input)
                   : check_points<float>(problem, name, input);
    }
  } else {
    seeded(input, splitmix64(params.seed, 0));
  }
  if (params_size_ == 0) return;
  const std::string& file = params.options.at("params");
  if (file == "none") {
    seeded(model, splitmix64(params.seed, 1));
  } else {
    read(file, problem.classes, model, "--params");
  }
}

}  // namespace mgpu::fisher
