// Window sizes, passes and memory.
#include "suites/msm/windows.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "lib/base/quantity.hpp"
#include "lib/workload/parallel_for.hpp"
#include "suites/msm/bases.hpp"

namespace mgpu::msm {
namespace {

// Costs in field multiplications, of which an H200 makes 65 G per second (BN254), as measured
// there. A mixed addition takes 10, and sorting its entry as long as 2.7. A bucket takes two full
// additions of 14 each, and its share of counting and scanning.
constexpr double addition_cost = 10, sorting_cost = 2.7, bucket_cost = 33;
// Latencies there: 5.4 us per addition in a chain to the same bucket, 10 us per level of halving.
constexpr double addition_latency = 350'000, level_latency = 650'000;
// Weighting of windows with own buckets: 66 us in `weigh`, and 116 us on the host for 254
// doublings.
constexpr double weighing_cost = 11'800'000;
// Costs of shared buckets on an H100. Points are read from a table, which is 4 % slower at 2 GiB
// than at 1 GiB. Each pass but the first reads all buckets and scalars again, and writes its
// entries in parts.
constexpr double far_cost = 0.4, passes_cost = 1.1, taking_up_cost = 14;
constexpr Bytes far_table = Bytes{3} << 29;
// Scales costs that are not multiplications for bls12_381, whose multiplications take 2.2 times as
// long.
constexpr double cost_on_bls12_381 = 1 / 2.2;

// Returns the cost of `count` of these windows.
double cost(const Windows& windows, Curve curve, Limit limit, std::uint64_t points,
            std::size_t count) {
  const double entries = static_cast<double>(points) * static_cast<double>(count);
  const double sets = windows.shared ? 1 : static_cast<double>(count);
  double others = sorting_cost * entries + bucket_cost * windows.buckets() * sets;
  if (windows.shared) {
    const unsigned passes = passes_of(windows, points);
    double extra = passes > 1 ? passes_cost : 0;
    if (affine_bytes(curve) * points * count > far_table) extra += far_cost;
    if (curve == Curve::bls12_381) extra *= cost_on_bls12_381;
    others += extra * entries + taking_up_cost * windows.buckets() * (passes - 1);
  }
  if (limit == Limit::throughput) return addition_cost * entries + others;
  if (!windows.shared) others += weighing_cost;
  const double mean = windows.digits_in_fullest(points);
  const double longest = mean + 4 * std::sqrt(mean) + 1;  // expected maximum over all buckets
  return std::hypot(addition_cost * entries, addition_latency * longest) + others +
         level_latency * (windows.bits - 1);
}

template <class Cost>
Windows cheapest(Curve curve, bool fold, bool shared, const Cost& cost_of) {
  Windows best = windows_of(curve, fold, least_window, shared);
  for (unsigned bits = least_window + 1; bits <= largest_window; ++bits) {
    const Windows candidate = windows_of(curve, fold, bits, shared);
    if (cost_of(candidate) < cost_of(best)) best = candidate;
  }
  return best;
}

Bytes at_least_one(std::uint64_t count, Bytes each) {
  return std::max<std::uint64_t>(1, count) * each;
}

}  // namespace

Windows windows_of(Curve curve, bool fold, unsigned bits, bool shared) {
  // Digits are at most 2^(bits - 1), so the top digit needs a spare bit, which folding saves.
  const unsigned needed = order_bits_of(curve) + (fold ? 0 : 1);
  const unsigned count = ceil_div(needed, bits), widest = ceil_div(needed, count);
  return {widest, count, needed - count * (widest - 1), shared};
}

unsigned passes_of(const Windows& windows, std::uint64_t points, std::uint64_t together) {
  const std::uint64_t at_once =
      std::max<std::uint64_t>(1, together / std::max<std::uint64_t>(1, points));
  return windows.shared ? static_cast<unsigned>(ceil_div(windows.count, at_once)) : 1;
}

unsigned windows_of_pass(const Windows& windows, std::uint64_t points, std::uint64_t together) {
  const unsigned passes = passes_of(windows, points, together);
  return ceil_div(windows.count, passes);
}

Windows best_windows(Curve curve, bool fold, Limit limit, std::uint64_t points) {
  return cheapest(curve, fold, false,
                  [&](const Windows& w) { return cost(w, curve, limit, points, w.count); });
}

Windows best_shared_windows(Curve curve, bool fold, Limit limit, std::uint64_t points) {
  return cheapest(curve, fold, true,
                  [&](const Windows& w) { return cost(w, curve, limit, points, w.count); });
}

std::optional<Windows> faster_shared_windows(Curve curve, bool fold, Limit limit,
                                             std::uint64_t points) {
  const Windows shared = best_shared_windows(curve, fold, limit, points),
                own = best_windows(curve, fold, limit, points);
  if (cost(shared, curve, limit, points, shared.count) < cost(own, curve, limit, points, own.count))
    return shared;
  return {};
}

Windows best_split_windows(Curve curve, bool fold, Limit limit, std::uint64_t points,
                           std::size_t devices) {
  return cheapest(curve, fold, false, [&](const Windows& w) {
    return cost(w, curve, limit, points, ceil_div(w.count, devices));
  });
}

bool made_on_device(const DeviceTraits& device, const Problem& problem, Mode mode) {
  return !device.cpu && mode != Mode::end_to_end && problem.known_logs && problem.points > 0;
}

BitLengths bit_lengths(Curve curve, bool fold, std::span<const Scalar> scalars, unsigned threads) {
  const Scalar order = order_of(curve);
  constexpr std::uint64_t at_once = std::uint64_t{1} << 16;
  std::vector<BitLengths> parts(ceil_div(scalars.size(), at_once));
  parallel_for(parts.size(), threads, [&](std::uint64_t part) {
    const std::uint64_t begin = part * at_once;
    for (Scalar s : scalars.subspan(begin, std::min(at_once, scalars.size() - begin))) {
      std::uint64_t borrow = 0;
      const Scalar opposite = subtract(order, s, borrow);
      if (fold && less(opposite, s)) s = opposite;
      std::size_t limb = 4;
      while (limb > 0 && s[limb - 1] == 0) --limb;
      ++parts[part][limb == 0
                        ? 0
                        : 64 * (limb - 1) + static_cast<std::size_t>(std::bit_width(s[limb - 1]))];
    }
  });
  BitLengths lengths{};
  for (const BitLengths& part : parts)
    for (std::size_t i = 0; i < lengths.size(); ++i) lengths[i] += part[i];
  return lengths;
}

double least_multiply_adds(Curve curve, bool fold, const BitLengths& lengths, bool shared,
                           std::uint64_t sums) {
  // With n 32-bit words, a product takes n^2 wide multiply-adds and a square n (n + 1) / 2, each
  // two slots of the multiplier; a reduction takes n^2 wide and n narrow ones. The numbers of each
  // per addition are those of kernels/msm_curve.cl.
  const double n = static_cast<double>(field_bytes(curve)) / 4;
  const double product = 2 * n * n, square = n * (n + 1), reduction = 2 * n * n + n;
  const double mixed = 8 * product + 2 * square + 9 * reduction,
               full = 12 * product + 2 * square + 13 * reduction;
  double least = std::numeric_limits<double>::infinity();
  for (unsigned bits = least_window; bits <= largest_window; ++bits) {
    const Windows windows = windows_of(curve, fold, bits, shared);
    double digits = 0;
    for (std::size_t length = 0; length < lengths.size(); ++length) {
      digits +=
          static_cast<double>(lengths[length] * windows.reached(static_cast<unsigned>(length)));
    }
    const double buckets = digits > 0 ? static_cast<double>(windows.used_buckets()) : 0;
    least = std::min(least, digits * mixed + 2 * static_cast<double>(sums) * buckets * full);
  }
  return least;
}

std::uint64_t Pass::tasks() const { return std::min(entries(), buckets) + entries() / limit; }

Pass pass_of(const DeviceTraits& device, std::uint64_t points, unsigned count,
             const Windows& windows) {
  Pass pass;
  pass.points = points;
  pass.windows = count;
  pass.buckets = std::uint64_t{windows.shared ? 1 : count} * windows.buckets();
  // Longer buckets (skewed scalars) are cut and so spread over work-items. Buckets of uniform
  // digits have Poisson lengths; hardly one is six deviations above the mean of a narrow window.
  // The longest tasks start first, so one that is no longer than the share of a work-item (512 of
  // them per compute unit, limited by registers) does not end last.
  const double mean = windows.digits_in_fullest(points) *
                      (windows.shared ? static_cast<double>(count) / windows.count : 1);
  const double share =
      static_cast<double>(pass.entries()) / (device.cpu ? 1 : 512.0 * device.compute_units);
  pass.limit = static_cast<std::uint32_t>(std::clamp<double>(
      std::max(mean + 6 * std::sqrt(mean) + 4, share), least_limit, largest_limit));
  return pass;
}

Bytes Layout::total() const {
  return point_slots * points + scalar_slots * scalars + codes + ranks + entries + counts + bases +
         plan + tasks + longs + partials + buckets + scratch + results + maker;
}

Bytes Layout::largest() const {
  return std::max({points, scalars, ranks, entries, tasks, partials, buckets, scratch, results});
}

namespace {

// Returns the layout with or without a table.
Layout layout(const DeviceTraits& device, const Problem& problem, Mode mode, Items fits,
              bool table) {
  const bool by_points = problem.axis == Axis::points;
  const Bytes sum = sum_bytes(problem.curve);
  const std::uint64_t slice =
      by_points ? std::min<std::uint64_t>(problem.points, fits) : problem.points;
  const bool by_sums = problem.axis == Axis::sums;
  Layout plan;
  plan.point_slots = by_points && mode == Mode::end_to_end ? 2 : 1;
  plan.scalar_slots = (by_points || by_sums) && mode != Mode::resident ? 2 : 1;
  const std::uint64_t rows = table ? problem.shared_windows->count : 1;
  plan.points = at_least_one(by_points && mode == Mode::end_to_end ? slice : rows * problem.points,
                             affine_bytes(problem.curve));
  plan.scalars = at_least_one(mode == Mode::resident ? problem.points * problem.sums
                              : by_sums              ? problem.points * fits
                                                     : slice,
                              sizeof(Scalar));
  plan.maker = made_on_device(device, problem, mode)
                   ? BaseMaker::buffer_bytes(problem.curve, problem.points)
                   : 0;
  const auto grow = [](Bytes& bytes, std::uint64_t count, Bytes each) {
    bytes = std::max(bytes, at_least_one(count, each));
  };
  const auto grow_for = [&](const Pass& pass) {
    grow(plan.codes, pass.entries(), 4);
    grow(plan.ranks, pass.entries(), 4);
    grow(plan.entries, pass.entries(), 4);
    grow(plan.counts, pass.buckets + 1, 4);
    grow(plan.bases, pass.buckets / scan_block + 1, 4);
    grow(plan.plan, plan_lengths + largest_limit + 1, 4);
    // A shorter slice has a smaller limit, but its entries / limit do not exceed this either, since
    // a limit is above the mean length.
    const std::uint64_t pieces =
        std::min(pass.entries() / least_limit, pass.buckets + pass.entries() / largest_limit);
    grow(plan.tasks, std::min(pass.entries(), pass.buckets) + pieces, 16);
    grow(plan.longs, std::min(pass.buckets, pieces), 16);
    grow(plan.partials, 2 * pieces, sum);
  };
  for (const Windows& windows : table ? std::vector{*problem.shared_windows} : problem.windows) {
    if (table) {  // a shorter slice may have more entries in a pass than a longer one
      for (std::uint64_t at_once = 1; at_once <= windows.count; ++at_once) {
        const std::uint64_t points = std::min(slice, problem.together / at_once);
        grow_for(
            pass_of(device, points, windows_of_pass(windows, points, problem.together), windows));
      }
    }
    grow_for(pass_of(device, slice,
                     by_points || by_sums
                         ? windows_of_pass(windows, slice, problem.together)
                         : static_cast<unsigned>(std::min<Items>(windows.count, fits)),
                     windows));
    grow(plan.buckets, windows.all_buckets(), sum);
    grow(plan.results, problem.sums * windows.sets() * windows.bits, sum);
    grow(plan.scratch,
         std::uint64_t{windows.sets()} * (windows.buckets() / 2 + windows.buckets() / 4 + 2), sum);
  }
  return plan;
}

bool too_large(const DeviceTraits& device, const Layout& plan) {
  return plan.total() > device.global_memory || plan.largest() > device.max_allocation;
}

}  // namespace

bool has_table(const DeviceTraits& device, const Problem& problem, Mode mode) {
  if (!problem.shared_windows || problem.points == 0 || mode == Mode::end_to_end) return false;
  if (problem.must_share) return true;
  // Entries are point numbers in the table, of 31 bits.
  if (problem.points >= (std::uint64_t{1} << 31) / problem.shared_windows->count) return false;
  const Items fits = problem.axis == Axis::sums ? 1 : problem.points;
  return !too_large(device, layout(device, problem, mode, fits, true));
}

Layout layout(const DeviceTraits& device, const Problem& problem, Mode mode, Items fits) {
  return layout(device, problem, mode, fits, has_table(device, problem, mode));
}

// A problem without terms has one item, so that there is work to hand out.
Items Problem::items() const {
  return axis == Axis::windows ? windows.at(0).count
         : axis == Axis::sums  ? sums
                               : std::max<Items>(1, points);
}

Capacity capacity(const DeviceTraits& device, const Problem& problem, Mode mode) {
  const Items items = problem.items();
  Capacity capacity;
  // Entries and buckets have 32-bit numbers; points within a slice have 31-bit numbers.
  Items most = std::uint64_t{1} << 31;
  for (const Windows& windows : problem.windows)
    most = std::min<Items>(most, ~std::uint32_t{0} / windows.count);
  if (has_table(device, problem, mode)) {
    const std::uint64_t most_points = (std::uint64_t{1} << 31) / problem.shared_windows->count;
    if (problem.points >= most_points) {
      capacity.reason = "the table of --fixed-base has 2^31 points at most, " +
                        std::to_string(problem.shared_windows->count) +
                        " of each: " + std::to_string(most_points - 1) + " terms";
      return capacity;
    }
    most = most_points;
  }
  capacity.fits = problem.axis == Axis::points ? std::min(items, most) : items;
  if (problem.axis == Axis::windows) {
    capacity.fits =
        std::min<Items>(items, ~std::uint32_t{0} / std::max<std::uint64_t>(1, problem.points));
  }
  if (problem.axis == Axis::sums) {
    if (problem.points > most) {
      capacity.reason = "a sum of --batch has at most " + std::to_string(most) + " terms";
      return capacity;
    }
    capacity.fits = items;
  }
  while (capacity.fits > 1 && too_large(device, layout(device, problem, mode, capacity.fits)))
    capacity.fits /= 2;
  const Layout plan = layout(device, problem, mode, capacity.fits);
  if (capacity.fits == 0 || too_large(device, plan)) {
    capacity.fits = 0;
    capacity.reason = std::to_string(problem.points) + " points with their buckets take " +
                      format_bytes(static_cast<double>(plan.total())) + " (largest buffer " +
                      format_bytes(static_cast<double>(plan.largest())) + "); the device has " +
                      format_bytes(static_cast<double>(device.global_memory)) +
                      " (largest buffer " +
                      format_bytes(static_cast<double>(device.max_allocation)) + ")";
    return capacity;
  }
  // Pieces let uploads overlap kernels. Each piece costs a dozen launches, about 0.1 ms on a GPU.
  const Items each =
      problem.axis == Axis::sums ? std::max<std::uint64_t>(1, problem.points) : Items{1};
  capacity.pipeline =
      plan.scalar_slots > 1
          ? std::clamp<Items>(
                items / 8,
                std::min<Items>(capacity.fits, std::max<Items>(1, (Items{1} << 17) / each)),
                capacity.fits)
          : capacity.fits;
  capacity.resident = plan.total();
  return capacity;
}

}  // namespace mgpu::msm
