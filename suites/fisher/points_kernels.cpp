#include "suites/fisher/points_kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "lib/base/error.hpp"
#include "lib/base/quantity.hpp"
#include "suites/common/build_option.hpp"
#include "suites/common/group_limits.hpp"
#include "suites/fisher/gram_kernels.hpp"

namespace mgpu::fisher {
namespace {

constexpr Items most_items = 4096;
constexpr std::uint64_t most_tensor_dim = 32;

// Chooses the shape of a work-group. It takes as many matrices as one group of 32 work-items can,
// which then waits for no other; if a matrix has more tiles, it is four groups of 32. It takes as
// many scores at a time as fit into 16 KiB of local memory. Registers are limited to 128, as one
// tile per work-item needs 122. A multiprocessor of an H200 then has room for 16 groups of 32;
// 100,000 logistic matrices of dimension 32 from 256 scores take 1.52 ms, and with two tiles per
// work-item 1.77 ms.
void shape_of_models(const DeviceTraits& device, const Problem& problem, PointsVariant& made) {
  made.units = single_units_of(problem.dim);
  const std::uint64_t units = made.units.size(), row = (problem.dim + 7) / 8 * 8;
  const std::uint64_t points = std::max<std::uint64_t>(1, (units <= 16 ? 32 : 128) / units);
  std::uint64_t chunk = 8;
  while (chunk > 1 && points * (chunk * row + 16) * 4 > 16384) --chunk;
  made.points = static_cast<unsigned>(points);
  made.threads = static_cast<unsigned>((points * units + 31) / 32 * 32);
  made.options += define("UNITS", units) + define("POINTS", points) + define("CHUNK", chunk) +
                  define("GROUP", made.threads);
  if (device.nvidia) made.options += " -cl-nv-maxrregcount=128";
}

PointsVariant models_variant(const DeviceTraits& device, const Problem& problem) {
  PointsVariant made;
  made.entry = "matrices";
  made.options = define("LANES", device.cpu ? 8 : 1) + define("DIM", problem.dim);
  if (problem.model == Model::softmax) {
    made.file = "fisher_categorical.cl";
    if (device.cpu) return made;
    made.points =
        static_cast<unsigned>(std::bit_floor(std::clamp<std::uint64_t>(512 / problem.dim, 4, 32)));
    made.threads = 128;
    made.options += define("POINTS", made.points) + define("GROUP", made.threads) +
                    define("ACROSS", std::bit_floor(std::min<std::uint64_t>(32, problem.dim)));
    return made;
  }
  made.file = "fisher_models.cl";
  made.options += define("MODEL", static_cast<std::uint64_t>(problem.model));
  made.units = units_of(problem.dim);
  if (device.cpu) {
    made.options += define("UNITS", made.units.size());
  } else {
    shape_of_models(device, problem, made);
  }
  return made;
}

// Returns the variant of kernels/fisher_models_dmma.cl. On an H200 it makes 100,000 logistic
// matrices of dimension 32 from 256 scores in 1.05 ms, fisher_models.cl in 1.51 ms. Larger matrices
// are left to the latter: here they would take several groups of 32, each of which converts to fp64
// what it needs.
PointsVariant tensor_variant(const Problem& problem) {
  PointsVariant made;
  made.file = "fisher_models_dmma.cl";
  made.entry = "matrices";
  made.options =
      define("MODEL", static_cast<std::uint64_t>(problem.model)) + define("DIM", problem.dim);
  made.threads = 32;
  made.to_be_tried = true;
  return made;
}

// Returns whether two kernels compute the same matrices, at a few points whose parameters are all
// 1, from a number of scores that is no multiple of any kernel's chunk.
bool agree(DeviceResources& device, const Problem& problem, const PointsKernel& one,
           const PointsKernel& other) {
  constexpr std::uint64_t points = 3;
  constexpr std::uint32_t scores = 75, key = 1;
  const std::uint64_t triangle = problem.triangle();
  const std::vector<float> params(points * problem.width, 1.0f);
  const auto in = device.allocate(params.size() * sizeof(float)), units = device.allocate(4096);
  const auto matrices = [&](const PointsKernel& by) {
    std::vector<float> out(points * triangle, std::nanf(""));
    const auto made = device.allocate(out.size() * sizeof(float));
    const std::size_t groups = ceil_div(points, by.variant.points), threads = by.variant.threads;
    const auto ran = device.try_out([&](Stream& stream) {
      stream.upload(*in, 0, std::as_bytes(std::span(params)));
      if (!by.variant.units.empty())
        stream.upload(*units, 0, std::as_bytes(std::span(by.variant.units)));
      stream.launch(*by.kernel, grid_of(groups * threads, threads),
                    {in.get(), std::uint64_t{0}, points, made.get(), std::uint64_t{0},
                     std::uint64_t{7}, units.get(), scores, key, key});
      stream.download(*made, 0, std::as_writable_bytes(std::span(out)));
    });
    return ran ? out : std::vector<float>{};
  };
  const std::vector<float> a = matrices(one), b = matrices(other);
  // Elements are sums of 75 products of numbers around 1, divided by 75; Gaussian ones may be up to
  // 16 to the fourth.
  for (std::size_t e = 0; e < a.size() && e < b.size(); ++e) {
    if (!(std::abs(a[e] - b[e]) <= 1e-5f * (1 + std::abs(b[e])))) return false;
  }
  return !a.empty() && a.size() == b.size();
}

// Returns the variant with groups of at most `most` work-items.
PointsVariant closed_variant(const DeviceTraits& device, const Problem& problem, std::size_t most) {
  PointsVariant made;
  const bool small = parameters(problem.family).has_value();
  const unsigned lanes = device.cpu ? 8 : 1;
  made.file = "fisher_closed.cl";
  made.entry = small ? "small" : "square";
  made.options = define("REAL64", problem.wide) + define("LANES", lanes) +
                 define("FAMILY", static_cast<std::uint64_t>(problem.family)) +
                 define("WIDTH", problem.dim) + define("TRIALS", binomial_trials);
  made.threads =
      device.cpu ? 1 : static_cast<unsigned>(std::min<std::size_t>(most, small ? 128 : 256));
  const unsigned each = device.cpu ? 1 : 4;  // only for `small`
  made.points = small ? lanes * each * made.threads : 1;
  // With 1024 parameters at a time there are so many elements that the values computed before them,
  // and the barriers, do not matter.
  if (!small && !device.cpu)
    made.points = static_cast<unsigned>(std::clamp<std::uint64_t>(1024 / problem.dim, 1, 64));
  while ((made.points & (made.points - 1)) != 0) made.points &= made.points - 1;
  made.options +=
      define("POINTS", made.points) + define("GROUP", made.threads) + define("EACH", each);
  return made;
}

}  // namespace

std::uint64_t points_of_item(const Problem& problem) {
  std::uint64_t points = 64;
  while (ceil_div(problem.points, points) > most_items) points *= 2;
  return points;
}

Items items_of(const Problem& problem) {
  const std::uint64_t each = points_of_item(problem);
  return std::max<Items>(1, ceil_div(problem.points, each));
}

// Pairs along each row of tiles those of its first half with those of its second, so that
// neighbouring units read neighbouring blocks. The last tile of an odd row is paired with that of
// another row, by their common column.
std::vector<std::uint32_t> units_of(std::uint64_t dim) {
  const auto edge = static_cast<std::uint32_t>((dim + 7) / 8);
  constexpr std::uint32_t two = 1 << 24;
  std::vector<std::uint32_t> units, left;
  for (std::uint32_t i = 0; i < edge; ++i) {
    const std::uint32_t half = (edge - i) / 2;
    for (std::uint32_t j = i; j < i + half; ++j)
      units.push_back(i | j << 8 | (j + half) << 16 | two);
    if ((edge - i) % 2 != 0) left.push_back(i);
  }
  for (std::size_t k = 0; k < left.size(); k += 2) {
    const bool both = k + 1 < left.size();
    units.push_back((edge - 1) | left[k] << 8 | left[both ? k + 1 : k] << 16 | (both ? two : 0));
  }
  return units;
}

std::vector<std::uint32_t> single_units_of(std::uint64_t dim) {
  std::vector<std::uint32_t> units;
  for (const std::uint32_t unit : units_of(dim)) {
    units.push_back(unit & 0xffff);
    if (unit >> 24 != 0) units.push_back((unit & 255) | (unit >> 16 & 255) << 8);
  }
  return units;
}

std::vector<PointsVariant> points_variants(const DeviceTraits& device, const Problem& problem) {
  if (problem.regime != Regime::models)
    return {closed_variant(device, problem, device.max_work_group)};
  std::vector<PointsVariant> all;
  if (device.fp64_tensor && !problem.portable && problem.model != Model::softmax &&
      problem.dim <= most_tensor_dim)
    all.push_back(tensor_variant(problem));
  all.push_back(models_variant(device, problem));
  return all;
}

PointsKernel make_points_kernel(DeviceResources& device, const Problem& problem) {
  const std::vector<PointsVariant> variants = points_variants(device.traits(), problem);
  const auto make = [&](const PointsVariant& variant) {
    PointsKernel made{variant, exact_kernel(device, variant.file.c_str(), variant.entry.c_str(),
                                            variant.options)};
    const GroupLimits& limits = made.kernel->group_limits();
    if (!limits.allow({variant.threads, 1, 1}))
      throw Error(ErrorKind::unsupported,
                  fmt::format("kernel {} of kernels/{} needs work-groups of {} work-items; it can "
                              "have up to {}",
                              variant.entry, variant.file, variant.threads, limits.all));
    return made;
  };
  if (problem.regime != Regime::models)
    return make_first_suited(halves_of(variants.back().threads), [&](std::size_t most) {
      return make(closed_variant(device.traits(), problem, most));
    });
  PointsKernel plain = make(variants.back());
  for (const PointsVariant& variant : variants) {
    if (!variant.to_be_tried) break;
    try {
      PointsKernel made = make(variant);
      if (agree(device, problem, made, plain)) return made;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::device && error.kind() != ErrorKind::unsupported) throw;
    }
  }
  return plain;
}

PointsLayout points_layout(const Problem& problem, Mode mode, Items fits) {
  PointsLayout plan;
  plan.buffers = mode == Mode::end_to_end ? 2 : 1;
  const std::uint64_t points = mode == Mode::end_to_end
                                   ? std::min(problem.points, fits * points_of_item(problem))
                                   : problem.points;
  plan.input = std::max(least_buffer, points * problem.width * problem.element());
  plan.output = std::max(least_buffer, points * problem.triangle() * problem.element());
  plan.units =
      std::max<Bytes>(least_buffer, single_units_of(problem.dim).size() * sizeof(std::uint32_t));
  return plan;
}

Capacity points_capacity(const DeviceTraits& device, const Problem& problem, Mode mode) {
  Capacity capacity;
  if (problem.wide && !device.fp64) {
    capacity.reason = "it has no fp64 (--precision fp64)";
    return capacity;
  }
  const Bytes usable = device.usable_memory();
  const auto too_large = [&](const PointsLayout& plan) {
    return std::max(plan.input, plan.output) > device.max_allocation || plan.total() > usable;
  };
  capacity.fits = items_of(problem);
  PointsLayout plan = points_layout(problem, mode, capacity.fits);
  const bool slots = mode == Mode::end_to_end;
  while (slots && capacity.fits > 1 &&
         (too_large(plan) || plan.input + plan.output > largest_slot)) {
    capacity.fits = (capacity.fits + 1) / 2;
    plan = points_layout(problem, mode, capacity.fits);
  }
  if (too_large(plan)) {
    capacity.fits = 0;
    capacity.reason =
        std::string(slots ? "two slices of points and matrices" : "the points and their matrices") +
        " (" + format_bytes(static_cast<double>(plan.total())) +
        ") do not fit the device: " + format_bytes(static_cast<double>(device.max_allocation)) +
        " at once, " + format_bytes(static_cast<double>(usable)) + " in all";
    return capacity;
  }
  capacity.resident = plan.total();
  capacity.pipeline = capacity.fits;
  if (slots) {
    // Sixteen slices let copies overlap compute. A slice has at least 8 MiB (1 MiB for CPUs); below
    // that the cost of launches matters.
    const Bytes item = std::max<Bytes>(
        1, points_of_item(problem) * (problem.triangle() + problem.width) * problem.element());
    const Items enough = std::max<Items>(1, (Bytes{device.cpu ? 1u : 8u} << 20) / item);
    capacity.pipeline =
        std::clamp<Items>(std::max((items_of(problem) + 15) / 16, enough), 1, capacity.fits);
  }
  return capacity;
}

}  // namespace mgpu::fisher
