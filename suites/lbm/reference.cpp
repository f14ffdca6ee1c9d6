// Compiled without contraction (suites/CMakeLists.txt): a fused multiply-add would have other bits.
#include "suites/lbm/reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>

#include "lib/base/error.hpp"
#include "lib/workload/parallel_for.hpp"

namespace mgpu::lbm {
namespace {

struct Velocity {
  int x, y, z;
};
constexpr std::array<Velocity, populations> kVelocities{{{0, 0, 0},
                                                         {1, 0, 0},
                                                         {-1, 0, 0},
                                                         {0, 1, 0},
                                                         {0, -1, 0},
                                                         {1, 1, 0},
                                                         {-1, -1, 0},
                                                         {1, -1, 0},
                                                         {-1, 1, 0},
                                                         {0, 0, 1},
                                                         {1, 0, 1},
                                                         {-1, 0, 1},
                                                         {0, 1, 1},
                                                         {0, -1, 1},
                                                         {0, 0, -1},
                                                         {-1, 0, -1},
                                                         {1, 0, -1},
                                                         {0, -1, -1},
                                                         {0, 1, -1}}};

// Calls body(q) for each population, where q is a constant, so that nothing about velocities is
// computed when it runs.
template <class Body>
constexpr void each_population(const Body& body) {
  [&]<std::size_t... q>(std::index_sequence<q...>) {
    (body(std::integral_constant<std::size_t, q>()), ...);
  }
  (std::make_index_sequence<populations>());
}

constexpr std::size_t opposite_of(std::size_t q) {
  std::size_t other = 0;
  while (kVelocities[other].x != -kVelocities[q].x || kVelocities[other].y != -kVelocities[q].y ||
         kVelocities[other].z != -kVelocities[q].z)
    ++other;
  return other;
}

constexpr float weight_of(const Velocity& c) {
  const int length = c.x * c.x + c.y * c.y + c.z * c.z;
  return length == 0 ? 1.0F / 3 : length == 1 ? 1.0F / 18 : 1.0F / 36;
}

// Neighbouring cells of a row, which vector instructions compute at once. What follows has the same
// operations for one cell (Real is float) and for these.
constexpr std::int64_t lanes = 4;
using Lanes [[gnu::vector_size(lanes * sizeof(float))]] = float;

template <class Real>
using Populations = std::array<Real, populations>;

// Values as in Cell.
template <class Real>
struct Moments {
  Real x, y, z, density;
};

// A sum of values, each of which is added, subtracted or left out. It begins with the first value
// that is not left out.
template <class Real>
struct Sum {
  template <int sign>
  void add(Real value) {
    if constexpr (sign == 0) return;
    const Real signed_value = sign > 0 ? value : -value;
    total = empty ? signed_value : total + signed_value;
    empty = false;
  }
  Real total{};
  bool empty = true;
};

template <class Real>
Moments<Real> moments(const Populations<Real>& f) {
  Sum<Real> x, y, z, density;
  each_population([&](auto q) {
    constexpr Velocity c = kVelocities[q];
    x.template add<c.x>(f[q]);
    y.template add<c.y>(f[q]);
    z.template add<c.z>(f[q]);
    density.template add<1>(f[q]);
  });
  return {x.total, y.total, z.total, density.total};
}

template <class Real>
Real level_of(const Moments<Real>& cell) {
  return cell.density - 1.5F * ((cell.x * cell.x + cell.y * cell.y) + cell.z * cell.z);
}

// Half of the sum, and half of the difference, of population q and its opposite in equilibrium.
template <class Real>
struct Halves {
  Real even, odd;
};
template <std::size_t q, class Real>
Halves<Real> equilibrium(const Moments<Real>& cell, Real level) {
  constexpr Velocity c = kVelocities[q];
  constexpr float weight = weight_of(c);
  Sum<Real> along;
  along.template add<c.x>(cell.x);
  along.template add<c.y>(cell.y);
  along.template add<c.z>(cell.z);
  return {weight * (level + 4.5F * (along.total * along.total)), (weight * 3.0F) * along.total};
}

Populations<float> rest(const Cell& at) {
  const Moments<float> cell{at[0], at[1], at[2], at[3]};
  const float level = level_of(cell);
  Populations<float> f{};
  f[0] = weight_of(kVelocities[0]) * level;
  each_population([&](auto q) {
    constexpr std::size_t other = opposite_of(q);
    if constexpr (other > q) {
      const Halves<float> halves = equilibrium<q>(cell, level);
      f[q] = halves.even + halves.odd;
      f[other] = halves.even - halves.odd;
    }
  });
  return f;
}

// Replaces the populations that arrived at a cell by those that leave it.
template <class Real>
void collide(const Problem& problem, Populations<Real>& f) {
  const Moments<Real> cell = moments(f);
  const Real level = level_of(cell);
  const bool pushed = problem.flow == Flow::channel;
  const float even_rate = problem.even_rate, odd_rate = problem.odd_rate, lift = problem.lift();
  f[0] += even_rate * (weight_of(kVelocities[0]) * level - f[0]);
  each_population([&](auto q) {
    constexpr std::size_t other = opposite_of(q);
    if constexpr (other > q) {
      constexpr Velocity c = kVelocities[q];
      const Halves<Real> halves = equilibrium<q>(cell, level);
      const Real even = even_rate * (halves.even - 0.5F * (f[q] + f[other]));
      Real odd = odd_rate * (halves.odd - 0.5F * (f[q] - f[other]));
      if constexpr (c.x != 0) {
        const float lifted = weight_of(c) * lift;
        if (pushed) odd = c.x > 0 ? odd + lifted : odd - lifted;
      }
      f[q] += even + odd;
      f[other] += even - odd;
    }
  });
}

// Returns the nearest number of half precision (11 significant digits in base 2, the least of which
// is 2^-24 at least), the even one of two, times half_scale.
float rounded_to_half(float value) {
  const double scaled = static_cast<double>(value) * static_cast<double>(half_scale);
  if (scaled == 0 || !std::isfinite(scaled)) return value;
  const int last = std::max(std::ilogb(scaled) - 10, -24);
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(scaled, -last)), last);
  constexpr double most = 65504;
  if (std::abs(rounded) > most) return std::copysign(std::numeric_limits<float>::infinity(), value);
  return static_cast<float>(rounded / static_cast<double>(half_scale));
}

Lanes rounded_to_half(Lanes values) {
  for (std::int64_t i = 0; i < lanes; ++i) values[i] = rounded_to_half(values[i]);
  return values;
}

// Rounds the populations that leave a cell of plane z: all if they are stored in half precision,
// else, with half halos, those that leave the block of the plane upwards or downwards.
template <class Real>
void round_leaving(const Problem& problem, std::uint64_t z, bool exchanged, Populations<Real>& f) {
  if (problem.half_storage)
    for (Real& each : f) each = rounded_to_half(each);
  if (problem.half_block == 0 || !exchanged) return;
  const bool last = (z + 1) % problem.half_block == 0 || z + 1 == problem.planes,
             first = z % problem.half_block == 0;
  for (std::size_t q = 0; q < populations; ++q)
    if ((kVelocities[q].z > 0 && last) || (kVelocities[q].z < 0 && first))
      f[q] = rounded_to_half(f[q]);
}

// A window and its surroundings. Along an axis it is either the whole box, or as many cells wider
// as there are steps on both sides; it continues past periodic ends.
class Region {
 public:
  Region(const Problem& problem, const Window& window) : problem_(problem) {
    const std::array<std::uint64_t, 3> box{problem.n, problem.n, problem.planes};
    const std::array<bool, 3> walls{problem.has_walls_x(), problem.has_walls_y(), false};
    for (std::size_t i = 0; i < 3; ++i) {
      const std::int64_t steps = problem.steps, n = static_cast<std::int64_t>(box[i]);
      const auto first = static_cast<std::int64_t>(window.first[i]),
                 end = first + static_cast<std::int64_t>(window.size[i]);
      begin_[i] = first - steps;
      end_[i] = end + steps;
      if (walls[i]) {
        begin_[i] = std::max<std::int64_t>(begin_[i], 0);
        end_[i] = std::min(end_[i], n);
      }
      whole_[i] = end_[i] - begin_[i] >= n;
      if (whole_[i]) begin_[i] = 0, end_[i] = n;
      n_[i] = n;
    }
  }
  std::size_t rows() const {
    return static_cast<std::size_t>((end_[1] - begin_[1]) * (end_[2] - begin_[2]));
  }
  std::size_t width() const { return static_cast<std::size_t>(end_[0] - begin_[0]); }
  std::size_t size() const { return rows() * width(); }
  // Return the cells that are right after `steps` steps. Cells at an end at which the box continues
  // lack what comes from beyond it.
  std::int64_t begin(std::size_t axis, std::int64_t steps) const {
    return whole_[axis] || (begin_[axis] == 0 && walls(axis)) ? begin_[axis] : begin_[axis] + steps;
  }
  std::int64_t end(std::size_t axis, std::int64_t steps) const {
    return whole_[axis] || (end_[axis] == n_[axis] && walls(axis)) ? end_[axis]
                                                                   : end_[axis] - steps;
  }
  bool walls(std::size_t axis) const {
    return axis == 0 ? problem_.has_walls_x() : axis == 1 && problem_.has_walls_y();
  }
  bool outside(std::size_t axis, std::int64_t at) const {
    return walls(axis) && (at < 0 || at >= n_[axis]);
  }
  // Returns the place within the region of one that may lie past a periodic end, by a cell.
  std::int64_t inside(std::size_t axis, std::int64_t at) const {
    if (!whole_[axis]) return at;
    return at < 0 ? at + n_[axis] : at >= n_[axis] ? at - n_[axis] : at;
  }
  std::size_t row(std::int64_t y, std::int64_t z) const {
    return static_cast<std::size_t>((z - begin_[2]) * (end_[1] - begin_[1]) + (y - begin_[1]));
  }
  std::uint64_t in_box(std::size_t axis, std::int64_t at) const {
    return static_cast<std::uint64_t>((at % n_[axis] + n_[axis]) % n_[axis]);
  }

 private:
  const Problem& problem_;
  std::array<std::int64_t, 3> begin_{}, end_{}, n_{};
  std::array<bool, 3> whole_{};
};

// The populations of all cells of a region, row by row: first population 0 of all cells of a row,
// then the others.
class HostLattice {
 public:
  explicit HostLattice(const Region& region)
      : region_(region),
        values_(std::make_unique_for_overwrite<float[]>(region.size() * populations)) {}
  float& at(std::size_t q, std::int64_t x, std::int64_t y, std::int64_t z) const {
    const auto column = static_cast<std::size_t>(x - region_.begin(0, 0));
    return values_[(region_.row(y, z) * populations + q) * region_.width() + column];
  }
  void swap(HostLattice& other) { values_.swap(other.values_); }

 private:
  const Region& region_;
  std::unique_ptr<float[]> values_;  // pages are first touched by the threads that compute them
};

// Returns the populations that arrive at a cell: from the cells that they left, or reflected by a
// wall.
Populations<float> arriving(const Problem& problem, const Region& region, const HostLattice& from,
                            std::int64_t x, std::int64_t y, std::int64_t z) {
  Populations<float> f;
  each_population([&](auto q) {
    constexpr Velocity c = kVelocities[q];
    if (region.outside(0, x - c.x) || region.outside(1, y - c.y)) {
      f[q] = from.at(opposite_of(q), x, y, z);
    } else {
      f[q] = from.at(q, region.inside(0, x - c.x), region.inside(1, y - c.y),
                     region.inside(2, z - c.z));
    }
    if (region.walls(1) && y - c.y == static_cast<std::int64_t>(problem.n) && c.x != 0)
      f[q] = c.x > 0 ? f[q] + problem.drag() : f[q] - problem.drag();
  });
  return f;
}

// Computes a step of the cells of a row. Those at walls and periodic ends are computed one by one.
void step_row(const Problem& problem, const Region& region, const HostLattice& from,
              const HostLattice& to, std::int64_t step, std::int64_t y, std::int64_t z) {
  const std::uint64_t plane = region.in_box(2, z);
  const bool exchanged = step < problem.steps;  // nothing is exchanged after the last step
  const std::int64_t first = region.begin(0, step), end = region.end(0, step);
  std::int64_t inner = std::max(first, region.begin(0, 0) + 1),
               inner_end = std::min(end, region.end(0, 0) - 1);
  if (region.outside(1, y - 1) || region.outside(1, y + 1) || inner_end - inner < lanes)
    inner = inner_end = end;
  const auto one_by_one = [&](std::int64_t begin, std::int64_t until) {
    for (std::int64_t x = begin; x < until; ++x) {
      Populations<float> f = arriving(problem, region, from, x, y, z);
      collide(problem, f);
      round_leaving(problem, plane, exchanged, f);
      for (std::size_t q = 0; q < populations; ++q) to.at(q, x, y, z) = f[q];
    }
  };
  if (inner < inner_end) {
    std::array<const float*, populations> sources;
    std::array<float*, populations> targets;
    for (std::size_t q = 0; q < populations; ++q) {
      const Velocity& c = kVelocities[q];
      sources[q] = &from.at(q, inner - c.x, region.inside(1, y - c.y), region.inside(2, z - c.z));
      targets[q] = &to.at(q, inner, y, z);
    }
    // The last lanes may include cells that were computed before.
    const std::int64_t last = inner_end - inner - lanes;
    for (std::int64_t x = 0; x < last + lanes; x += lanes) {
      const std::int64_t at = std::min(x, last);
      Populations<Lanes> f;
      each_population([&](auto q) { std::memcpy(&f[q], sources[q] + at, sizeof f[q]); });
      collide(problem, f);
      round_leaving(problem, plane, exchanged, f);
      each_population([&](auto q) { std::memcpy(targets[q] + at, &f[q], sizeof f[q]); });
    }
  }
  one_by_one(first, inner);  // their surroundings are in caches by now
  one_by_one(inner_end, end);
}

// A value that is not finite spreads to all populations of its cell.
bool is_finite(const HostLattice& lattice, std::int64_t first, std::int64_t end, std::int64_t y,
               std::int64_t z) {
  const float* const values = &lattice.at(0, first, y, z);
  return std::all_of(values, values + (end - first), [](float f) { return std::isfinite(f); });
}

Error unbounded(const Problem& problem, std::int64_t step) {
  return Error(
      ErrorKind::input,
      fmt::format("lbm: the flow grows without bound, and in step {} of {} numbers are not "
                  "finite any more: {}",
                  step, problem.steps, what_is_stable(problem)));
}

}  // namespace

Work work_of(const Problem& problem, const Window& window) {
  const Region region(problem, window);
  Work work{region.size(), 0};
  for (std::int64_t step = 1; step <= problem.steps; ++step) {
    double cells = 1;
    for (std::size_t axis = 0; axis < 3; ++axis)
      cells *= static_cast<double>(region.end(axis, step) - region.begin(axis, step));
    work.updates += cells;
  }
  return work;
}

std::vector<Cell> reference(const Problem& problem, const Beginning& beginning,
                            const Window& window, unsigned threads, const HostWatch& watch,
                            const std::string& sample) {
  const HostWork work{"steps", problem.steps, sample};
  std::atomic<bool> finite{true};
  const Region region(problem, window);
  HostLattice from(region), to(region);
  constexpr std::uint64_t rows_at_once = 4;
  const auto each_row = [&](std::int64_t step, const auto& body) {
    const std::int64_t first = region.begin(2, step), planes = region.end(2, step) - first,
                       high = region.end(1, step) - region.begin(1, step);
    parallel_for(
        static_cast<std::uint64_t>(planes * high), threads,
        [&](std::uint64_t row) {
          body(region.begin(1, step) + static_cast<std::int64_t>(row) % high,
               first + static_cast<std::int64_t>(row) / high);
        },
        rows_at_once);
  };
  each_row(0, [&](std::int64_t y, std::int64_t z) {
    for (std::int64_t x = region.begin(0, 0); x < region.end(0, 0); ++x) {
      Populations<float> f =
          rest(beginning.at(region.in_box(0, x), region.in_box(1, y), region.in_box(2, z)));
      round_leaving(problem, region.in_box(2, z), false, f);
      for (std::size_t q = 0; q < populations; ++q) from.at(q, x, y, z) = f[q];
    }
  });
  if (watch.progress) watch.progress(work, 0);
  for (std::int64_t step = 1; step <= problem.steps; ++step) {
    watch.go_on();
    each_row(step, [&](std::int64_t y, std::int64_t z) {
      step_row(problem, region, from, to, step, y, z);
      if (!is_finite(to, region.begin(0, step), region.end(0, step), y, z))
        finite.store(false, std::memory_order_relaxed);
    });
    if (!finite) throw unbounded(problem, step);
    if (watch.progress) watch.progress(work, static_cast<std::uint64_t>(step));
    from.swap(to);
  }
  std::vector<Cell> cells;
  cells.reserve(window.size[0] * window.size[1] * window.size[2]);
  const auto at = [&](std::size_t axis, std::uint64_t i) {
    return region.inside(axis, static_cast<std::int64_t>(window.first[axis] + i));
  };
  for (std::uint64_t z = 0; z < window.size[2]; ++z) {
    for (std::uint64_t y = 0; y < window.size[1]; ++y) {
      for (std::uint64_t x = 0; x < window.size[0]; ++x) {
        Populations<float> f;
        for (std::size_t q = 0; q < populations; ++q)
          f[q] = from.at(q, at(0, x), at(1, y), at(2, z));
        const Moments<float> cell = moments(f);
        cells.push_back({cell.x - problem.half_force(), cell.y, cell.z, cell.density});
      }
    }
  }
  return cells;
}

}  // namespace mgpu::lbm
