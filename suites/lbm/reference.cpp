// Compiled without contraction (suites/CMakeLists.txt): a fused multiply-add would have other bits.
#include "suites/lbm/reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

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

constexpr int opposite_of(int q) {
  for (int other = 0; other < static_cast<int>(populations); ++other) {
    const Velocity a = kVelocities[static_cast<std::size_t>(q)],
                   b = kVelocities[static_cast<std::size_t>(other)];
    if (a.x == -b.x && a.y == -b.y && a.z == -b.z) return other;
  }
  return -1;
}

constexpr std::array<std::uint8_t, populations> kOpposite = [] {
  std::array<std::uint8_t, populations> all{};
  for (std::size_t q = 0; q < populations; ++q)
    all[q] = static_cast<std::uint8_t>(opposite_of(static_cast<int>(q)));
  return all;
}();

float weight_of(const Velocity& c) {
  const int length = c.x * c.x + c.y * c.y + c.z * c.z;
  return length == 0 ? 1.0F / 3 : length == 1 ? 1.0F / 18 : 1.0F / 36;
}

using Populations = std::array<float, populations>;

// A sum of values, each of which is added, subtracted or left out. It begins with the first value
// that is not left out.
struct Sum {
  void add(int sign, float value) {
    if (sign == 0) return;
    const float signed_value = sign > 0 ? value : -value;
    total = empty ? signed_value : total + signed_value;
    empty = false;
  }
  float total = 0;
  bool empty = true;
};

Cell moments(const Populations& f) {
  Sum x, y, z, density;
  for (std::size_t q = 0; q < populations; ++q) {
    x.add(kVelocities[q].x, f[q]);
    y.add(kVelocities[q].y, f[q]);
    z.add(kVelocities[q].z, f[q]);
    density.add(1, f[q]);
  }
  return {x.total, y.total, z.total, density.total};
}

// Half of the sum, and half of the difference, of a population and its opposite in equilibrium.
struct Halves {
  float even, odd;
};
Halves equilibrium(const Velocity& c, const Cell& cell) {
  Sum along;
  along.add(c.x, cell[0]);
  along.add(c.y, cell[1]);
  along.add(c.z, cell[2]);
  const float weight = weight_of(c),
              level =
                  cell[3] - 1.5F * ((cell[0] * cell[0] + cell[1] * cell[1]) + cell[2] * cell[2]);
  return {weight * (level + 4.5F * (along.total * along.total)), (weight * 3.0F) * along.total};
}

Populations rest(const Cell& cell) {
  Populations f{};
  f[0] = weight_of(kVelocities[0]) *
         (cell[3] - 1.5F * ((cell[0] * cell[0] + cell[1] * cell[1]) + cell[2] * cell[2]));
  for (std::size_t q = 1; q < populations; ++q) {
    const std::size_t other = kOpposite[q];
    if (other < q) continue;
    const Halves halves = equilibrium(kVelocities[q], cell);
    f[q] = halves.even + halves.odd;
    f[other] = halves.even - halves.odd;
  }
  return f;
}

void collide(const Problem& problem, Populations& f) {
  const Cell cell = moments(f);
  const float level =
      cell[3] - 1.5F * ((cell[0] * cell[0] + cell[1] * cell[1]) + cell[2] * cell[2]);
  Populations next = f;
  next[0] += problem.even_rate * (weight_of(kVelocities[0]) * level - f[0]);
  for (std::size_t q = 1; q < populations; ++q) {
    const std::size_t other = kOpposite[q];
    if (other < q) continue;
    const Velocity& c = kVelocities[q];
    const Halves halves = equilibrium(c, cell);
    const float even = problem.even_rate * (halves.even - 0.5F * (f[q] + f[other]));
    float odd = problem.odd_rate * (halves.odd - 0.5F * (f[q] - f[other]));
    if (problem.flow == Flow::channel && c.x != 0) {
      const float lifted = weight_of(c) * problem.lift();
      odd = c.x > 0 ? odd + lifted : odd - lifted;
    }
    next[q] += even + odd;
    next[other] += even - odd;
  }
  f = next;
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

// Rounds the populations that leave a cell of plane z: all if they are stored in half precision,
// else, with half halos, those that leave the block of the plane upwards or downwards.
void round_leaving(const Problem& problem, std::uint64_t z, bool exchanged, Populations& f) {
  if (problem.half_storage)
    for (float& each : f) each = rounded_to_half(each);
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
  std::size_t size() const {
    return static_cast<std::size_t>((end_[0] - begin_[0]) * (end_[1] - begin_[1]) *
                                    (end_[2] - begin_[2]));
  }
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
  // Returns the place within the region of one that may lie past a periodic end.
  std::int64_t inside(std::size_t axis, std::int64_t at) const {
    return whole_[axis] ? (at + n_[axis]) % n_[axis] : at;
  }
  std::size_t index(std::int64_t x, std::int64_t y, std::int64_t z) const {
    return static_cast<std::size_t>(((z - begin_[2]) * (end_[1] - begin_[1]) + (y - begin_[1])) *
                                        (end_[0] - begin_[0]) +
                                    (x - begin_[0]));
  }
  std::uint64_t in_box(std::size_t axis, std::int64_t at) const {
    return static_cast<std::uint64_t>((at % n_[axis] + n_[axis]) % n_[axis]);
  }

 private:
  const Problem& problem_;
  std::array<std::int64_t, 3> begin_{}, end_{}, n_{};
  std::array<bool, 3> whole_{};
};

// Returns the populations that arrive at a cell: from the cells that they left, or reflected by a
// wall.
Populations arriving(const Problem& problem, const Region& region,
                     const std::vector<Populations>& from, std::int64_t x, std::int64_t y,
                     std::int64_t z) {
  Populations f;
  const Populations& own = from[region.index(x, y, z)];
  for (std::size_t q = 0; q < populations; ++q) {
    const Velocity& c = kVelocities[q];
    if (region.outside(0, x - c.x) || region.outside(1, y - c.y)) {
      f[q] = own[kOpposite[q]];
    } else {
      f[q] = from[region.index(region.inside(0, x - c.x), region.inside(1, y - c.y),
                               region.inside(2, z - c.z))][q];
    }
    if (region.walls(1) && y - c.y == static_cast<std::int64_t>(problem.n) && c.x != 0)
      f[q] = c.x > 0 ? f[q] + problem.drag() : f[q] - problem.drag();
  }
  return f;
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
  std::vector<Populations> from(region.size()), to(region.size());
  const auto each_cell = [&](std::int64_t step, const auto& body) {
    const std::int64_t first = region.begin(2, step), planes = region.end(2, step) - first,
                       high = region.end(1, step) - region.begin(1, step);
    parallel_for(static_cast<std::uint64_t>(planes * high), threads, [&](std::uint64_t row) {
      const std::int64_t z = first + static_cast<std::int64_t>(row) / high,
                         y = region.begin(1, step) + static_cast<std::int64_t>(row) % high;
      for (std::int64_t x = region.begin(0, step); x < region.end(0, step); ++x) body(x, y, z);
    });
  };
  each_cell(0, [&](std::int64_t x, std::int64_t y, std::int64_t z) {
    Populations& f = from[region.index(x, y, z)];
    f = rest(beginning.at(region.in_box(0, x), region.in_box(1, y), region.in_box(2, z)));
    round_leaving(problem, region.in_box(2, z), false, f);
  });
  if (watch.progress) watch.progress(work, 0);
  for (std::int64_t step = 1; step <= problem.steps; ++step) {
    watch.go_on();
    each_cell(step, [&](std::int64_t x, std::int64_t y, std::int64_t z) {
      Populations f = arriving(problem, region, from, x, y, z);
      collide(problem, f);
      // A value that is not finite spreads to all populations of its cell.
      if (!std::isfinite(f[0])) finite.store(false, std::memory_order_relaxed);
      // Nothing is exchanged after the last step.
      round_leaving(problem, region.in_box(2, z), step < problem.steps, f);
      to[region.index(x, y, z)] = f;
    });
    if (!finite) throw unbounded(problem, step);
    if (watch.progress) watch.progress(work, static_cast<std::uint64_t>(step));
    std::swap(from, to);
  }
  std::vector<Cell> cells;
  cells.reserve(window.size[0] * window.size[1] * window.size[2]);
  const auto at = [&](std::size_t axis, std::uint64_t i) {
    return region.inside(axis, static_cast<std::int64_t>(window.first[axis] + i));
  };
  for (std::uint64_t z = 0; z < window.size[2]; ++z) {
    for (std::uint64_t y = 0; y < window.size[1]; ++y) {
      for (std::uint64_t x = 0; x < window.size[0]; ++x) {
        Cell cell = moments(from[region.index(at(0, x), at(1, y), at(2, z))]);
        cell[0] -= problem.half_force();
        cells.push_back(cell);
      }
    }
  }
  return cells;
}

}  // namespace mgpu::lbm
