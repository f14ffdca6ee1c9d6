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
void jacobi_row(std::uint64_t n, const Real* north, const Real* here, const Real* south, Real* to) {
  to[0] = here[0];
  to[n - 1] = here[n - 1];
  for (std::uint64_t x = 1; x + 1 < n; ++x)
    to[x] = (((here[x - 1] + here[x + 1]) + north[x]) + south[x]) * Real{0.25};
}

// Computes `steps` steps of rows [begin, end). Each row of a step follows the row after it of the
// step before, so that the rows between stay in caches.
template <class Real>
void jacobi_rows(std::uint64_t n, std::int64_t steps, std::int64_t begin, std::int64_t end,
                 const Real* from, Real* to) {
  constexpr std::int64_t kept = 3;  // rows of each step between
  std::vector<Real> between(static_cast<std::size_t>((steps - 1) * kept) * n);
  const auto place = [&](std::int64_t step, std::int64_t row) {
    return between.data() + static_cast<std::size_t>((step - 1) * kept + (row + steps) % kept) * n;
  };
  const auto after = [&](std::int64_t step, std::int64_t row) -> const Real* {
    const auto high = static_cast<std::int64_t>(n);
    return step == 0 ? from + static_cast<std::size_t>((row % high + high) % high) * n
                     : place(step, row);
  };
  for (std::int64_t front = begin - steps + 1; front < end + steps - 1; ++front) {
    for (std::int64_t step = 1; step <= steps; ++step) {
      const std::int64_t row = front - (step - 1), more = steps - step;
      if (row < begin - more || row >= end + more) continue;
      jacobi_row(n, after(step - 1, row - 1), after(step - 1, row), after(step - 1, row + 1),
                 step == steps ? to + static_cast<std::size_t>(row) * n : place(step, row));
    }
  }
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
  const bool is_star = problem.kind == Kind::star;
  Reference made{Pages(initial.size(), "the cells of the reference"),
                 std::vector<std::byte>(problem.change_bytes())};
  Pages other(initial.size(), "the cells of the reference");
  Real *from = reinterpret_cast<Real*>(made.cells.data()),
       *to = reinterpret_cast<Real*>(other.data());
  Real* changes = reinterpret_cast<Real*>(made.changes.data());
  constexpr std::uint64_t rows_at_once = 64;
  const std::uint64_t at_once = problem.kind == Kind::heat3d ? 1 : rows_at_once;
  const auto each_layer = [&](const auto& body) { parallel_for(layers, threads, body, at_once); };
  const Bytes layer_bytes = initial.size() / std::max<std::uint64_t>(layers, 1);
  each_layer([&](std::uint64_t i) {
    std::memcpy(made.cells.data() + i * layer_bytes, initial.data() + i * layer_bytes, layer_bytes);
    if (is_star) std::memset(other.data() + i * layer_bytes, 0, layer_bytes);
  });
  std::uint32_t done = 0;
  for (std::uint32_t step = 0; step < problem.steps; step += done) {
    watch.go_on();
    done = 1;
    if (is_star) {
      each_layer([&](std::uint64_t row) { star_row(problem, from, to, row); });
      each_layer([&](std::uint64_t row) {
        for (std::uint64_t x = row * n; x < (row + 1) * n; ++x) from[x] += Real{1};
      });
      continue;
    }
    if (problem.kind == Kind::heat3d) {
      each_layer([&](std::uint64_t z) { heat_plane(problem, from, to, z); });
    } else {
      constexpr std::uint32_t most_at_once = 4;
      while (done < most_at_once && step + done < problem.steps &&
             !problem.is_checked(step + done - 1) && !problem.is_checked(step + done))
        ++done;
      parallel_for(ceil_div(n, rows_at_once), threads, [&](std::uint64_t part) {
        jacobi_rows(n, done, static_cast<std::int64_t>(part * rows_at_once),
                    static_cast<std::int64_t>(std::min(n, (part + 1) * rows_at_once)), from, to);
      });
    }
    if (problem.is_checked(step)) {
      each_layer([&](std::uint64_t row) {
        changes[row] = change_of_row(n, from + row * n, to + row * n);
      });
      changes += layers;
    }
    std::swap(from, to);
  }
  if ((is_star ? to : from) != reinterpret_cast<Real*>(made.cells.data()))
    made.cells = std::move(other);
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
