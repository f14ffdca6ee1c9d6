#include "suites/lbm/flow.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <optional>

#include "lib/base/error.hpp"
#include "lib/workload/parallel_for.hpp"
#include "suites/common/finite.hpp"
#include "suites/lbm/cavity_table.hpp"

namespace mgpu::lbm {
namespace {

constexpr double kPi = std::numbers::pi;

// The vortex of Taylor and Green (Proc. R. Soc. A 158, 1937) in two dimensions. One dimension is
// the diagonal of x and y, so that the flow varies along every axis; the other is z. Streamlines
// are closed, and viscosity slows the vortex by the same factor everywhere. If there are too few
// planes to resolve a wave, all of them are the same.
struct Vortex {
  explicit Vortex(const Problem& problem) : wave(2 * kPi / static_cast<double>(problem.n)) {
    constexpr std::uint64_t enough = 4;
    if (problem.planes >= enough) wave_z = 2 * kPi / static_cast<double>(problem.planes);
    along = wave_z / (2 * wave);
    const double largest = std::max(1.0, std::numbers::sqrt2 * along);
    along *= static_cast<double>(problem.speed) / largest;
    across = static_cast<double>(problem.speed) / largest;
    decay = problem.viscosity * (2 * wave * wave + wave_z * wave_z);
  }
  double wave, wave_z = 0;       // radians per cell
  double along = 0, across = 0;  // largest velocity along x and along y; largest along z
  double decay = 0;              // decrease of the velocity's logarithm per step
};

// Returns the velocity along x of a channel that starts from rest, `time` steps after the force
// begins to act (half a step after the beginning), half a cell beyond `y` cells from the wall. It
// is the final velocity minus a series of modes, each of which decays (Batchelor, An Introduction
// to Fluid Dynamics, 4.3).
double channel_velocity(const Problem& problem, double y, double time) {
  const double wide = static_cast<double>(problem.n), force = problem.force(), at = y + 0.5;
  double velocity = force / (2 * problem.viscosity) * at * (wide - at);
  for (int k = 1; k < 200; k += 2) {
    const double mode = k * kPi / wide, decayed = std::exp(-problem.viscosity * mode * mode * time);
    velocity -=
        4 * force / (problem.viscosity * wide * mode * mode * mode) * std::sin(mode * at) * decayed;
  }
  return velocity;
}

// The velocity that each cell should have after all steps, if it is known.
class Expected {
 public:
  explicit Expected(const Problem& problem)
      : problem_(problem), along_(problem.n), across_(problem.planes) {
    if (problem.flow == Flow::channel && !problem.from_file) {
      for (std::uint64_t y = 0; y < problem.n; ++y)
        along_[y][0] = channel_velocity(problem, static_cast<double>(y), problem.steps - 0.5);
    }
    if (problem.flow != Flow::taylor_green || problem.from_file) return;
    const Vortex vortex(problem);
    const double slower = std::exp(-vortex.decay * problem.steps);
    for (std::uint64_t i = 0; i < problem.n; ++i) {
      const double at = vortex.wave * static_cast<double>(i);
      along_[i] = {-slower * vortex.along * std::cos(at), slower * vortex.across * std::sin(at)};
    }
    for (std::uint64_t z = 0; z < problem.planes; ++z) {
      const double at = vortex.wave_z * static_cast<double>(z);
      across_[z] = {std::sin(at), std::cos(at)};
    }
  }
  std::array<double, 3> at(std::uint64_t x, std::uint64_t y, std::uint64_t z) const {
    if (problem_.flow == Flow::channel) return {along_[y][0], 0, 0};
    const auto &a = along_[(x + y) % problem_.n], &b = across_[z];
    return {a[0] * b[0], a[0] * b[0], a[1] * b[1]};
  }

 private:
  const Problem& problem_;
  std::vector<std::array<double, 2>> along_, across_;  // all zeros if nothing is known
};

struct Sums {
  double mass = 0, mass_before = 0;  // sums of density - 1, after and before all steps
  // Sums of squares: of the velocities' errors, and of the expected velocities.
  double error = 0, expected = 0;
};

Sums sums_of(const Problem& problem, const Beginning& beginning, std::span<const std::byte> result,
             unsigned threads, const Expected& expected) {
  const auto* const cells = reinterpret_cast<const Cell*>(result.data());
  std::vector<Sums> of_plane(problem.planes);
  parallel_for(problem.planes, threads, [&](std::uint64_t z) {
    Sums& sums = of_plane[z];
    for (std::uint64_t y = 0; y < problem.n; ++y) {
      for (std::uint64_t x = 0; x < problem.n; ++x) {
        const Cell& cell = cells[(z * problem.n + y) * problem.n + x];
        const std::array<double, 3> wanted = expected.at(x, y, z);
        for (std::size_t i = 0; i < 3; ++i) {
          const double difference = static_cast<double>(cell[i]) - wanted[i];
          sums.error += difference * difference;
          sums.expected += wanted[i] * wanted[i];
        }
        sums.mass += static_cast<double>(cell[3]);
        sums.mass_before += static_cast<double>(beginning.at(x, y, z)[3]);
      }
    }
  });
  Sums all;
  for (const Sums& sums : of_plane)
    all = {all.mass + sums.mass, all.mass_before + sums.mass_before, all.error + sums.error,
           all.expected + sums.expected};
  return all;
}

// Relative deviation of the result from what is known of it, and the largest deviation that the
// method's error explains.
struct Deviation {
  std::string what;
  double found = 0, most = 0;
};

Deviation vortex_deviation(const Problem& problem, const Sums& sums) {
  const Vortex vortex(problem);
  const double decayed = vortex.decay * problem.steps, left = std::exp(-decayed);
  // Allows for three errors: the decay rate is right to second order in the wavelength, the stress
  // only builds up in the first steps, and the fluid is slightly compressible, by the square of its
  // speed. Measured deviations are at most a third of that.
  const double waves = 2 * vortex.wave * vortex.wave + vortex.wave_z * vortex.wave_z;
  const double slowest = std::exp(-decayed * std::max(0.0, 1 - 0.25 * waves));
  const double speed = static_cast<double>(problem.speed),
               first = vortex.decay / static_cast<double>(problem.even_rate);
  return {fmt::format("the decay of the Taylor-Green vortex, to {:.4g} of its speed", left),
          left * std::sqrt(sums.error / sums.expected),
          slowest - left + left * first + speed * speed + 1e-5};
}

Deviation channel_deviation(const Problem& problem, const Sums& sums) {
  // Boundary layers are too thin to be resolved until viscosity has reached a few cells; after that
  // the error is of second order. The position of walls depends on the relaxation times (Ginzburg
  // et al. 2008). Measured deviations are at most a quarter of that.
  const double reached = problem.viscosity * problem.steps,
               cells = static_cast<double>(problem.cells_of_plane());
  const double times = (1 / static_cast<double>(problem.even_rate) - 0.5) *
                       (1 / static_cast<double>(problem.odd_rate) - 0.5);
  return {"the start of a channel from rest", std::sqrt(sums.error / sums.expected),
          0.3 / (1 + reached) + (3 + std::abs(16 * times - 3)) / cells + 1e-3};
}

std::optional<Deviation> cavity_deviation(const Problem& problem,
                                          std::span<const std::byte> result) {
  const CavityTable* const table = cavity_table(problem.reynolds());
  // Widths of the cavity that the lid travels until the flow is steady to a thousandth.
  constexpr double turns = 25;
  if (table == nullptr ||
      static_cast<double>(problem.speed) * problem.steps < turns * static_cast<double>(problem.n))
    return std::nullopt;
  const auto* const cells = reinterpret_cast<const Cell*>(result.data());
  const double n = static_cast<double>(problem.n);
  // Returns the velocity along x on the vertical centre line, relative to the lid's. Centres of
  // cells lie half a cell from the walls.
  const auto at = [&](std::uint64_t row) {
    const Cell *const left = cells + row * problem.n + (problem.n - 1) / 2, *const right =
                                                                                cells +
                                                                                row * problem.n +
                                                                                problem.n / 2;
    return static_cast<double>((*left)[0] + (*right)[0]) / 2 / static_cast<double>(problem.speed);
  };
  Deviation deviation{fmt::format("Ghia et al. 1982, Reynolds number {}", table->reynolds), 0,
                      0.015 + 1 / n + 8 / (n * n)};
  for (std::size_t i = 0; i < table->height.size(); ++i) {
    const double row = std::clamp(table->height[i] * n - 0.5, 0.0, n - 1);
    const auto lower = std::min(static_cast<std::uint64_t>(row), problem.n - 2);
    const double part = row - static_cast<double>(lower),
                 found = (1 - part) * at(lower) + part * at(lower + 1);
    deviation.found = std::max(deviation.found, std::abs(found - table->velocity[i]));
  }
  return deviation;
}

}  // namespace

Tables tables_of(const Problem& problem) {
  Tables tables{std::vector<Cell>(problem.n), std::vector<Cell>(problem.planes)};
  if (problem.flow != Flow::taylor_green) return tables;
  const Vortex vortex(problem);
  const double along = 2 * vortex.along * vortex.along,
               across = vortex.wave_z > 0 ? vortex.across * vortex.across : 0;
  const auto cell = [](double a, double b, double c) {
    return Cell{static_cast<float>(a), static_cast<float>(b), static_cast<float>(c), 0};
  };
  for (std::uint64_t i = 0; i < problem.n; ++i) {
    const double at = vortex.wave * static_cast<double>(i);
    tables.along[i] = cell(-vortex.along * std::cos(at), vortex.across * std::sin(at),
                           -0.75 * along * std::cos(2 * at));
  }
  for (std::uint64_t z = 0; z < problem.planes; ++z) {
    const double at = vortex.wave_z * static_cast<double>(z);
    tables.across[z] = cell(std::sin(at), std::cos(at), -0.75 * across * std::cos(2 * at));
  }
  return tables;
}

void check_cells(const std::string& file, const NpyShape& shape, std::span<const std::byte> cells) {
  refuse_non_finite("--input " + file, shape, cells);
  const std::span all(reinterpret_cast<const Cell*>(cells.data()), cells.size() / sizeof(Cell));
  const auto vacuum =
      std::find_if(all.begin(), all.end(), [](const Cell& cell) { return cell[3] <= -1; });
  if (vacuum == all.end()) return;
  throw Error(ErrorKind::input,
              fmt::format("--input {}: in row {} the density exceeds 1 by {}, so that it is {}; "
                          "expected: densities above 0",
                          file, vacuum - all.begin(), (*vacuum)[3], 1 + (*vacuum)[3]));
}

double largest_speed(std::span<const std::byte> cells) {
  double largest = 0;
  for (const Cell& cell :
       std::span(reinterpret_cast<const Cell*>(cells.data()), cells.size() / sizeof(Cell))) {
    double square = 0;
    for (std::size_t i = 0; i < 3; ++i)
      square += static_cast<double>(cell[i]) * static_cast<double>(cell[i]);
    largest = std::max(largest, square);
  }
  return std::sqrt(largest);
}

Beginning::Beginning(const Problem& problem, std::span<const std::byte> file)
    : problem_(problem), file_(file) {
  if (file.empty()) tables_ = tables_of(problem);
}

Cell Beginning::at(std::uint64_t x, std::uint64_t y, std::uint64_t z) const {
  if (!file_.empty())
    return reinterpret_cast<const Cell*>(file_.data())[(z * problem_.n + y) * problem_.n + x];
  const Cell &a = tables_.along[(x + y) % problem_.n], &b = tables_.across[z];
  return {a[0] * b[0], a[0] * b[0], a[1] * b[1], a[2] + b[2]};
}

Physics compare_physics(const Problem& problem, const Beginning& beginning,
                        std::span<const std::byte> result, unsigned threads) {
  const Expected expected(problem);
  const Sums sums = sums_of(problem, beginning, result, threads, expected);
  // Each step rounds each population once or twice.
  const double drift = (sums.mass - sums.mass_before) / static_cast<double>(problem.cells());
  double most = (problem.steps + 16.0) * 0x1p-24 * static_cast<double>(problem.speed);
  // Rounding to half precision changes a population, which is less than half the speed, by up to
  // 2^-12 of it: all of a cell that are stored so, or ten per cell of each border in a step.
  const double rounded =
      problem.half_storage ? populations
      : problem.half_block > 0
          ? 10 * static_cast<double>(ceil_div(problem.planes, problem.half_block)) /
                static_cast<double>(problem.planes)
          : 0;
  most += rounded * (problem.steps + 1) * 0x1p-13 * static_cast<double>(problem.speed);
  Physics physics;
  if (!(std::abs(drift) <= most)) {
    physics.wrong = fmt::format(
        "mass is not conserved: the mean density changed by {:.3g}, by rounding alone {:.3g} at "
        "most",
        drift, most);
    return physics;
  }
  physics.told = fmt::format("mass is conserved (mean density changed by {:.1e})", drift);
  if (problem.from_file) return physics;
  std::optional<Deviation> deviation;
  if (problem.flow == Flow::taylor_green) deviation = vortex_deviation(problem, sums);
  if (problem.flow == Flow::channel) deviation = channel_deviation(problem, sums);
  if (problem.flow == Flow::cavity) deviation = cavity_deviation(problem, result);
  if (!deviation) return physics;
  physics.told += fmt::format("; and with {}: {:.2g} away, {:.2g} accepted", deviation->what,
                              deviation->found, deviation->most);
  if (!(deviation->found <= deviation->most))
    physics.wrong = fmt::format("{} differs by {:.3g}; expected: {:.3g}", deviation->what,
                                deviation->found, deviation->most);
  return physics;
}

}  // namespace mgpu::lbm
