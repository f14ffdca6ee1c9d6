// Initial states, and their results in closed form.
#include <fmt/format.h>

#include <atomic>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "lib/workload/parallel_for.hpp"
#include "lib/workload/splitmix64.hpp"
#include "suites/common/uniform_element.hpp"
#include "suites/stencil/reference.hpp"

namespace mgpu::stencil {
namespace {

using Wide = long double;
constexpr Wide kPi = std::numbers::pi_v<Wide>;

// Returns an eigenmode's factor for each cell along an axis: half a wave between fixed ends, or a
// whole one if the axis is periodic.
std::vector<Wide> wave(std::uint64_t n, bool periodic) {
  std::vector<Wide> values(n);
  for (std::uint64_t i = 0; i < n; ++i) {
    const Wide at = static_cast<Wide>(i);
    values[i] = periodic ? std::cos(2 * kPi * at / static_cast<Wide>(n))
                         : std::sin(kPi * at / static_cast<Wide>(n - 1));
  }
  if (!periodic) values.front() = values.back() = 0;
  return values;
}

struct Eigenmode {
  explicit Eigenmode(const Problem& problem)
      : n(problem.n),
        x(wave(n, false)),
        layer(wave(n, problem.periodic())),
        row(problem.kind == Kind::heat3d ? x : std::vector<Wide>{1}) {
    const Wide half = kPi / static_cast<Wide>(2 * (n - 1)), sine = std::sin(half);
    factor = problem.kind == Kind::heat3d
                 ? 1 - 4 * static_cast<Wide>(problem.rate) * 3 * sine * sine
                 : (std::cos(2 * half) + std::cos(2 * kPi / static_cast<Wide>(n))) / 2;
  }
  Wide at(std::uint64_t cell) const {
    const std::uint64_t rest = cell / n;
    return x[cell % n] * row[rest % row.size()] * layer[rest / row.size()];
  }
  std::uint64_t n;
  std::vector<Wide> x, layer, row;
  Wide factor = 1;  // factor of each step
};

template <class Real>
void fill(const Problem& problem, Real* cells, unsigned threads) {
  const std::uint64_t n = problem.n;
  std::optional<Eigenmode> mode;
  if (problem.initial == Initial::eigenmode) mode.emplace(problem);
  parallel_for(problem.cells() / n, threads, [&](std::uint64_t row) {
    for (std::uint64_t i = row * n; i < (row + 1) * n; ++i) {
      const std::uint64_t x = i - row * n;
      switch (problem.initial) {
        case Initial::uniform:
          cells[i] = uniform_element<Real>(splitmix64(problem.seed, i), false);
          break;
        case Initial::ramp:
          cells[i] = static_cast<Real>(row + x);
          break;
        case Initial::sine:
          cells[i] = 0;
          break;
        case Initial::eigenmode:
          cells[i] = static_cast<Real>(mode->at(i));
          break;
        case Initial::file:
          break;
      }
    }
    if (problem.initial == Initial::sine)
      cells[row * n] = cells[row * n + n - 1] =
          static_cast<Real>(std::sin(2 * kPi * static_cast<Wide>(row) / static_cast<Wide>(n - 1)));
  });
}

// Describes the first cell that differs from `expected` by more than `tolerance`; empty: none.
template <class Real, class Expected>
std::string first_beyond(const Problem& problem, const Real* result, Wide tolerance,
                         unsigned threads, const Expected& expected) {
  const std::uint64_t n = problem.n;
  std::atomic<std::uint64_t> first{problem.cells()};
  parallel_for(problem.cells() / n, threads, [&](std::uint64_t row) {
    for (std::uint64_t i = row * n; i < (row + 1) * n; ++i) {
      if (std::abs(static_cast<Wide>(result[i]) - expected(i)) <= tolerance) continue;
      std::uint64_t known = first.load();
      while (i < known && !first.compare_exchange_weak(known, i)) {
      }
      return;
    }
  });
  if (first == problem.cells()) return {};
  return fmt::format("row {}, column {} is {} and should be {} to {}", first / n, first % n,
                     result[first], static_cast<double>(expected(first)),
                     static_cast<double>(tolerance));
}

// A step does not increase the largest error, since each cell becomes a mean of cells. For values
// up to 1 it adds at most the rounding errors of its twelve operations.
template <class Real>
ClosedForm compare_eigenmode(const Problem& problem, const Real* result, unsigned threads) {
  const Eigenmode mode(problem);
  const Wide left = std::pow(mode.factor, static_cast<Wide>(problem.steps));
  const Wide rounding = static_cast<Wide>(std::numeric_limits<Real>::epsilon()) / 2;
  return {
      fmt::format("the decay of the eigenmode, by {:.9g} a step", static_cast<double>(mode.factor)),
      first_beyond(problem, result, (12 * static_cast<Wide>(problem.steps) + 4) * rounding, threads,
                   [&](std::uint64_t cell) { return left * mode.at(cell); })};
}

// Each step adds two to each cell whose distance from the edges is at least the radius. The result
// is exact if weights are powers of two and cells have spare digits; otherwise it is as exact as
// the cells, the largest of which is 2 n + steps.
template <class Real>
ClosedForm compare_ramp(const Problem& problem, const Real* result, unsigned threads) {
  const std::uint64_t n = problem.n, r = problem.radius;
  const Wide steps = problem.steps, largest = 2 * static_cast<Wide>(n) + steps;
  const bool exact =
      (r & (r - 1)) == 0 && r < 4 && largest <= (sizeof(Real) == sizeof(float) ? 0x1p19L : 0x1p48L);
  const Wide rounding = static_cast<Wide>(std::numeric_limits<Real>::epsilon()) / 2;
  const auto is_inner = [&](std::uint64_t i) { return i >= r && i + r < n; };
  const auto expected = [&](std::uint64_t cell) {
    return is_inner(cell / n) && is_inner(cell % n) ? 2 * steps : Wide{0};
  };
  std::vector<Wide> sums(n);
  parallel_for(n, threads, [&](std::uint64_t row) {
    for (std::uint64_t i = row * n; i < (row + 1) * n; ++i)
      sums[row] += std::abs(static_cast<Wide>(result[i]));
  });
  const Wide active = static_cast<Wide>(n - 2 * r) * static_cast<Wide>(n - 2 * r);
  return {
      fmt::format("the closed form, {} in each inner cell (their mean is {:.10g})",
                  2 * problem.steps,
                  static_cast<double>(std::accumulate(sums.begin(), sums.end(), Wide{0}) / active)),
      first_beyond(problem, result,
                   exact ? 0 : steps * rounding * (16 * static_cast<Wide>(r) * largest + 2 * steps),
                   threads, expected)};
}

template <class Real>
std::optional<ClosedForm> compare(const Problem& problem, std::span<const std::byte> result,
                                  unsigned threads) {
  const auto* const cells = reinterpret_cast<const Real*>(result.data());
  if (problem.initial == Initial::eigenmode) return compare_eigenmode(problem, cells, threads);
  if (problem.initial == Initial::ramp) return compare_ramp(problem, cells, threads);
  return std::nullopt;
}

}  // namespace

void fill_initial(const Problem& problem, std::span<std::byte> cells, unsigned threads) {
  if (problem.wide()) {
    fill(problem, reinterpret_cast<double*>(cells.data()), threads);
  } else {
    fill(problem, reinterpret_cast<float*>(cells.data()), threads);
  }
}

std::optional<ClosedForm> compare_closed_form(const Problem& problem,
                                              std::span<const std::byte> result, unsigned threads) {
  return problem.wide() ? compare<double>(problem, result, threads)
                        : compare<float>(problem, result, threads);
}

}  // namespace mgpu::stencil
