// Compiled without contraction (suites/CMakeLists.txt): a fused multiply-add would have other bits.
#include "suites/stencil/reference.hpp"

#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "lib/workload/parallel_for.hpp"

namespace mgpu::stencil {
namespace {

template <class Real>
void jacobi_row(const Problem& problem, const Real* from, Real* to, std::uint64_t row) {
  const std::uint64_t n = problem.n, north = (row + n - 1) % n * n, south = (row + 1) % n * n,
                      here = row * n;
  to[here] = from[here];
  to[here + n - 1] = from[here + n - 1];
  for (std::uint64_t x = 1; x + 1 < n; ++x)
    to[here + x] =
        (((from[here + x - 1] + from[here + x + 1]) + from[north + x]) + from[south + x]) *
        Real{0.25};
}

template <class Real>
void heat_plane(const Problem& problem, const Real* from, Real* to, std::uint64_t z) {
  const std::uint64_t n = problem.n, plane = n * n;
  const Real rate = static_cast<Real>(problem.rate);
  for (std::uint64_t y = 0; y < n; ++y) {
    for (std::uint64_t x = 0; x < n; ++x) {
      const std::uint64_t at = z * plane + y * n + x;
      const bool fixed = x == 0 || y == 0 || z == 0 || x + 1 == n || y + 1 == n || z + 1 == n;
      if (fixed) {
        to[at] = from[at];
        continue;
      }
      const Real around =
          ((((from[at - 1] + from[at + 1]) + from[at - n]) + from[at + n]) + from[at - plane]) +
          from[at + plane];
      to[at] = rate * (around - Real{6} * from[at]) + from[at];
    }
  }
}

// Adds up a row, along x and then along y, first the cells before, then those after.
template <class Real>
void star_row(const Problem& problem, const Real* from, Real* sums, std::uint64_t row) {
  const std::uint64_t n = problem.n, r = problem.radius;
  if (row < r || row + r >= n) return;
  std::array<Real, 5> weight{};
  for (std::uint32_t d = 1; d <= r; ++d) weight[d] = star_weight<Real>(problem.radius, d);
  for (std::uint64_t x = r; x + r < n; ++x) {
    const Real* const at = from + row * n + x;
    Real gain = 0;
    for (std::uint64_t d = r; d > 0; --d) gain -= weight[d] * *(at - d);
    for (std::uint64_t d = 1; d <= r; ++d) gain += weight[d] * at[d];
    for (std::uint64_t d = r; d > 0; --d) gain -= weight[d] * *(at - d * n);
    for (std::uint64_t d = 1; d <= r; ++d) gain += weight[d] * at[d * n];
    sums[row * n + x] += gain;
  }
}

// Adds in the order of kernels/stencil.cl's `change`.
template <class Real>
Real change_of_row(std::uint64_t n, const Real* before, const Real* now) {
  constexpr std::uint64_t lanes = 64;
  std::array<Real, lanes> sums{};
  for (std::uint64_t x = 0; x < n; ++x) {
    const Real change = now[x] - before[x];
    sums[x % lanes] += change * change;
  }
  for (std::uint64_t half = lanes / 2; half > 0; half /= 2) {
    for (std::uint64_t i = 0; i < half; ++i) sums[i] += sums[i + half];
  }
  return sums[0];
}

template <class Real>
Reference compute(const Problem& problem, std::span<const std::byte> initial, unsigned threads,
                  const HostWatch& watch) {
  const std::uint64_t layers = problem.layers(), n = problem.n;
  Reference made;
  std::vector<std::byte> first(initial.begin(), initial.end()), second(initial.size());
  made.changes.resize(problem.change_bytes());
  Real *from = reinterpret_cast<Real*>(first.data()), *to = reinterpret_cast<Real*>(second.data());
  Real* changes = reinterpret_cast<Real*>(made.changes.data());
  constexpr std::uint64_t rows_at_once = 64;
  const std::uint64_t at_once = problem.kind == Kind::heat3d ? 1 : rows_at_once;
  const auto each_layer = [&](const auto& body) { parallel_for(layers, threads, body, at_once); };
  for (std::uint32_t step = 0; step < problem.steps; ++step) {
    watch.go_on();
    if (problem.kind == Kind::star) {
      each_layer([&](std::uint64_t row) { star_row(problem, from, to, row); });
      each_layer([&](std::uint64_t row) {
        for (std::uint64_t x = row * n; x < (row + 1) * n; ++x) from[x] += Real{1};
      });
      continue;
    }
    each_layer([&](std::uint64_t i) {
      problem.kind == Kind::heat3d ? heat_plane(problem, from, to, i)
                                   : jacobi_row(problem, from, to, i);
    });
    if (problem.is_checked(step)) {
      each_layer([&](std::uint64_t row) {
        changes[row] = change_of_row(n, from + row * n, to + row * n);
      });
      changes += layers;
    }
    std::swap(from, to);
  }
  const bool in_first =
      (problem.kind == Kind::star ? to : from) == reinterpret_cast<Real*>(first.data());
  made.cells = std::move(in_first ? first : second);
  return made;
}

}  // namespace

Reference reference(const Problem& problem, std::span<const std::byte> initial, unsigned threads,
                    const HostWatch& watch) {
  return problem.wide() ? compute<double>(problem, initial, threads, watch)
                        : compute<float>(problem, initial, threads, watch);
}

double norm_of(const Problem& problem, const std::byte* sums) {
  double sum = 0;
  for (std::uint64_t i = 0; i < problem.layers(); ++i) {
    if (problem.wide()) {
      sum += reinterpret_cast<const double*>(sums)[i];
    } else {
      sum += static_cast<double>(reinterpret_cast<const float*>(sums)[i]);
    }
  }
  return std::sqrt(sum);
}

}  // namespace mgpu::stencil
