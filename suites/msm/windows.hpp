// How a problem is cut into windows, what that costs, and what a device must hold for it. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "lib/plan/slice_source.hpp"
#include "lib/workload/workload.hpp"
#include "suites/msm/curve.hpp"

namespace mgpu::msm {

enum class Axis { points, windows };

// The points stay on the devices, as those of a proving key do; scalars, which change from proof to
// proof, are uploaded.
inline constexpr Mode scalars_mode{"scalars", false, true};

// `count` windows from below: `wide` of `bits` bits, then those of a bit less, so that together
// they have the bits needed and none more. (Were all as wide, the top one would be left with a few
// bits, and all points in few buckets.) A signed digit has 2^(bits - 1) buckets; a narrow window
// leaves the upper half of its own empty. See kernels/msm_sort.cl.
//
// `shared`: all windows share one set of buckets, as a table has each point multiplied by what a
// window's lowest bit is worth.
struct Windows {
  unsigned bits = 0, count = 0, wide = 0;
  bool shared = false;
  constexpr std::uint32_t buckets() const { return std::uint32_t{1} << (bits - 1); }
  constexpr std::uint32_t fewest_buckets() const {
    return wide < count ? buckets() / 2 : buckets();
  }
  constexpr unsigned sets() const { return shared ? 1 : count; }  // of buckets
  constexpr std::uint64_t all_buckets() const { return std::uint64_t{sets()} * buckets(); }
  // Buckets that can be filled.
  constexpr std::uint64_t used_buckets() const {
    if (shared) return wide > 0 ? buckets() : fewest_buckets();
    return std::uint64_t{wide} * buckets() + std::uint64_t{count - wide} * fewest_buckets();
  }
  // Digits in the fullest buckets when `points` scalars are uniform, on average: the lower half of
  // a shared set has those of all windows.
  constexpr double digits_in_fullest(std::uint64_t points) const {
    const double of_narrow = static_cast<double>(points) / fewest_buckets();
    return shared ? of_narrow * (count - wide) + static_cast<double>(points) / buckets() * wide
                  : of_narrow;
  }
  constexpr unsigned bits_of(unsigned window) const { return window < wide ? bits : bits - 1; }
  constexpr unsigned first_bit(unsigned window) const {
    return window * bits - (window > wide ? window - wide : 0);
  }
  // Windows that the lowest `length` bits reach into.
  constexpr unsigned reached(unsigned length) const {
    const unsigned wide_bits = wide * bits;
    return length <= wide_bits ? ceil_div(length, bits)
                               : wide + (length - wide_bits + bits - 2) / (bits - 1);
  }
  bool operator==(const Windows&) const = default;
};
constexpr unsigned least_window = 2, largest_window = 22;

// As many as of `bits` bits each, and even. `fold`: scalars above r / 2 are folded, which takes a
// bit off; the sign of the digits takes one.
Windows windows_of(Curve curve, bool fold, unsigned bits, bool shared = false);

// Of windows that share their buckets only so many are sorted at once that their entries are
// written fast, at most about this many entries, in passes over the same points. An entry of 2^24
// points takes an H100 62 to 68 ps so, 85 with half as many (digits are found anew in each pass),
// 150 with all at once.
constexpr std::uint64_t entries_together = std::uint64_t{1} << 25;
unsigned passes_of(const Windows& windows, std::uint64_t points,
                   std::uint64_t together = entries_together);
unsigned windows_of_pass(const Windows& windows, std::uint64_t points,
                         std::uint64_t together = entries_together);

// What time goes with. throughput (CPUs): a mixed addition for every digit and two full ones for
// every bucket. latency too (GPUs): however few they are, the digits of the longest bucket are
// added one after the other, and the levels of halving follow one another.
enum class Limit { throughput, latency };
// The cheapest for `points` points on one device, as measured (see the .cpp).
Windows best_windows(Curve curve, bool fold, Limit limit, std::uint64_t points);
// Likewise of those that share their buckets; `faster_`: nothing where the others are cheaper.
Windows best_shared_windows(Curve curve, bool fold, Limit limit, std::uint64_t points);
std::optional<Windows> faster_shared_windows(Curve curve, bool fold, Limit limit,
                                             std::uint64_t points);
// The cheapest when the windows are split over `devices`: the slowest device has ceil(count /
// devices) of them.
Windows best_split_windows(Curve curve, bool fold, Limit limit, std::uint64_t points,
                           std::size_t devices);

// How many scalars have how many bits, after folding.
using BitLengths = std::array<std::uint64_t, 257>;
BitLengths bit_lengths(Curve curve, bool fold, std::span<const Scalar> scalars);
// Multiply-adds of 32-bit words, each half of a product, that these take with the window where they
// are fewest: a mixed addition for every digit, two full ones for every bucket. Nothing else of the
// algorithm needs the multiplier. `shared`: as in Windows.
double least_multiply_adds(Curve curve, bool fold, const BitLengths& lengths, bool shared);

// One pass over a slice: `points` scalars in `windows` windows of `bits` bits. A bucket is cut into
// tasks of at most `limit` points.
struct Pass {
  std::uint64_t points = 0, buckets = 0;  // buckets: of all windows of the slice
  unsigned windows = 0;
  std::uint32_t limit = 0;
  std::uint64_t entries() const { return points * windows; }
  std::uint64_t tasks() const;  // at most
};
// Over `count` of these windows.
Pass pass_of(const DeviceTraits& device, std::uint64_t points, unsigned count,
             const Windows& windows);

constexpr std::uint32_t scan_block = 2048;  // BLOCK_LOG of kernels/msm_sort.cl
constexpr std::uint32_t plan_lengths = 4;   // PLAN_LENGTHS of it
constexpr std::uint32_t least_limit = 16,
                        largest_limit = 4096;  // counters of a work-group: 16 KiB of local memory

// What a program allocates, in bytes; each at least one element.
struct Layout {
  unsigned slots = 1;             // of points and of scalars that are uploaded by slice
  Bytes points = 0, scalars = 0;  // each of them
  Bytes codes = 0, ranks = 0, entries = 0, counts = 0, bases = 0, plan = 0, tasks = 0, longs = 0,
        partials = 0;
  Bytes buckets = 0, scratch = 0, maker = 0;
  Bytes total() const;
  Bytes largest() const;
};
struct Problem {
  Curve curve = Curve::bn254;
  Axis axis = Axis::points;
  std::uint64_t points = 0;
  std::vector<Windows> windows;  // any of these may be chosen for a sample; one for Axis::windows
  bool known_logs = false;       // of the points
  // Those that share their buckets, by a table of multiples of the points that is made before the
  // clock starts. Used on devices that it fits; `must_share`: on no others.
  std::optional<Windows> shared_windows{};
  bool must_share = false;
  std::uint64_t together = entries_together;
};
// Does the device have that table? Not where points travel within the clock.
bool has_table(const DeviceTraits& device, const Problem& problem, Mode mode);
// Are the points made on the device instead of sent to it? A CPU's are in reach of it, and the host
// makes them faster.
bool made_on_device(const DeviceTraits& device, const Problem& problem, Mode mode);
Layout layout(const DeviceTraits& device, const Problem& problem, Mode mode, Items fits);
Capacity capacity(const DeviceTraits& device, const Problem& problem, Mode mode);

}  // namespace mgpu::msm
